/* SPDX-License-Identifier: BSD-2-Clause
 * The filter and the collect stage (stages.h). */
#include "pipeline/stream/stages.h"

#include <errno.h>
#include <libavutil/mem.h>

#include "config/base/log.h"
#include "kernels/clock.h"
#include "pipeline/detect/detect.h"
#include "pipeline/detect/replay.h"
#include "pipeline/gate/frozen.h"
#include "pipeline/gate/gate.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"

enum { PACKETS = 512 }; /* that may wait in a queue beside frames */

int halo_stage_put(struct halo_stats *stats, struct halo_queue *to, struct halo_item item,
                   enum halo_stage wait)
{
    const int64_t begin = halo_stats_begin(stats, wait);
    const int code = halo_queue_put(to, item);
    halo_stats_end(stats, wait, begin);
    return code;
}

int halo_stage_get(struct halo_stats *stats, struct halo_queue *from, struct halo_item *ret,
                   enum halo_stage wait)
{
    const int64_t begin = halo_stats_begin(stats, wait);
    const int code = halo_queue_get(from, ret);
    halo_stats_end(stats, wait, begin);
    return code;
}

int halo_stages_give(struct halo_stages *s, struct halo_item item)
{
    return s->set.drops ? halo_queue_put_newest(s->to_filter, item)
                        : halo_stage_put(s->set.stats, s->to_filter, item, HALO_STAGE_DECODED_WAIT);
}

/* ---- the filter thread ---- */

/* The next item; frames come with what detectors found in them, as the newest graph needs it. */
static int take(struct halo_stages *s, struct halo_item *ret, struct halo_error *err)
{
    struct halo_chain_needs needs;
    halo_graphs_needs(s->set.graphs, &needs);
    const enum halo_stage wait =
        needs.hidden || needs.shown ? HALO_STAGE_DETECT_WAIT : HALO_STAGE_FILTER_WAIT;
    const int64_t begin = halo_stats_begin(s->set.stats, wait);
    int code = halo_detect_need(s->set.detect, &needs);
    if (code < 0)
        code = halo_fail(err, code, "out of memory");
    else
        code = halo_detect_get(s->set.detect, s->to_filter, ret, err);
    halo_stats_end(s->set.stats, wait, begin);
    return code;
}

/* A frame has left a gate, or will not enter it: a change of filters may wait for that. */
static void count_out(struct halo_stages *s, struct halo_graph *graph, bool whole)
{
    halo_graphs_leave(s->set.graphs, graph, whole);
    if (s->set.live)
        s->set.live->post(s->set.live, HALO_LIVE_WENT_ON, 0);
}

/* Lets a frame enter one gate. 0, or -ECANCELED. */
static int enter(struct halo_stages *s, struct halo_graph *graph, int gate,
                 const struct halo_item *raw)
{
    struct halo_error err = {0};
    struct halo_item item = {.kind = HALO_ITEM_PENDING,
                             .track = gate,
                             .graph = graph,
                             .decoded = raw->decoded,
                             .entered = halo_now_ns()};
    int code = halo_gate_enter(graph->gate[gate].gate, raw->raw, &item.pending, &err);
    if (code >= 0 && s->set.frozen) {
        code = halo_frozen_check(s->set.frozen, &err);
        if (code < 0 || halo_frozen_takes(s->set.frozen)) {
            halo_pending_destroy(item.pending);
            item.pending = NULL;
        }
    }
    if (code >= 0 && item.pending)
        return halo_stage_put(s->set.stats, s->in_gate, item, HALO_STAGE_FILTERED_WAIT);
    if (code < 0 && code != -ECANCELED)
        code = s->set.lose(s->set.arg, code, &err);
    count_out(s, graph, false);
    return code;
}

/* Lets a frame enter every gate of its track. *graph: that of the frame before. */
static int enter_all(struct halo_stages *s, struct halo_graph **graph, const struct halo_item *raw)
{
    int code = 0;
    *graph = halo_graphs_enter(s->set.graphs, *graph, raw->track);
    for (int g = 0; g < (*graph)->gates && code >= 0; g++)
        if ((*graph)->gate[g].track == raw->track)
            code = enter(s, *graph, g, raw);
    return code;
}

