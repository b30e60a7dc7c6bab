/* SPDX-License-Identifier: BSD-2-Clause
 * The threads between the source of a live stream and its packets: started when the format of the
 * frames is known, and restarted if it was assumed and the source now reports its own. */
#include "pipeline/stream/live_stages.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "kernels/clock.h"
#include "pipeline/base/thread.h"
#include "pipeline/gate/queue.h"
#include "pipeline/gate/ring.h"
#include "pipeline/stream/live_cards.h"
#include "pipeline/stream/live_encoding.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_lineups.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_stream.h"

enum { DESCRIBE_S = 5 }; /* how long frames wait until all encoders are described */

int halo_live_stages_create(struct halo_live_stages **ret)
{
    struct halo_live_stages *stages = av_mallocz(sizeof *stages);
    if (!stages)
        return -ENOMEM;
    stages->to_filter = halo_queue_create(HALO_QUEUE_PICTURES, 1);
    stages->in_gate = halo_queue_create(HALO_RING_MAX, 1);
    if (!stages->to_filter || !stages->in_gate) {
        halo_live_stages_destroy(stages);
        return -ENOMEM;
    }
    *ret = stages;
    return 0;
}

void halo_live_stages_close(struct halo_live_stages *stages)
{
    halo_lock(&stages->lock);
    struct halo_queue *queues[] = {stages->to_filter, stages->in_gate};
    stages->to_filter = stages->in_gate = NULL;
    halo_unlock(&stages->lock);
    halo_queue_destroy(queues[0]);
    halo_queue_destroy(queues[1]);
}

void halo_live_stages_destroy(struct halo_live_stages *stages)
{
    if (!stages)
        return;
    halo_live_stages_close(stages);
    av_free(stages);
}

void halo_live_stages_abort(struct halo_live_stages *stages)
{
    halo_lock(&stages->lock);
    if (stages->to_filter)
        halo_queue_abort(stages->to_filter);
    if (stages->in_gate)
        halo_queue_abort(stages->in_gate);
    halo_unlock(&stages->lock);
}

int halo_live_stages_give(struct halo_live *live, const struct halo_item *item)
{
    struct halo_queue *to = live->stages->to_filter;
    return live->live ? halo_queue_put_newest(to, *item) : halo_queue_put(to, *item);
}

static int start_filters(struct halo_live *live, struct halo_error *err)
{
    struct halo_live_stages *stages = live->stages;
    int code =
        halo_thread_start(&stages->filter_thread, "filter", halo_live_filter_main, live, err);
    if (code < 0)
        return code;
    code = halo_thread_start(&stages->collect_thread, "collect", halo_live_collect_main, live, err);
    if (code < 0) {
        halo_queue_abort(stages->to_filter);
        halo_thread_join(stages->filter_thread);
        return code;
    }
    stages->running = true;
    return 0;
}

void halo_live_end_stages(struct halo_live *live)
{
    struct halo_live_stages *stages = live->stages;
    if (stages->running) {
        halo_queue_put(stages->to_filter, (struct halo_item){.kind = HALO_ITEM_END});
        halo_thread_join(stages->filter_thread);
        halo_thread_join(stages->collect_thread);
    }
    stages->running = false;
    halo_live_encodings_end(live->encodings);
}

/* ---- restart ---- */

/* Whether the format must be kept. Under `forming`. */
static bool is_bound(struct halo_live *live)
{
    if (!live->format || !live->format->made_up)
        return true;
    return halo_live_encodings_are_bound(live->encodings);
}

/* Removes the format and everything made for it, except the chains, and resets the encodings. */
static void take_down(struct halo_live *live)
{
    /* requests wait from now on, while older frames are output */
    halo_live_lineups_turn(live->lineups);
    halo_live_end_stages(live);
    halo_live_lineups_keep(live->lineups);
    halo_live_encodings_reset(live->encodings, halo_live_cards_drop(live->cards));
    halo_live_format_destroy(live->format);
    live->format = NULL;
    halo_live_lineups_turned(live->lineups);
    live->post(live, HALO_LIVE_FORM, 0);
}

/* ---- start with a session ---- */

int halo_live_begin_stages(struct halo_live *live, const struct halo_live_input *in,
                           bool *ret_fatal, struct halo_error *err)
{
    halo_lock(&live->stages->forming);
    if (in && !is_bound(live))
        take_down(live);
    const bool needed = !live->format;
    int code = needed ? halo_live_make_lineup(live, in, err) : 0;
    if (code >= 0 && needed)
        code = halo_live_encodings_start(live->encodings, halo_live_encode_main, err);
    if (code >= 0 && needed)
        code = start_filters(live, err);
    *ret_fatal = code < 0 && live->format;
    halo_unlock(&live->stages->forming);
    return code;
}

void halo_live_wait_described(struct halo_live *live)
{
    const int64_t until = halo_now_ns() + DESCRIBE_S * INT64_C(1000000000);
    halo_live_encodings_wait(live, until);
}
