/* SPDX-License-Identifier: BSD-2-Clause
 * Memory that decoders write their pictures into: page-locked, so that uploads need no copy on the
 * host and overlap with the kernels. */
#ifndef HALO_DECODE_MEMORY_H
#define HALO_DECODE_MEMORY_H

#include <libavcodec/avcodec.h>

#include "pipeline/picture/memory.h"

struct halo_decode_memory;

/* memory must outlive it. NULL: out of memory. It must outlive the decoder, not its pictures. */
struct halo_decode_memory *halo_decode_memory_create(struct halo_memory *memory);
void halo_decode_memory_destroy(struct halo_decode_memory *m); /* NULL is nothing to do */

/* For get_buffer2, any of the decoder's threads: a picture of frame's format and size with the
 * alignment and the margin that c's decoder wants, used again and again. FFmpeg's own memory where
 * the format is not native. 0 or an AVERROR. */
int halo_decode_memory_get(struct halo_decode_memory *m, AVCodecContext *c, AVFrame *frame,
                           int flags);

#endif
