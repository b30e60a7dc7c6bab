/* SPDX-License-Identifier: BSD-2-Clause
 * The encodings of a live stream. */
#include "pipeline/stream/live_encodings.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "config/base/thread.h"
#include "config/base/thread.h"
#include "config/output_kinds.h"
#include "kernels/clock.h"
#include "pipeline/gate/gate.h"
#include "pipeline/gate/queue.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_encoding.h"
#include "pipeline/stream/live_figures.h"
#include "pipeline/stream/live_snapshots.h"
#include "pipeline/stream/live_stream.h"

enum { SOUNDS = 512 }; /* audio packets that may wait for an encoding */

static int init(struct halo_live_encodings *all, struct halo_live *live)
{
    all->count = halo_encodings(&live->settings, all->what, all->of);
    for (int i = 0; i < all->count; i++) {
        struct halo_live_encoding *e = &all->at[i];
        e->live = live;
        e->number = i;
        e->what = &all->what[i];
        e->queue = halo_queue_create(HALO_QUEUE_PICTURES, SOUNDS);
        if (!e->queue)
            return -ENOMEM;
        for (int o = 0; o < live->settings.outputs; o++) {
            const struct halo_output_settings *output = &live->settings.output[o];
            const struct halo_viewer_format *format = halo_output_format(output);
            const struct halo_output_row *row = halo_output_row(output);
            e->pushes |= all->of[o] == i && row->writer == HALO_WRITER_ENGINE && !row->records;
            e->bound |= all->of[o] == i && format && format->rigid;
        }
    }
    return 0;
}

int halo_live_encodings_create(struct halo_live_encodings **ret, struct halo_live *live)
{
    struct halo_live_encodings *all = av_mallocz(sizeof *all);
    const int code = all ? init(all, live) : -ENOMEM;
    if (code < 0)
        halo_live_encodings_destroy(all);
    else
        *ret = all;
    return code;
}

void halo_live_encodings_destroy(struct halo_live_encodings *all)
{
    if (!all)
        return;
    for (int i = 0; i < all->count; i++)
        halo_queue_destroy(all->at[i].queue);
    av_free(all);
}

/* ---- the thread that starts and ends the stages ---- */

int halo_live_encodings_start(struct halo_live_encodings *all, void *(*main)(void *),
                              struct halo_error *err)
{
    for (int i = 0; i < all->count; i++) {
        struct halo_live_encoding *e = &all->at[i];
        halo_live_sound_choose(e);
        const int code = halo_thread_start(&e->thread, "encode", main, e, err);
        if (code < 0)
            return code;
        e->running = true;
    }
    return 0;
}

void halo_live_encodings_end(struct halo_live_encodings *all)
{
    const struct halo_item end = {.kind = HALO_ITEM_END};
    for (int i = 0; i < all->count; i++)
        if (all->at[i].running)
            halo_queue_put(all->at[i].queue, end);
    for (int i = 0; i < all->count; i++) {
        if (all->at[i].running)
            halo_thread_join(all->at[i].thread);
        all->at[i].running = false;
    }
}

void halo_live_encodings_reset(struct halo_live_encodings *all, int64_t cards)
{
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++) {
        all->at[i].cards = cards;
        all->at[i].retry = 0;
        all->at[i].passing.described = false;
    }
    halo_unlock(&all->lock);
}

bool halo_live_encodings_are_bound(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        if (all->at[i].bound && halo_live_encoding_runs(&all->at[i]))
            return true;
    return false;
}

void halo_live_encodings_wait(const struct halo_live *live, int64_t until)
{
    struct halo_live_encodings *all = live->encodings;
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++)
        while (!all->at[i].passing.described && !halo_live_stopped(live) &&
               halo_cond_wait(&all->changed, &all->lock, until))
            ;
    halo_unlock(&all->lock);
}

/* ---- any thread ---- */

bool halo_live_encodings_run(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        if (halo_live_encoding_runs(&all->at[i]))
            return true;
    return false;
}

static void wake_for_card(struct halo_live_encoding *e)
{
    halo_queue_put_newest(e->queue, (struct halo_item){.kind = HALO_ITEM_PACKET});
}

void halo_live_watch(struct halo_live *live, int encoding, bool watched)
{
    if (encoding < 0 || encoding >= live->encodings->count)
        return;
    struct halo_live_encoding *e = &live->encodings->at[encoding];
    if (watched)
        atomic_store(&e->key, true);
    atomic_store(&e->watched, watched);
    if (!watched) /* its thread checks whether it still needs an encoder */
        wake_for_card(e);
    live->post(live, watched ? HALO_LIVE_WATCHED : HALO_LIVE_ALONE, 0);
}

void halo_live_key_frame(struct halo_live *live, int encoding)
{
    if (encoding >= 0 && encoding < live->encodings->count)
        atomic_store(&live->encodings->at[encoding].key, true);
}

