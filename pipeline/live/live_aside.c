/* SPDX-License-Identifier: BSD-2-Clause
 * The thread beside a live stream: what takes time and must not hold up pictures. It builds the
 * gates of new chains, writes snapshots, and sees to it that all who asked get an answer. */
#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/live/live_private.h"

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
    HALO_LIVE_TELL(live->listener, set, id, err);
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

/* The oldest epoch of which a picture is between the filter thread and the end of an encoding;
 * INT64_MAX: none is there. In the order in which pictures go: none slips through. */
static int64_t oldest_inside(const struct halo_live *live)
{
    const int64_t oldest = halo_live_lineups_oldest(live->lineups);
    return FFMIN(oldest, halo_live_encodings_oldest(live->encodings));
}

/* The first change that can be answered now, and how: *ret_sure, older pictures are all out. Under
 * the lock, when no snapshot has a picture. */
static bool take_asking(struct halo_live *live, struct halo_live_asking *ret, bool *ret_sure)
{
    if (!live->asking_count)
        return false;
    *ret = live->asking[0];
    *ret_sure = oldest_inside(live) >= ret->epoch && atomic_load(&live->stop) != 2;
    const bool enough =
        halo_live_lineups_passed(live->lineups) >= ret->epoch || halo_now_ns() >= ret->until;
    if (!live->aside_over && !(*ret_sure && enough))
        return false;
    live->asking_count--;
    memmove(live->asking, live->asking + 1, (size_t)live->asking_count * sizeof *live->asking);
    return true;
}

static void refuse_over(struct halo_live *live, uint64_t id)
{
    struct halo_error err = {0};
    halo_fail(&err, -ECANCELED, "the stream is over");
    tell_set(live, id, &err);
}

/* The chains of a lineup into force: from here on no picture begins under older ones. */
static void install(struct halo_live *live, struct halo_lineup *lineup)
{
    struct halo_error err = {0};
    const int ret =
        halo_lineup_build(lineup, live->ring, &live->shape->input, live->region_feed, &err);
    if (ret < 0) {
        halo_fail(&err, ret, "the new filters do not start: %s", strerror(-ret));
        tell_set(live, lineup->id, &err);
        halo_lineup_destroy(lineup);
        return;
    }
    pthread_mutex_lock(&live->lock);
    live->asking[live->asking_count++] = (struct halo_live_asking){
        .id = lineup->id,
        .epoch = lineup->epoch,
        .until = halo_now_ns() + (int64_t)(SET_TIME * (double)SECOND),
    };
    pthread_mutex_unlock(&live->lock);
    halo_live_lineups_put(live->lineups, lineup);
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
    HALO_LIVE_TELL(live->listener, snapshot, shot->id, ret < 0 ? NULL : image,
                   ret < 0 ? &err : NULL);
    av_packet_free(&image);
    if (!shot->picture)
        return;
    halo_output_picture_destroy(shot->picture);
    halo_live_lineups_used(live->lineups);
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

bool halo_live_aside_has_snapshots(struct halo_live *live)
{
    pthread_mutex_lock(&live->lock);
    const bool ret = live->snapshots > 0;
    pthread_mutex_unlock(&live->lock);
    return ret;
}

/* Reads what the first one that is asked for needs from files; refused, it is gone. Under the lock,
 * which is let go of meanwhile: nothing that was known before holds. */
static void load(struct halo_live *live, struct halo_lineup *asked)
{
    struct halo_error err = {0};
    pthread_mutex_unlock(&live->lock);
    const bool fine = halo_lineup_load(asked, live->region_feed, &err) >= 0;
    if (!fine)
        tell_set(live, asked->id, &err);
    pthread_mutex_lock(&live->lock);
    asked->loaded = fine;
    if (!fine)
        halo_lineup_destroy(take_asked(live)); /* others are behind it */
}

/* The first one that is asked for, as soon as it can be; false: not yet. Under the lock, which is
 * let go of meanwhile. */
static bool take_up(struct halo_live *live)
{
    const uint64_t id = live->asked[0]->id;
    const enum halo_live_forming forming = halo_live_lineups_take_up(live->lineups, live->asked[0]);
    if (forming == HALO_LIVE_TURNING)
        return false;
    struct halo_lineup *asked = take_asked(live);
    const bool over = live->aside_over;
    pthread_mutex_unlock(&live->lock);
    if (forming == HALO_LIVE_UNFORMED) {
        tell_set(live, id, NULL); /* they are the ones to begin with */
    } else {
        if (over) {
            refuse_over(live, id);
            halo_lineup_destroy(asked);
        } else {
            install(live, asked);
        }
        halo_live_lineups_used(live->lineups);
    }
    pthread_mutex_lock(&live->lock);
    return true;
}

/* One thing that can be done now; under the lock, which is let go of meanwhile. False: none. A
 * snapshot goes first: it may show a picture from before the change that is answered next. */
static bool do_one(struct halo_live *live)
{
    struct halo_live_snapshot shot;
    struct halo_live_asking asking;
    bool sure;
    if (take_snapshot(live, live->aside_over, &shot)) {
        pthread_mutex_unlock(&live->lock);
        end_snapshot(live, &shot);
        pthread_mutex_lock(&live->lock);
        return true;
    }
    if (take_asking(live, &asking, &sure)) {
        pthread_mutex_unlock(&live->lock);
        if (sure)
            tell_set(live, asking.id, NULL);
        else
            refuse_over(live, asking.id);
        pthread_mutex_lock(&live->lock);
        return true;
    }
    const bool may = live->asking_count < HALO_LIVE_REQUESTS && live->asked_count;
    if (may && !live->asked[0]->loaded) {
        load(live, live->asked[0]);
        return true;
    }
    return may && take_up(live);
}

void *halo_live_aside_main(void *arg)
{
    struct halo_live *live = arg;
    halo_log_set_stream(live->settings.name);
    pthread_mutex_lock(&live->lock);
    for (;;) {
        if (do_one(live))
            continue;
        if (live->aside_over)
            break;
        /* Where no picture follows nothing else brings out what an encoder holds. */
        if (live->asking_count && halo_now_ns() >= live->asking[0].until)
            halo_live_encodings_let_go(live->encodings, live->asking[0].epoch);
        if (live->snapshots || live->asking_count)
            wait_until(live, halo_now_ns() + SECOND / 10);
        else
            pthread_cond_wait(&live->changed, &live->lock);
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}
