/* SPDX-License-Identifier: BSD-2-Clause
 * Times in turns: whatever else the machine does then meets all candidates alike. */
#include "tools/halo-bench/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/backend_cuda.h"
#include "tools/halo-bench/npp.h"

enum {
    TURNS = 4,
    UNCOUNTED = 3,    /* rounds of every call that do not count: warm-up, and one for making */
    PROBE_PART = 16,  /* of the rows of a plane */
    PROBE_ROWS = 128, /* at least */
};

/* How one candidate is timed, and what has been. */
struct progress {
    int turns, rounds, planes; /* turns 0: left out */
    double *us;
    int done;
};

static void note(struct halo_bench_candidate *c, const char *text)
{
    snprintf(c->note, sizeof c->note, "%s", text);
}

static const char *cause(const struct halo_bench_job *plan, int rc)
{
    const bool cuda = !strcmp(plan->backend->ops->name, "cuda");
    const char *text = cuda ? halo_cuda_error_text(plan->backend) : "";
    return *text ? text : strerror(-rc);
}

/* One call; a positive rc is a peer's refusal. */
static int time_one(const struct halo_bench_job *plan, struct halo_bench_candidate *c,
                    const struct halo_trial *shape, double *us)
{
    struct halo_trial trial = *shape;
    trial.conv = c->conv;
    trial.strategy = c->strategy;
    trial.yuv420 = plan->yuv420;
    trial.region = plan->region;
    int code = 0, rc;
    if (c->npp)
        rc = halo_bench_npp_time(c->npp, c->mask, &trial, us, &code);
    else
        rc = halo_backend_time(plan->backend, &trial, us);
    if (code) {
        snprintf(c->note, sizeof c->note, "refused (code %d)", code);
        return 1;
    }
    if (rc < 0) {
        snprintf(c->note, sizeof c->note, "failed: %.120s", cause(plan, rc));
        c->failed = true;
    }
    return rc;
}

/* Microseconds for a plane, about: first by a part of one, and by a whole one if that is quick. */
static int estimate(const struct halo_bench_job *plan, struct halo_bench_candidate *c,
                    double *ret_us)
{
    struct halo_trial trial = {.like = plan->like, .planes = 1, .rounds = 1, .calls = plan->launch};
    int rows = plan->like.height / PROBE_PART;
    rows = rows > PROBE_ROWS ? rows : PROBE_ROWS;
    trial.like.height = rows < plan->like.height ? rows : plan->like.height;
    double us;
    int code = time_one(plan, c, &trial, &us);
    us *= (double)plan->like.height / trial.like.height;
    if (code == 0 && trial.like.height < plan->like.height && us * 10 < plan->limit * 1e6) {
        trial.like.height = plan->like.height;
        code = time_one(plan, c, &trial, &us);
    }
    if (code == 0)
        *ret_us = us;
    return code;
}

/* Fits rounds into the limit. */
static void schedule(const struct halo_bench_job *plan, struct halo_bench_candidate *c,
                     struct progress *p, double us)
{
    const double passes = plan->limit * 1e6 / (us * plan->planes); /* over all planes */
    *p = (struct progress){.turns = plan->rounds < TURNS ? plan->rounds : TURNS,
                           .rounds = plan->rounds,
                           .planes = plan->planes,
                           .us = p->us};
    if (passes >= p->turns * UNCOUNTED + plan->rounds)
        return;
    if (us > plan->limit * 1e6) {
        p->turns = 0;
        snprintf(c->note, sizeof c->note, "skipped: one plane takes about %.3g s (see --limit)",
                 us / 1e6);
    } else if (passes >= UNCOUNTED + 1) {
        p->turns = passes >= p->turns * (UNCOUNTED + 1) ? p->turns : 1;
        p->rounds = (int)(passes < 1e6 ? passes : 1e6) - p->turns * UNCOUNTED;
        if (p->rounds < plan->rounds)
            note(c, "slow: timed with fewer rounds");
    } else {
        p->turns = p->rounds = 1;
        p->planes = (int)(plan->limit * 1e6 / (us * (UNCOUNTED + 1)));
        p->planes = p->planes > 1 ? p->planes : 1;
        note(c, "slow: timed with one round and fewer planes");
    }
    if (p->rounds > plan->rounds)
        p->rounds = plan->rounds;
}

static int one_turn(const struct halo_bench_job *plan, struct halo_bench_candidate *c,
                    struct progress *p, int turn)
{
    if (turn >= p->turns)
        return 0;
    const int until = p->rounds * (turn + 1) / p->turns;
    const struct halo_trial trial = {
        .like = plan->like, .planes = p->planes, .rounds = until - p->done, .calls = plan->launch};
    const int code = time_one(plan, c, &trial, p->us + p->done);
    if (code == 0)
        p->done = until;
    else
        p->turns = 0;
    return code;
}

static int measure_all(const struct halo_bench_job *plan, struct halo_bench_candidate *candidates,
                       int count, struct progress *all)
{
    int code = 0;
    for (int i = 0; i < count && code >= 0; i++) {
        double us;
        code = estimate(plan, &candidates[i], &us);
        if (code == 0)
            schedule(plan, &candidates[i], &all[i], us);
    }
    for (int turn = 0; turn < TURNS && code >= 0; turn++)
        for (int i = 0; i < count && code >= 0; i++)
            code = one_turn(plan, &candidates[i], &all[i], turn);
    for (int i = 0; i < count; i++) {
        if (all[i].done == 0)
            continue;
        candidates[i].us = halo_bench_stats_of(all[i].us, all[i].done);
        candidates[i].rounds = all[i].done;
        candidates[i].planes = all[i].planes;
    }
    return code < 0 ? code : 0;
}

int halo_bench_measure(const struct halo_bench_job *plan, struct halo_bench_candidate *candidates,
                       int count)
{
    struct progress *all = calloc((size_t)count, sizeof *all);
    double *us = calloc((size_t)count * (size_t)plan->rounds, sizeof *us);
    int code = -ENOMEM;
    if (all && us) {
        for (int i = 0; i < count; i++)
            all[i].us = us + (size_t)i * (size_t)plan->rounds;
        code = measure_all(plan, candidates, count, all);
    }
    free(us);
    free(all);
    return code;
}
