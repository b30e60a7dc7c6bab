/* SPDX-License-Identifier: BSD-2-Clause
 * A stream's three stage threads and its life (stream.h tells how a frame travels). */
#include "pipeline/stream.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/av.h"
#include "pipeline/queue.h"
#include "pipeline/raw_picture.h"
#include "pipeline/tracks.h"

enum {
    QUEUE_PICTURES = 4,
    QUEUE_PACKETS = 512,
    WAKE_SIGNAL = SIGUSR2, /* interrupts a blocking read; its handler does nothing */
};

struct halo_stream {
    const struct halo_run_settings *settings;
    const struct halo_chain *chain;
    void (*look)(void *arg);
    void *arg;

    struct halo_source *source;
    struct halo_sink *sink;
    struct halo_backend *backend;
    struct halo_tracks tracks;
    struct halo_queue *to_filter, *to_encode;
    pthread_t source_thread, filter_thread, encode_thread;
    bool started;

    atomic_int stop;  /* asked to finish early */
    atomic_bool done; /* all threads are over */
    atomic_bool running;
    atomic_llong frames, bytes, total, time_us, duration_us;

    pthread_mutex_t lock;
    struct halo_error error; /* the first, under lock */
    const char *path;
};

static void do_nothing(int number)
{
    (void)number;
}

/* The first error is the cause, the others its echo. */
static void fail_stream(struct halo_stream *s, const struct halo_error *err)
{
    pthread_mutex_lock(&s->lock);
    if (!s->error.code)
        s->error = *err;
    pthread_mutex_unlock(&s->lock);
    halo_queue_abort(s->to_filter);
    halo_queue_abort(s->to_encode);
}

