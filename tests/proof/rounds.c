/* SPDX-License-Identifier: BSD-2-Clause
 * The mass of a proof (rounds.h). */
#include "tests/proof/rounds.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/run.h"
#include "kernels/clock.h"
#include "kernels/fault.h"
#include "pipeline/base/canary.h"
#include "tests/proof/player.h"

enum {
    MAX_WORKERS = 64,
    MAX_STREAMS = 32,
    WIDTH = 96,
    HEIGHT = 64,
    CLIP = 256,  /* frames */
    GRACE = 900, /* seconds: by then a process has ended, however busy the machine is */
    HUNG = 40,   /* the same, where its GPU may hang */
    TICK = 4000, /* us */
};

/* What happens in a process, by chance as often as it says. %u: where it happens. */
static const struct plan {
    unsigned weight;
    bool patient; /* it takes longer until somebody notices */
    const char *faults;
} plans[] = {
    {2, false, ""},
    {8, false, "submit:p=0.0015,finish:p=0.0015,event:p=0.001"},
    {4, false, "skip:p=0.02,epoch:p=0.002"},
    {8, false, "upload:p=0.001,poison:p=0.001,launch:p=0.001,download:p=0.001"},
    {8, false, "alloc:p=0.001,memory:p=0.02,time:p=0.01"},
    {10, false, "heap:p=0.0005,time:p=0.005"},
    {10, false, "code:p=0.0007,time:p=0.005"},
    {10, false, "heap:p=0.0003,code:p=0.0003,submit:p=0.0005,finish:p=0.0005,event:p=0.0003"},
    {6, false, "heap:p=0.01"},
    {6, false, "code:p=0.02"},
    {3, false, "launch:p=0.0005+,memory:p=0.01"},
    {3, false, "open:%u,heap:p=0.001"},
    {3, false, "illegal:p=0.0005,code:p=0.0002"},
    {3, false, "hang:%u,heap:p=0.0001"},
    {3, false, "kill:%u,heap:p=0.0001"},
    {1, true, "stall:%u"},
    {1, true, "decoder:%u"},
    {1, true, "encoder:%u"},
};
static const struct plan broad = {0, false, "heap:p=0.006,code:p=0.003,time:p=0.003"};
enum { PLANS = sizeof plans / sizeof *plans };

static struct proof_tally *shared;

static void note_fault(const char *words)
{
    proof_tally_fault(shared, words);
}

static const struct plan *plan_of(unsigned seed, unsigned first, struct proof_chance *chance)
{
    unsigned all = 0;
    *chance = (struct proof_chance){seed * 2654435761u + 12345};
    for (int i = 0; i < 8; i++)
        proof_chance(chance, 2);
    for (int i = 0; i < PLANS; i++)
        all += plans[i].weight;
    unsigned at = proof_chance(chance, all);
    if (seed == first) /* many points at once */
        return &broad;
    for (int i = 0; i < PLANS; i++) {
        if (at < plans[i].weight)
            return &plans[i];
        at -= plans[i].weight;
    }
    return plans;
}

/* ---- a process ---- */

static void leave(int status)
{
    atomic_int *most = &shared->most_points;
    const int passed = halo_fault_points();
    int old = atomic_load(most);
    while (passed > old && !atomic_compare_exchange_weak(most, &old, passed))
        ;
    fflush(NULL);
    _exit(status);
}

static void watch(struct proof_player *p)
{
    if (p && proof_player_is_stuck(p))
        leave(HALO_EXIT_TRY_AGAIN);
}

/* Of all, who are looked after meanwhile. */
static void end_player(struct proof_player **all, int count, int which)
{
    proof_player_stop(all[which]);
    while (!proof_player_done(all[which])) {
        for (int i = 0; i < count; i++)
            watch(all[i]);
        usleep(TICK);
    }
    proof_player_close(all[which]);
    all[which] = NULL;
}

