/* SPDX-License-Identifier: BSD-2-Clause
 * The adapter converts decoded frames of any format and size to the one native format that the
 * filters accept, and to the size with which the stream began. It is part of the gate because it
 * handles unfiltered frames. */
#ifndef HALO_ADAPT_H
#define HALO_ADAPT_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/gate/gate.h"
#include "pipeline/frame/format.h"

struct halo_adapter;

/* Creates an adapter. The frames that the adapter produces have the pixel format `native` and the
 * size given in `input`; their buffers are allocated from `memory`. Returns 0, or -errno with err
 * filled (-ENOMEM; -ENOTSUP: the conversion is not supported). The caller owns *ret. Only one
 * thread at a time may use the adapter. */
int halo_adapter_create(struct halo_adapter **ret, struct halo_memory *memory,
                        const struct halo_gate_input *input, enum AVPixelFormat native,
                        struct halo_error *err);
void halo_adapter_destroy(struct halo_adapter *a); /* NULL is ignored */

/* Sets *ret to a frame in the native format and size: a new reference to raw if raw already has
 * both, otherwise a converted frame in host memory. The caller frees *ret. If raw is in host
 * memory, `format` is its pixel format; if raw is on a device, `format` is the pixel format that it
 * would have in host memory (hw_frame.h). If the format or size changes within the stream, the
 * adapter adjusts to the change and logs it once. Returns 0, or -ENOMEM, -ENOTSUP or -EIO with err
 * filled. */
int halo_adapter_pass(struct halo_adapter *a, const AVFrame *raw, enum AVPixelFormat format,
                      AVFrame **ret, struct halo_error *err);

/* Returns whether the size of the last frame differed from that of the first frame. */
bool halo_adapter_scales(const struct halo_adapter *a);

/* Returns what the last frame spills because it was converted. */
struct halo_reach halo_adapter_reach(const struct halo_adapter *a);

/* *frame must be a frame from halo_adapter_pass(). If this frame is on a device, replaces it with a
 * frame in host memory, in the native format. Returns 0, or -ENOMEM or -EIO with err filled. */
int halo_adapter_to_host(struct halo_adapter *a, AVFrame **frame, struct halo_error *err);

#endif
