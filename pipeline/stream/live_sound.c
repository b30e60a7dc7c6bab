/* SPDX-License-Identifier: BSD-2-Clause
 * Audio of a live stream: on the clock of the frames, copied or encoded for each encoding that has
 * audio. */
#include "pipeline/stream/live_sound.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/log.h"
#include "pipeline/base/av_version.h"
#include "pipeline/gate/queue.h"
#include "pipeline/input/source_file.h"
#include "pipeline/stream/live_clock.h"
#include "pipeline/stream/live_encodings.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_format.h"
#include "pipeline/stream/live_source.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/output/adts.h"
#include "pipeline/output/audio.h"
#include "pipeline/output/container.h"

enum {
    GAP = 1000000, /* microseconds: longer gaps are not filled with silence */
    AHEAD = 300,   /* packets of all streams that are searched for the first audio packet */
};

static const AVStream *sound_of(const struct halo_live *live)
{
    const AVFormatContext *like = live->format->like;
    return like->nb_streams > 1 ? like->streams[1] : NULL;
}

static bool is_copy(const char *audio)
{
    return audio && !strcmp(audio, "copy");
}

static bool is_copied(const struct halo_live_encoding *e)
{
    return is_copy(e->audio);
}

/* The number of the encoding's outputs whose container can hold audio with this codec, of *ret_all;
 * *ret_container is the first one that cannot. An unknown container can, or reports an error. */
static int count_holders(const struct halo_live_encoding *e, enum AVCodecID id, int *ret_all,
                         const char **ret_container)
{
    const AVCodecParameters par = {.codec_type = AVMEDIA_TYPE_AUDIO, .codec_id = id};
    const struct halo_live *live = e->live;
    int holders = 0;
    *ret_all = 0;
    *ret_container = NULL;
    for (int o = 0; o < live->settings.outputs; o++) {
        if (live->encodings->of[o] != e->number)
            continue;
        const AVOutputFormat *container = halo_container_of(&live->settings.output[o]);
        const bool holds = !container || halo_container_holds(container, &par);
        if (!holds && !*ret_container)
            *ret_container = container->name;
        holders += holds;
        ++*ret_all;
    }
    return holders;
}

/* An encoder whose codec every output of the encoding can hold; NULL: there is none. */
static const char *find_encoder(const struct halo_live_encoding *e)
{
    static const char *const names[] = {"aac", "libopus", "flac"};
    const char *container;
    int all;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const AVCodec *codec = avcodec_find_encoder_by_name(names[i]);
        if (codec && count_holders(e, codec->id, &all, &container) == all)
            return names[i];
    }
    return NULL;
}

void halo_live_sound_choose(struct halo_live_encoding *e)
{
    const AVStream *in = sound_of(e->live);
    const char *before = e->audio, *container;
    int all;
    e->audio = e->what->audio;
    if (!in || !is_copied(e) || count_holders(e, in->codecpar->codec_id, &all, &container) > 0 ||
        !all)
        return;
    e->audio = find_encoder(e);
    if (before && before == e->audio)
        return; /* the log has it */
    halo_log(HALO_LOG_WARNING, "%s: %s cannot hold %s audio, so it is %s%s instead of being copied",
             e->live->name, container, avcodec_get_name(in->codecpar->codec_id),
             e->audio ? "encoded as " : "left out", e->audio ? e->audio : "");
}

static int take_off(AVBSFContext *adts, AVPacket *pkt)
{
    const int code = av_bsf_send_packet(adts, pkt);
    return code < 0 ? code : av_bsf_receive_packet(adts, pkt);
}

/* Opens in->adts, whose first packet contains the parameters. */
static int open_adts(struct halo_live_input *in, AVPacket *first)
{
    const AVBitStreamFilter *filter = av_bsf_get_by_name("aac_adtstoasc");
    AVCodecParameters *par = in->sound->codecpar;
    size_t size = 0;
    int code = filter ? av_bsf_alloc(filter, &in->adts) : AVERROR_BSF_NOT_FOUND;
    if (code >= 0)
        code = halo_av_parameters_copy(in->adts->par_in, par);
    if (code >= 0)
        code = av_bsf_init(in->adts);
    if (code >= 0)
        code = take_off(in->adts, first);
    if (code < 0)
        return code;
    const uint8_t *extradata = av_packet_get_side_data(first, AV_PKT_DATA_NEW_EXTRADATA, &size);
    if (!extradata)
        return AVERROR_INVALIDDATA;
    par->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!par->extradata)
        return AVERROR(ENOMEM);
    memcpy(par->extradata, extradata, size);
    par->extradata_size = (int)size;
    return 0;
}

