/* SPDX-License-Identifier: BSD-2-Clause
 * The played clock: libc's calls that wait, and libuv's pool (world.h). Debian's
 * libuv, libmicrohttpd, FFmpeg and GnuTLS call them through their PLT, so these definitions win. */
#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/world/world.h"

enum {
    PACE_MS = 10,    /* of who serves: so much is played at a time */
    IDLE_TURNS = 20, /* turns without waiting, after which an idle handle costs a millisecond */
    EVENTS = 64,
};

struct due {
    int64_t at, order;
    world_step *step;
    void *arg;
};

struct pooled {
    uv_work_t *request;
    uv_work_cb work;
    uv_after_work_cb after;
};

static struct {
    bool begun, serves;
    int64_t now, frozen, thawed, order;
    uint64_t state;
    struct due *due; /* a heap */
    size_t count, size;
    int epoll; /* of world_watch() */
    int idle;
    int work_ms; /* which the work of the pool takes that is done now */
    uv_async_t async;
    struct due *asked; /* of world_on_loop(), in their order */
    size_t asks, asks_size;
} world;

/* ---- chance ---- */

uint64_t world_draw(uint64_t below)
{
    return world_draw_from(&world.state, below);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
    (void)flags;
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)buffer)[i] = (unsigned char)world_draw(256);
    return (ssize_t)length;
}

/* ---- what libc is asked ---- */

int64_t world_now(void)
{
    return world.now;
}

int64_t world_awake(void)
{
    return world.now - world.frozen;
}

int64_t world_thawed(void)
{
    return world.thawed;
}

int64_t play_ns(void)
{
    return world.now * 1000;
}

void play_asked(void)
{
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
    (void)clock, (void)left;
    if (!(flags & TIMER_ABSTIME))
        world.now += t->tv_sec * 1000000 + t->tv_nsec / 1000;
    return 0;
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
    return clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
}

/* ---- what is due ---- */

static bool is_before(const struct due *a, const struct due *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void *room_for(void *list, size_t count, size_t *size)
{
    if (count < *size)
        return list;
    *size = count ? 2 * count : 256;
    list = realloc(list, *size * sizeof(struct due));
    if (!list)
        abort();
    return list;
}

static void sink(size_t i)
{
    struct due *heap = world.due;
    for (size_t child; (child = 2 * i + 1) < world.count; i = child) {
        child += child + 1 < world.count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &heap[i]))
            return;
        const struct due swapped = heap[i];
        heap[i] = heap[child];
        heap[child] = swapped;
    }
}

static void make_heap(void)
{
    for (size_t i = world.count / 2 + 1; i-- > 0;)
        sink(i);
}

void world_after(double ms, world_step *step, void *arg)
{
    world.due = room_for(world.due, world.count, &world.size);
    const struct due new = {world.now + (int64_t)(ms * 1000), world.order++, step, arg};
    size_t i = world.count++;
    for (; i > 0 && is_before(&new, &world.due[(i - 1) / 2]); i = (i - 1) / 2)
        world.due[i] = world.due[(i - 1) / 2];
    world.due[i] = new;
}

void world_delay(const void *arg, int ms)
{
    for (size_t i = 0; i < world.count; i++)
        if (world.due[i].arg == arg)
            world.due[i].at += (int64_t)ms * 1000;
    make_heap();
}

void world_forget(const void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < world.count; i++)
        if (world.due[i].arg != arg)
            world.due[kept++] = world.due[i];
    if (kept < world.count) {
        world.count = kept;
        make_heap();
    }
    kept = 0;
    for (size_t i = 0; i < world.asks; i++)
        if (world.asked[i].arg != arg)
            world.asked[kept++] = world.asked[i];
    world.asks = kept;
}

static void step_first(void)
{
    const struct due first = world.due[0];
    world.due[0] = world.due[--world.count];
    sink(0);
    first.step(first.arg);
}

/* ---- sockets of the played ---- */

/* The delay and the step are found by the descriptor. */
static struct watch {
    double ms;
    world_step *step;
    void *arg;
} watches[65536];