static struct proof_player *open_player(const struct proof_rounds *r, const char *clip, int number,
                                        struct proof_chance *chance)
{
    const struct proof_player_settings settings = {
        .clip = number % 4 == 0 && !r->feed ? clip : NULL,
        .number = number % 16 * 4096,
        .backend = r->backend,
        .gpu_timeout = strcmp(halo_run_backends[r->backend], "cpu") != 0 ? 2 : 0.5,
        .region = !r->leak && (number % 2 == 0 || r->feed),
        .feed = r->feed,
        .folder = r->folder,
        .plain = r->leak,
        .sparing = number % 4 == 0,
    };
    return proof_player_open(&settings, shared, chance);
}

static void play(const struct proof_rounds *r, const char *clip, const struct plan *plan,
                 struct proof_chance *chance)
{
    struct proof_player *player[MAX_STREAMS] = {NULL};
    const double seconds = r->round + (plan->patient ? 10 : 0);
    const int64_t until = halo_now_ns() + (int64_t)(seconds * 1e9);
    int number = (int)proof_chance(chance, 1000);
    while (halo_now_ns() < until) {
        for (int i = 0; i < r->streams; i++) {
            watch(player[i]);
            const bool reload = player[i] && proof_chance(chance, 400) == 0;
            if (player[i] && (reload || proof_player_done(player[i]))) {
                if (reload)
                    proof_tally_fault(shared, "reload a stream is stopped and restarted");
                end_player(player, r->streams, i);
            }
            if (!player[i])
                player[i] = open_player(r, clip, number++ / 3 * 4 + i, chance);
            else if (proof_chance(chance, 20) == 0)
                proof_player_act(player[i], chance);
            if (player[i] && proof_chance(chance, 4) == 0)
                proof_player_update(player[i]);
        }
        usleep(TICK);
    }
    for (int i = 0; i < r->streams; i++)
        if (player[i])
            end_player(player, r->streams, i);
}

static void be_engine(const struct proof_rounds *r, const char *clip, unsigned seed)
{
    static char list[500];
    char faults[400];
    struct proof_chance chance;
    const struct plan *plan = plan_of(seed, r->seed, &chance);
    snprintf(faults, sizeof faults, plan->faults, 1 + proof_chance(&chance, 2000));
    snprintf(list, sizeof list, "seed:%u%s%s", seed, *faults ? "," : "", faults);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (r->wish)
        snprintf(list, sizeof list, "seed:%u%s%s", seed, *r->wish ? "," : "", r->wish);
    halo_fault_begin(r->leak ? "leak:1+" : list, r->leak ? NULL : note_fault);
    play(r, clip, plan, &chance);
    leave(0);
}

/* ---- all of them ---- */

struct worker {
    pid_t pid; /* 0: none */
    unsigned seed;
    int64_t begin, kill_at, stop_at; /* ns; 0: not */
    bool hangs;                      /* a kernel of its GPU may never end */
    bool killed;
};

/* Such a kernel holds up whoever frees memory of its device, who looks after the streams too. */
static bool may_hang(const struct proof_rounds *r, unsigned seed)
{
    struct proof_chance chance;
    const char *faults = r->wish ? r->wish : plan_of(seed, r->seed, &chance)->faults;
    return !r->leak && strstr(faults, "hang:") && strcmp(halo_run_backends[r->backend], "cpu") != 0;
}

static bool write_clip(const char *path)
{
    FILE *to = fopen(path, "wb");
    AVFrame *f = av_frame_alloc();
    if (!to || !f)
        return false;
    f->format = AV_PIX_FMT_YUV420P;
    f->width = WIDTH;
    f->height = HEIGHT;
    if (av_frame_get_buffer(f, 0) < 0)
        return false;
    fprintf(to, "YUV4MPEG2 W%d H%d F1000:1 Ip A1:1 C420mpeg2\n", WIDTH, HEIGHT);
    for (unsigned n = 0; n < CLIP; n++) {
        halo_canary_paint(f, PROOF_CLIP + n);
        fprintf(to, "FRAME\n");
        for (int p = 0; p < 3; p++)
            for (int y = 0; y < (p ? HEIGHT / 2 : HEIGHT); y++)
                fwrite(f->data[p] + (ptrdiff_t)y * f->linesize[p], 1,
                       (size_t)(p ? WIDTH / 2 : WIDTH), to);
    }
    av_frame_free(&f);
    return fclose(to) == 0;
}

