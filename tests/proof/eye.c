/* SPDX-License-Identifier: BSD-2-Clause
 * Who looks at what came out (eye.h). */
#include "tests/proof/eye.h"

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>

enum {
    CODED = 2,   /* shades that an encoder may make of one */
    ENOUGH = 10, /* frames of which some must show what a filter made */
};

struct proof_eye {
    struct proof_tally *tally;
    enum proof_seen kind;
    const struct halo_canary_area *area; /* NULL: everywhere */
    struct proof_exam *exam;             /* NULL: none */
    bool exact;
    AVCodecParameters *par;
    AVCodecContext *decoder; /* NULL: bytes, or nothing has begun */
    bool begun, raw;
    long seen, blank; /* frames, without cards */
    AVFrame *frame;
    struct SwsContext *scaler; /* to the format that the canary is looked for in */
    AVFrame *converted;
};

struct proof_eye *proof_eye_open(struct proof_tally *tally, enum proof_seen kind)
{
    struct proof_eye *eye = calloc(1, sizeof *eye);
    if (!eye)
        abort();
    eye->tally = tally;
    eye->kind = kind;
    eye->par = avcodec_parameters_alloc();
    eye->frame = av_frame_alloc();
    eye->converted = av_frame_alloc();
    return eye;
}

void proof_eye_limit(struct proof_eye *eye, const struct halo_canary_area *area)
{
    eye->area = area;
}

void proof_eye_examine(struct proof_eye *eye, struct proof_exam *exam, bool exact)
{
    eye->exam = exam;
    eye->exact = exact;
}

/* In which format the canary of a frame is looked for. */
static enum AVPixelFormat check_format(enum AVPixelFormat format)
{
    static const enum AVPixelFormat planar[2][2] = {{AV_PIX_FMT_YUV444P, AV_PIX_FMT_NONE},
                                                    {AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV420P}};
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    const bool planes = d->flags & AV_PIX_FMT_FLAG_PLANAR, rgb = d->flags & AV_PIX_FMT_FLAG_RGB;
    const bool known = planes && !rgb && d->log2_chroma_w < 2 && d->log2_chroma_h < 2;
    const bool bytes = d->comp[0].depth == 8 && av_pix_fmt_count_planes(format) == d->nb_components;
    if (d->nb_components < 3)
        return AV_PIX_FMT_GRAY8;
    if (planes && rgb) /* its last columns are lost on the way to 4:2:0, where the size is odd */
        return AV_PIX_FMT_YUV444P;
    if (known && bytes)
        return format;
    return known ? planar[d->log2_chroma_w][d->log2_chroma_h] : AV_PIX_FMT_YUV420P;
}

static const AVFrame *convert(struct proof_eye *eye, const AVFrame *f)
{
    const enum AVPixelFormat format = check_format(f->format);
    if (f->format == (int)format)
        return f;
    eye->scaler = sws_getCachedContext(eye->scaler, f->width, f->height, f->format, f->width,
                                       f->height, format, SWS_AREA, NULL, NULL, NULL);
    av_frame_unref(eye->converted);
    eye->converted->format = format;
    eye->converted->width = f->width;
    eye->converted->height = f->height;
    if (!eye->scaler || av_frame_get_buffer(eye->converted, 0) < 0)
        abort();
    sws_scale(eye->scaler, (const uint8_t *const *)f->data, f->linesize, 0, f->height,
              eye->converted->data, eye->converted->linesize);
    return eye->converted;
}

static bool is_exact(const struct proof_eye *eye, const AVFrame *frame, enum proof_seen kind)
{
    return eye->exam && eye->exact && kind != PROOF_CARD &&
           proof_exam_takes(eye->exam, frame, eye->raw);
}

/* Where cells are looked at. */
static const struct halo_canary_area *area_of(const struct proof_eye *eye, const AVFrame *frame,
                                              enum proof_seen kind, struct halo_canary_area *room)
{
    if (kind == PROOF_CARD)
        return NULL;
    if (!eye->exam)
        return eye->area;
    proof_exam_area(eye->exam, frame, room);
    return room;
}

/* Of one shade, which is no chain's black. */
static bool is_blank(struct proof_eye *eye, const AVFrame *looked_at)
{
    return proof_is_blank(looked_at, CODED) &&
           !(eye->exam && proof_is_dark(looked_at) && proof_exam_may_be_black(eye->exam));
}

