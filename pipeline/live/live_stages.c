/* SPDX-License-Identifier: BSD-2-Clause
 * The threads between the source of a live stream and its packets: begun with the shape of the
 * pictures, and begun anew where that was made up and the source now says what they are. */
#include "pipeline/base/thread.h"
#include "pipeline/live/live_private.h"

enum { DESCRIBE_S = 5 }; /* for encoders to be described, before pictures come without that */

static int start_filters(struct halo_live *live, struct halo_error *err)
{
    int ret = halo_thread_start(&live->filter_thread, "filter", halo_live_filter_main, live, err);
    if (ret < 0)
        return ret;
    ret = halo_thread_start(&live->collect_thread, "collect", halo_live_collect_main, live, err);
    if (ret < 0) {
        halo_queue_abort(live->to_filter);
        pthread_join(live->filter_thread, NULL);
        return ret;
    }
    live->staged = true;
    return 0;
}

void halo_live_end_stages(struct halo_live *live)
{
    const struct halo_item end = {.kind = HALO_ITEM_END};
    if (live->staged) {
        halo_queue_put(live->to_filter, end);
        pthread_join(live->filter_thread, NULL);
        pthread_join(live->collect_thread, NULL);
    }
    live->staged = false;
    halo_live_encodings_end(live->encodings);
}

/* ---- anew ---- */

/* Whether the shape has to stay. Under `forming`. */
static bool is_bound(struct halo_live *live)
{
    if (!live->shape || !live->shape->made_up)
        return true;
    return halo_live_encodings_are_bound(live->encodings);
}

/* Nothing is left of the shape but the chains, and encodings as they were before they began. */
static void take_down(struct halo_live *live)
{
    halo_live_lineups_turn(live->lineups); /* what is asked for waits: older pictures come out */
    halo_live_end_stages(live);
    halo_live_lineups_keep(live->lineups);
    halo_live_encodings_reset(live->encodings, halo_live_cards_drop(live->cards));
    halo_live_shape_destroy(live->shape);
    live->shape = NULL;
    halo_live_lineups_turned(live->lineups);
    halo_live_aside_look(live->aside);
    halo_live_cards_look(live->cards);
}

/* ---- with a session ---- */

int halo_live_begin_stages(struct halo_live *live, const struct halo_live_input *in,
                           bool *ret_fatal, struct halo_error *err)
{
    pthread_mutex_lock(&live->forming);
    if (in && !is_bound(live))
        take_down(live);
    const bool needed = !live->shape;
    int ret = needed ? halo_live_form(live, in, err) : 0;
    if (ret >= 0 && needed)
        ret = halo_live_encodings_start(live->encodings, err);
    if (ret >= 0 && needed)
        ret = start_filters(live, err);
    *ret_fatal = ret < 0 && live->shape;
    pthread_mutex_unlock(&live->forming);
    return ret;
}

void halo_live_wait_described(struct halo_live *live)
{
    const int64_t until = halo_now_ns() + DESCRIBE_S * INT64_C(1000000000);
    halo_live_encodings_wait(live, until);
}
