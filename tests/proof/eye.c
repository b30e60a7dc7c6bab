/* SPDX-License-Identifier: BSD-2-Clause
 * Who looks at what came out (eye.h). */
#include "tests/proof/eye.h"

#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>

struct proof_eye {
    struct proof_tally *tally;
    enum proof_seen kind;
    const struct halo_canary_area *area; /* NULL: everywhere */
    AVCodecParameters *par;
    AVCodecContext *decoder; /* NULL: bytes, or nothing has begun */
    bool begun, raw;
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

static const AVFrame *convert(struct proof_eye *eye, const AVFrame *f)
{
    if (f->format == AV_PIX_FMT_YUV420P || f->format == AV_PIX_FMT_YUVJ420P ||
        f->format == AV_PIX_FMT_GRAY8)
        return f;
    eye->scaler = sws_getCachedContext(eye->scaler, f->width, f->height, f->format, f->width,
                                       f->height, AV_PIX_FMT_YUV420P, SWS_AREA, NULL, NULL, NULL);
    av_frame_unref(eye->converted);
    eye->converted->format = AV_PIX_FMT_YUV420P;
    eye->converted->width = f->width;
    eye->converted->height = f->height;
    if (!eye->scaler || av_frame_get_buffer(eye->converted, 0) < 0)
        abort();
    sws_scale(eye->scaler, (const uint8_t *const *)f->data, f->linesize, 0, f->height,
              eye->converted->data, eye->converted->linesize);
    return eye->converted;
}

void proof_eye_see(struct proof_eye *eye, const AVFrame *frame, enum proof_seen kind)
{
    struct halo_canary_look look;
    const AVFrame *known = convert(eye, frame);
    halo_canary_look(known, eye->area, &look);
    proof_tally_see(eye->tally, kind, known, &look);
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
    proof_eye_begin(other, par);
    proof_eye_take(other, pkt, kind);
    proof_eye_close(other);
}

void proof_eye_close(struct proof_eye *eye)
{
    if (!eye)
        return;
    end(eye);
    avcodec_parameters_free(&eye->par);
    av_frame_free(&eye->frame);
    av_frame_free(&eye->converted);
    sws_freeContext(eye->scaler);
    free(eye);
}