void world_watch(int fd, double ms, world_step *step, void *arg)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};
    watches[fd] = (struct watch){ms, step, arg};
    if (epoll_ctl(world.epoll, EPOLL_CTL_MOD, fd, &event) < 0 &&
        epoll_ctl(world.epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        world_fail("the world cannot watch a descriptor: %s", strerror(errno));
}

void world_unwatch(int fd)
{
    epoll_ctl(world.epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* Through the kernel, not through this file's epoll_wait(). */
static int ready_now(int fd, struct epoll_event *ret, int most)
{
    return (int)syscall(SYS_epoll_pwait, fd, ret, most, 0, NULL, 8);
}

/* Mostly at once; sometimes a process has to wait for a processor. */
static double small_delay(void)
{
    const uint64_t kind = world_draw(64);
    return kind == 0 ? (double)world_draw(40) : kind < 16 ? (double)world_draw(2000) / 1000 : 0;
}

static void look_at_watches(void)
{
    struct epoll_event events[EVENTS];
    const int count = ready_now(world.epoll, events, EVENTS);
    for (int i = 0; i < count; i++) {
        const struct watch *w = &watches[events[i].data.fd];
        world_after(w->ms + small_delay(), w->step, w->arg);
    }
}

/* ---- the loop's wait ---- */

static void step_due(void)
{
    look_at_watches();
    while (world.count > 0 && world.due[0].at <= world.now)
        step_first();
}

/* What the daemon did since its last wait. */
static void pay(void)
{
    const uint64_t kind = world_draw(4096);
    world.now += kind == 0     ? (int64_t)world_draw(60000)
                 : kind < 1024 ? (int64_t)world_draw(200)
                               : 0;
}

/* Plays no more time than others have had. */
static void give_time(int fd, int64_t until)
{
    struct pollfd fds[] = {{fd, POLLIN, 0}, {world.epoll, POLLIN, 0}};
    if (poll(fds, 2, PACE_MS) == 0)
        world.now += until - world.now < PACE_MS * 1000 ? until - world.now : PACE_MS * 1000;
}

void world_serve(void)
{
    world.serves = true;
}

static int wait_played(int fd, struct epoll_event *ret, int most, int ms)
{
    int n = ready_now(fd, ret, most);
    if (!world.begun || n < 0)
        return n;
    check_step();
    if (n > 0 || ms == 0) {
        pay();
        world.idle = n > 0 ? 0 : world.idle + 1;
        if (world.idle < IDLE_TURNS)
            return n;
        world.idle = 0;
        world.now += 1000;
        step_due();
        return 0;
    }
    world.idle = 0;
    const int64_t until = ms < 0 ? INT64_MAX : world.now + (int64_t)ms * 1000;
    for (;;) {
        look_at_watches();
        if (world.count == 0 && ms < 0)
            world_fail("deadlock: the daemon waits for ever, and nothing is due in the world");
        const int64_t next = world.count > 0 && world.due[0].at < until ? world.due[0].at : until;
        if (world.serves && next > world.now) {
            give_time(fd, next);
            if ((n = ready_now(fd, ret, most)) != 0)
                return n;
            continue;
        }
        if (world.count == 0 || world.due[0].at > until) {
            world.now = until > world.now ? until : world.now; /* it may have stood still */
            return 0;
        }
        if (world.due[0].at > world.now)
            world.now = world.due[0].at;
        step_first();
        if ((n = ready_now(fd, ret, most)) != 0)
            return n;
    }
}

int epoll_wait(int fd, struct epoll_event *ret, int most, int ms)
{
    return wait_played(fd, ret, most, ms);
}

int epoll_pwait(int fd, struct epoll_event *ret, int most, int ms, const sigset_t *signals)
{
    (void)signals;
    return wait_played(fd, ret, most, ms);
}

void world_freeze(int ms, bool machine)
{
    for (size_t i = 0; machine && i < world.count; i++)
        if (world.due[i].arg) /* without: events, and what main.c has planned */
            world.due[i].at += (int64_t)ms * 1000;
    make_heap();
    world.now += (int64_t)ms * 1000;
    world.frozen += (int64_t)ms * 1000;
    world.thawed = world_awake();
}

/* ---- on the loop ---- */

static void on_async(uv_async_t *async)
{
    (void)async;
    for (size_t i = world.asks; i > 0; i--) { /* those that are asked meanwhile wait */
        if (world.asks == 0)
            return;
        const struct due first = world.asked[0];
        memmove(world.asked, world.asked + 1, --world.asks * sizeof first);
        first.step(first.arg);
    }
    if (world.asks)
        uv_async_send(&world.async);
}

void world_on_loop(world_step *step, void *arg)
{
    world.asked = room_for(world.asked, world.asks, &world.asks_size);
    world.asked[world.asks++] = (struct due){0, 0, step, arg};
    uv_async_send(&world.async);
}

/* The pool: work runs whole, as one step, and its answer comes in a later turn. */
static void answer_work(void *arg)
{
    struct pooled *pooled = arg;
    pooled->after(pooled->request, 0);
    free(pooled);
}

static void end_work(void *arg)
{
    world_on_loop(answer_work, arg);
}

void world_work_takes(int ms)
{
    world.work_ms += ms;
}

static void do_work(void *arg)
{
    struct pooled *pooled = arg;
    world.work_ms = 0;
    pooled->work(pooled->request);
    if (world.work_ms)
        world_after(world.work_ms, end_work, pooled);
    else
        end_work(pooled);
}

int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb work,
                         uv_after_work_cb after);

int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb work,
                         uv_after_work_cb after)
{
    struct pooled *pooled = calloc(1, sizeof *pooled);
    if (!pooled)
        return UV_ENOMEM;
    *pooled = (struct pooled){.request = request, .work = work, .after = after};
    request->loop = loop;
    world_after((double)world_draw(world_draw(8) ? 3 : 300), do_work, pooled);
    return 0;
}

void world_take_loop(uv_loop_t *loop)
{
    static uv_pipe_t first; /* for the first of a loop, libuv opens a spare descriptor */
    uv_async_init(loop, &world.async, on_async);
    uv_pipe_init(loop, &first, 0);
    uv_close((uv_handle_t *)&first, NULL);
}

void world_leave_loop(void)
{
    uv_close((uv_handle_t *)&world.async, NULL);
}

void world_begin(uint64_t seed)
{
    world.state = seed;
    world.epoll = epoll_create1(EPOLL_CLOEXEC);
    world.begun = true;
    close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC); /* of whoever started it */
}

void world_end(void)
{
    world.begun = false;
    free(world.due);
    free(world.asked);
    close(world.epoll);
}
