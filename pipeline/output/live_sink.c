/* SPDX-License-Identifier: BSD-2-Clause
 * Writes packets of a live stream to the sink of halod run (live_sink.h). */
#include "pipeline/output/live_sink.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/thread.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/begin_wire.h"
#include "pipeline/output/container.h"
#include "pipeline/output/sink_file.h"

static const AVRational MICROSECONDS = {1, 1000000};

struct halo_live_sink {
    struct halo_sink *sink;
    const AVCodec *codec;    /* NULL: nothing is encoded */
    AVCodecParameters *like; /* NULL: not begun */
    struct halo_error error;
    int64_t origin; /* us; the first dts */
    bool begun;     /* origin is set */
    atomic_llong bytes;
    struct halo_mutex lock; /* for the fields below */
    struct halo_thread writer;
    bool writing;
};

int halo_live_sink_create(struct halo_live_sink **ret, const struct halo_run_settings *settings,
                          const atomic_int *stop, struct halo_error *err)
{
    struct halo_live_sink *s = av_mallocz(sizeof *s);
    if (!s)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = halo_sink_create(&s->sink, settings, stop, err);
    if (code >= 0 && !halo_sink_discards(s->sink)) {
        s->codec = halo_container_encoder(halo_sink_format(s->sink)->oformat, settings, err);
        code = s->codec ? 0 : -EINVAL;
    }
    if (code < 0) {
        halo_live_sink_destroy(s);
        return code;
    }
    *ret = s;
    return 0;
}

void halo_live_sink_destroy(struct halo_live_sink *s)
{
    if (!s)
        return;
    halo_sink_destroy(s->sink);
    avcodec_parameters_free(&s->like);
    av_free(s);
}

const char *halo_live_sink_codec(const struct halo_live_sink *s)
{
    return s->codec ? s->codec->name : NULL;
}

bool halo_live_sink_is_file(const struct halo_live_sink *s)
{
    return halo_sink_is_file(s->sink);
}

static int add_stream(struct halo_live_sink *s, const struct halo_live_begin *begin)
{
    AVStream *st = avformat_new_stream(halo_sink_format(s->sink), NULL);
    s->like = avcodec_parameters_alloc();
    if (!st || !s->like || halo_av_parameters_copy(st->codecpar, begin->video) < 0 ||
        halo_av_parameters_copy(s->like, begin->video) < 0)
        return -ENOMEM;
    st->codecpar->codec_tag = 0; /* the encoder's container may have another tag */
    st->time_base = MICROSECONDS;
    st->sample_aspect_ratio = begin->video->sample_aspect_ratio;
    if (begin->framerate.num > 0)
        st->avg_frame_rate = begin->framerate;
    if (!halo_sink_is_file(s->sink)) /* its reader gets frames as they arrive */
        halo_sink_format(s->sink)->flags |= AVFMT_FLAG_FLUSH_PACKETS;
    return 0;
}

static void set_writing(struct halo_live_sink *s, bool writing)
{
    halo_lock(&s->lock);
    s->writer = halo_thread_self();
    s->writing = writing;
    halo_unlock(&s->lock);
}

static int keep(struct halo_live_sink *s, int code, struct halo_error *err)
{
    if (code >= 0)
        return code;
    halo_fail(&s->error, code, "a packet was lost: %s", strerror(-code));
    *err = s->error;
    return code;
}

int halo_live_sink_begin(struct halo_live_sink *s, const struct halo_live_begin *begin,
                         struct halo_error *err)
{
    if (s->error.code)
        return s->error.code;
    if (s->like && halo_begin_is_same(s->like, begin->video))
        return 0;
    if (s->like)
        return keep(s, halo_fail(&s->error, -EIO, "the encoder changed its output format"), err);
    int code = add_stream(s, begin);
    set_writing(s, true);
    if (code >= 0)
        code = halo_sink_start(s->sink, &s->error);
    set_writing(s, false);
    return keep(s, code, err);
}

int halo_live_sink_packet(struct halo_live_sink *s, const AVPacket *pkt, struct halo_error *err)
{
    AVPacket *copy = s->error.code ? NULL : av_packet_clone(pkt);
    if (!copy)
        return keep(s, s->error.code ? s->error.code : -ENOMEM, err);
    if (!s->begun)
        s->origin = pkt->dts;
    s->begun = true;
    copy->stream_index = 0;
    copy->pts -= s->origin;
    copy->dts -= s->origin;
    set_writing(s, true);
    const int code = halo_sink_write(s->sink, copy, MICROSECONDS, &s->error);
    set_writing(s, false);
    av_packet_free(&copy);
    atomic_store(&s->bytes, halo_sink_bytes(s->sink));
    return keep(s, code, err);
}

void halo_live_sink_wake(struct halo_live_sink *s)
{
    halo_lock(&s->lock);
    if (s->writing)
        halo_thread_wake(s->writer);
    halo_unlock(&s->lock);
}

int64_t halo_live_sink_bytes(const struct halo_live_sink *s)
{
    return atomic_load(&s->bytes);
}

int halo_live_sink_finish(struct halo_live_sink *s, struct halo_error *err)
{
    const char *path;
    const bool whole = s->begun && !s->error.code && !err->code;
    const int code =
        halo_sink_finish(s->sink, whole ? HALO_SINK_WHOLE : HALO_SINK_DISCARD, &path, err);
    atomic_store(&s->bytes, FFMAX(atomic_load(&s->bytes), halo_sink_bytes(s->sink)));
    return code;
}

void halo_live_sink_abandon(struct halo_live_sink *s)
{
    halo_sink_abandon(s->sink);
}
