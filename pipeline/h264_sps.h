/* SPDX-License-Identifier: BSD-2-Clause
 * The one thing about an H.264 stream that FFmpeg's decoder does not tell. */
#ifndef HALO_H264_SPS_H
#define HALO_H264_SPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the first sequence parameter set in a stream's extradata, in MP4's form or between start
 * codes, says that pictures have no colour: FFmpeg then delivers gray ones as 4:2:0. False where
 * there is none or it is damaged. Any thread. */
bool halo_h264_is_monochrome(const uint8_t *extradata, size_t size);

#endif
