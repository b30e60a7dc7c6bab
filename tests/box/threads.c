/* SPDX-License-Identifier: BSD-2-Clause
 * Threads of which one runs at a time (box.h): config/base/thread.h, in place of thread.c,
 * and libc's clock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/box/box.h"

enum { THREADS = 64 };

/* What a thread waits for. */
enum wait { RUNS, LOCK, CONDITION, POLL, SLEEP, JOIN, ENDED };
static const char *const waits[] = {"runs",   "a lock",   "a condition", "a descriptor",
                                    "a time", "a thread", "ended"};

struct thread {
    bool used;
    pthread_t os;
    pthread_cond_t turn;
    char name[16];
    int number; /* others of this name at its start */
    uint64_t weight;
    enum wait wait;
    void *on;                 /* the mutex, condition or thread */
    struct halo_mutex *mutex; /* of a condition */
    int64_t until;            /* ns */
    bool woken;               /* before that time */
    struct pollfd *fds;
    int count;
    bool detached;
    void *(*run)(void *);
    void *arg;
};

static struct {
    bool begun;
    pthread_mutex_t lock; /* held by the thread that runs while it chooses the next one */
    struct thread *now;
    struct thread all[THREADS];
    int64_t ns;
    uint64_t state;
    uint64_t apart; /* a thread goes on at one of so many points where others could */
} box = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct thread *self;

uint64_t box_draw(uint64_t below)
{
    return world_draw_from(&box.state, below);
}

int64_t box_now(void)
{
    return box.ns;
}

const char *box_thread_name(void)
{
    return self->name;
}

int box_thread_number(void)
{
    return self->number;
}

/* ---- locks of others ---- */

static void lock_really(pthread_mutex_t *mutex)
{
    const struct timespec never = {INT64_MAX / 2, 0};
    pthread_mutex_timedlock(mutex, &never);
}

/* FFmpeg and the kernels call pthreads themselves, and what is called back under their locks may
 * have to wait here. */
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (self && box.begun)
        while (pthread_mutex_trylock(mutex))
            box_sleep(10000);
    else
        lock_really(mutex);
    return 0;
}

/* ---- who runs next ---- */

/* A mutex of the stream holds who has locked it. */
static struct thread **owner_of(struct halo_mutex *mutex)
{
    return (struct thread **)(void *)mutex;
}

static bool polls(const struct thread *t)
{
    const struct timespec none = {0, 0};
    return syscall(SYS_ppoll, t->fds, (nfds_t)t->count, &none, NULL, 8) > 0;
}

static bool is_ready(struct thread *t)
{
    const bool late = t->until <= box.ns;
    if (t->wait == CONDITION && (t->woken || late)) { /* it needs the lock, too */
        t->wait = LOCK;
        t->on = t->mutex;
    }
    switch (t->wait) {
    case RUNS:
        return true;
    case LOCK:
        return !*owner_of(t->on);
    case POLL:
        return late || polls(t);
    case SLEEP:
        return late || t->woken;
    case JOIN:
        return ((struct thread *)t->on)->wait == ENDED;
    default:
        return false;
    }
}

void box_say_waits(void)
{
    for (int i = 0; i < THREADS; i++) {
        const struct thread *t = &box.all[i];
        if (t->used)
            world_say("thread %s %d waits for %s%s%s", t->name, t->number, waits[t->wait],
                      t->wait == JOIN ? ": " : "",
                      t->wait == JOIN ? ((const struct thread *)t->on)->name : "");
    }
}

static void jump(void)
{
    int64_t first = INT64_MAX;
    for (int i = 0; i < THREADS; i++) {
        const struct thread *t = &box.all[i];
        if (t->used && (t->wait == CONDITION || t->wait == POLL || t->wait == SLEEP) &&
            t->until < first)
            first = t->until;
    }
    if (first == INT64_MAX) {
        box_say_waits();
        world_fail("deadlock: all threads wait for each other");
    }
    if (first > box.ns)
        box.ns = first;
}

/* What a thread does until its next wait, or what others of the machine do. */
static void pay(void)
{
    const uint64_t kind = box_draw(1024);
    box.ns += (int64_t)box_draw(kind ? 10000 : 4 * BOX_MS);
}

static struct thread *choose(void)
{
    struct thread *ready[THREADS];
    for (;;) {
        uint64_t sum = 0;
        int count = 0;
        for (int i = 0; i < THREADS; i++) {
            struct thread *t = &box.all[i];
            if (!t->used || !is_ready(t))
                continue;
            if (box_draw(128) == 0) /* some run seldom for a while */
                t->weight = UINT64_C(1) << (2 * box_draw(5));
            ready[count++] = t;
            sum += t->weight;
        }
        if (count == 0) {
            jump();
            continue;
        }
        uint64_t chosen = box_draw(sum);
        for (int i = 0;; i++) {
            if (chosen < ready[i]->weight)
                return ready[i];
            chosen -= ready[i]->weight;
        }
    }
}

/* Lets another thread run, and returns when this one is chosen again, and has what it waits for. */
static void pass(void)
{
    lock_really(&box.lock);
    pay();
    struct thread *next = choose();
    if (next != self) {
        box.now = next;
        pthread_cond_signal(&next->turn);
        while (box.now != self)
            pthread_cond_wait(&self->turn, &box.lock);
    }
    if (self->wait == LOCK)
        *owner_of(self->on) = self;
    self->wait = RUNS;
    pthread_mutex_unlock(&box.lock);
}

