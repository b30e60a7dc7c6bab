/* SPDX-License-Identifier: BSD-2-Clause
 * Copies and serializes the description of an encoding (parameters_wire.h). All numbers are sent as
 * int64_t. */
#include "pipeline/output/parameters_wire.h"
#include "pipeline/base/av_version.h"

#include <errno.h>
#include <libavutil/channel_layout.h>
#include <libavutil/mem.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLAGS = AV_PKT_FLAG_KEY | AV_PKT_FLAG_DISPOSABLE,
    MAX_SIDE = 16384, /* pixels */
    MAX_CHANNELS = 64,
    MAX_SAMPLE_RATE = 1000000,
};
/* Times of more than a thousand years are invalid, and would overflow later. */
static const int64_t MAX_TIME = INT64_C(1) << 55;

/* ---- copies ---- */

static int copy_parameters(AVCodecParameters **ret, const AVCodecParameters *from)
{
    if (!from)
        return 0;
    *ret = avcodec_parameters_alloc();
    return *ret && halo_av_parameters_copy(*ret, from) >= 0 ? 0 : -ENOMEM;
}

AVStream *halo_parameters_add_stream(AVFormatContext *to,
                                     const struct halo_encoding_parameters *begin,
                                     const AVCodecParameters *par)
{
    AVStream *st = avformat_new_stream(to, NULL);
    if (!st || halo_av_parameters_copy(st->codecpar, par) < 0)
        return NULL;
    st->codecpar->codec_tag = 0;
    if (par != begin->video)
        return st;
    st->sample_aspect_ratio = par->sample_aspect_ratio;
    if (begin->framerate.num > 0 && begin->framerate.den > 0)
        st->avg_frame_rate = begin->framerate;
    return st;
}

static int copy_packet(AVPacket **ret, const AVPacket *from)
{
    if (!from)
        return 0;
    *ret = av_packet_clone(from);
    return *ret ? 0 : -ENOMEM;
}

int halo_parameters_copy_init(struct halo_parameters_copy *ret,
                              const struct halo_encoding_parameters *begin)
{
    *ret = (struct halo_parameters_copy){.framerate = begin->framerate};
    int code = copy_parameters(&ret->video, begin->video);
    if (code >= 0)
        code = copy_parameters(&ret->audio, begin->audio);
    if (code >= 0)
        code = copy_packet(&ret->card, begin->card);
    if (code >= 0)
        code = copy_packet(&ret->solid, begin->solid);
    if (code < 0)
        halo_parameters_copy_finish(ret);
    return code;
}

void halo_parameters_copy_finish(struct halo_parameters_copy *copy)
{
    avcodec_parameters_free(&copy->video);
    avcodec_parameters_free(&copy->audio);
    av_packet_free(&copy->card);
    av_packet_free(&copy->solid);
}

bool halo_parameters_are_same(const AVCodecParameters *a, const AVCodecParameters *b)
{
    if (!a || !b)
        return a == b;
    return a->codec_id == b->codec_id && a->width == b->width && a->height == b->height &&
           a->format == b->format && a->profile == b->profile && a->level == b->level &&
           !av_cmp_q(a->sample_aspect_ratio, b->sample_aspect_ratio) &&
           a->color_range == b->color_range && a->color_space == b->color_space &&
           a->color_primaries == b->color_primaries && a->color_trc == b->color_trc &&
           a->sample_rate == b->sample_rate &&
           !av_channel_layout_compare(&a->ch_layout, &b->ch_layout) &&
           a->extradata_size == b->extradata_size &&
           (!a->extradata_size || !memcmp(a->extradata, b->extradata, a->extradata_size));
}

struct halo_encoding_parameters halo_parameters_view(const struct halo_parameters_copy *copy)
{
    return (struct halo_encoding_parameters){copy->video, copy->audio, copy->framerate, copy->card,
                                             copy->solid};
}

/* ---- packets ---- */

int halo_packet_fields_init(struct halo_packet_fields *ret, const AVPacket *pkt)
{
    const int64_t dts = pkt->dts == AV_NOPTS_VALUE ? pkt->pts : pkt->dts;
    const struct halo_packet_fields fields = {
        .pts = pkt->pts == AV_NOPTS_VALUE ? dts : pkt->pts,
        .dts = dts,
        .duration = pkt->duration > 0 ? pkt->duration : 0,
        .size = pkt->data && pkt->size > 0 ? (uint32_t)pkt->size : 0,
        .stream = (uint16_t)pkt->stream_index,
        .flags = pkt->flags & FLAGS,
    };
    if (pkt->stream_index < 0 || pkt->stream_index > 1 || !halo_packet_fields_is_good(&fields))
        return -EINVAL;
    *ret = fields;
    return 0;
}

static bool is_time(int64_t t)
{
    return t >= -MAX_TIME && t <= MAX_TIME;
}

bool halo_packet_fields_is_good(const struct halo_packet_fields *fields)
{
    return is_time(fields->pts) && is_time(fields->dts) && fields->duration >= 0 &&
           fields->duration <= MAX_TIME && fields->size > 0 &&
           fields->size <= INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE && fields->stream <= 1 &&
           !(fields->flags & ~FLAGS);
}

