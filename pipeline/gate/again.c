/* SPDX-License-Identifier: BSD-2-Clause
 * A second gate for one frame. */
#include "pipeline/gate/again.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "pipeline/gate/gate.h"
#include "pipeline/frame/raw_frame_private.h"

/* Makes the output frame the input of another gate. NULL: out of memory. */
static struct halo_raw_frame *as_input(const struct halo_output_frame *frame)
{
    struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
    if (!raw)
        return NULL;
    raw->frame = av_frame_clone(halo_output_frame_frame(frame));
    if (!raw->frame) {
        halo_raw_frame_destroy(raw);
        return NULL;
    }
    raw->format = raw->frame->format;
    return raw;
}

static int filter(const struct halo_raw_frame *raw, const struct halo_chain *chain,
                  struct halo_ring *ring, struct halo_output_frame **ret, struct halo_error *err)
{
    const AVFrame *frame = raw->frame;
    const struct halo_gate_input input = {
        .format = raw->format,
        .width = frame->width,
        .height = frame->height,
        .space = frame->colorspace,
        .range = frame->color_range,
        .privacy = HALO_PRIVACY_OFF, /* the frame may be seen as it is */
    };
    struct halo_gate *gate;
    int code = halo_gate_create(&gate, chain, ring, &input, err);
    if (code < 0)
        return code;
    struct halo_pending *pending;
    code = halo_gate_enter(gate, raw, &pending, err);
    if (code == 0)
        code = halo_gate_leave(pending, 0, ret, err);
    halo_gate_destroy(gate);
    return code;
}

int halo_gate_again(const struct halo_output_frame *frame, const struct halo_chain *chain,
                    struct halo_output_frame **ret, struct halo_error *err)
{
    const struct halo_ring_settings settings = {
        .backend = "cpu", .depth = 1, .threads = 1, .locked = -1};
    struct halo_raw_frame *raw = as_input(frame);
    struct halo_ring *ring;
    int code =
        raw ? halo_ring_create(&ring, &settings, err) : halo_fail(err, -ENOMEM, "out of memory");
    if (code == 0) {
        code = filter(raw, chain, ring, ret, err);
        halo_ring_destroy(ring);
    }
    halo_raw_frame_destroy(raw);
    return code;
}