/* A point at which others may run, or something may take long. */
static void may_pass(void)
{
    if (!self || !box.begun || box_draw(box.apart))
        return;
    const uint64_t stalls = box_draw(1024);
    if (stalls < 3) {
        self->wait = SLEEP;
        self->woken = false;
        self->until = box.ns + (int64_t)box_draw((stalls ? 20 : 120) * BOX_MS);
    }
    pass();
}

static void wait_for(enum wait wait, void *on, int64_t until)
{
    self->wait = wait;
    self->on = on;
    self->until = until;
    self->woken = false;
    pass();
}

/* ---- config/base/thread.h ---- */

void halo_lock(struct halo_mutex *mutex)
{
    may_pass();
    if (*owner_of(mutex) == self)
        world_fail("a thread locks what it has locked");
    if (*owner_of(mutex))
        wait_for(LOCK, mutex, INT64_MAX);
    *owner_of(mutex) = self;
}

void halo_unlock(struct halo_mutex *mutex)
{
    if (*owner_of(mutex) != self)
        world_fail("a thread unlocks what it has not locked");
    *owner_of(mutex) = NULL;
    may_pass();
}

bool halo_cond_wait(struct halo_cond *cond, struct halo_mutex *mutex, int64_t until)
{
    if (*owner_of(mutex) != self)
        world_fail("a thread waits without its lock");
    const int64_t at = until == INT64_MAX ? until : until - PLAY_MONOTONIC_S * BOX_S;
    *owner_of(mutex) = NULL;
    self->mutex = mutex;
    wait_for(CONDITION, cond, box_draw(64) ? at : box.ns); /* sometimes for no reason */
    return self->woken || at > box.ns;
}

void halo_cond_broadcast(struct halo_cond *cond)
{
    for (int i = 0; i < THREADS; i++)
        if (box.all[i].used && box.all[i].wait == CONDITION && box.all[i].on == cond)
            box.all[i].woken = true;
    may_pass();
}

static void *thread_main(void *arg)
{
    self = arg;
    lock_really(&box.lock);
    while (box.now != self)
        pthread_cond_wait(&self->turn, &box.lock);
    self->wait = RUNS;
    pthread_mutex_unlock(&box.lock);
    self->run(self->arg);
    lock_really(&box.lock);
    self->wait = ENDED;
    if (self->detached)
        self->used = false;
    box.now = choose();
    pthread_cond_signal(&box.now->turn);
    pthread_mutex_unlock(&box.lock);
    return NULL;
}

int halo_thread_start(struct halo_thread *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err)
{
    int number = 0, free = 0;
    (void)err;
    for (int i = 0; i < THREADS; i++)
        number += box.all[i].used && !strcmp(box.all[i].name, name);
    while (box.all[free].used)
        free++;
    struct thread *t = &box.all[free];
    *t = (struct thread){.used = true, .number = number, .weight = 16, .run = run, .arg = arg};
    pthread_cond_init(&t->turn, NULL);
    strncpy(t->name, name, sizeof t->name - 1);
    if (pthread_create(&t->os, NULL, thread_main, t))
        abort();
    ret->os = t->os;
    may_pass();
    return 0;
}

static struct thread *find(pthread_t os)
{
    for (int i = 0; i < THREADS; i++)
        if (box.all[i].used && pthread_equal(box.all[i].os, os))
            return &box.all[i];
    world_fail("a thread that has been joined is used");
}

struct halo_thread halo_thread_self(void)
{
    return (struct halo_thread){self->os};
}

void halo_thread_join(struct halo_thread thread)
{
    struct thread *t = find(thread.os);
    wait_for(JOIN, t, INT64_MAX);
    pthread_join(t->os, NULL);
    pthread_cond_destroy(&t->turn);
    t->used = false;
}

void halo_thread_detach(struct halo_thread thread)
{
    struct thread *t = find(thread.os);
    pthread_detach(t->os);
    t->detached = true;
    t->used = t->wait != ENDED;
}

void halo_thread_wake(struct halo_thread thread)
{
    struct thread *t = find(thread.os);
    t->woken |= t->wait == SLEEP;
    may_pass();
}

int halo_poll(struct pollfd *fds, int count, int64_t until)
{
    self->fds = fds;
    self->count = count;
    if (until) {
        const int64_t at = until == INT64_MAX ? until : until - PLAY_MONOTONIC_S * BOX_S;
        wait_for(POLL, NULL, at);
        if (at <= box.ns)
            return 0;
    }
    const struct timespec none = {0, 0};
    const long ready = syscall(SYS_ppoll, fds, (nfds_t)count, &none, NULL, 8);
    return ready < 0 ? 0 : (int)ready;
}

/* ---- the clock ---- */

bool box_sleep(int64_t ns)
{
    wait_for(SLEEP, NULL, box.ns + ns);
    return !self->woken;
}

int64_t play_ns(void)
{
    return box.ns;
}

void play_asked(void)
{
    may_pass();
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
    (void)clock, (void)flags, (void)left;
    if (self)
        box_sleep(t->tv_sec * BOX_S + t->tv_nsec);
    return 0;
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
    (void)flags;
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)buffer)[i] = (unsigned char)box_draw(256);
    return (ssize_t)length;
}

/* ---- ---- */

void box_begin(uint64_t seed)
{
    box.state = seed;
    box.apart = UINT64_C(1) << (1 + box_draw(5));
    self = box.now = &box.all[0];
    *self = (struct thread){.used = true, .weight = 16, .name = "loop", .os = pthread_self()};
    pthread_cond_init(&self->turn, NULL);
    box.begun = true;
}

void box_wake_loop(void)
{
    box.all[0].woken |= box.all[0].wait == SLEEP;
}

int box_threads(void)
{
    int count = -1;
    for (int i = 0; i < THREADS; i++)
        count += box.all[i].used;
    return count;
}
