/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/run/run_detectors.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/detector/pool.h"

enum ask { WANT, BROKEN, UNWANTED };

/* What a thread of the stream asks of the loop. */
struct asked {
    struct asked *next;
    enum ask what;
    enum halo_find find;
    char why[160]; /* BROKEN */
};

struct halo_run_detectors {
    const struct halo_detector_settings *settings;
    halo_run_connect *connect;
    void *arg;
    struct halo_detector_pool *pool; /* NULL: no detector was wanted yet */
    uv_async_t wake;
    pthread_mutex_t lock; /* guards the fields below */
    struct asked *first, **last;
    bool closed;
};

static const char stream[] = ""; /* there is only one */

/* ---- the loop ---- */

static void on_answer(void *arg, const char *name, enum halo_find find, uint64_t id, int fd,
                      const char *why)
{
    const struct halo_run_detectors *d = arg;
    (void)name;
    (void)id;
    d->connect(d->arg, find, fd, why);
}

static struct asked *take_all(struct halo_run_detectors *d)
{
    pthread_mutex_lock(&d->lock);
    struct asked *first = d->first;
    d->first = NULL;
    d->last = &d->first;
    pthread_mutex_unlock(&d->lock);
    return first;
}

/* Most streams need no detector, so there is no pool before one is wanted. */
static bool has_pool(struct halo_run_detectors *d)
{
    static const struct halo_detector_pool_ops ops = {.answer = on_answer};
    return d->pool ||
           halo_detector_pool_create(&d->pool, d->wake.loop, "/proc/self/exe", &ops, d) == 0;
}

static void on_wake(uv_async_t *wake)
{
    struct halo_run_detectors *d = wake->data;
    for (struct asked *a = take_all(d), *next; a; a = next) {
        next = a->next;
        if (!has_pool(d))
            on_answer(d, stream, a->find, 0, -1, "out of memory");
        else if (a->what == WANT)
            halo_detector_pool_want(d->pool, stream, a->find, 0, &d->settings[a->find]);
        else if (a->what == BROKEN)
            halo_detector_pool_broken(d->pool, stream, a->find, a->why);
        else
            halo_detector_pool_leave(d->pool, stream, a->find);
        free(a);
    }
}

/* ---- the stream's threads ---- */

static void ask(struct halo_run_detectors *d, enum ask what, enum halo_find find, const char *why)
{
    struct asked *a = calloc(1, sizeof *a);
    if (!a) {
        if (what == WANT)
            d->connect(d->arg, find, -1, "out of memory");
        return;
    }
    a->what = what;
    a->find = find;
    snprintf(a->why, sizeof a->why, "%s", why);
    pthread_mutex_lock(&d->lock);
    const bool closed = d->closed;
    if (!closed) {
        *d->last = a;
        d->last = &a->next;
        uv_async_send(&d->wake);
    }
    pthread_mutex_unlock(&d->lock);
    if (closed)
        free(a);
}

static void want(void *arg, enum halo_find find)
{
    ask(arg, WANT, find, "");
}

static void broken(void *arg, enum halo_find find, const char *why)
{
    ask(arg, BROKEN, find, why);
}

static void unwanted(void *arg, enum halo_find find)
{
    ask(arg, UNWANTED, find, "");
}

const struct halo_detect_calls halo_run_detector_calls = {want, broken, unwanted};

static void free_all(struct asked *a)
{
    for (struct asked *next; a; a = next) {
        next = a->next;
        free(a);
    }
}

/* ---- life ---- */

int halo_run_detectors_create(struct halo_run_detectors **ret, uv_loop_t *loop,
                              const struct halo_detector_settings *settings,
                              halo_run_connect *connect, void *arg, struct halo_error *err)
{
    struct halo_run_detectors *d = calloc(1, sizeof *d);
    if (!d)
        return halo_fail(err, -ENOMEM, "out of memory");
    d->settings = settings;
    d->connect = connect;
    d->arg = arg;
    d->last = &d->first;
    pthread_mutex_init(&d->lock, NULL);
    const int code = uv_async_init(loop, &d->wake, on_wake);
    d->wake.data = d;
    if (code >= 0) {
        *ret = d;
        return 0;
    }
    pthread_mutex_destroy(&d->lock);
    free(d);
    return halo_fail(err, code, "detectors: %s", uv_strerror(code));
}

void halo_run_detectors_leave(struct halo_run_detectors *detectors)
{
    free_all(take_all(detectors));
    for (int find = 0; detectors->pool && find < HALO_FINDS; find++)
        halo_detector_pool_leave(detectors->pool, stream, find);
}

void halo_run_detectors_close(struct halo_run_detectors *detectors)
{
    if (!detectors)
        return;
    pthread_mutex_lock(&detectors->lock);
    const bool closed = detectors->closed;
    detectors->closed = true;
    pthread_mutex_unlock(&detectors->lock);
    if (closed)
        return;
    uv_close((uv_handle_t *)&detectors->wake, NULL);
    halo_detector_pool_destroy(detectors->pool);
}

void halo_run_detectors_destroy(struct halo_run_detectors *detectors)
{
    if (!detectors)
        return;
    free_all(take_all(detectors));
    pthread_mutex_destroy(&detectors->lock);
    free(detectors);
}