/* A frame was filtered, or is blank and should be. */
static void count(struct proof_eye *eye, bool blank)
{
    eye->seen++;
    eye->blank += blank;
}

void proof_eye_see(struct proof_eye *eye, const AVFrame *frame, enum proof_seen kind)
{
    struct halo_canary_finding finding;
    struct halo_canary_area room;
    struct proof_verdict verdict;
    if (is_exact(eye, frame, kind) && proof_exam_is_card(eye->exam, frame))
        kind = PROOF_CARD;
    if (is_exact(eye, frame, kind)) {
        proof_exam_see(eye->exam, frame, &verdict);
        proof_tally_judge(eye->tally, kind, &verdict);
        count(eye, verdict.blank);
        return;
    }
    const AVFrame *known = convert(eye, frame);
    halo_canary_check(known, area_of(eye, frame, kind, &room), &finding);
    const bool blank = kind != PROOF_CARD && !finding.leaks && is_blank(eye, known);
    proof_tally_see(eye->tally, kind, known, &finding, blank);
    if (kind != PROOF_CARD)
        count(eye, blank);
    if (finding.leaks && eye->exam)
        proof_exam_say(eye->exam, frame);
}

static void drain(struct proof_eye *eye, enum proof_seen kind)
{
    while (avcodec_receive_frame(eye->decoder, eye->frame) >= 0) {
        proof_eye_see(eye, eye->frame, kind);
        av_frame_unref(eye->frame);
    }
}

static void end(struct proof_eye *eye)
{
    if (eye->decoder && avcodec_send_packet(eye->decoder, NULL) >= 0)
        drain(eye, eye->kind);
    avcodec_free_context(&eye->decoder);
    eye->begun = false;
}

void proof_eye_begin(struct proof_eye *eye, const AVCodecParameters *par)
{
    end(eye);
    avcodec_parameters_copy(eye->par, par);
    eye->raw = par->codec_id == AV_CODEC_ID_RAWVIDEO;
    eye->begun = true;
    if (eye->raw)
        return;
    const AVCodec *codec = avcodec_find_decoder(par->codec_id);
    eye->decoder = codec ? avcodec_alloc_context3(codec) : NULL;
    if (!eye->decoder || avcodec_parameters_to_context(eye->decoder, par) < 0)
        abort();
    eye->decoder->thread_count = 1;
    if (avcodec_open2(eye->decoder, codec, NULL) < 0)
        abort();
}

static void take_bytes(struct proof_eye *eye, const AVPacket *pkt, enum proof_seen kind)
{
    AVFrame *f = eye->frame;
    const AVCodecParameters *par = eye->par;
    f->format = par->format;
    f->width = par->width;
    f->height = par->height;
    f->color_range = par->color_range;
    f->pts = pkt->pts;
    if (av_image_fill_arrays(f->data, f->linesize, pkt->data, par->format, par->width, par->height,
                             1) != pkt->size)
        atomic_fetch_add(&eye->tally->broken, 1);
    else
        proof_eye_see(eye, f, kind);
    memset(f->data, 0, sizeof f->data);
}

void proof_eye_take(struct proof_eye *eye, const AVPacket *pkt, enum proof_seen kind)
{
    if (!eye->begun)
        return;
    if (eye->raw) {
        take_bytes(eye, pkt, kind);
        return;
    }
    if (avcodec_send_packet(eye->decoder, pkt) < 0)
        atomic_fetch_add(&eye->tally->broken, 1);
    else
        drain(eye, kind);
}

void proof_eye_take_alone(struct proof_eye *eye, const AVCodecParameters *par, const AVPacket *pkt,
                          enum proof_seen kind)
{
    struct proof_eye *other = proof_eye_open(eye->tally, kind);
    other->area = eye->area;
    other->exam = eye->exam;
    other->exact = eye->exact;
    proof_eye_begin(other, par);
    proof_eye_take(other, pkt, kind);
    proof_eye_close(other);
}

void proof_eye_close(struct proof_eye *eye)
{
    if (!eye)
        return;
    end(eye);
    atomic_fetch_add(&eye->tally->only_blank, eye->seen >= ENOUGH && eye->blank == eye->seen);
    avcodec_parameters_free(&eye->par);
    av_frame_free(&eye->frame);
    av_frame_free(&eye->converted);
    sws_freeContext(eye->scaler);
    free(eye);
}
