/* SPDX-License-Identifier: BSD-2-Clause
 * Snapshots of a live stream. */
#include "pipeline/live/live_snapshots.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <pthread.h>
#include <string.h>

#include "kernels/clock.h"
#include "pipeline/gate/gate.h"
#include "pipeline/live/live.h"
#include "pipeline/live/live_aside.h"
#include "pipeline/live/live_camera.h"
#include "pipeline/live/live_codec.h"
#include "pipeline/live/live_lineups.h"
#include "pipeline/live/live_listener.h"
#include "pipeline/live/live_stream.h"

enum { LIMIT = 16 }; /* snapshots that may wait */

static const double LONGEST = 1.7; /* seconds that a snapshot waits for its frame */

struct snapshot {
    uint64_t id;
    int64_t asked;                       /* ns */
    const char *codec;                   /* FFmpeg's name */
    struct halo_output_picture *picture; /* NULL: no frame yet; it uses the format */
};

struct halo_live_snapshots {
    pthread_mutex_t lock; /* of the fields below */
    bool closed;
    struct snapshot waiting[LIMIT];
    int count;
};

struct halo_live_snapshots *halo_live_snapshots_create(void)
{
    struct halo_live_snapshots *s = av_mallocz(sizeof *s);
    if (s)
        pthread_mutex_init(&s->lock, NULL);
    return s;
}

void halo_live_snapshots_destroy(struct halo_live_snapshots *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    av_free(s);
}

int halo_live_snapshot(struct halo_live *live, uint64_t id, const char *format,
                       struct halo_error *err)
{
    struct halo_live_snapshots *s = live->snapshots;
    const char *codec = !strcmp(format, "png") ? "png" : !strcmp(format, "jpg") ? "mjpeg" : NULL;
    int ret = 0;
    if (!codec)
        return halo_fail_usage(err, "%.40s: the format of a snapshot must be png or jpg", format);
    pthread_mutex_lock(&s->lock);
    const bool over = atomic_load(&live->done) || s->closed;
    if (over || s->count == LIMIT)
        ret = over ? halo_fail(err, -ECANCELED, "the stream has ended")
                   : halo_fail(err, -EBUSY, "too many snapshots are waiting: try again later");
    else
        s->waiting[s->count++] =
            (struct snapshot){.id = id, .asked = halo_now_ns(), .codec = codec};
    pthread_mutex_unlock(&s->lock);
    halo_live_aside_wake(live->aside);
    halo_live_camera_wake(live->camera);
    return ret;
}

bool halo_live_snapshots_wait(struct halo_live_snapshots *s)
{
    pthread_mutex_lock(&s->lock);
    const bool ret = s->count > 0;
    pthread_mutex_unlock(&s->lock);
    return ret;
}

void halo_live_snapshots_give(struct halo_live *live, const struct halo_output_picture *picture)
{
    struct halo_live_snapshots *s = live->snapshots;
    pthread_mutex_lock(&s->lock);
    const bool some = s->count > 0;
    for (int i = 0; i < s->count; i++) {
        struct snapshot *shot = &s->waiting[i];
        if (shot->picture || !(shot->picture = halo_output_picture_ref(picture)))
            continue;
        halo_live_lineups_lend(live->lineups);
    }
    pthread_mutex_unlock(&s->lock);
    if (some)
        halo_live_aside_wake(live->aside);
}

void halo_live_snapshots_close(struct halo_live_snapshots *s)
{
    pthread_mutex_lock(&s->lock);
    s->closed = true;
    pthread_mutex_unlock(&s->lock);
}

static bool take(struct halo_live_snapshots *s, bool all, struct snapshot *ret)
{
    const int64_t late = halo_now_ns() - (int64_t)(LONGEST * 1e9);
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->count && !found; i++) {
        struct snapshot *shot = &s->waiting[i];
        found = shot->picture || shot->asked <= late || all;
        if (!found)
            continue;
        *ret = *shot;
        s->count--;
        memmove(shot, shot + 1, (size_t)(s->count - i) * sizeof *shot);
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

bool halo_live_snapshots_answer(struct halo_live *live, bool all)
{
    struct halo_error err = {0};
    struct snapshot shot;
    if (!take(live->snapshots, all, &shot))
        return false;
    AVPacket *image = av_packet_alloc();
    int code = image ? 0 : halo_fail(&err, -ENOMEM, "out of memory");
    if (code >= 0 && !shot.picture)
        code = halo_fail(&err, -ETIMEDOUT, "no filtered frame arrived within two seconds");
    if (code >= 0)
        code = halo_live_codec_image(live, shot.codec, shot.picture, image, &err);
    HALO_LIVE_TELL(live->listener, snapshot, shot.id, code < 0 ? NULL : image,
                   code < 0 ? &err : NULL);
    av_packet_free(&image);
    if (shot.picture) {
        halo_output_picture_destroy(shot.picture);
        halo_live_lineups_used(live->lineups);
    }
    return true;
}
