/* SPDX-License-Identifier: BSD-2-Clause
 * The filter and the collect thread of a live stream: frames enter the gates of the present lineup,
 * and are passed on to every encoding that has a receiver. */
#include "pipeline/stream/live_stages.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/log.h"
#include "kernels/clock.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/queue.h"
#include "pipeline/stream/live_detect.h"
#include "pipeline/stream/live_encoding.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_figures.h"
#include "pipeline/stream/live_lineup.h"
#include "pipeline/stream/live_lineups.h"
#include "pipeline/stream/live_snapshots.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"

/* A frame that was not completely filtered is not output. One failure may be an accident, but an
 * error of the device is final. */
static void lose_picture(struct halo_live *live, int code, struct halo_error *err)
{
    halo_fail(err, code, "a filter failed, so no frame is shown: %s", strerror(-code));
    halo_live_drop(live->figures, HALO_DROP_FILTER, 1);
    if (halo_error_is_lost(err))
        live->fail(live, err);
    else
        halo_live_report_away(live->status, err->scarce ? "out of GPU memory" : "filter failed",
                              err);
}

/* A frame has left a gate, or has not entered it: a change may wait for that. */
static void end_inside(struct halo_live *live, struct halo_lineup *lineup, bool whole)
{
    halo_live_lineups_leave(live->lineups, lineup, whole);
    live->post(live, HALO_LIVE_WENT_ON, 0);
}

/* 0, or -ECANCELED. */
static int enter_all(struct halo_live *live, struct halo_lineup *lineup,
                     const struct halo_item *raw)
{
    int code = 0;
    for (int g = 0; g < lineup->gates && code >= 0; g++) {
        struct halo_error err = {0};
        struct halo_item item = {.kind = HALO_ITEM_PENDING,
                                 .track = g,
                                 .lineup = lineup,
                                 .decoded = raw->decoded,
                                 .entered = halo_now_ns()};
        code = halo_gate_enter(lineup->gate[g], raw->raw, &item.pending, &err);
        if (code >= 0) {
            code = halo_queue_put(live->stages->in_gate, item);
        } else if (code != -ECANCELED) {
            lose_picture(live, code, &err);
            end_inside(live, lineup, false);
            code = 0;
        }
    }
    return code;
}

/* False: the stages end. */
static bool take_item(struct halo_live *live, struct halo_item *ret)
{
    struct halo_error err = {0};
    const int code = halo_live_detect_get(live, ret, &err);
    if (code < 0 && code != -ECANCELED)
        live->fail(live, &err);
    return code >= 0;
}

void *halo_live_filter_main(void *arg)
{
    struct halo_live *live = arg;
    struct halo_lineup *lineup = NULL;
    struct halo_item item;
    int code = 0;
    halo_log_set_stream(live->settings.name);
    while (code >= 0 && take_item(live, &item)) {
        if (item.kind == HALO_ITEM_END) {
            halo_queue_put(live->stages->in_gate, item);
            break;
        }
        lineup = halo_live_lineups_enter(live->lineups, lineup);
        code = enter_all(live, lineup, &item);
        halo_item_finish(&item);
    }
    return NULL;
}

/* ---- collect ---- */

static void give_encoding(struct halo_live *live, struct halo_live_encoding *e,
                          const struct halo_item *item, const struct halo_output_picture *picture)
{
    struct halo_item out = {.kind = HALO_ITEM_OUTPUT,
                            .epoch = halo_output_picture_epoch(picture),
                            .decoded = item->decoded,
                            .output = halo_output_picture_ref(picture)};
    if (!out.output) {
        halo_live_drop(live->figures, HALO_DROP_ENCODER, 1);
        halo_live_count_late(live->figures, e->number, 1);
        return;
    }
    const int ret = halo_live_encodings_give(e, &out);
    halo_live_drop(live->figures, HALO_DROP_ENCODER, ret);
    if (ret > 0)
        halo_live_count_late(live->figures, e->number, ret);
}

static void give_encodings(struct halo_live *live, const struct halo_item *item,
                           const struct halo_output_picture *picture)
{
    for (int i = 0; i < live->encodings->count; i++) {
        struct halo_live_encoding *e = &live->encodings->at[i];
        if (item->lineup->of[e->what->rendition] == item->track && halo_live_encoding_runs(e))
            give_encoding(live, e, item, picture);
    }
}

static void count_left(struct halo_live *live, const struct halo_lineup *lineup)
{
    const struct halo_coverage *coverage[HALO_LIVE_CHAINS];
    for (int i = 0; i < lineup->chains; i++)
        coverage[i] = halo_gate_coverage(lineup->gate[lineup->of[i]]);
    halo_live_count_left(live->figures, lineup->epoch, coverage, lineup->chains);
}

static void leave(struct halo_live *live, const struct halo_item *item)
{
    struct halo_error err = {0};
    struct halo_output_picture *picture;
    struct halo_lineup *lineup = item->lineup;
    const int code = halo_gate_leave(item->pending, lineup->epoch, &picture, &err);
    halo_live_lineups_forget_older(live->lineups, lineup);
    if (item->track == 0)
        lineup->failed = false;
    if (code < 0) {
        lineup->failed = true;
        if (code != -ECANCELED)
            lose_picture(live, code, &err);
        end_inside(live, lineup, false);
        return;
    }
    halo_live_time(live->figures, HALO_LIVE_FILTER, halo_now_ns() - item->entered);
    if (item->track == 0) {
        count_left(live, lineup);
        halo_live_snapshots_give(live, picture);
        live->post(live, HALO_LIVE_LEFT, halo_output_picture_frame(picture)->pts);
    }
    give_encodings(live, item, picture);
    halo_output_picture_destroy(picture);
    const bool whole = item->track == lineup->gates - 1 && !lineup->failed;
    end_inside(live, lineup, whole);
    if (whole)
        halo_live_report_running(live->status, item->decoded);
}

void *halo_live_collect_main(void *arg)
{
    struct halo_live *live = arg;
    struct halo_item item;
    halo_log_set_stream(live->settings.name);
    while (halo_queue_get(live->stages->in_gate, &item) == 0 && item.kind != HALO_ITEM_END)
        leave(live, &item);
    return NULL;
}
