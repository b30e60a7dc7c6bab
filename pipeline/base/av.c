/* SPDX-License-Identifier: BSD-2-Clause
 * FFmpeg's errors, log and scaler (av.h). */
#include "pipeline/base/av.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"
#include "config/base/log.h"
#include "config/base/thread.h"
#include "config/option.h"

static struct halo_mutex log_lock;                   /* for the lines of codecs */
static _Thread_local char thread_line[HALO_AV_LINE]; /* of what this thread has called */

int halo_av_errno(int averror)
{
    switch (averror) {
    case AVERROR_EOF:
        return -ENODATA;
    case AVERROR_EXIT:
        return -EINTR;
    case AVERROR_INVALIDDATA:
        return -EBADMSG;
    case AVERROR_DEMUXER_NOT_FOUND:
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_ENCODER_NOT_FOUND:
    case AVERROR_MUXER_NOT_FOUND:
    case AVERROR_PROTOCOL_NOT_FOUND:
    case AVERROR_PATCHWELCOME:
        return -ENOTSUP;
    default:
        return averror < 0 && averror > -4096 ? averror : -EIO;
    }
}

static _Thread_local struct halo_complaints *probe;

void halo_av_probe(struct halo_complaints *complaints)
{
    probe = complaints;
}

/* The packet of a codec's context, or of one of its threads; NULL for all other contexts. */
static const struct halo_av_packet *packet_of(void *avcl, const AVClass *class)
{
    return class == avcodec_get_class() ? ((const AVCodecContext *)avcl)->opaque : NULL;
}

static struct halo_complaints *demuxer_complaints(void *avcl, const AVClass *class)
{
    const AVFormatContext *f = class == avformat_get_class() ? avcl : NULL;
    return f && f->iformat ? f->opaque : NULL;
}

/* What a part of a codec (a parser of parameter sets, a hardware accelerator) belongs to. */
static const struct halo_av_packet *packet_above(void *avcl, const AVClass *class)
{
    void *parent = class && class->parent_log_context_offset
                       ? *(void **)((char *)avcl + class->parent_log_context_offset)
                       : NULL;
    return parent ? packet_of(parent, *(const AVClass **)parent) : NULL;
}

/* FFmpeg returns the same error for a frame that is too large as for damage, so only the log line
 * shows it, which a part of the decoder logs. */
static void note_too_large(const AVClass *class, const struct halo_av_packet *above,
                           const char *text)
{
    unsigned width, height;
    if (!class || !class->parent_log_context_offset ||
        sscanf(text, "Picture size %ux%u exceeds specified max", &width, &height) != 2)
        return;
    struct halo_complaints *to = above ? above->complaints : probe;
    if (to)
        atomic_store(&to->too_large, (long long)width << 32 | height);
}

int halo_av_check_size(const char *name, int64_t width, int64_t height, int64_t most,
                       struct halo_error *err)
{
    if (!most || width <= 0 || height <= most / width)
        return 0;
    return halo_fail(
        err, -EFBIG,
        "%s: frames of %lldx%lld are larger than max_pixels (%lld); raise it if this is intended",
        name, (long long)width, (long long)height, (long long)most);
}

int halo_av_check_complaints(const char *name, const struct halo_complaints *complaints,
                             int64_t most, struct halo_error *err)
{
    const int64_t size = atomic_load(&complaints->too_large);
    return halo_av_check_size(name, size >> 32, size & UINT32_MAX, most, err);
}

/* Repairs of damaged frames ("concealing ...") are logged at a lower level than errors. */
static bool is_complaint(const struct halo_complaints *c, int level, const char *format)
{
    if (level > AV_LOG_ERROR)
        return av_strstart(format, "concealing ", NULL);
    for (const char *const *line = c->harmless; line && *line; line++)
        if (av_strstart(format, *line, NULL))
            return false;
    return true;
}

static void count_decoders(struct halo_complaints *to, int64_t time, int level, const char *format)
{
    if ((to->until && time >= to->until) || !is_complaint(to, level, format))
        return;
    long long latest = atomic_load(&to->latest);
    while (latest < time && !atomic_compare_exchange_weak(&to->latest, &latest, time))
        ;
    atomic_fetch_add(&to->lines, 1); /* last: a thread that sees the count sees the time, too */
}

