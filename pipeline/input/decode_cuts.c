/* SPDX-License-Identifier: BSD-2-Clause
 * Where decoding may begin in a video stream (decode_cuts.h). */
#include "pipeline/input/decode_cuts.h"

#include <libavcodec/avcodec.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/base/av_version.h"
#include "pipeline/input/nal_units.h"

enum {
    MAX_SETS = 64,
    /* Types of units, ITU-T H.264 table 7-1 and H.265 table 7-1. */
    AVC_LAST_SLICE = 5, /* which is IDR; the other types of slices are below */
    AVC_SEI = 6,
    AVC_SPS = 7,
    AVC_PPS = 8,
    HEVC_LAST_SLICE = 31,
    HEVC_IDR_W_RADL = 19,
    HEVC_IDR_N_LP = 20,
    HEVC_VPS = 32,
    HEVC_PPS = 34,
    HEVC_PREFIX_SEI = 39,
    HEVC_SUFFIX_SEI = 40,
    HEVC_HEAD = 2, /* bytes of a unit's header */
    /* payloadType, ITU-T H.265 D.2.1: */
    REMARK = 5,     /* user_data_unregistered */
    DISPLAY = 137,  /* mastering_display_colour_volume */
    LIGHT = 144,    /* content_light_level_info */
    VP9_MARKER = 2, /* the first two bits of a frame */
    /* FFmpeg decodes streams of earlier versions differently if it has seen the version, which is
     * only in the first packet. */
    X264_PLAIN = 151,
};

/* What a packet consists of. */
struct content {
    bool slices, idr_only; /* idr_only: all of its slices are of IDR frames */
    bool damaged, old_x264;
    int sets;
    uint64_t hash; /* of its parameter sets */
};

enum kind { KIND_OTHER, KIND_SLICE, KIND_IDR, KIND_SET, KIND_SEI };

/* Whether an IDR frame of HEVC makes decoders drop frames before it that were not output yet
 * (no_output_of_prior_pics_flag, the second bit of its slices). */
static bool drops_frames(const struct halo_nal *nal)
{
    return nal->size > HEVC_HEAD && (nal->data[HEVC_HEAD] & 0x40);
}

static enum kind kind_of(enum AVCodecID codec, const struct halo_nal *nal)
{
    if (codec == AV_CODEC_ID_H264) {
        const int type = nal->data[0] & 31;
        return type == AVC_LAST_SLICE               ? KIND_IDR
               : type > 0 && type < AVC_LAST_SLICE  ? KIND_SLICE
               : type == AVC_SPS || type == AVC_PPS ? KIND_SET
               : type == AVC_SEI                    ? KIND_SEI
                                                    : KIND_OTHER;
    }
    const int type = nal->data[0] >> 1 & 63;
    const bool idr = type == HEVC_IDR_W_RADL || type == HEVC_IDR_N_LP;
    return idr && !drops_frames(nal)                            ? KIND_IDR
           : type <= HEVC_LAST_SLICE                            ? KIND_SLICE
           : type >= HEVC_VPS && type <= HEVC_PPS               ? KIND_SET
           : type == HEVC_PREFIX_SEI || type == HEVC_SUFFIX_SEI ? KIND_SEI
                                                                : KIND_OTHER;
}

/* FNV-1a of the unit and its size. */
static uint64_t hash_unit(uint64_t hash, const struct halo_nal *nal)
{
    const uint64_t prime = 0x100000001b3;
    hash = (hash ^ nal->size) * prime;
    for (size_t i = 0; i < nal->size; i++)
        hash = (hash ^ nal->data[i]) * prime;
    return hash;
}

/* Whether x264 says in the unit that it is an early version of itself. */
static bool is_old_x264(const struct halo_nal *nal)
{
    static const char name[] = "x264 - core ";
    const size_t length = sizeof name - 1;
    char number[8] = "";
    const uint8_t *at = memmem(nal->data, nal->size, name, length);
    if (!at)
        return false;
    const size_t left = nal->size - (size_t)(at - nal->data) - length;
    memcpy(number, at + length, left < sizeof number - 1 ? left : sizeof number - 1);
    return atoi(number) < X264_PLAIN;
}