void halo_packet_fields_apply(const struct halo_packet_fields *fields, AVPacket *pkt)
{
    pkt->pts = fields->pts;
    pkt->dts = fields->dts;
    pkt->duration = fields->duration;
    pkt->stream_index = fields->stream;
    pkt->flags = fields->flags;
    pkt->pos = -1;
}

/* ---- both ways ---- */

/* One function for each struct walks over its fields to write them, or to read and check them. The
 * first error is kept. */
struct walk {
    bool taking;
    int error;
    uint8_t *put;
    const uint8_t *take;
    size_t at, size;
};

static void walk_bytes(struct walk *w, void *bytes, size_t size)
{
    if (w->error || !size)
        return;
    if (size > w->size - w->at) {
        w->error = w->taking ? -EPROTO : -EMSGSIZE;
        return;
    }
    if (w->taking)
        memcpy(bytes, w->take + w->at, size);
    else
        memcpy(w->put + w->at, bytes, size);
    w->at += size;
}

/* The value that was written or read; least after an error. */
static int64_t walk_number(struct walk *w, int64_t value, int64_t least, int64_t most)
{
    walk_bytes(w, &value, sizeof value);
    if (!w->error && (value < least || value > most))
        w->error = w->taking ? -EPROTO : -EINVAL;
    return w->error ? least : value;
}

#define WALK(w, field, least, most) ((field) = walk_number(w, field, least, most))

static void walk_extradata(struct walk *w, AVCodecParameters *par)
{
    if (!w->taking && par->extradata_size > HALO_MAX_EXTRADATA)
        w->error = -EMSGSIZE;
    const int size = walk_number(w, par->extradata_size, 0, HALO_MAX_EXTRADATA);
    if (w->error || !size)
        return;
    if (w->taking) {
        par->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
        if (!par->extradata) {
            w->error = -ENOMEM;
            return;
        }
        par->extradata_size = size;
    }
    walk_bytes(w, par->extradata, size);
}

static void walk_common(struct walk *w, AVCodecParameters *par, enum AVMediaType type)
{
    WALK(w, par->codec_id, 1, INT_MAX);
    const AVCodecDescriptor *codec = avcodec_descriptor_get(par->codec_id);
    /* Its data would be used as a pointer. */
    const bool pointer = par->codec_id == AV_CODEC_ID_WRAPPED_AVFRAME;
    if (!w->error && (!codec || codec->type != type || pointer))
        w->error = w->taking ? -EPROTO : -EINVAL;
    par->codec_type = type;
    WALK(w, par->codec_tag, 0, UINT32_MAX);
    WALK(w, par->bit_rate, 0, INT64_C(1) << 40);
    WALK(w, par->bits_per_coded_sample, 0, 512);
    WALK(w, par->bits_per_raw_sample, 0, 64);
    WALK(w, par->profile, INT_MIN, INT_MAX);
    WALK(w, par->level, INT_MIN, INT_MAX);
    walk_extradata(w, par);
}

static void walk_video(struct walk *w, AVCodecParameters *par)
{
    walk_common(w, par, AVMEDIA_TYPE_VIDEO);
    WALK(w, par->format, -1, AV_PIX_FMT_NB - 1);
    WALK(w, par->width, 1, MAX_SIDE);
    WALK(w, par->height, 1, MAX_SIDE);
    WALK(w, par->sample_aspect_ratio.num, 0, INT_MAX);
    WALK(w, par->sample_aspect_ratio.den, 0, INT_MAX);
    WALK(w, par->field_order, 0, AV_FIELD_BT);
    WALK(w, par->color_range, 0, AVCOL_RANGE_NB - 1);
    WALK(w, par->color_primaries, 0, AVCOL_PRI_NB - 1);
    WALK(w, par->color_trc, 0, AVCOL_TRC_NB - 1);
    WALK(w, par->color_space, 0, AVCOL_SPC_NB - 1);
    WALK(w, par->chroma_location, 0, AVCHROMA_LOC_NB - 1);
    WALK(w, par->video_delay, 0, 64);
}

/* Supports only layouts that are a mask, or only a number of channels. */
static void walk_channels(struct walk *w, AVChannelLayout *layout)
{
    const bool native = layout->order == AV_CHANNEL_ORDER_NATIVE;
    const int count = walk_number(w, layout->nb_channels, 1, MAX_CHANNELS);
    const uint64_t mask = walk_number(w, native ? layout->u.mask : 0, INT64_MIN, INT64_MAX);
    if (!w->taking || w->error)
        return;
    *layout = (AVChannelLayout){.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = count};
    if (mask && av_channel_layout_from_mask(layout, mask) < 0)
        w->error = -EPROTO;
    else if (layout->nb_channels != count)
        w->error = -EPROTO;
}