static void count_complaint(void *avcl, const AVClass *class, const struct halo_av_packet *packet,
                            int level, const char *format)
{
    struct halo_complaints *demuxer = demuxer_complaints(avcl, class);
    if (packet)
        count_decoders(packet->complaints, packet->time, level, format);
    else if (demuxer && level <= AV_LOG_ERROR)
        atomic_fetch_add(&demuxer->lines, 1);
}

/* If hardware decoding cannot be set up, these lines follow another one, which has the reason. */
static bool is_echo(const char *text)
{
    return strstr(text, "Failed setup for format") == text ||
           strstr(text, "Failed loading nvcuvid") == text;
}

/* Cuts the text from the clause on that names an option of the program ffmpeg. */
static void cut_advice(char *text)
{
    static const char *const named[] = {" -strict", "'-strict", "vstrict=", "set strict ",
                                        "strict_std_compliance"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        char *at = strstr(text, named[i]);
        if (!at)
            continue;
        while (at > text && strncmp(at, ", ", 2) && strncmp(at, ". ", 2))
            at--;
        *at = 0;
    }
}

/* Keeps a line for halo_av_reason(); one that begins with a blank continues the one before. */
static void keep_line(char *line, const char *name, const char *text)
{
    const size_t kept = *text == ' ' ? strlen(line) : 0;
    if (kept)
        snprintf(line + kept, HALO_AV_LINE - kept, "%.200s", text);
    else
        snprintf(line, HALO_AV_LINE, "%.40s: %.250s", name, text);
}

static void take_line(void *avcl, int level, const char *format, va_list args)
{
    const enum halo_log_level shown = halo_log_get_level();
    const AVClass *class = avcl ? *(const AVClass **)avcl : NULL;
    const struct halo_av_packet *own = packet_of(avcl, class);
    if (level <= AV_LOG_INFO)
        count_complaint(avcl, class, own, level, format);
    if (level > AV_LOG_ERROR && shown < HALO_LOG_DEBUG)
        return;
    if (level > AV_LOG_VERBOSE)
        return;
    char text[HALO_AV_LINE];
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = 0;
    cut_advice(text);
    if (!*text)
        return;
    const struct halo_av_packet *above = packet_above(avcl, class), *packet = own ? own : above;
    note_too_large(class, above, text);
    const char *name = class ? class->item_name(avcl) : "ffmpeg";
    if (level <= AV_LOG_ERROR && !is_echo(text)) {
        halo_lock(&log_lock);
        keep_line(packet ? packet->complaints->line : thread_line, name, text);
        halo_unlock(&log_lock);
    }
    if (level <= AV_LOG_PANIC) /* FFmpeg ends the process next */
        halo_log(HALO_LOG_ERROR, "%s: %s", name, text);
    else if (shown >= HALO_LOG_DEBUG)
        halo_log(HALO_LOG_DEBUG, "%s: %s", name, text);
}

void halo_av_init_log(void)
{
    /* take_line() chooses what is shown; but some libraries print by themselves, by this level. */
    const bool debug = halo_log_get_level() >= HALO_LOG_DEBUG;
    av_log_set_level(debug ? AV_LOG_VERBOSE : AV_LOG_ERROR);
    if (!debug) /* SVT-AV1 does not use FFmpeg's log and obeys only this variable */
        setenv("SVT_LOG", "0", 0);
    av_log_set_callback(take_line);
}

const char *halo_av_last_line(struct halo_complaints *complaints, char *text, size_t size)
{
    halo_lock(&log_lock);
    snprintf(text, size, "%s", complaints && *complaints->line ? complaints->line : thread_line);
    if (complaints)
        *complaints->line = 0;
    *thread_line = 0;
    halo_unlock(&log_lock);
    return text;
}

const char *halo_av_reason(int averror, struct halo_complaints *complaints, char *text, size_t size)
{
    char words[AV_ERROR_MAX_STRING_SIZE], line[HALO_AV_LINE];
    av_strerror(averror, words, sizeof words);
    halo_av_last_line(complaints, line, sizeof line);
    if (averror == AVERROR(EAFNOSUPPORT) || /* systemd's RestrictAddressFamilies= */
        (strstr(line, "resolve hostname") && !halo_address_has_network()))
        snprintf(words, sizeof words,
                 "no network (a halod service needs the drop-in network.conf)");
    if (averror == AVERROR_EXIT) /* FFmpeg: "Immediate exit requested" */
        snprintf(words, sizeof words, "interrupted");
    if (*line)
        snprintf(text, size, "%s (%s)", words, line);
    else
        snprintf(text, size, "%s", words);
    return text;
}

