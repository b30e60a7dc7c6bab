/* SPDX-License-Identifier: BSD-2-Clause
 * The decoders of one video stream of a file (decoders.h). */
#include "pipeline/input/decoders.h"

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>

#include "config/log.h"
#include "pipeline/base/av.h"
#include "pipeline/base/thread.h"
#include "pipeline/input/decoders_private.h"
#include "pipeline/picture/raw_picture.h"

enum {
    MAX_PACKETS = 3000,     /* in a group: a stream with longer ones is not cut */
    READ_AHEAD = 256 << 20, /* bytes of packets of all groups, beyond which no more are read */
};

/* ---- groups ---- */

static void drop_frames(struct halo_group *g)
{
    for (int i = g->returned; i < g->frames; i++)
        halo_raw_picture_destroy(g->frame[i]);
    g->returned = g->frames = 0;
}

static void free_group(struct halo_group *g)
{
    drop_frames(g);
    for (int i = 0; i < g->packets; i++)
        av_packet_free(&g->packet[i]);
    av_free(g->packet);
    av_free(g->frame);
    av_free(g);
}

/* With the lock, or without workers. */
static void pop_group(struct halo_decoders *d)
{
    struct halo_group *g = d->first;
    d->first = g->next;
    if (!d->first)
        d->last = NULL;
    else
        d->waiting_bytes -= (int64_t)d->first->frames * d->frame_bytes;
    free_group(g);
}

static int add_packet(struct halo_group *g, const AVPacket *pkt)
{
    if (g->packets == g->room) {
        const int room = g->room ? g->room * 2 : 64;
        AVPacket **packet = av_realloc_array(g->packet, (size_t)room, sizeof(AVPacket *));
        if (!packet)
            return -ENOMEM;
        g->packet = packet;
        g->room = room;
    }
    if (!(g->packet[g->packets] = av_packet_clone(pkt)))
        return -ENOMEM;
    g->packets++;
    g->due += !(pkt->flags & AV_PKT_FLAG_DISCARD);
    g->bytes += pkt->size;
    if (pkt->pts != AV_NOPTS_VALUE)
        g->first = FFMIN(g->first, pkt->pts);
    return 0;
}

/* Ends the group that gathers, and begins another. */
static int begin_group(struct halo_decoders *d)
{
    struct halo_group *g = av_mallocz(sizeof *g);
    if (!g)
        return -ENOMEM;
    g->state = HALO_GROUP_GATHERING;
    g->first = INT64_MAX;
    if (d->last && d->last->state == HALO_GROUP_GATHERING)
        d->last->state = HALO_GROUP_WAITING;
    *(d->last ? &d->last->next : &d->first) = g;
    d->last = g;
    return 0;
}

/* ---- workers ---- */

/* Returns whether a GPU refused to decode for one of them. */
static bool stop_workers(struct halo_decoders *d)
{
    bool refused = false;
    halo_lock(&d->lock);
    d->stop = true;
    halo_cond_broadcast(&d->changed);
    halo_unlock(&d->lock);
    for (int i = 0; i < d->settings.most; i++) {
        struct halo_decode_worker *w = &d->worker[i];
        if (w->running)
            halo_thread_join(w->thread);
        refused |= w->decoder && halo_decoder_refusal(w->decoder)[0];
        halo_decoder_close(w->decoder);
        *w = (struct halo_decode_worker){.all = d};
    }
    return refused;
}

/* Opens the first worker's decoder, so that errors are known at once; the others open theirs when
 * that one has shown that it works. */
static int start_workers(struct halo_decoders *d, struct halo_error *err)
{
    struct halo_decode_worker *first = &d->worker[0];
    int code = halo_decode_worker_open(first, err);
    for (int i = 0; i < d->settings.most && code >= 0; i++) {
        struct halo_decode_worker *w = &d->worker[i];
        code = halo_thread_start(&w->thread, "decode", halo_decode_worker_main, w, err);
        w->running = code >= 0;
    }
    return code;
}

static int count_waiting(const struct halo_decoders *d)
{
    int count = 0;
    for (const struct halo_group *g = d->first; g; g = g->next)
        count += g->state == HALO_GROUP_WAITING;
    return count;
}

