/* SPDX-License-Identifier: BSD-2-Clause
 * Several streams at once (streams.h). */
#include "tools/halo-bench/streams.h"

#include <errno.h>
#include <stdlib.h>

#include "config/base/thread.h"

/* Where all wait until each of them is ready. */
struct start {
    struct halo_mutex lock;
    struct halo_cond changed;
    int ready;
    enum { WAIT, GO, GIVE_UP } say;
};

struct stream {
    struct halo_bench_lanes *lanes;
    struct halo_bench_pass pass;
    struct start *start;
    double fps, offset;
    int frames, rc;
};

static bool wait_for_start(struct start *start)
{
    halo_lock(&start->lock);
    start->ready++;
    halo_cond_broadcast(&start->changed);
    while (start->say == WAIT)
        halo_cond_wait(&start->changed, &start->lock, INT64_MAX);
    const bool go = start->say == GO;
    halo_unlock(&start->lock);
    return go;
}

static void *run(void *arg)
{
    struct stream *s = arg;
    const int lanes = s->lanes->count;
    /* What is allocated for the first frame of each lane is no part of the time. */
    s->rc = halo_bench_lanes_run(s->lanes, lanes, lanes, &s->pass);
    if (s->fps > 0)
        halo_frame_measure(s->lanes->lane[0].backend);
    if (!wait_for_start(s->start) || s->rc < 0)
        return NULL;
    if (s->fps > 0)
        s->rc = halo_bench_lanes_pace(s->lanes, s->fps, s->offset, s->frames, &s->pass);
    else
        s->rc = halo_bench_lanes_run(s->lanes, lanes, s->frames, &s->pass);
    return NULL;
}

/* Lets them all go when all are ready; takes the times where that has been. */
static void let_go(struct start *start, int count, bool go, double *ret_begin, double *ret_cpu)
{
    halo_lock(&start->lock);
    while (go && start->ready < count)
        halo_cond_wait(&start->changed, &start->lock, INT64_MAX);
    *ret_begin = halo_bench_now();
    *ret_cpu = halo_bench_cpu_time();
    start->say = go ? GO : GIVE_UP;
    halo_cond_broadcast(&start->changed);
    halo_unlock(&start->lock);
}

static int sum_up(const struct stream *all, int count, struct halo_bench_streams *ret)
{
    int code = 0;
    for (int i = 0; i < count; i++) {
        code = code < 0 ? code : all[i].rc;
        ret->frames += all[i].frames;
        ret->late += all[i].pass.late;
        ret->rate += all[i].rc < 0 ? 0 : all[i].frames / all[i].pass.seconds;
        ret->submit_us += all[i].pass.submit_us / count;
        ret->kernels_us += all[i].pass.kernels_us / count;
    }
    return code;
}

static int run_all(struct stream *all, struct halo_thread *threads, int count,
                   struct halo_bench_streams *ret)
{
    struct start start = {.say = WAIT};
    double begin, cpu;
    int made = 0, code = 0;
    for (; made < count && code == 0; made += code == 0) {
        all[made].start = &start;
        code = halo_thread_start(&threads[made], "stream", run, &all[made], NULL);
    }
    let_go(&start, made, code == 0, &begin, &cpu);
    for (int i = 0; i < made; i++)
        halo_thread_join(threads[i]);
    *ret = (struct halo_bench_streams){.frames = 0};
    const double seconds = halo_bench_now() - begin, used = halo_bench_cpu_time() - cpu;
    code = code < 0 ? code : sum_up(all, count, ret);
    if (code == 0 && all[0].fps <= 0)
        ret->rate = ret->frames / seconds;
    ret->cpu_us = code < 0 ? 0 : used / ret->frames * 1e6;
    return code;
}

int halo_bench_streams_run(struct halo_bench_lanes *streams, int count, double fps, int frames,
                           double *us, struct halo_bench_streams *ret)
{
    struct stream *all = calloc((size_t)count, sizeof *all);
    struct halo_thread *threads = calloc((size_t)count, sizeof *threads);
    int code = -ENOMEM;
    if (all && threads) {
        for (int i = 0; i < count; i++)
            all[i] = (struct stream){.lanes = &streams[i],
                                     .fps = fps,
                                     .offset = fps > 0 ? i / fps / count : 0,
                                     .frames = frames,
                                     .pass.us = us ? us + (size_t)i * (size_t)frames : NULL};
        code = run_all(all, threads, count, ret);
    }
    free(all);
    free(threads);
    return code;
}