/* Whether the unit of HEVC is one message that changes no sample and is ignored after the stream's
 * first frame: an encoder's name, or light levels (hdr.h; ITU-T H.265, 7.3.5). */
static bool is_remark(const struct halo_nal *nal)
{
    size_t at = HEVC_HEAD, size = 0, escapes = 0;
    if (nal->size <= at)
        return false;
    const int type = nal->data[at++];
    if (type != REMARK && type != DISPLAY && type != LIGHT)
        return false;
    while (at < nal->size && nal->data[at] == 255)
        size += nal->data[at++];
    size += at < nal->size ? nal->data[at++] : 0;
    for (size_t i = at; i + 2 < nal->size; i++)
        escapes += nal->data[i] == 0 && nal->data[i + 1] == 0 && nal->data[i + 2] == 3;
    return nal->size - at == size + escapes + 1; /* and the bits at the end */
}

static void note(enum AVCodecID codec, const struct halo_nal *nal, struct content *c)
{
    switch (kind_of(codec, nal)) {
    case KIND_SLICE:
        c->slices = true;
        c->idr_only = false;
        break;
    case KIND_IDR:
        c->slices = true;
        break;
    case KIND_SET:
        c->hash = hash_unit(c->hash, nal);
        c->sets++;
        break;
    case KIND_SEI:
        c->old_x264 |= codec == AV_CODEC_ID_H264 && is_old_x264(nal);
        break;
    default:
        break;
    }
}

static struct content look_into(const struct halo_cuts *cuts, const AVPacket *pkt)
{
    struct content c = {.idr_only = true};
    struct halo_nals nals = {pkt->data, (size_t)pkt->size, 0, cuts->length};
    struct halo_nal nal;
    while (halo_nal_next(&nals, &nal))
        note(cuts->codec, &nal, &c);
    c.damaged = cuts->length && nals.at != nals.size;
    return c;
}

/* The boolean decoder of VP8 (RFC 6386, 7.3), for bits that are as likely to be 0 as 1. */
struct bools {
    const uint8_t *at, *end;
    unsigned value, range, bits;
};

static bool next_bool(struct bools *b)
{
    const unsigned split = (1 + ((b->range - 1) >> 1)) << 8;
    const bool one = b->value >= split;
    b->value -= one ? split : 0;
    b->range = one ? b->range - (split >> 8) : split >> 8;
    for (; b->range < 128; b->range <<= 1) {
        b->value <<= 1;
        if (++b->bits == 8 && b->at < b->end)
            b->value |= *b->at++;
        b->bits &= 7;
    }
    return one;
}

/* Whether a key frame of VP8 takes its segments from the frame before it (RFC 6386, 9.3). */
static bool keeps_segments(const AVPacket *pkt)
{
    enum { HEAD = 10, FIRST = 2 };
    if (pkt->size < HEAD + FIRST)
        return true;
    struct bools b = {pkt->data + HEAD + FIRST, pkt->data + pkt->size,
                      (unsigned)pkt->data[HEAD] << 8 | pkt->data[HEAD + 1], 255, 0};
    next_bool(&b); /* color_space */
    next_bool(&b); /* clamping_type */
    const bool segments = next_bool(&b);
    return segments && !next_bool(&b);
}

/* Uncompressed headers: frame_type of VP8 (RFC 6386, 9.1), and of VP9 after frame_marker, the
 * profile and show_existing_frame. */
static bool is_vpx_key(enum AVCodecID codec, const AVPacket *pkt)
{
    if (pkt->size < 2)
        return false;
    const int first = pkt->data[0];
    if (codec == AV_CODEC_ID_VP8)
        return !(first & 1) && !keeps_segments(pkt);
    const int profile = (first >> 5 & 1) | (first >> 3 & 2);
    const int rest = profile == 3 ? first << 1 : first; /* a reserved bit */
    return first >> 6 == VP9_MARKER && !(rest & 8) && !(rest & 4);
}

/* The parameter sets of the extradata; in HEVC it may hold messages, too, which apply to the first
 * frames only. */
