/* SPDX-License-Identifier: BSD-2-Clause
 * The adapter converts decoded frames of any format and size to one native format, which filters
 * accept, and to the size with which the stream began. It is a part of the gate because it sees
 * unfiltered frames. */
#ifndef HALO_ADAPT_H
#define HALO_ADAPT_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "config/error.h"
#include "pipeline/gate/gate.h"

struct halo_adapter;

/* native is the format of the results, and input has their size; they are allocated from memory. 0
 * or -errno (-ENOMEM, -ENOTSUP: no such conversion) with err filled. The caller owns *ret. One
 * thread at a time. */
int halo_adapter_create(struct halo_adapter **ret, struct halo_memory *memory,
                        const struct halo_gate_input *input, enum AVPixelFormat native,
                        struct halo_error *err);
void halo_adapter_destroy(struct halo_adapter *a); /* NULL is ignored */

/* *ret is another reference to raw if it has the native format and the size already, otherwise a
 * converted frame on the host; the caller frees it. raw may be on a device: format is the one that
 * it has on the host (hw_frame.h). If format or size change within the stream, the adapter follows,
 * and logs this once. 0, -ENOMEM, -ENOTSUP, -EIO with err filled. */
int halo_adapter_pass(struct halo_adapter *a, const AVFrame *raw, enum AVPixelFormat format,
                      AVFrame **ret, struct halo_error *err);

/* Whether the last frame had another size than the first. */
bool halo_adapter_scales(const struct halo_adapter *a);

/* Moves a frame from halo_adapter_pass() to the host, in the native format, if it is not there yet.
 * 0, -ENOMEM, -EIO with err filled. */
int halo_adapter_to_host(struct halo_adapter *a, AVFrame **frame, struct halo_error *err);

#endif
