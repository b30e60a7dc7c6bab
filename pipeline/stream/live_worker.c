/* SPDX-License-Identifier: BSD-2-Clause
 * The worker of a live stream (live_worker.h). */
#include "pipeline/stream/live_worker.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/log.h"
#include "kernels/clock.h"
#include "config/base/thread.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_snapshots.h"
#include "pipeline/stream/live_stream.h"

enum { REQUESTS = 16 }; /* changes that may wait */

static const int64_t SECOND = INT64_C(1000000000);
static const double SET_TIME = 1.5; /* seconds */

/* A halo_live_set() whose graph has been built but is not confirmed yet. */
struct change {
    uint64_t id;
    int64_t epoch;
    /* ns: from then on it is confirmed even if no frame has passed the new filters */
    int64_t until;
};

struct halo_live_worker {
    struct halo_thread thread;
    bool started; /* the thread is to be joined */

    struct halo_mutex lock; /* of what follows */
    struct halo_cond changed;
    bool news;                          /* something has changed since the thread last checked */
    bool over;                          /* no more requests are accepted */
    struct halo_graph *asked[REQUESTS]; /* graphs to be built, in order */
    int asked_count;
    struct change change[REQUESTS]; /* in order; owned by the thread, except for their count */
    int changes;
};

int halo_live_worker_create(struct halo_live_worker **ret)
{
    struct halo_live_worker *worker = av_mallocz(sizeof *worker);
    if (!worker)
        return -ENOMEM;
    *ret = worker;
    return 0;
}

void halo_live_worker_destroy(struct halo_live_worker *worker)
{
    if (!worker)
        return;
    for (int i = 0; i < worker->asked_count; i++)
        halo_graph_destroy(worker->asked[i]);
    av_free(worker);
}

/* ---- other threads ---- */

/* Under the lock. */
static void wake(struct halo_live_worker *worker)
{
    worker->news = true;
    halo_cond_broadcast(&worker->changed);
}

void halo_live_worker_wake(struct halo_live_worker *worker)
{
    halo_lock(&worker->lock);
    wake(worker);
    halo_unlock(&worker->lock);
}

void halo_live_worker_went_on(struct halo_live_worker *worker)
{
    halo_lock(&worker->lock);
    if (worker->changes)
        wake(worker);
    halo_unlock(&worker->lock);
}

int halo_live_set(struct halo_live *live, uint64_t id, const char *const *chains,
                  struct halo_error *err)
{
    struct halo_live_worker *worker = live->worker;
    struct halo_graph *graph;
    int code = halo_graph_parse(&graph, chains, live->settings.renditions + 1,
                                (enum halo_privacy)live->settings.privacy, err);
    if (code < 0)
        return code;
    graph->id = id;
    halo_lock(&worker->lock);
    const bool over = atomic_load(&live->done) || worker->over;
    if (over || worker->asked_count == REQUESTS)
        code = over ? halo_fail(err, -ECANCELED, "the stream has ended")
                    : halo_fail(err, -EBUSY, "too many changes are waiting: try again later");
    else
        worker->asked[worker->asked_count++] = graph;
    wake(worker);
    halo_unlock(&worker->lock);
    if (code < 0)
        halo_graph_destroy(graph);
    return code;
}

/* ---- changes ---- */

static void report_set(struct halo_live *live, uint64_t id, const struct halo_error *err)
{
    halo_live_tell_set(live->listener, id, err);
}

/* From now on, what is known about the chains in force is about these. */
static void confirm(struct halo_live *live, uint64_t id, int64_t epoch)
{
    halo_live_forget_coverage(live->counters, epoch);
    report_set(live, id, NULL);
}

static void refuse_over(struct halo_live *live, uint64_t id)
{
    struct halo_error err = {0};
    halo_fail(&err, -ECANCELED, "the stream has ended");
    report_set(live, id, &err);
}

/* The first graph requested, which stays in the list; NULL: none, or too many changes are in
 * progress. */
static struct halo_graph *first_asked(struct halo_live_worker *worker)
{
    halo_lock(&worker->lock);
    const bool may = worker->changes < REQUESTS && worker->asked_count;
    struct halo_graph *ret = may ? worker->asked[0] : NULL;
    halo_unlock(&worker->lock);
    return ret;
}

static void drop_first_asked(struct halo_live_worker *worker)
{
    halo_lock(&worker->lock);
    worker->asked_count--;
    memmove(worker->asked, worker->asked + 1, (size_t)worker->asked_count * sizeof *worker->asked);
    halo_unlock(&worker->lock);
}

static void add_change(struct halo_live_worker *worker, const struct halo_graph *graph)
{
    halo_lock(&worker->lock);
    worker->change[worker->changes++] = (struct change){
        .id = graph->id,
        .epoch = graph->epoch,
        .until = halo_now_ns() + (int64_t)(SET_TIME * (double)SECOND),
    };
    halo_unlock(&worker->lock);
}

static void drop_first_change(struct halo_live_worker *worker)
{
    halo_lock(&worker->lock);
    worker->changes--;
    memmove(worker->change, worker->change + 1, (size_t)worker->changes * sizeof *worker->change);
    halo_unlock(&worker->lock);
}