/* ---- one decoder ---- */

static void say_one(struct halo_decoders *d, const char *reason)
{
    d->reason = reason;
    if (reason)
        halo_log(HALO_LOG_DEBUG, "%s: stream %d is decoded by one decoder%s: %s", d->name,
                 d->stream->index, d->first ? " from here on" : "", reason);
}

/* Continues with one decoder, which begins with the first packet of the first group. */
static int go_single(struct halo_decoders *d, struct halo_error *err)
{
    struct halo_decoder_settings settings = d->settings.decoder;
    settings.apart = false;
    settings.threads = 0;
    if (stop_workers(d))
        settings.hw.hwaccel = HALO_HWACCEL_NONE; /* it was tried, and said */
    say_one(d, d->cuts.reason ? d->cuts.reason : "a group of its frames needs others");
    d->skip = d->first ? d->first->returned : 0;
    for (struct halo_group *g = d->first; g; g = g->next)
        drop_frames(g);
    const int code = halo_decoder_open(&d->single, d->name, d->stream, &settings, d->damage, err);
    if (code < 0)
        return code;
    halo_decoder_set_window(d->single, d->from, d->until);
    halo_decoder_follow(d->single, d->clean);
    return 0;
}

/* Sends the next packet that was read before there was one decoder. 0: there is none. */
static int replay(struct halo_decoders *d, struct halo_error *err)
{
    while (d->first && d->replayed == d->first->packets) {
        pop_group(d);
        d->replayed = 0;
    }
    if (!d->first && (!d->ended || d->sent_end))
        return 0;
    d->sent_end = !d->first;
    const int code =
        halo_decoder_send(d->single, d->first ? d->first->packet[d->replayed++] : NULL, err);
    return code < 0 ? code : 1;
}

static int receive_single(struct halo_decoders *d, struct halo_raw_picture **ret,
                          struct halo_error *err)
{
    int code;
    do {
        while ((code = halo_decoder_receive(d->single, ret, err)) > 0) {
            if (d->skip == 0)
                return code;
            d->skip--;
            halo_raw_picture_destroy(*ret);
        }
        if (code == 0)
            code = replay(d, err);
    } while (code > 0);
    return code;
}

/* ---- for the caller ---- */

