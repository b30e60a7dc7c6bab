/* SPDX-License-Identifier: BSD-2-Clause
 * The thread beside a live stream: what takes time and must not hold up pictures. It builds the
 * gates of new chains, writes snapshots, and sees to it that all who asked get an answer. */
#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "pipeline/live_private.h"

static const int64_t SECOND = INT64_C(1000000000);
static const double SNAPSHOT_TIME = 1.7, SET_TIME = 1.5; /* seconds */

/* Under the lock; until then at the latest. */
static void wait_until(struct halo_live *live, int64_t until)
{
    const struct timespec t = {until / SECOND, until % SECOND};
    pthread_cond_timedwait(&live->changed, &live->lock, &t);
}

static void tell_set(struct halo_live *live, uint64_t id, const struct halo_error *err)
{
    if (live->events->set)
        live->events->set(live->arg, id, err);
}

/* The lineup that was asked for first; under the lock. NULL: none. */
static struct halo_lineup *take_asked(struct halo_live *live)
{
    if (!live->asked_count)
        return NULL;
    struct halo_lineup *first = live->asked[0];
    live->asked_count--;
    memmove(live->asked, live->asked + 1, (size_t)live->asked_count * sizeof *live->asked);
    return first;
}

/* Waits until the first picture of the new lineup has passed. Where none comes, what is not in use
 * yet will be for the next one: that is an answer too. Under the lock. */
static bool wait_for_picture(struct halo_live *live, const struct halo_lineup *lineup,
                             struct halo_error *err)
{
    const int64_t until = halo_now_ns() + (int64_t)(SET_TIME * (double)SECOND);
    while (live->asking == lineup && halo_now_ns() < until && !live->aside_over)
        wait_until(live, until);
    if (live->asking != lineup)
        return false;
    live->asking = NULL;
    if (live->next != lineup)
        halo_fail(err, -ETIMEDOUT, "no picture has passed the new filters yet; they are in force");
    return true;
}

/* The chains of a lineup into force. */
static void install(struct halo_live *live, struct halo_lineup *lineup)
{
    struct halo_error err = {0};
    const uint64_t id = lineup->id;
    const int ret = halo_lineup_build(lineup, live->ring, &live->shape->input, &err);
    if (ret < 0) {
        halo_fail(&err, ret, "the new filters do not start: %s", strerror(-ret));
        halo_lineup_destroy(lineup);
        tell_set(live, id, &err);
        return;
    }
    pthread_mutex_lock(&live->lock);
    struct halo_lineup *unused = live->next;
    lineup->epoch = ++live->epochs;
    live->asking = lineup;
    live->next = lineup;
    const bool late = wait_for_picture(live, lineup, &err);
    pthread_mutex_unlock(&live->lock);
    halo_lineup_destroy(unused);
    if (late)
        tell_set(live, id, err.code ? &err : NULL);
}

/* Nothing has a shape yet: they are the ones to begin with. */
static void begin_with(struct halo_live *live, struct halo_lineup *lineup)
{
    struct halo_lineup *old = live->wanted;
    const uint64_t id = lineup->id;
    lineup->epoch = ++live->epochs;
    live->wanted = lineup;
    pthread_mutex_unlock(&live->lock);
    halo_lineup_destroy(old);
    tell_set(live, id, NULL);
    pthread_mutex_lock(&live->lock);
}

/* ---- snapshots ---- */

static void end_snapshot(struct halo_live *live, struct halo_live_snapshot *shot)
{
    struct halo_error err = {0};
    AVPacket *image = av_packet_alloc();
    int ret = image ? 0 : halo_fail(&err, -ENOMEM, "out of memory");
    if (ret >= 0 && !shot->picture)
        ret = halo_fail(&err, -ETIMEDOUT, "no filtered picture has come within two seconds");
    if (ret >= 0)
        ret = halo_live_codec_image(live, shot->codec, shot->picture, image, &err);
    if (live->events->snapshot)
        live->events->snapshot(live->arg, shot->id, ret < 0 ? NULL : image, ret < 0 ? &err : NULL);
    av_packet_free(&image);
    halo_output_picture_destroy(shot->picture);
}

/* The first that has its picture, or has waited for too long; under the lock. */
static bool take_snapshot(struct halo_live *live, bool all, struct halo_live_snapshot *ret)
{
    const int64_t late = halo_now_ns() - (int64_t)(SNAPSHOT_TIME * (double)SECOND);
    for (int i = 0; i < live->snapshots; i++) {
        if (!live->snapshot[i].picture && live->snapshot[i].asked > late && !all)
            continue;
        *ret = live->snapshot[i];
        live->snapshots--;
        memmove(live->snapshot + i, live->snapshot + i + 1,
                (size_t)(live->snapshots - i) * sizeof *live->snapshot);
        return true;
    }
    return false;
}

/* One thing that can be done now; under the lock, which is let go of meanwhile. False: none. */
static bool do_one(struct halo_live *live)
{
    struct halo_live_snapshot shot;
    if (take_snapshot(live, live->aside_over, &shot)) {
        pthread_mutex_unlock(&live->lock);
        end_snapshot(live, &shot);
        pthread_mutex_lock(&live->lock);
        return true;
    }
    struct halo_lineup *asked = take_asked(live);
    if (!asked)
        return false;
    if (!live->formed) {
        begin_with(live, asked);
        return true;
    }
    const bool over = live->aside_over;
    pthread_mutex_unlock(&live->lock);
    if (over) {
        struct halo_error err = {0};
        halo_fail(&err, -ECANCELED, "the stream is over");
        tell_set(live, asked->id, &err);
        halo_lineup_destroy(asked);
    } else {
        install(live, asked);
    }
    pthread_mutex_lock(&live->lock);
    return true;
}

void *halo_live_aside_main(void *arg)
{
    struct halo_live *live = arg;
    pthread_mutex_lock(&live->lock);
    for (;;) {
        if (do_one(live))
            continue;
        if (live->aside_over)
            break;
        if (live->snapshots)
            wait_until(live, halo_now_ns() + SECOND / 10);
        else
            pthread_cond_wait(&live->changed, &live->lock);
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}
