/* SPDX-License-Identifier: BSD-2-Clause
 * The state of a live stream. */
#include "pipeline/stream/live_status.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>

#include "config/base/thread.h"
#include "kernels/clock.h"

const char *const halo_live_state_names[HALO_LIVE_STATES + 1] = {"starting", "running", "waiting",
                                                                 "ended",    "failed",  NULL};

struct halo_live_status {
    struct halo_live_listener *listener;
    const atomic_int *stop;
    void (*changed)(void *arg);
    void *arg;
    struct halo_mutex lock; /* of the fields below */
    struct halo_cond woken;
    struct halo_live_standing now;
    struct halo_error error;
    int64_t away; /* ns: frames decoded before this time do not show that the source is back */
};

int halo_live_status_create(struct halo_live_status **ret, struct halo_live_listener *listener,
                            const atomic_int *stop, void (*changed)(void *arg), void *arg)
{
    struct halo_live_status *status = av_mallocz(sizeof *status);
    if (!status)
        return -ENOMEM;
    status->listener = listener;
    status->stop = stop;
    status->changed = changed;
    status->arg = arg;
    *ret = status;
    return 0;
}

void halo_live_status_destroy(struct halo_live_status *status)
{
    av_free(status);
}

/* decoded: when the frame was that is the reason (ns); INT64_MAX: something else is. */
static void report(struct halo_live_status *status, enum halo_live_state state,
                   const struct halo_error *err, int64_t decoded)
{
    struct halo_live_standing *now = &status->now;
    halo_lock(&status->lock);
    const bool old = decoded <= status->away;
    const bool final = now->state == HALO_LIVE_FAILED || now->state == HALO_LIVE_ENDED;
    const bool same = now->state == state && (!err || !strcmp(err->text, status->error.text));
    if (state == HALO_LIVE_WAITING)
        status->away = halo_now_ns();
    const bool news = !final && !same && !old;
    if (news) {
        if (now->state != state)
            now->since = halo_now_ns();
        now->state = state;
        status->error = err ? *err : (struct halo_error){0};
        halo_live_tell_state(status->listener, state, &status->error);
    }
    halo_unlock(&status->lock);
    if (news)
        status->changed(status->arg);
}

void halo_live_report(struct halo_live_status *status, enum halo_live_state state,
                      const struct halo_error *err)
{
    report(status, state, err, INT64_MAX);
}

void halo_live_report_away(struct halo_live_status *status, const char *words,
                           const struct halo_error *err)
{
    halo_live_status_say(status, words);
    halo_live_report(status, HALO_LIVE_WAITING, err);
}

void halo_live_report_running(struct halo_live_status *status, int64_t decoded)
{
    report(status, HALO_LIVE_RUNNING, NULL, decoded);
}

struct halo_live_standing halo_live_status_read(struct halo_live_status *status)
{
    halo_lock(&status->lock);
    const struct halo_live_standing ret = status->now;
    halo_unlock(&status->lock);
    return ret;
}

void halo_live_status_say(struct halo_live_status *status, const char *words)
{
    halo_lock(&status->lock);
    snprintf(status->now.words, sizeof status->now.words, "%s", words);
    halo_unlock(&status->lock);
}

void halo_live_status_restart(struct halo_live_status *status)
{
    halo_lock(&status->lock);
    status->now.since = halo_now_ns();
    halo_unlock(&status->lock);
}

bool halo_live_wait(struct halo_live_status *status, int64_t until)
{
    halo_lock(&status->lock);
    while (!atomic_load(status->stop) && halo_cond_wait(&status->woken, &status->lock, until))
        ;
    halo_unlock(&status->lock);
    return atomic_load(status->stop);
}

void halo_live_status_wake(struct halo_live_status *status)
{
    halo_lock(&status->lock);
    halo_cond_broadcast(&status->woken);
    halo_unlock(&status->lock);
}