static void *filter_main(void *arg)
{
    struct halo_stages *s = arg;
    struct halo_graph *graph = NULL;
    struct halo_error err = {0};
    struct halo_item item = {.kind = HALO_ITEM_PACKET};
    int code = 0;
    if (s->set.name)
        halo_log_set_stream(s->set.name);
    while (code >= 0 && item.kind != HALO_ITEM_END) {
        code = take(s, &item, &err);
        if (code < 0) {
            if (code != -ECANCELED)
                s->set.fail(s->set.arg, code, &err);
        } else if (item.kind != HALO_ITEM_RAW) {
            code = halo_stage_put(s->set.stats, s->in_gate, item, HALO_STAGE_FILTERED_WAIT);
        } else {
            if (!s->set.frozen ||
                halo_frozen_enter(s->set.frozen,
                                  s->set.replay ? halo_replay_frame(s->set.replay) : -1))
                code = enter_all(s, &graph, &item);
            halo_item_finish(&item);
        }
    }
    return NULL;
}

/* ---- the collect thread ---- */

/* Waits for a frame in a gate, and passes it on. 0, or -ECANCELED. */
static int leave(struct halo_stages *s, struct halo_item *item)
{
    struct halo_graph *graph = item->graph;
    const int gate = item->track;
    struct halo_error err = {0};
    struct halo_output_frame *frame = NULL;
    int code = halo_gate_leave(item->pending, graph->epoch, &frame, &err);
    halo_graphs_forget_older(s->set.graphs, graph);
    graph->failed = (graph->failed && gate > 0) || code < 0;
    if (code >= 0 && s->set.live) {
        halo_live_left(s->set.live, item, frame);
    } else if (code >= 0) {
        const struct halo_item output = {
            .kind = HALO_ITEM_OUTPUT, .track = graph->gate[gate].track, .output = frame};
        code = halo_stage_put(s->set.stats, s->set.to_encode, output, HALO_STAGE_COLLECTED_WAIT);
    } else if (code != -ECANCELED) {
        code = s->set.lose(s->set.arg, code, &err);
    }
    const bool whole = frame && gate == graph->gates - 1 && !graph->failed;
    count_out(s, graph, whole);
    if (whole && s->set.live)
        halo_live_report_running(s->set.live->status, item->decoded);
    return code;
}

static void *collect_main(void *arg)
{
    struct halo_stages *s = arg;
    struct halo_item item = {.kind = HALO_ITEM_PACKET};
    int code = 0;
    if (s->set.name)
        halo_log_set_stream(s->set.name);
    while (code >= 0 && item.kind != HALO_ITEM_END) {
        code = halo_stage_get(s->set.stats, s->in_gate, &item, HALO_STAGE_COLLECT_WAIT);
        if (code >= 0 && item.kind == HALO_ITEM_PENDING)
            code = leave(s, &item);
        else if (code >= 0 && s->set.to_encode)
            code = halo_stage_put(s->set.stats, s->set.to_encode, item, HALO_STAGE_COLLECTED_WAIT);
    }
    return NULL;
}

/* ---- their life ---- */

struct halo_stages *halo_stages_create(void)
{
    struct halo_stages *s = av_mallocz(sizeof *s);
    if (!s)
        return NULL;
    s->to_filter = halo_queue_create(HALO_QUEUE_FRAMES, PACKETS);
    s->in_gate = halo_queue_create(HALO_RING_MAX, PACKETS);
    if (s->to_filter && s->in_gate)
        return s;
    halo_stages_destroy(s);
    return NULL;
}

void halo_stages_close(struct halo_stages *s)
{
    halo_lock(&s->lock);
    struct halo_queue *queues[] = {s->to_filter, s->in_gate};
    s->to_filter = s->in_gate = NULL;
    halo_unlock(&s->lock);
    halo_queue_destroy(queues[0]);
    halo_queue_destroy(queues[1]);
}

void halo_stages_destroy(struct halo_stages *s)
{
    if (!s)
        return;
    halo_stages_close(s);
    av_free(s);
}

void halo_stages_abort(struct halo_stages *s)
{
    halo_lock(&s->lock);
    if (s->to_filter)
        halo_queue_abort(s->to_filter);
    if (s->in_gate)
        halo_queue_abort(s->in_gate);
    halo_unlock(&s->lock);
}

int halo_stages_start(struct halo_stages *s, struct halo_error *err)
{
    int code = halo_thread_start(&s->filter, "filter", filter_main, s, err);
    if (code < 0)
        return code;
    code = halo_thread_start(&s->collect, "collect", collect_main, s, err);
    if (code < 0) {
        halo_queue_abort(s->to_filter);
        halo_thread_join(s->filter);
    }
    s->running = code == 0;
    return code;
}

void halo_stages_end(struct halo_stages *s)
{
    if (!s->running)
        return;
    halo_queue_put(s->to_filter, (struct halo_item){.kind = HALO_ITEM_END});
    halo_thread_join(s->filter);
    halo_thread_join(s->collect);
    s->running = false;
}