/* Opens the filter for the ADTS header of the first audio packet, if it has one. Some containers
 * accept AAC with these headers. */
static int find_adts(struct halo_live_input *in, struct halo_error *err)
{
    const AVPacket *pkt = NULL;
    for (int i = 0; i < AHEAD && (!pkt || pkt->stream_index != in->sound->index); i++) {
        const int code = halo_source_peek(in->source, i, &pkt, err);
        if (code <= 0)
            return code;
    }
    if (pkt->stream_index != in->sound->index || !halo_adts_begin(&in->coded, pkt))
        return 0;
    AVPacket *first = av_packet_clone(pkt);
    const int code = first ? open_adts(in, first) : AVERROR(ENOMEM);
    av_packet_free(&first);
    if (code < 0)
        av_bsf_free(&in->adts);
    return code == AVERROR(ENOMEM) ? halo_fail(err, -ENOMEM, "out of memory") : 0;
}

int halo_live_sound_open(const struct halo_live *live, struct halo_live_input *in,
                         struct halo_error *err)
{
    const AVCodecParameters *par = in->sound ? in->sound->codecpar : NULL;
    bool copied = false;
    for (int i = 0; i < live->encodings->count; i++)
        copied = copied || is_copy(live->encodings->what[i].audio);
    /* Without a sample rate, no audio was found at all: do not wait for it. */
    if (!copied || !par || par->codec_id != AV_CODEC_ID_AAC || par->extradata_size ||
        par->sample_rate <= 0)
        return 0;
    return find_adts(in, err);
}

/* Returns a copy of pkt for encodings that copy audio; NULL: they get none, because it differs from
 * what was announced, is malformed, or memory is short. */
static AVPacket *to_copy(const struct halo_live *live, struct halo_live_input *in,
                         const AVPacket *pkt)
{
    if (in->adts && !halo_adts_goes_on(&in->coded, live->name, in->sound, pkt,
                                       "use 'audio: aac' to keep all of the audio"))
        return NULL;
    AVPacket *ret = av_packet_clone(pkt);
    if (ret && in->adts && take_off(in->adts, ret) < 0)
        av_packet_free(&ret);
    return ret;
}

static int open_audio(struct halo_live_encoding *e, struct halo_error *err)
{
    const AVCodec *codec = halo_audio_find(e->audio, err);
    if (!codec)
        return -EINVAL;
    return halo_audio_open(&e->sound.audio, e->live->name, sound_of(e->live), codec,
                           av_guess_format("matroska", NULL, NULL), err);
}

int halo_live_sound_prepare(struct halo_live_encoding *e, struct halo_error *err)
{
    const AVStream *in = sound_of(e->live);
    if (!e->audio || !in)
        return 0;
    int code = is_copied(e) ? 0 : open_audio(e, err);
    if (code < 0 && is_copy(e->what->audio)) { /* nobody asked for this encoder */
        halo_log(HALO_LOG_WARNING, "%s: the audio is left out: %s", e->live->name, err->text);
        *err = (struct halo_error){0};
        halo_live_sound_rest(&e->sound);
        return 0;
    }
    AVStream *out = code < 0 ? NULL : avformat_new_stream(e->codec.out, NULL);
    if (!out)
        return halo_fail(err, code < 0 ? code : -ENOMEM, "out of memory");
    code = e->sound.audio ? halo_audio_describe(e->sound.audio, out)
                          : halo_av_parameters_copy(out->codecpar, in->codecpar);
    out->codecpar->codec_tag = 0;
    e->sound.is = code >= 0;
    e->sound.last = AV_NOPTS_VALUE;
    return code < 0 ? halo_fail(err, code, "out of memory") : 0;
}

void halo_live_sound_rest(struct halo_live_track *sound)
{
    halo_audio_close(sound->audio);
    sound->audio = NULL;
}

void halo_live_sound_close(struct halo_live_track *sound)
{
    halo_live_sound_rest(sound);
    sound->is = false;
}