static void walk_audio(struct walk *w, AVCodecParameters *par)
{
    walk_common(w, par, AVMEDIA_TYPE_AUDIO);
    WALK(w, par->format, -1, AV_SAMPLE_FMT_NB - 1);
    WALK(w, par->sample_rate, 1, MAX_SAMPLE_RATE);
    WALK(w, par->block_align, 0, 1 << 20);
    WALK(w, par->frame_size, 0, 1 << 20);
    WALK(w, par->initial_padding, 0, 1 << 20);
    WALK(w, par->trailing_padding, 0, 1 << 20);
    WALK(w, par->seek_preroll, 0, 1 << 24);
    walk_channels(w, &par->ch_layout);
}

static void walk_packet_fields(struct walk *w, struct halo_packet_fields *fields)
{
    WALK(w, fields->pts, -MAX_TIME, MAX_TIME);
    WALK(w, fields->dts, -MAX_TIME, MAX_TIME);
    WALK(w, fields->duration, 0, MAX_TIME);
    WALK(w, fields->size, 1, UINT32_MAX);
    WALK(w, fields->stream, 0, 1);
    WALK(w, fields->flags, 0, FLAGS);
    if (!w->error && !halo_packet_fields_is_good(fields))
        w->error = w->taking ? -EPROTO : -EINVAL;
}

static void walk_card(struct walk *w, AVPacket **pkt, size_t most)
{
    struct halo_packet_fields fields = {0};
    if (!walk_number(w, *pkt != NULL, 0, 1))
        return;
    if (!w->taking && halo_packet_fields_init(&fields, *pkt) < 0)
        w->error = -EINVAL;
    walk_packet_fields(w, &fields);
    if (!w->error && (fields.stream || !(fields.flags & AV_PKT_FLAG_KEY)))
        w->error = w->taking ? -EPROTO : -EINVAL;
    if (!w->error && (fields.size > most || fields.size > w->size - w->at))
        w->error = w->taking ? -EPROTO : -EMSGSIZE;
    if (w->taking && !w->error) {
        *pkt = av_packet_alloc();
        if (!*pkt || av_new_packet(*pkt, fields.size) < 0)
            w->error = -ENOMEM;
        else
            halo_packet_fields_apply(&fields, *pkt);
    }
    walk_bytes(w, w->error ? NULL : (*pkt)->data, fields.size);
}

static void walk_begin(struct walk *w, struct halo_parameters_copy *begin, size_t most_card)
{
    WALK(w, begin->framerate.num, 0, INT_MAX);
    WALK(w, begin->framerate.den, 1, INT_MAX);
    const bool sound = walk_number(w, begin->audio != NULL, 0, 1);
    if (w->taking && !w->error) {
        begin->video = avcodec_parameters_alloc();
        begin->audio = sound ? avcodec_parameters_alloc() : NULL;
        if (!begin->video || (sound && !begin->audio))
            w->error = -ENOMEM;
    }
    if (!w->error)
        walk_video(w, begin->video);
    if (!w->error && sound)
        walk_audio(w, begin->audio);
    walk_card(w, &begin->card, most_card);
    walk_card(w, &begin->solid, most_card);
}

static size_t card_size(const AVPacket *pkt)
{
    return pkt && pkt->size > 0 ? pkt->size : 0;
}

int halo_begin_write(const struct halo_encoding_parameters *begin, size_t most_card, uint8_t **ret,
                     size_t *ret_size)
{
    struct walk w = {
        .size = HALO_MAX_PARAMETERS + card_size(begin->card) + card_size(begin->solid),
    };
    if (!begin->video)
        return -EINVAL;
    struct halo_parameters_copy copy;
    int error = halo_parameters_copy_init(&copy, begin); /* the walk writes into the copy, not into
                                                       begin */
    if (error < 0)
        return error;
    w.put = av_malloc(w.size);
    w.error = w.put ? 0 : -ENOMEM;
    walk_begin(&w, &copy, most_card);
    halo_parameters_copy_finish(&copy);
    if (w.error) {
        av_free(w.put);
        return w.error;
    }
    *ret = w.put;
    *ret_size = w.at;
    return 0;
}

int halo_begin_read(struct halo_parameters_copy *ret, const uint8_t *bytes, size_t size,
                    size_t most_card)
{
    struct walk w = {.taking = true, .take = bytes, .size = size};
    struct halo_parameters_copy copy = {0};
    walk_begin(&w, &copy, most_card);
    if (!w.error && w.at != size)
        w.error = -EPROTO;
    if (w.error) {
        halo_parameters_copy_finish(&copy);
        return w.error;
    }
    *ret = copy;
    return 0;
}

/* ---- on the heap ---- */

struct copy {
    struct halo_encoding_parameters begin; /* must be first: the copy is found by its address */
    struct halo_parameters_copy own;       /* what the const pointers of begin point to */
};

struct halo_encoding_parameters *halo_parameters_copy(const struct halo_encoding_parameters *begin)
{
    struct copy *copy = calloc(1, sizeof *copy);
    if (!copy || halo_parameters_copy_init(&copy->own, begin) < 0) {
        free(copy);
        return NULL;
    }
    copy->begin = halo_parameters_view(&copy->own);
    return &copy->begin;
}

void halo_begin_destroy(struct halo_encoding_parameters *begin)
{
    struct copy *copy = (struct copy *)begin;
    if (copy)
        halo_parameters_copy_finish(&copy->own);
    free(copy);
}
