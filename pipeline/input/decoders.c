/* SPDX-License-Identifier: BSD-2-Clause
 * The decoders of one video stream of a file (decoders.h). */
#include "pipeline/input/decoders.h"

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"
#include "config/base/thread.h"
#include "pipeline/frame/raw_frame.h"
#include "pipeline/base/damage.h"
#include "pipeline/input/decode_cuts.h"

enum halo_group_state {
    HALO_GROUP_GATHERING, /* its packets arrive */
    HALO_GROUP_WAITING,   /* for a worker */
    HALO_GROUP_TAKEN,     /* by a worker */
    HALO_GROUP_WHOLE,     /* all of its frames are decoded */
    HALO_GROUP_SPOILED,   /* one decoder must decode it */
};

struct halo_group {
    struct halo_group *next; /* the group after it in the stream */
    struct halo_group *then; /* the group that the same worker took after it */
    enum halo_group_state state;
    AVPacket **packet;
    int packets, room;
    int due;                       /* number of packets whose frames are shown */
    int64_t bytes;                 /* of its packets */
    int64_t first;                 /* earliest time of a frame */
    struct halo_raw_frame **frame; /* decoded; frames up to `returned` are NULL */
    int frames, frame_room, returned;
    int64_t newest; /* time of the newest frame */
};

struct halo_decode_worker {
    struct halo_decoders *all;
    struct halo_decoder *decoder;
    struct halo_damage damage;
    struct halo_group *oldest, *newest; /* groups that it took and that are not whole; linked by
                                           `then` */
    struct halo_thread thread;
    bool running;
};

struct halo_decoders {
    const char *name;
    AVStream *stream;
    struct halo_damage *damage;
    struct halo_decoders_settings settings;
    bool counts; /* each packet has one frame */
    int64_t frame_bytes;
    /* Used by the caller's thread only: */
    struct halo_cuts cuts;
    struct halo_decoder *single; /* the one decoder; NULL while the stream is cut */
    int64_t from, until;
    int64_t clean; /* packets of groups that were returned whole */
    int groups;    /* number of these groups */
    int skip;      /* frames of the one decoder that were already returned */
    int replayed;  /* packets of the first group that were sent to the one decoder */
    bool ended, sent_end;
    const char *reason;
    /* Guarded by lock: */
    struct halo_mutex lock;
    struct halo_cond changed;          /* any of the following */
    struct halo_group *first, *last;   /* last: gathering, until the end */
    int64_t waiting_bytes;             /* of frames of all groups but the first */
    bool works;                        /* a decoder accepted a packet */
    bool stop;                         /* workers end */
    struct halo_decode_worker *worker; /* settings.most of them */
};

/* ---- a worker ---- */

/* It decodes one group after the other (decoders.h). Its decoder is not flushed between
 * groups, so the last frames of a group come out while the next one's packets go in; times tell
 * which group a frame belongs to. */

/* Under the lock: */

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
    struct halo_raw_frame **frame = av_realloc_array(g->frame, (size_t)room, sizeof *g->frame);
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
static bool put(struct halo_decode_worker *w, struct halo_raw_frame *raw)
{
    struct halo_decoders *d = w->all;
    const int64_t pts = halo_raw_frame_pts(raw);
    struct halo_group *g = group_of(w, pts);
    while (g && !d->stop && !has_room(d, g))
        halo_cond_wait(&d->changed, &d->lock, INT64_MAX);
    if (!g || d->stop || !halo_decoder_is_plain(w->decoder) || make_room(g) < 0) {
        halo_raw_frame_destroy(raw);
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

/* Without it: */

/* Puts all frames that the decoder has into their groups. */
static bool collect(struct halo_decode_worker *w)
{
    struct halo_decoders *d = w->all;
    struct halo_error err = {0};
    struct halo_raw_frame *raw;
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

static int decode_worker_open(struct halo_decode_worker *w, struct halo_error *err)
{
    struct halo_decoders *d = w->all;
    const int code =
        halo_decoder_open(&w->decoder, d->name, d->stream, &d->settings.decoder, &w->damage, err);
    if (code >= 0 && w == &d->worker[0] && !halo_decoder_in_hardware(w->decoder))
        d->settings.decoder.hw.hwaccel = HALO_HWACCEL_NONE; /* why not is said once */
    return code;
}

static bool decode(struct halo_decode_worker *w, const struct halo_group *g)
{
    struct halo_error err = {0};
    if (!w->decoder && decode_worker_open(w, &err) < 0)
        return false;
    for (int i = 0; i < g->packets; i++) {
        if (halo_decoder_send(w->decoder, g->packet[i], &err) < 0 || !collect(w))
            return false;
        if (i == 0 && halo_decoder_is_plain(w->decoder)) {
            halo_lock(&w->all->lock);
            w->all->works = true;
            halo_cond_broadcast(&w->all->changed);
            halo_unlock(&w->all->lock);
        }
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

static void *decode_worker_main(void *arg)
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

enum {
    MAX_PACKETS = 3000,     /* in a group: a stream with longer ones is not cut */
    READ_AHEAD = 256 << 20, /* bytes of packets of all groups, beyond which no more are read */
};

/* ---- groups ---- */

static void drop_frames(struct halo_group *g)
{
    for (int i = g->returned; i < g->frames; i++)
        halo_raw_frame_destroy(g->frame[i]);
    g->returned = g->frames = 0;
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
    drop_frames(g);
    for (int i = 0; i < g->packets; i++)
        av_packet_free(&g->packet[i]);
    av_free(g->packet);
    av_free(g->frame);
    av_free(g);
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
    int code = decode_worker_open(first, err);
    for (int i = 0; i < d->settings.most && code >= 0; i++) {
        struct halo_decode_worker *w = &d->worker[i];
        code = halo_thread_start(&w->thread, "decode", decode_worker_main, w, err);
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
    say_one(d,
            d->cuts.reason ? d->cuts.reason : "one of its groups of frames depends on another one");
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

static int receive_single(struct halo_decoders *d, struct halo_raw_frame **ret,
                          struct halo_error *err)
{
    int code;
    do {
        while ((code = halo_decoder_receive(d->single, ret, err)) > 0) {
            if (d->skip == 0)
                return code;
            d->skip--;
            halo_raw_frame_destroy(*ret);
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
        halo_log(HALO_LOG_DEBUG, "%s: stream %d: %d groups of frames were decoded separately",
                 d->name, d->stream->index, d->groups);
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
static int receive(struct halo_decoders *d, struct halo_raw_frame **ret)
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

int halo_decoders_receive(struct halo_decoders *d, struct halo_raw_frame **ret,
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
