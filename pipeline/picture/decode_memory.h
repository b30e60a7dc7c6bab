/* SPDX-License-Identifier: BSD-2-Clause
 * Memory into which decoders write their frames: page-locked, so that uploads need no copy on the
 * host and overlap with the kernels. */
#ifndef HALO_DECODE_MEMORY_H
#define HALO_DECODE_MEMORY_H

#include <libavcodec/avcodec.h>

#include "pipeline/picture/memory.h"

struct halo_decode_memory;

/* memory must outlive the result, which must outlive the decoder, but not its frames. NULL: out of
 * memory. */
struct halo_decode_memory *halo_decode_memory_create(struct halo_memory *memory);
void halo_decode_memory_destroy(struct halo_decode_memory *m); /* NULL is ignored */

/* For the callback get_buffer2, on any of the decoder's threads: gives frame reusable memory for
 * its format and size, with the alignment and margin that c's decoder requires. If the format is
 * not native, the memory is FFmpeg's own. 0 or an AVERROR. */
int halo_decode_memory_get(struct halo_decode_memory *m, AVCodecContext *c, AVFrame *frame,
                           int flags);

#endif