#define LONGEST 1e12 /* seconds; damaged files contain any times */

const char *halo_av_clock(double seconds, char *text, size_t size)
{
    const char *sign = seconds < 0 ? "-" : "";
    if (!(fabs(seconds) < LONGEST)) {
        snprintf(text, size, "an unknown time");
        return text;
    }
    long long ms = (long long)((seconds < 0 ? -seconds : seconds) * 1000 + 0.5);
    snprintf(text, size, "%s%02lld:%02lld:%02lld.%03lld", sign, ms / 3600000, ms / 60000 % 60,
             ms / 1000 % 60, ms % 1000);
    return text;
}

const AVCodec *halo_av_find_encoder(const char *option, const char *name, enum AVMediaType type,
                                    struct halo_error *err)
{
    const AVCodec *codec = avcodec_find_encoder_by_name(name);
    if (!codec) {
        const AVCodecDescriptor *d = avcodec_descriptor_get_by_name(name);
        codec = d ? avcodec_find_encoder(d->id) : NULL;
    }
    if (codec && codec->type == type)
        return codec;

    const char *names[512];
    size_t count = 0;
    void *at = NULL;
    for (const AVCodec *c; (c = av_codec_iterate(&at)) && count < 512;)
        if (av_codec_is_encoder(c) && c->type == type)
            names[count++] = c->name;
    char near[HALO_NEAREST_WORDS];
    halo_fail_usage(err, "%s %s: this FFmpeg has no such %s encoder%s", option, name,
                    av_get_media_type_string(type), halo_nearest_words(near, name, names, count));
    return NULL;
}

static int scaler_matrix(struct halo_scaler_side side)
{
    return side.space == AVCOL_SPC_UNSPECIFIED || side.space == AVCOL_SPC_RGB ? SWS_CS_ITU709
                                                                              : (int)side.space;
}

static bool halves(enum AVPixelFormat format)
{
    return av_pix_fmt_desc_get(format)->log2_chroma_w == 1;
}

static int scaler_flags(struct halo_scaler_side from, struct halo_scaler_side to)
{
    if (!to.fast)
        return SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
    return to.width <= from.width && to.height <= from.height ? SWS_AREA : SWS_BILINEAR;
}

struct SwsContext *halo_av_scaler(struct halo_scaler_side from, struct halo_scaler_side to)
{
    struct SwsContext *sws = sws_alloc_context();
    if (!sws)
        return NULL;
    av_opt_set_int(sws, "srcw", from.width, 0);
    av_opt_set_int(sws, "srch", from.height, 0);
    av_opt_set_int(sws, "src_format", from.format, 0);
    av_opt_set_int(sws, "dstw", to.width, 0);
    av_opt_set_int(sws, "dsth", to.height, 0);
    av_opt_set_int(sws, "dst_format", to.format, 0);
    av_opt_set_int(sws, "sws_flags", scaler_flags(from, to), 0);
    if (to.left && halves(to.format) && !halves(from.format))
        av_opt_set_int(sws, "dst_h_chr_pos", 0, 0);
    if (to.fast) { /* 10-bit frames to gray: setting the ranges later has no effect */
        av_opt_set_int(sws, "src_range", from.full_range, 0);
        av_opt_set_int(sws, "dst_range", to.full_range, 0);
    }
    if (sws_init_context(sws, NULL, NULL) < 0) {
        sws_freeContext(sws);
        return NULL;
    }
    /* swscale converts palettes to limited-range BT.601, whatever the settings are. */
    if (av_pix_fmt_desc_get(from.format)->flags & AV_PIX_FMT_FLAG_PAL) {
        from.space = AVCOL_SPC_SMPTE170M;
        from.full_range = 0;
    }
    /* Otherwise conversions between YUV formats would change the range of full-range frames. */
    sws_setColorspaceDetails(sws, sws_getCoefficients(scaler_matrix(from)), from.full_range,
                             sws_getCoefficients(scaler_matrix(to)), to.full_range, 0, 1 << 16,
                             1 << 16);
    return sws;
}

int halo_av_scale(struct SwsContext *sws, const AVFrame *from, const AVFrame *to)
{
    const int rows = sws_scale(sws, (const uint8_t *const *)from->data, from->linesize, 0,
                               from->height, to->data, to->linesize);
    return rows == to->height ? 0 : -EIO;
}
