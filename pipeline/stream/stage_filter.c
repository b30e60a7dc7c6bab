/* SPDX-License-Identifier: BSD-2-Clause
 * The filter and the collect stage: frames enter and leave the gate; all other items bypass it. */
#include <errno.h>
#include <string.h>

#include "pipeline/picture/raw_picture.h"
#include "pipeline/stream/stream_private.h"

/* Starts filtering a frame; other items bypass the gate. */
static int enter_item(struct halo_stream *s, struct halo_item *item, struct halo_error *err)
{
    if (item->kind == HALO_ITEM_RAW) {
        struct halo_raw_picture *raw = item->raw;
        struct halo_pending *pending = NULL;
        int code = 0;
        if (halo_piece_enter(s))
            code = halo_gate_enter(s->tracks.track[item->track].gate, raw, &pending, err);
        halo_raw_picture_destroy(raw);
        if (code >= 0)
            code = halo_piece_check_entered(s, err);
        if (code < 0 || halo_piece_takes(&s->piece)) {
            halo_pending_destroy(pending);
            return code;
        }
        item->kind = HALO_ITEM_PENDING;
        item->pending = pending;
    }
    return halo_stage_put(s, s->in_gate, *item, HALO_STAGE_FILTERED_WAIT);
}

/* Waits for a frame in the gate; other items are passed on. */
static int leave_item(struct halo_stream *s, struct halo_item *item, struct halo_error *err)
{
    if (item->kind == HALO_ITEM_PENDING) {
        struct halo_output_picture *output;
        const int code = halo_gate_leave(item->pending, 0, &output, err);
        if (code < 0)
            return code;
        item->kind = HALO_ITEM_OUTPUT;
        item->output = output;
    }
    return halo_stage_put(s, s->to_encode, *item, HALO_STAGE_COLLECTED_WAIT);
}

/* Takes an item for the gate (judged: frames come with what detectors found in them), or one from
 * the gate. */
static int take(struct halo_stream *s, bool judged, struct halo_item *ret, struct halo_error *err)
{
    if (!judged)
        return halo_stage_get(s, s->in_gate, ret, HALO_STAGE_COLLECT_WAIT);
    const enum halo_stage wait = s->detects ? HALO_STAGE_DETECT_WAIT : HALO_STAGE_FILTER_WAIT;
    const int64_t begin = halo_stats_begin(s->stats, wait);
    const int code = halo_detect_get(s->detect, s->to_filter, ret, err);
    halo_stats_end(s->stats, wait, begin);
    return code;
}

/* Takes items and passes each on, until the end. */
static void pass_all(struct halo_stream *s, bool judged,
                     int (*pass)(struct halo_stream *s, struct halo_item *item,
                                 struct halo_error *err))
{
    struct halo_error err = {0};
    struct halo_item item = {.kind = HALO_ITEM_PACKET};
    int code = 0;
    while (code >= 0 && item.kind != HALO_ITEM_END && (code = take(s, judged, &item, &err)) >= 0)
        code = pass(s, &item, &err);
    if (code >= 0 || code == -ECANCELED)
        return;
    halo_fail(&err, code, "the filter stage failed: %s", strerror(-code));
    s->fail(s, &err);
}

void *halo_stream_filter_main(void *arg)
{
    struct halo_stream *s = arg;
    pass_all(s, true, enter_item);
    return NULL;
}

void *halo_stream_collect_main(void *arg)
{
    struct halo_stream *s = arg;
    pass_all(s, false, leave_item);
    return NULL;
}
