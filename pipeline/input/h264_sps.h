/* SPDX-License-Identifier: BSD-2-Clause
 * Properties of an H.264 stream that FFmpeg's decoder does not report. */
#ifndef HALO_H264_SPS_H
#define HALO_H264_SPS_H

#include <libavcodec/codec_par.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether the first sequence parameter set in a stream's extradata (avcC or with start
 * codes) declares frames without chroma. FFmpeg reports such gray frames as 4:2:0. Returns false if
 * the parameter set is missing or damaged. Any thread. */
bool halo_h264_is_monochrome(const uint8_t *extradata, size_t size);

/* Returns whether a packet begins with an IDR frame. No frame after an IDR frame refers to a
 * frame before it. Any thread. */
bool halo_h264_is_idr(const AVCodecParameters *par, const uint8_t *packet, size_t size);

#endif