/* Restarts the encoder after a gap, which it would otherwise fill with silence. */
static int restart(struct halo_live_encoding *e, struct halo_error *err)
{
    halo_live_sound_rest(&e->sound);
    return open_audio(e, err);
}

static int encode(struct halo_live_encoding *e, const AVPacket *pkt, struct halo_error *err)
{
    const int64_t gap = e->sound.last == AV_NOPTS_VALUE ? 0 : pkt->pts - e->sound.last;
    AVPacket *out = av_packet_alloc();
    int code = out ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0 && (!e->sound.audio || gap > GAP || gap < -GAP))
        code = restart(e, err);
    if (code >= 0)
        code = halo_audio_send(e->sound.audio, pkt, err);
    while (code >= 0 && (code = halo_audio_receive(e->sound.audio, out, err)) > 0) {
        av_packet_rescale_ts(out, halo_audio_time_base(e->sound.audio), HALO_LIVE_TIME);
        halo_live_encoding_send(e, out, 1, false);
        av_packet_unref(out);
    }
    av_packet_free(&out);
    return code;
}

void halo_live_sound_take(struct halo_live_encoding *e, AVPacket *pkt)
{
    struct halo_error err = {0};
    if (!e->sound.is || !halo_live_encoding_runs(e)) {
        av_packet_free(&pkt);
        return;
    }
    if (!is_copied(e) && encode(e, pkt, &err) < 0) {
        halo_log(HALO_LOG_DEBUG, "%s; continuing", err.text);
        halo_live_sound_rest(&e->sound);
    } else if (is_copied(e)) {
        pkt->flags |= AV_PKT_FLAG_KEY;
        halo_live_encoding_send(e, pkt, 1, false);
    }
    e->sound.last = pkt->pts;
    av_packet_free(&pkt);
}

/* Whether the audio that arrives has the announced parameters. */
static bool is_same(const AVStream *a, const AVStream *b)
{
    const AVCodecParameters *x = a->codecpar, *y = b->codecpar;
    return x->codec_id == y->codec_id && x->sample_rate == y->sample_rate &&
           x->ch_layout.nb_channels == y->ch_layout.nb_channels &&
           x->extradata_size == y->extradata_size &&
           (!x->extradata_size || !memcmp(x->extradata, y->extradata, (size_t)x->extradata_size));
}

/* Outputs cannot change the parameters with which they began. */
static bool fits(const struct halo_live *live, struct halo_live_input *in)
{
    const AVStream *sound = sound_of(live);
    if (sound && is_same(sound, in->sound))
        return true;
    if (!in->unlike)
        halo_log(
            HALO_LOG_WARNING,
            "%s: stream %d: its %s audio differs from the audio at the start of the outputs, so "
            "it is left out until the live stream is restarted",
            live->name, in->sound->index, avcodec_get_name(in->sound->codecpar->codec_id));
    in->unlike = true;
    return false;
}

static void set_times(const struct halo_live *live, AVPacket *pkt, AVRational tb)
{
    pkt->pts = halo_live_clock_map(&live->reader->clock, pkt->pts, tb);
    pkt->dts = halo_live_clock_map(&live->reader->clock, pkt->dts, tb);
    pkt->duration = av_rescale_q(pkt->duration, tb, HALO_LIVE_TIME);
}

void halo_live_sound_spread(struct halo_live *live, struct halo_live_input *in, AVPacket *pkt)
{
    const AVRational tb = in->sound->time_base;
    const bool usable = fits(live, in) && pkt->pts != AV_NOPTS_VALUE;
    if (pkt->dts == AV_NOPTS_VALUE)
        pkt->dts = pkt->pts;
    AVPacket *copy = usable ? to_copy(live, in, pkt) : NULL;
    set_times(live, pkt, tb);
    if (copy)
        set_times(live, copy, tb);
    for (int i = 0; i < live->encodings->count && usable; i++) {
        struct halo_live_encoding *e = &live->encodings->at[i];
        if (!e->audio || !halo_live_encoding_runs(e))
            continue;
        const AVPacket *from = is_copied(e) ? copy : pkt;
        struct halo_item item = {.kind = HALO_ITEM_PACKET,
                                 .packet = from ? av_packet_clone(from) : NULL};
        if (item.packet && live->live)
            halo_queue_put_newest(e->queue, item);
        else if (item.packet)
            halo_queue_put(e->queue, item);
    }
    av_packet_free(&copy);
    av_packet_free(&pkt);
}