void halo_live_encodings_wake_for_cards(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        wake_for_card(&all->at[i]);
}

void halo_live_encodings_wake(struct halo_live_encodings *all)
{
    halo_lock(&all->lock);
    halo_cond_broadcast(&all->changed);
    halo_unlock(&all->lock);
}

void halo_live_encodings_abort(struct halo_live_encodings *all)
{
    for (int i = 0; i < all->count; i++)
        halo_queue_abort(all->at[i].queue);
    halo_live_encodings_wake(all);
}

/* ---- frames ---- */

/* Changes the number of frames that wait for this encoding by `by`. */
static void count_waiting(struct halo_live_encoding *e, int by)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    e->passing.waiting += by;
    halo_unlock(&all->lock);
    if (by < 0)
        e->live->post(e->live, HALO_LIVE_WENT_ON, 0);
}

/* Queues a filtered frame. Returns the number of frames that were dropped for it, or -ECANCELED. */
static int give(struct halo_live_encoding *e, const struct halo_item *item)
{
    count_waiting(e, 1);
    const int code =
        e->live->live ? halo_queue_put_newest(e->queue, *item) : halo_queue_put(e->queue, *item);
    if (code != 0) /* so many older frames were dropped, or this one */
        count_waiting(e, code > 0 ? -code : -1);
    return code;
}

static void give_encoding(struct halo_live *live, struct halo_live_encoding *e,
                          const struct halo_item *item, const struct halo_output_picture *picture)
{
    struct halo_item out = {.kind = HALO_ITEM_OUTPUT,
                            .epoch = halo_output_picture_epoch(picture),
                            .decoded = item->decoded,
                            .output = halo_output_picture_ref(picture)};
    const int dropped = out.output ? give(e, &out) : 1;
    halo_live_drop(live->figures, HALO_DROP_ENCODER, dropped);
    if (dropped > 0)
        halo_live_count_late(live->figures, e->number, dropped);
}

static void count_left(struct halo_live *live, const struct halo_graph *graph)
{
    const struct halo_coverage *coverage[HALO_GRAPH_CHAINS];
    for (int i = 0; i < graph->chains; i++)
        coverage[i] = halo_gate_coverage(graph->gate[graph->of[i]].gate);
    halo_live_count_left(live->figures, graph->epoch, coverage, graph->chains);
}

void halo_live_left(struct halo_live *live, const struct halo_item *item,
                    struct halo_output_picture *picture)
{
    halo_live_time(live->figures, HALO_LIVE_FILTER, halo_now_ns() - item->entered);
    if (item->track == 0) {
        count_left(live, item->graph);
        halo_live_snapshots_give(live, picture);
        live->post(live, HALO_LIVE_LEFT, halo_output_picture_frame(picture)->pts);
    }
    for (int i = 0; i < live->encodings->count; i++) {
        struct halo_live_encoding *e = &live->encodings->at[i];
        if (item->graph->of[e->what->rendition] == item->track && halo_live_encoding_runs(e))
            give_encoding(live, e, item, picture);
    }
    halo_output_picture_destroy(picture);
}

void halo_live_encodings_take(struct halo_live_encoding *e, int64_t epoch)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    e->passing.epoch = epoch;
    halo_unlock(&all->lock);
    e->live->post(e->live, HALO_LIVE_WENT_ON, 0);
}

void halo_live_encodings_note(struct halo_live_encoding *e, int pictures, bool holds)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    e->passing.waiting -= pictures;
    e->passing.holds = holds;
    halo_unlock(&all->lock);
    e->live->post(e->live, HALO_LIVE_WENT_ON, 0);
}

void halo_live_encodings_described(struct halo_live_encoding *e)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    e->passing.described = true;
    halo_cond_broadcast(&all->changed);
    halo_unlock(&all->lock);
}

bool halo_live_encodings_lets_go(struct halo_live_encoding *e)
{
    struct halo_live_encodings *all = e->live->encodings;
    halo_lock(&all->lock);
    const bool ret = e->passing.let_go;
    e->passing.let_go = false;
    halo_unlock(&all->lock);
    return ret;
}

int64_t halo_live_encodings_oldest(struct halo_live_encodings *all)
{
    int64_t oldest = INT64_MAX;
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++) {
        const struct halo_live_passing *p = &all->at[i].passing;
        if ((p->waiting || p->holds) && p->epoch < oldest)
            oldest = p->epoch;
    }
    halo_unlock(&all->lock);
    return oldest;
}

void halo_live_encodings_let_go(struct halo_live_encodings *all, int64_t epoch)
{
    halo_lock(&all->lock);
    for (int i = 0; i < all->count; i++) {
        struct halo_live_passing *p = &all->at[i].passing;
        if (!p->holds || p->let_go || p->waiting || p->epoch >= epoch)
            continue;
        p->let_go = true;
        wake_for_card(&all->at[i]);
    }
    halo_unlock(&all->lock);
}
