/* SPDX-License-Identifier: BSD-2-Clause
 * Decoded pictures of any shape in, pictures of one native shape out: the format that filters take
 * and the size that the stream began with. Part of the gate, for it sees raw pictures. */
#ifndef HALO_ADAPT_H
#define HALO_ADAPT_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "config/error.h"
#include "pipeline/gate/gate.h"

struct halo_adapter;

/* 0 or -errno (-ENOMEM, -ENOTSUP: no such conversion) with err filled. native is the format out,
 * input's size the size out; the pictures are from memory. The caller owns *ret. One thread at a
 * time. */
int halo_adapter_create(struct halo_adapter **ret, struct halo_memory *memory,
                        const struct halo_gate_input *input, enum AVPixelFormat native,
                        struct halo_error *err);
void halo_adapter_destroy(struct halo_adapter *a); /* NULL is nothing to do */

/* *ret is another reference to raw where it has the native shape, else a picture made from it on
 * the host; the caller frees it. format is what raw is on the host, where it may be on a device
 * (hw_frame.h). A shape that changes inside the stream is followed, and said once. 0, -ENOMEM,
 * -ENOTSUP, -EIO with err filled. */
int halo_adapter_pass(struct halo_adapter *a, const AVFrame *raw, enum AVPixelFormat format,
                      AVFrame **ret, struct halo_error *err);

/* Whether the last picture came in another size than the first. */
bool halo_adapter_scales(const struct halo_adapter *a);

/* Brings a picture that it passed on to the host, where it is not there yet, in the native format.
 * 0, -ENOMEM, -EIO with err filled. */
int halo_adapter_to_host(struct halo_adapter *a, AVFrame **frame, struct halo_error *err);

#endif
