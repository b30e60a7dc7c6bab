/* SPDX-License-Identifier: BSD-2-Clause
 * A worker: decodes one group after the other (decoders.h). Its decoder is not flushed between
 * groups, so the last frames of a group come out while the next one's packets go in; times tell
 * which group a frame belongs to. */
#include <errno.h>

#include "pipeline/base/thread.h"
#include "pipeline/input/decoders_private.h"
#include "pipeline/picture/raw_picture.h"

/* ---- with the lock ---- */

/* The worker's groups can no longer be trusted. */
static void spoil(struct halo_decode_worker *w)
{
    for (struct halo_group *g = w->oldest; g; g = g->then)
        g->state = HALO_GROUP_SPOILED;
    w->oldest = w->newest = NULL;
    halo_cond_broadcast(&w->all->changed);
}

static void finish_oldest(struct halo_decode_worker *w)
{
    struct halo_group *g = w->oldest;
    const bool lacks = w->all->counts ? g->frames != g->due : g->due > 0 && g->frames == 0;
    if (lacks || !halo_decoder_is_plain(w->decoder)) {
        spoil(w);
        return;
    }
    g->state = HALO_GROUP_WHOLE;
    w->oldest = g->then;
    w->newest = w->oldest ? w->newest : NULL;
    halo_cond_broadcast(&w->all->changed);
}

static int make_room(struct halo_group *g)
{
    if (g->frames < g->frame_room)
        return 0;
    const int room = g->frame_room ? g->frame_room * 2 : 32;
    struct halo_raw_picture **frame = av_realloc_array(g->frame, (size_t)room, sizeof *g->frame);
    if (!frame)
        return -ENOMEM;
    g->frame = frame;
    g->frame_room = room;
    return 0;
}

/* The group that shows the frame; those before it are whole. NULL: the worker's groups are
 * spoiled. */
static struct halo_group *group_of(struct halo_decode_worker *w, int64_t pts)
{
    while (w->oldest && w->oldest->then && pts >= w->oldest->then->first)
        finish_oldest(w);
    struct halo_group *g = w->oldest;
    if (g && (pts < g->first || (g->frames > 0 && pts <= g->newest))) {
        spoil(w);
        return NULL;
    }
    return g;
}

static bool has_room(const struct halo_decoders *d, const struct halo_group *g)
{
    return g == d->first || d->waiting_bytes + d->frame_bytes <= d->settings.window;
}

/* Takes ownership of the frame. */
static bool put(struct halo_decode_worker *w, struct halo_raw_picture *raw)
{
    struct halo_decoders *d = w->all;
    const int64_t pts = halo_raw_picture_pts(raw);
    struct halo_group *g = group_of(w, pts);
    while (g && !d->stop && !has_room(d, g))
        halo_cond_wait(&d->changed, &d->lock, INT64_MAX);
    if (!g || d->stop || !halo_decoder_is_plain(w->decoder) || make_room(g) < 0) {
        halo_raw_picture_destroy(raw);
        spoil(w);
        return false;
    }
    g->frame[g->frames++] = raw;
    g->newest = pts;
    d->waiting_bytes += g == d->first ? 0 : d->frame_bytes;
    halo_cond_broadcast(&d->changed);
    return true;
}

/* The next group to decode; NULL: there is none now, or the worker must end. Only the first worker
 * takes one before a decoder has shown that it works. */
static struct halo_group *take(struct halo_decode_worker *w)
{
    struct halo_decoders *d = w->all;
    struct halo_group *g = d->first;
    while (g && g->state != HALO_GROUP_WAITING)
        g = g->next;
    if (!g || d->stop || (!d->works && w != &d->worker[0]))
        return NULL;
    g->state = HALO_GROUP_TAKEN;
    g->then = NULL;
    if (w->newest)
        w->newest->then = g;
    else
        w->oldest = g;
    w->newest = g;
    return g;
}

/* ---- without ---- */

/* Puts all frames that the decoder has into their groups. */
static bool collect(struct halo_decode_worker *w)
{
    struct halo_decoders *d = w->all;
    struct halo_error err = {0};
    struct halo_raw_picture *raw;
    int code;
    while ((code = halo_decoder_receive(w->decoder, &raw, &err)) > 0) {
        halo_lock(&d->lock);
        const bool fine = put(w, raw);
        halo_unlock(&d->lock);
        if (!fine)
            return false;
    }
    return code == 0;
}

static void say_works(struct halo_decoders *d)
{
    halo_lock(&d->lock);
    d->works = true;
    halo_cond_broadcast(&d->changed);
    halo_unlock(&d->lock);
}

static bool decode(struct halo_decode_worker *w, const struct halo_group *g)
{
    struct halo_error err = {0};
    if (!w->decoder && halo_decode_worker_open(w, &err) < 0)
        return false;
    for (int i = 0; i < g->packets; i++) {
        if (halo_decoder_send(w->decoder, g->packet[i], &err) < 0 || !collect(w))
            return false;
        if (i == 0 && halo_decoder_is_plain(w->decoder))
            say_works(w->all);
    }
    return true;
}

/* No group is there to be decoded: the last frames come out. */
static bool drain(struct halo_decode_worker *w)
{
    struct halo_error err = {0};
    return halo_decoder_send(w->decoder, NULL, &err) >= 0 && collect(w) &&
           halo_decoder_rewind(w->decoder, &err) >= 0;
}

int halo_decode_worker_open(struct halo_decode_worker *w, struct halo_error *err)
{
    struct halo_decoders *d = w->all;
    const int code =
        halo_decoder_open(&w->decoder, d->name, d->stream, &d->settings.decoder, &w->damage, err);
    if (code >= 0 && w == &d->worker[0] && !halo_decoder_in_hardware(w->decoder))
        d->settings.decoder.hw.hwaccel = HALO_HWACCEL_NONE; /* why not is said once */
    return code;
}

void *halo_decode_worker_main(void *arg)
{
    struct halo_decode_worker *w = arg;
    struct halo_decoders *d = w->all;
    bool fine = true;
    halo_lock(&d->lock);
    while (fine && !d->stop) {
        struct halo_group *g = take(w);
        const bool drains = !g && w->oldest;
        if (!g && !drains) {
            halo_cond_wait(&d->changed, &d->lock, INT64_MAX);
            continue;
        }
        halo_unlock(&d->lock);
        fine = g ? decode(w, g) : drain(w);
        halo_lock(&d->lock);
        while (fine && drains && w->oldest)
            finish_oldest(w);
    }
    spoil(w);
    halo_unlock(&d->lock);
    return NULL;
}
