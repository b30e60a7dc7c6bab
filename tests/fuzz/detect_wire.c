/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: one message of a detector. Built and run as chain.c is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/detect/detect_wire.h"
#include "tests/fuzz/fuzz.h"

static bool is_within(double value, double least, double most)
{
    return value >= least && value <= most; /* not if it is NaN */
}

static bool is_mask(int width, int height, int least)
{
    return is_within(width, least, HALO_DETECT_MAX_MASK_SIDE) &&
           is_within(height, least, HALO_DETECT_MAX_MASK_SIDE);
}

static bool is_ready(const struct halo_detect_ready *r)
{
    const size_t pixel = r->format == AV_PIX_FMT_GRAY8 ? 1 : 3;
    return memchr(r->name, '\0', sizeof r->name) && !strpbrk(r->name, "\n\r\033") &&
           is_within(r->width, HALO_DETECT_MIN_SIDE, HALO_DETECT_MAX_SIDE) &&
           is_within(r->height, HALO_DETECT_MIN_SIDE, HALO_DETECT_MAX_SIDE) &&
           (r->format == AV_PIX_FMT_GRAY8 || r->format == AV_PIX_FMT_RGB24 ||
            r->format == AV_PIX_FMT_BGR24) &&
           halo_detect_ready_bytes(r) == pixel * (size_t)r->width * (size_t)r->height &&
           (r->mask ? is_mask(r->mask_width, r->mask_height, HALO_DETECT_MIN_SIDE)
                    : r->mask_width == 0 && r->mask_height == 0);
}

static bool is_verdict(const struct halo_detect_verdict *v)
{
    bool ret = v->n >= 1 && is_within(v->count, 0, v->boxed ? HALO_DETECT_MAX_BOXES : 0);
    for (int i = 0; ret && i < v->count; i++) {
        const struct halo_detect_box *b = &v->box[i];
        ret = is_within(b->x, -4, 5) && is_within(b->y, -4, 5) && is_within(b->width, 0, 5) &&
              is_within(b->height, 0, 5) && is_within(b->score, 0, 1);
    }
    return ret;
}

/* What is accepted keeps to the contract, and what is refused has a reason in one clean line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct halo_detect_message message;
    struct halo_error err = {0};
    const int code = halo_detect_message_read(&message, (const char *)data, size, &err);
    if (code < 0 && (code != -EPROTO || !err.text[0] || strpbrk(err.text, "\n\r\033")))
        abort();
    if (code == 0 && !(message.kind == HALO_DETECT_READY ? is_ready(&message.ready)
                                                         : is_verdict(&message.verdict)))
        abort();
    return 0;
}