int halo_decoders_open(struct halo_decoders **ret, const char *name, AVStream *stream,
                       const struct halo_decoders_settings *settings, struct halo_damage *damage,
                       struct halo_error *err)
{
    const AVCodecParameters *par = stream->codecpar;
    struct halo_decoders *d = av_mallocz(sizeof *d);
    if (!d || !(d->worker = av_calloc((size_t)settings->most, sizeof *d->worker))) {
        av_free(d);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    d->name = name;
    d->stream = stream;
    d->settings = *settings;
    d->damage = damage;
    d->from = INT64_MIN;
    d->until = INT64_MAX;
    d->counts = par->codec_id == AV_CODEC_ID_H264 || par->codec_id == AV_CODEC_ID_HEVC;
    d->frame_bytes = av_image_get_buffer_size(par->format, par->width, par->height, 1);
    for (int i = 0; i < settings->most; i++)
        d->worker[i].all = d;
    int code = 0;
    if (settings->most == 1 || !halo_cuts_init(&d->cuts, stream) || d->frame_bytes <= 0) {
        say_one(d, d->cuts.reason);
        d->settings.decoder.apart = false;
        if (settings->most > 1)
            d->settings.decoder.threads = 0;
        code = halo_decoder_open(&d->single, name, stream, &d->settings.decoder, damage, err);
    } else {
        code = start_workers(d, err);
    }
    if (code < 0)
        halo_decoders_close(d);
    else
        *ret = d;
    return code;
}

void halo_decoders_close(struct halo_decoders *d)
{
    if (!d)
        return;
    if (d->groups)
        halo_log(HALO_LOG_DEBUG, "%s: stream %d: %d groups of frames were decoded apart", d->name,
                 d->stream->index, d->groups);
    stop_workers(d);
    while (d->first)
        pop_group(d);
    halo_decoder_close(d->single);
    av_free(d->worker);
    av_free(d);
}

void halo_decoders_set_window(struct halo_decoders *d, int64_t from, int64_t until)
{
    d->from = from;
    d->until = until;
    if (d->single)
        halo_decoder_set_window(d->single, from, until);
}

/* Adds a packet to the groups; NULL: the end. */
static int gather(struct halo_decoders *d, const AVPacket *pkt, enum halo_cut cut)
{
    if (!pkt) {
        if (d->last && d->last->state == HALO_GROUP_GATHERING)
            d->last->state = HALO_GROUP_WAITING;
        return 0;
    }
    if ((cut == HALO_CUT_HERE || !d->last) && begin_group(d) < 0)
        return -ENOMEM;
    struct halo_group *g = d->last;
    if (add_packet(g, pkt) < 0)
        return -ENOMEM;
    if (cut != HALO_CUT_NEVER && (g->packets > MAX_PACKETS || g->bytes > READ_AHEAD)) {
        d->cuts.reason = "its groups of frames are too long";
        cut = HALO_CUT_NEVER;
    }
    if (cut == HALO_CUT_NEVER)
        g->state = HALO_GROUP_SPOILED;
    return 0;
}

int halo_decoders_send(struct halo_decoders *d, const AVPacket *pkt, struct halo_error *err)
{
    if (d->single)
        return halo_decoder_send(d->single, pkt, err);
    const enum halo_cut cut = pkt ? halo_cuts_next(&d->cuts, pkt) : HALO_CUT_NONE;
    d->ended = !pkt;
    halo_lock(&d->lock);
    const int code = gather(d, pkt, cut);
    halo_cond_broadcast(&d->changed);
    halo_unlock(&d->lock);
    return code < 0 ? halo_fail(err, code, "out of memory") : 0;
}

static bool is_full(const struct halo_decoders *d)
{
    int64_t bytes = 0;
    for (const struct halo_group *g = d->first; g; g = g->next)
        bytes += g->bytes;
    return bytes >= READ_AHEAD || count_waiting(d) >= d->settings.most;
}

/* With the lock: 1 and a frame; 0: more packets are needed, or there are no more frames; -EAGAIN:
 * one decoder must go on. */
static int receive(struct halo_decoders *d, struct halo_raw_picture **ret)
{
    for (;;) {
        struct halo_group *g = d->first;
        if (g && g->returned < g->frames) {
            *ret = g->frame[g->returned];
            g->frame[g->returned++] = NULL;
            return 1;
        }
        if (!g || g->state == HALO_GROUP_GATHERING)
            return d->cuts.reason ? -EAGAIN : 0;
        if (g->state == HALO_GROUP_SPOILED)
            return -EAGAIN;
        if (g->state == HALO_GROUP_WHOLE) {
            d->clean += g->due;
            d->groups++;
            pop_group(d);
            halo_cond_broadcast(&d->changed);
        } else if (!d->ended && !is_full(d) && d->last->state == HALO_GROUP_GATHERING) {
            return 0;
        } else {
            halo_cond_wait(&d->changed, &d->lock, INT64_MAX);
        }
    }
}

int halo_decoders_receive(struct halo_decoders *d, struct halo_raw_picture **ret,
                          struct halo_error *err)
{
    if (d->single)
        return receive_single(d, ret, err);
    halo_lock(&d->lock);
    int code = receive(d, ret);
    halo_unlock(&d->lock);
    if (code != -EAGAIN)
        return code;
    code = go_single(d, err);
    return code < 0 ? code : receive_single(d, ret, err);
}

void halo_decoders_stop_cutting(struct halo_decoders *d, const char *reason)
{
    if (!d->single)
        d->cuts.reason = reason;
}

bool halo_decoders_are_ahead(const struct halo_decoders *d)
{
    return !d->single;
}

void halo_decoders_describe(const struct halo_decoders *d, struct halo_decoders_about *ret)
{
    const struct halo_decoder *first = d->single ? d->single : d->worker[0].decoder;
    *ret = (struct halo_decoders_about){
        .number = d->single ? 1 : d->settings.most,
        .on_gpu = first && halo_decoder_in_hardware(first),
        .why_one = d->reason,
    };
}