static bool is_enough(const struct proof_rounds *r, const struct proof_tally *t)
{
    int points;
    const double seconds = (double)(halo_now_ns() - t->begin) * 1e-9;
    const bool all =
        proof_tally_frames(t) >= r->frames &&
        (r->leak || (proof_tally_faults(t, &points) >= r->faults && points >= r->points));
    return all || (r->seconds > 0 && seconds >= r->seconds);
}

static bool start(const struct proof_rounds *r, const char *clip, unsigned seed, struct worker *w,
                  struct proof_chance *chance)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        be_engine(r, clip, seed);
    if (pid < 0)
        return false;
    *w = (struct worker){
        .pid = pid, .seed = seed, .begin = halo_now_ns(), .hangs = may_hang(r, seed)};
    const int64_t when = w->begin + (int64_t)(proof_chance(chance, 1000) * 1e6 * r->round);
    if (!r->leak && proof_chance(chance, 8) == 0)
        w->kill_at = when;
    if (!r->leak && proof_chance(chance, 8) == 0)
        w->stop_at = when;
    atomic_fetch_add(&shared->rounds, 1);
    return true;
}

static void print_threads(pid_t pid)
{
    char command[100];
    fflush(stdout);
    snprintf(command, sizeof command, "head -qn 3 /proc/%d/task/*/status | grep -v Umask",
             (int)pid);
    if (system(command) != 0)
        printf("cannot be read\n");
}

/* Signals for which it is time. */
static void disturb(struct worker *w)
{
    const int64_t now = halo_now_ns();
    if (w->kill_at && now >= w->kill_at) {
        proof_tally_fault(shared, "killed by SIGKILL, an engine");
        w->kill_at = 0;
        kill(w->pid, SIGKILL);
    }
    if (w->stop_at && now >= w->stop_at) {
        proof_tally_fault(shared, "stopped by SIGSTOP for 0.2 s, an engine");
        w->stop_at = 0;
        kill(w->pid, SIGSTOP);
        usleep(200000);
        kill(w->pid, SIGCONT);
    }
    if (!w->killed && now - w->begin > (w->hangs ? HUNG : GRACE) * INT64_C(1000000000)) {
        if (w->hangs) { /* as the supervisor does, who hears nothing of it */
            proof_tally_fault(shared, "killed by SIGKILL, an engine whose GPU hangs");
        } else {
            printf("proof: the engine with seed %u does not end; its threads:\n", w->seed);
            print_threads(w->pid);
            atomic_fetch_add(&shared->failed, 1);
        }
        w->killed = true;
        kill(w->pid, SIGKILL);
    }
}

static void bury(struct worker *w, unsigned first, int status)
{
    struct proof_chance chance;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        atomic_fetch_add(&shared->killed, 1);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == HALO_EXIT_TRY_AGAIN)
        atomic_fetch_add(&shared->gave_up, 1);
    else if (status != 0) {
        printf("proof: the engine with seed %u (%s) ended with %s %d\n", w->seed,
               plan_of(w->seed, first, &chance)->faults, WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        atomic_fetch_add(&shared->failed, 1);
    }
    w->pid = 0;
}

bool proof_rounds_run(const struct proof_rounds *r, struct proof_tally *tally)
{
    struct worker worker[MAX_WORKERS] = {{0}};
    struct proof_chance chance = {r->seed};
    char clip[600];
    unsigned seed = r->seed;
    bool busy = true;
    shared = tally;
    snprintf(clip, sizeof clip, "%s/painted.y4m", r->folder);
    if (!write_clip(clip)) {
        fprintf(stderr, "proof: %s: cannot be written: %s\n", clip, strerror(errno));
        return false;
    }
    while (busy) {
        const bool enough = is_enough(r, tally);
        int status;
        busy = false;
        for (int i = 0; i < r->workers; i++) {
            struct worker *w = &worker[i];
            if (w->pid && waitpid(w->pid, &status, WNOHANG) == w->pid)
                bury(w, r->seed, status);
            if (w->pid)
                disturb(w);
            else if (!enough && !start(r, clip, seed++, w, &chance))
                return false;
            busy |= w->pid != 0;
        }
        usleep(10000);
    }
    unlink(clip);
    return true;
}