static const char *take_extradata(struct halo_cuts *cuts, const AVCodecParameters *par)
{
    struct halo_nal nal[MAX_SETS];
    struct content c = {0};
    const int count = halo_nal_of_extradata(par, nal, MAX_SETS);
    for (int i = 0; i < count; i++) {
        if (nal[i].size == 0)
            continue;
        if (par->codec_id == AV_CODEC_ID_HEVC && kind_of(par->codec_id, &nal[i]) == KIND_SEI &&
            !is_remark(&nal[i]))
            return "its header holds messages about its first frames";
        note(par->codec_id, &nal[i], &c);
    }
    cuts->sets = c.hash;
    return count < 0 || c.sets == 0 ? "its header holds no parameter sets"
           : c.old_x264             ? "an early version of x264 encoded it"
                                    : NULL;
}

bool halo_cuts_init(struct halo_cuts *cuts, const AVStream *stream)
{
    const AVCodecParameters *par = stream->codecpar;
    *cuts = (struct halo_cuts){.codec = par->codec_id, .latest = INT64_MIN, .before = INT64_MIN};
    switch (par->codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
        cuts->length = halo_nal_length(par);
        cuts->reason = take_extradata(cuts, par);
        break;
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_FFV1:
        break;
    default:
        cuts->reason = "streams with this codec cannot be divided";
        break;
    }
    if (par->field_order > AV_FIELD_PROGRESSIVE)
        cuts->reason = "it is interlaced";
    if (par->codec_id == AV_CODEC_ID_H264 &&
        par->profile == HALO_AV_PROFILE_H264_HIGH_444_PREDICTIVE)
        cuts->reason = "streams with this profile cannot be divided";
    return !cuts->reason;
}

static enum halo_cut never(struct halo_cuts *cuts, const char *reason)
{
    cuts->reason = reason;
    return HALO_CUT_NEVER;
}

static const char *check_side_data(const AVPacket *pkt)
{
    for (int i = 0; i < pkt->side_data_elems; i++)
        switch (pkt->side_data[i].type) {
        case AV_PKT_DATA_NEW_EXTRADATA:
        case AV_PKT_DATA_PARAM_CHANGE:
            return "its parameters change";
        case AV_PKT_DATA_ENCRYPTION_INFO:
            return "it is encrypted";
        default:
            break;
        }
    return NULL;
}

/* Whether decoding may begin with the packet, as far as its content says. */
static bool begins(struct halo_cuts *cuts, const AVPacket *pkt, const char **reason)
{
    if (cuts->codec == AV_CODEC_ID_VP8 || cuts->codec == AV_CODEC_ID_VP9)
        return is_vpx_key(cuts->codec, pkt);
    if (cuts->codec == AV_CODEC_ID_FFV1)
        return true; /* as far as its flag says: its header is arithmetic coded, and the decoder
                        refuses to begin with another frame */
    const struct content c = look_into(cuts, pkt);
    *reason = c.damaged                        ? "its packets are damaged"
              : c.sets && c.hash != cuts->sets ? "its parameter sets change"
              : c.old_x264                     ? "an early version of x264 encoded it"
                                               : NULL;
    return c.slices && c.idr_only;
}

enum halo_cut halo_cuts_next(struct halo_cuts *cuts, const AVPacket *pkt)
{
    const char *reason = check_side_data(pkt);
    if (reason || (pkt->flags & AV_PKT_FLAG_CORRUPT))
        return never(cuts, reason ? reason : "its packets are damaged");
    /* A decoder that begins waits for a packet with this flag. */
    const bool here = begins(cuts, pkt, &reason) && (pkt->flags & AV_PKT_FLAG_KEY);
    if (reason)
        return never(cuts, reason);
    if (!cuts->began && !here)
        return never(cuts, "it does not begin with a frame that can be decoded alone");
    if (pkt->pts == AV_NOPTS_VALUE || pkt->pts <= (here ? cuts->latest : cuts->before))
        return never(cuts, "its times do not increase from group to group");
    if (here)
        cuts->before = cuts->latest;
    cuts->latest = FFMAX(cuts->latest, pkt->pts);
    cuts->began = true;
    return here ? HALO_CUT_HERE : HALO_CUT_NONE;
}
