/* SPDX-License-Identifier: BSD-2-Clause
 * Memory into which decoders write their frames: page-locked, so that uploads need no copy on the
 * host and overlap with the kernels. */
#ifndef HALO_DECODE_MEMORY_H
#define HALO_DECODE_MEMORY_H

#include <libavcodec/avcodec.h>

#include "pipeline/frame/memory.h"

struct halo_decode_memory;

/* `memory` must outlive the result. The result must outlive the decoder, but need not outlive the
 * decoder's frames. Returns NULL if memory runs out. */
struct halo_decode_memory *halo_decode_memory_create(struct halo_memory *memory);
void halo_decode_memory_destroy(struct halo_decode_memory *m); /* NULL is ignored */

/* To be called from the callback get_buffer2, on any of the decoder's threads. Gives `frame`
 * reusable memory that suits its format and size and has the alignment and margin that c's decoder
 * requires. If the format is not native, FFmpeg provides the memory. Returns 0 or an AVERROR. */
int halo_decode_memory_get(struct halo_decode_memory *m, AVCodecContext *c, AVFrame *frame,
                           int flags);

#endif