int halo_stream_create(struct halo_stream **ret, const struct halo_run_settings *settings,
                       const struct halo_chain *chain, void (*look)(void *arg), void *arg,
                       struct halo_error *err)
{
    struct halo_stream *s = av_mallocz(sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    pthread_mutex_init(&s->lock, NULL);
    s->settings = settings;
    s->chain = chain;
    s->look = look;
    s->arg = arg;
    atomic_store(&s->duration_us, -1);
    s->to_filter = halo_queue_create(QUEUE_PICTURES, QUEUE_PACKETS);
    s->to_encode = halo_queue_create(QUEUE_PICTURES, QUEUE_PACKETS);
    int r = 0;
    if (!s->to_filter || !s->to_encode)
        r = halo_fail(err, -ENOMEM, "out of memory");
    if (r >= 0)
        r = halo_sink_create(&s->sink, settings, err);
    if (r >= 0 && !halo_sink_discards(s->sink) && !halo_encoder_find(settings, err))
        r = -EINVAL;
    if (r >= 0 && halo_audio_is_coded(settings) && !halo_audio_find(settings->audio_codec, err))
        r = -EINVAL;
    if (r < 0) {
        halo_stream_destroy(s);
        return r;
    }
    *ret = s;
    return 0;
}

/* For progress: what the container counts, else what its length and rate come to. */
static void expect_total(struct halo_stream *s)
{
    const double length = halo_source_duration(s->source);
    const bool cut = s->settings->seek > 0 || s->settings->duration >= 0;
    if (length > 0)
        atomic_store(&s->duration_us, (long long)(length * 1e6));
    for (int i = 0; i < s->tracks.count; i++) {
        const struct halo_track *t = &s->tracks.track[i];
        if (t->role != HALO_ROLE_FILTER)
            continue;
        if (t->in->nb_frames > 0 && !cut)
            atomic_fetch_add(&s->total, t->in->nb_frames);
        else if (length > 0 && t->in->avg_frame_rate.num > 0)
            atomic_fetch_add(&s->total, (long long)(length * av_q2d(t->in->avg_frame_rate) + 0.5));
    }
}

static int open_all(struct halo_stream *s, struct halo_error *err)
{
    const struct halo_backend_settings backend = {.threads = s->settings->threads};
    int ret = halo_source_open(&s->source, s->settings, &s->stop, err);
    if (ret < 0)
        return ret;
    ret = halo_backend_open(halo_backend_find("cpu"), &backend, &s->backend);
    if (ret < 0)
        return halo_fail(err, ret, "the cpu backend does not start: %s", strerror(-ret));
    ret = halo_tracks_open(&s->tracks, s->settings, s->chain, s->backend, s->source, s->sink, err);
    if (ret < 0)
        return ret;
    expect_total(s);
    return halo_sink_start(s->sink, err);
}

/* ---- source thread ---- */

/* All pictures that the decoder has, into the queue: 0, or -errno. */
static int drain_decoder(struct halo_stream *s, int index, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[index];
    struct halo_raw_picture *raw;
    int ret;
    while ((ret = halo_decoder_receive(t->decoder, &raw, err)) > 0) {
        raw->frame->pts = halo_source_shift(s->source, raw->frame->pts, t->in->time_base);
        const int where = halo_source_window(s->source, raw->frame->pts, t->in->time_base);
        halo_decoder_tolerate(t->decoder, where < 0);
        t->over |= where > 0;
        if (where != 0) {
            halo_raw_picture_destroy(raw);
            continue;
        }
        t->pictures++;
        ret = halo_queue_put(s->to_filter, (struct halo_item){HALO_ITEM_RAW, index, {.raw = raw}});
        if (ret < 0)
            return ret;
    }
    return ret;
}

static int copy_packet(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[pkt->stream_index];
    AVPacket *copy = av_packet_clone(pkt);
    if (!copy)
        return halo_fail(err, -ENOMEM, "out of memory");
    copy->pts = halo_source_shift(s->source, copy->pts, t->in->time_base);
    copy->dts = halo_source_shift(s->source, copy->dts, t->in->time_base);
    const int64_t ts = copy->pts != AV_NOPTS_VALUE ? copy->pts : copy->dts;
    const int where = halo_source_window(s->source, ts, t->in->time_base);
    t->over |= where > 0;
    if (where != 0) {
        av_packet_free(&copy);
        return 0;
    }
    return halo_queue_put(
        s->to_filter, (struct halo_item){HALO_ITEM_PACKET, pkt->stream_index, {.packet = copy}});
}

static int take_packet(struct halo_stream *s, const AVPacket *pkt, struct halo_error *err)
{
    struct halo_track *t = &s->tracks.track[pkt->stream_index];
    if (t->role == HALO_ROLE_DROP || (t->over && t->role == HALO_ROLE_FILTER))
        return 0;
    if (t->role == HALO_ROLE_COPY)
        return copy_packet(s, pkt, err);
    const int ret = halo_decoder_send(t->decoder, pkt, err);
    return ret < 0 ? ret : drain_decoder(s, pkt->stream_index, err);
}

static int demux(struct halo_stream *s, struct halo_error *err)
{
    AVPacket *pkt = av_packet_alloc();
    if (!pkt)
        return halo_fail(err, -ENOMEM, "out of memory");
    int ret;
    while ((ret = halo_source_read(s->source, pkt, err)) > 0) {
        ret = take_packet(s, pkt, err);
        if (ret < 0 || halo_tracks_over(&s->tracks))
            break;
    }
    av_packet_free(&pkt);
    for (int i = 0; i < s->tracks.count && ret >= 0; i++) {
        if (s->tracks.track[i].role != HALO_ROLE_FILTER || s->tracks.track[i].over)
            continue;
        ret = halo_decoder_send(s->tracks.track[i].decoder, NULL, err);
        if (ret >= 0)
            ret = drain_decoder(s, i, err);
    }
    return ret < 0 ? ret : halo_source_check_whole(s->source, err);
}

static int check_pictures(const struct halo_stream *s, struct halo_error *err)
{
    for (int i = 0; i < s->tracks.count; i++)
        if (s->tracks.track[i].pictures > 0)
            return 0;
    if (atomic_load(&s->stop))
        return 0;
    return halo_fail(err, -ENODATA, "%s: no picture in it could be decoded%s", s->settings->input,
                     s->settings->seek > 0 ? " at or after -ss" : "");
}

/* ---- filter thread ---- */

static int filter_item(struct halo_stream *s, struct halo_item *item, struct halo_error *err)
{
    if (item->kind == HALO_ITEM_RAW) {
        struct halo_raw_picture *raw = item->raw;
        struct halo_output_picture *output;
        const int ret = halo_gate_pass(s->tracks.track[item->track].gate, raw, &output, err);
        halo_raw_picture_destroy(raw);
        if (ret < 0)
            return ret;
        item->kind = HALO_ITEM_OUTPUT;
        item->output = output;
    }
    return halo_queue_put(s->to_encode, *item);
}

static void *filter_main(void *arg)
{
    struct halo_stream *s = arg;
    struct halo_error err = {0};
    struct halo_item item;
    while (halo_queue_get(s->to_filter, &item) == 0) {
        const bool end = item.kind == HALO_ITEM_END;
        const int ret = filter_item(s, &item, &err);
        if (ret < 0 && ret != -ECANCELED) {
            halo_fail(&err, ret, "the filter stage failed: %s", strerror(-ret));
            fail_stream(s, &err);
        }
        if (ret < 0 || end)
            break;
    }
    return NULL;
}

/* ---- encode thread ---- */

static int write_packet(struct halo_stream *s, AVPacket *pkt, int index, AVRational tb,
                        struct halo_error *err)
{
    pkt->stream_index = s->tracks.track[index].out->index;
    const int ret = halo_sink_write(s->sink, pkt, tb, err);
    atomic_store(&s->bytes, halo_sink_bytes(s->sink));
    return ret;
}

static int encode_picture(struct halo_stream *s, int index,
                          const struct halo_output_picture *picture, struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    AVPacket *pkt = t->encoder ? av_packet_alloc() : NULL;
    int ret = 0;
    if (t->encoder && !pkt)
        ret = halo_fail(err, -ENOMEM, "out of memory");
    if (ret >= 0 && t->encoder)
        ret = halo_encoder_send(t->encoder, picture, err);
    while (ret >= 0 && t->encoder && (ret = halo_encoder_receive(t->encoder, pkt, err)) > 0)
        ret = write_packet(s, pkt, index, halo_encoder_time_base(t->encoder), err);
    av_packet_free(&pkt);
    if (ret >= 0 && picture) {
        const double time =
            halo_output_picture_frame(picture)->pts * av_q2d(t->in->time_base) * 1e6;
        atomic_fetch_add(&s->frames, 1);
        atomic_store(&s->time_us, (long long)time);
    }
    return ret;
}

/* pkt NULL: the end. */
static int encode_audio(struct halo_stream *s, const AVPacket *pkt, int index,
                        struct halo_error *err)
{
    struct halo_audio *audio = s->tracks.track[index].audio;
    AVPacket *out = av_packet_alloc();
    int ret = out ? halo_audio_send(audio, pkt, err) : halo_fail(err, -ENOMEM, "out of memory");
    while (ret >= 0 && (ret = halo_audio_receive(audio, out, err)) > 0)
        ret = write_packet(s, out, index, halo_audio_time_base(audio), err);
    av_packet_free(&out);
    return ret;
}

static int copy_out(struct halo_stream *s, AVPacket *pkt, int index, struct halo_error *err)
{
    const struct halo_track *t = &s->tracks.track[index];
    if (t->audio)
        return encode_audio(s, pkt, index, err);
    const int ret = t->subtitle ? halo_subtitle_convert(t->subtitle, pkt, err) : 1;
    if (ret <= 0)
        return ret;
    pkt->pts += pkt->pts != AV_NOPTS_VALUE ? t->delay : 0;
    pkt->dts += pkt->dts != AV_NOPTS_VALUE ? t->delay : 0;
    return write_packet(s, pkt, index, t->in->time_base, err);
}

static int encode_item(struct halo_stream *s, const struct halo_item *item, struct halo_error *err)
{
    int ret = 0;
    switch (item->kind) {
    case HALO_ITEM_PACKET:
        return copy_out(s, item->packet, item->track, err);
    case HALO_ITEM_OUTPUT:
        return encode_picture(s, item->track, item->output, err);
    case HALO_ITEM_END:
        for (int i = 0; i < s->tracks.count && ret >= 0; i++) {
            if (s->tracks.track[i].encoder)
                ret = encode_picture(s, i, NULL, err);
            else if (s->tracks.track[i].audio)
                ret = encode_audio(s, NULL, i, err);
        }
        return ret;
    case HALO_ITEM_RAW:
        break;
    }
    return halo_fail(err, -EPERM, "an unfiltered picture reached the encoder: refused");
}

static void *encode_main(void *arg)
{
    struct halo_stream *s = arg;
    struct halo_error err = {0};
    struct halo_item item;
    while (halo_queue_get(s->to_encode, &item) == 0) {
        const bool end = item.kind == HALO_ITEM_END;
        const int ret = encode_item(s, &item, &err);
        halo_item_finish(&item);
        if (ret < 0)
            fail_stream(s, &err);
        if (ret < 0 || end)
            break;
    }
    return NULL;
}

/* ---- life ---- */

/* Runs the three stages; the source's is this thread. */
static void run_stages(struct halo_stream *s)
{
    struct halo_error err = {0};
    bool filter = false, encode = false;
    int ret = -pthread_create(&s->filter_thread, NULL, filter_main, s);
    filter = ret == 0;
    if (ret == 0)
        ret = -pthread_create(&s->encode_thread, NULL, encode_main, s);
    encode = filter && ret == 0;
    if (ret < 0)
        halo_fail(&err, ret, "no thread could be started: %s", strerror(-ret));
    if (ret >= 0)
        atomic_store(&s->running, true);
    if (ret >= 0)
        ret = demux(s, &err);
    if (ret >= 0)
        ret = check_pictures(s, &err);
    if (ret >= 0)
        ret = halo_queue_put(s->to_filter, (struct halo_item){.kind = HALO_ITEM_END});
    if (ret < 0 && ret != -ECANCELED)
        halo_fail(&err, ret, "the source stage failed: %s", strerror(-ret));
    if (ret < 0)
        fail_stream(s, &err); /* a stage that was cancelled has no error of its own */
    if (filter)
        pthread_join(s->filter_thread, NULL);
    if (encode)
        pthread_join(s->encode_thread, NULL);
}

static void *source_main(void *arg)
{
    struct halo_stream *s = arg;
    struct halo_error err = {0};
    if (open_all(s, &err) < 0)
        fail_stream(s, &err);
    else
        run_stages(s);
    atomic_store(&s->running, false);
    if (!s->error.code) {
        const bool partial = atomic_load(&s->stop);
        if (partial && !atomic_load(&s->frames))
            halo_sink_finish(s->sink, HALO_SINK_DISCARD, &s->path, &err);
        else if (halo_sink_finish(s->sink, partial ? HALO_SINK_PARTIAL : HALO_SINK_WHOLE, &s->path,
                                  &err) < 0)
            fail_stream(s, &err);
        atomic_store(&s->bytes, FFMAX(atomic_load(&s->bytes), halo_sink_bytes(s->sink)));
    }
    atomic_store(&s->done, true);
    s->look(s->arg);
    return NULL;
}

int halo_stream_start(struct halo_stream *s, struct halo_error *err)
{
    const struct sigaction wake = {.sa_handler = do_nothing}; /* no SA_RESTART: it interrupts */
    sigaction(WAKE_SIGNAL, &wake, NULL);
    const int ret = -pthread_create(&s->source_thread, NULL, source_main, s);
    if (ret < 0)
        return halo_fail(err, ret, "no thread could be started: %s", strerror(-ret));
    s->started = true;
    return 0;
}

void halo_stream_stop(struct halo_stream *s)
{
    atomic_store(&s->stop, 1);
    if (s->started && !atomic_load(&s->done))
        pthread_kill(s->source_thread, WAKE_SIGNAL);
}

void halo_stream_abandon(struct halo_stream *s)
{
    halo_sink_abandon(s->sink);
}

bool halo_stream_done(const struct halo_stream *s)
{
    return atomic_load(&s->done);
}

void halo_stream_stats(const struct halo_stream *s, struct halo_stream_stats *ret)
{
    *ret = (struct halo_stream_stats){
        .frames = atomic_load(&s->frames),
        .total = atomic_load(&s->total),
        .time = atomic_load(&s->time_us) / 1e6,
        .duration = atomic_load(&s->duration_us) / 1e6,
        .bytes = atomic_load(&s->bytes),
        .running = atomic_load(&s->running),
    };
}

void halo_stream_join(struct halo_stream *s, struct halo_stream_result *ret)
{
    if (s->started)
        pthread_join(s->source_thread, NULL);
    s->started = false;
    *ret = (struct halo_stream_result){
        .error = s->error, .path = s->path, .interrupted = atomic_load(&s->stop)};
}

void halo_stream_destroy(struct halo_stream *s)
{
    if (!s)
        return;
    if (s->started) {
        halo_stream_stop(s);
        pthread_join(s->source_thread, NULL);
    }
    halo_tracks_close(&s->tracks);
    halo_source_close(s->source);
    halo_sink_destroy(s->sink);
    halo_backend_close(s->backend);
    halo_queue_destroy(s->to_filter);
    halo_queue_destroy(s->to_encode);
    pthread_mutex_destroy(&s->lock);
    av_free(s);
}