/* The oldest epoch of which a frame is between the filter thread and the end of an encoding;
 * INT64_MAX: none is. The parts are checked in the order in which frames pass them, so that none is
 * missed. */
static int64_t oldest_inside(const struct halo_live *live)
{
    const int64_t oldest = halo_graphs_oldest(live->graphs);
    return FFMIN(oldest, halo_live_encodings_oldest(live->encodings));
}

/* Answers the first change if all older frames are out. oldest: of the frames inside, determined
 * before it was checked that no snapshot has one. */
static bool answer_change(struct halo_live *live, int64_t oldest, bool over)
{
    if (!live->worker->changes)
        return false;
    const struct change first = live->worker->change[0];
    const bool sure = oldest >= first.epoch && atomic_load(&live->stop) != 2;
    const bool enough =
        halo_graphs_passed(live->graphs) >= first.epoch || halo_now_ns() >= first.until;
    if (!over && !(sure && enough))
        return false;
    drop_first_change(live->worker);
    if (sure)
        confirm(live, first.id, first.epoch);
    else
        refuse_over(live, first.id);
    return true;
}

/* Builds a graph and makes it active: from now on no frame enters under older chains. */
static void install(struct halo_live *live, struct halo_graph *graph)
{
    struct halo_error err = {0};
    const int code =
        halo_graph_build(graph, live->ring, &live->format->input, live->region_feed, &err);
    if (code < 0) {
        halo_fail(&err, code, "the new filters failed to start: %s", strerror(-code));
        report_set(live, graph->id, &err);
        halo_graph_destroy(graph);
        return;
    }
    add_change(live->worker, graph);
    halo_graphs_put(live->graphs, graph);
}

/* Reads the files that a graph needs; if that fails, the change is answered with the error and
 * dropped. */
static void load(struct halo_live *live, struct halo_graph *asked)
{
    struct halo_error err = {0};
    asked->loaded = halo_graph_load(asked, live->region_feed, &err) >= 0;
    if (asked->loaded)
        return;
    report_set(live, asked->id, &err);
    drop_first_asked(live->worker);
    halo_graph_destroy(asked);
}

/* Processes the first requested graph; false: not possible yet. */
static bool take_up(struct halo_live *live, struct halo_graph *asked, bool over)
{
    const uint64_t id = asked->id;
    const enum halo_forming forming = halo_graphs_take_up(live->graphs, asked);
    if (forming == HALO_REFORMING)
        return false;
    drop_first_asked(live->worker);
    if (forming == HALO_UNFORMED) {
        confirm(live, id, INT64_MAX); /* they become the chains to begin with */
        return true;
    }
    if (over) {
        refuse_over(live, id);
        halo_graph_destroy(asked);
    } else {
        install(live, asked);
    }
    halo_graphs_used(live->graphs);
    return true;
}

/* ---- the thread ---- */

/* Does one thing that is possible now; false: nothing was. Snapshots come first: they may show a
 * frame from before the change that is answered next. */
static bool do_one(struct halo_live *live, bool over)
{
    const int64_t oldest = oldest_inside(live);
    if (halo_live_snapshots_answer(live, over))
        return true;
    if (answer_change(live, oldest, over))
        return true;
    struct halo_graph *asked = first_asked(live->worker);
    if (asked && !asked->loaded) {
        load(live, asked);
        return true;
    }
    return asked && take_up(live, asked, over);
}

/* Changes after this call end the next wait. Returns whether no more requests will come. */
static bool begin_looking(struct halo_live_worker *worker)
{
    halo_lock(&worker->lock);
    worker->news = false;
    const bool over = worker->over;
    halo_unlock(&worker->lock);
    return over;
}

static void wait_for_news(struct halo_live *live)
{
    struct halo_live_worker *worker = live->worker;
    const bool timed = halo_live_snapshots_wait(live->snapshots) || worker->changes;
    halo_lock(&worker->lock);
    if (!worker->news)
        halo_cond_wait(&worker->changed, &worker->lock,
                       timed ? halo_now_ns() + SECOND / 10 : INT64_MAX);
    halo_unlock(&worker->lock);
}

static void *run(void *arg)
{
    struct halo_live *live = arg;
    struct halo_live_worker *worker = live->worker;
    halo_log_set_stream(live->settings.name);
    for (;;) {
        const bool over = begin_looking(worker);
        if (do_one(live, over))
            continue;
        if (over)
            return NULL;
        /* If no frame follows, nothing else makes an encoder output the frames that it holds. */
        if (worker->changes && halo_now_ns() >= worker->change[0].until)
            halo_live_encodings_let_go(live->encodings, worker->change[0].epoch);
        wait_for_news(live);
    }
}

int halo_live_worker_start(struct halo_live *live, struct halo_error *err)
{
    const int code = halo_thread_start(&live->worker->thread, "worker", run, live, err);
    live->worker->started = code == 0;
    return code;
}

void halo_live_worker_end(struct halo_live *live)
{
    struct halo_live_worker *worker = live->worker;
    halo_live_snapshots_close(live->snapshots);
    halo_lock(&worker->lock);
    worker->over = true;
    wake(worker);
    halo_unlock(&worker->lock);
    if (worker->started)
        halo_thread_join(worker->thread);
}
