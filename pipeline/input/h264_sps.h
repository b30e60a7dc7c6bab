/* SPDX-License-Identifier: BSD-2-Clause
 * What FFmpeg's decoder does not tell about an H.264 stream. */
#ifndef HALO_H264_SPS_H
#define HALO_H264_SPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the first sequence parameter set in a stream's extradata, in MP4's form or between start
 * codes, says that pictures have no colour: FFmpeg then delivers gray ones as 4:2:0. False where
 * there is none or it is damaged. Any thread. */
bool halo_h264_is_monochrome(const uint8_t *extradata, size_t size);

/* Whether a packet begins with an IDR picture, after which none refers to what was before. Any
 * thread. */
bool halo_h264_is_idr(const uint8_t *extradata, size_t extradata_size, const uint8_t *packet,
                      size_t size);

#endif
