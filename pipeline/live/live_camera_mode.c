/* SPDX-License-Identifier: BSD-2-Clause
 * The format of a camera's frames: as the camera sends them, decoded if they are compressed, and
 * rotated or mirrored. */
#include "pipeline/live/live_camera.h"

#include <errno.h>

#include "pipeline/camera/camera.h"
#include "kernels/clock.h"
#include "pipeline/gate/ring.h"
#include "pipeline/input/decode.h"
#include "pipeline/live/live_input.h"
#include "pipeline/live/live_source.h"
#include "pipeline/live/live_stream.h"
#include "pipeline/live/source_ops.h"
#include "pipeline/picture/orient.h"
#include "pipeline/picture/raw_picture.h"

/* Upper limit for the pixels of a frame assumed before a camera is present: a request for the
 * largest size that a camera has must not use up memory. */
enum { MAX_MADE_UP = 8192 * 4320 };

static const AVRational NANOSECONDS = {1, 1000000000};

static int describe(struct halo_live_input *in, int width, int height, enum AVPixelFormat format,
                    struct halo_error *err)
{
    const int code = halo_live_input_describe(in, err);
    if (code < 0)
        return code;
    AVCodecParameters *par = in->video->codecpar;
    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = AV_CODEC_ID_RAWVIDEO;
    par->format = format;
    par->width = width;
    par->height = height;
    par->sample_aspect_ratio = in->video->sample_aspect_ratio = (AVRational){1, 1};
    in->video->time_base = NANOSECONDS;
    in->absolute = true;
    return 0;
}

/* Whether the settings name another size than frames have after rotation. */
static bool is_other(const struct halo_capture_settings *set, const AVCodecParameters *par)
{
    int width, height;
    double rate;
    halo_camera_wishes(set, &width, &height, &rate);
    const bool aside = set->rotate & 1;
    return set->size &&
           ((aside ? height : width) != par->width || (aside ? width : height) != par->height);
}

int halo_live_camera_describe(struct halo_live *live, struct halo_live_input *in,
                              struct halo_error *err)
{
    const struct halo_capture_settings *set = &live->settings.capture;
    int width, height;
    double rate;
    *in = (struct halo_live_input){.pkt = NULL};
    halo_camera_wishes(set, &width, &height, &rate);
    if ((int64_t)width * height > MAX_MADE_UP)
        halo_camera_wishes(&(struct halo_capture_settings){.fps = rate}, &width, &height, &rate);
    const bool aside = set->rotate & 1;
    const int code =
        describe(in, aside ? height : width, aside ? width : height, AV_PIX_FMT_YUV420P, err);
    if (code < 0)
        return code;
    in->video->codecpar->color_range = AVCOL_RANGE_MPEG;
    in->video->codecpar->color_space = AVCOL_SPC_SMPTE170M;
    in->video->avg_frame_rate = in->video->r_frame_rate = av_d2q(rate, 1001000);
    in->unsure = is_other(set, in->video->codecpar);
    return 0;
}

/* The camera's dimensions, rounded up as decoders do: a larger size in a JPEG header is no reason
 * to allocate memory for it. */
static int64_t most_pixels(const struct halo_camera_mode *mode)
{
    return (int64_t)FFALIGN(mode->width, 128) * FFALIGN(mode->height, 32);
}

/* Reads the format of the decoded frames from the packet's headers; nothing is decoded. */
static int check_jpeg(const struct halo_live *live, struct halo_live_input *in, int64_t most,
                      struct halo_error *err)
{
    AVCodecParameters *par = in->video->codecpar;
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_decoder(AV_CODEC_ID_MJPEG));
    if (!c)
        return halo_fail(err, -ENOMEM, "out of memory");
    c->skip_frame = AVDISCARD_ALL;
    c->max_pixels = most;
    if (avcodec_open2(c, NULL, NULL) >= 0)
        avcodec_send_packet(c, in->pkt);
    const bool fine = c->pix_fmt != AV_PIX_FMT_NONE && c->width > 0 && c->height > 0;
    par->codec_id = AV_CODEC_ID_MJPEG;
    par->format = c->pix_fmt;
    par->width = fine ? c->width : par->width;
    par->height = fine ? c->height : par->height;
    par->color_range = c->color_range;
    par->color_space = c->colorspace;
    par->chroma_location = c->chroma_sample_location;
    avcodec_free_context(&c);
    return fine ? 0
                : halo_fail(err, -EBADMSG,
                            "%s: %s (its JPEG images cannot be read or are too large)", live->name,
                            halo_v4l2_states[HALO_V4L2_BROKEN].words);
}

static int open_jpeg(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    struct halo_raw_picture *none;
    const struct halo_decoder_settings decoder = {
        .memory = halo_ring_memory(live->ring),
        /* hardware decoders do not report damage */
        .hw = {.hwaccel = HALO_HWACCEL_NONE, .in_flight = 1},
        .live = true,
        .whole = true,
        .most_pixels = most_pixels(halo_camera_mode(in->camera)),
    };
    int code = halo_live_camera_read(live, in, &none, err);
    if (code == 0)
        return halo_fail(err, -ECANCELED, "stopped");
    if (code > 0)
        code = check_jpeg(live, in, decoder.most_pixels, err);
    if (code >= 0)
        code = halo_decoder_open(&in->decoder, live->name, in->video, &decoder,
                                 &live->reader->damage, err);
    if (code >= 0)
        code = halo_live_input_send(live, in, in->pkt, err);
    av_packet_unref(in->pkt);
    return code;
}

/* The decoder's stream describes the frames that the camera sends; the session's stream, those
 * after rotation. */
static int turn(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    const struct halo_capture_settings *set = &live->settings.capture;
    AVCodecParameters *par = in->video->codecpar;
    enum AVPixelFormat format = par->format;
    const int code = halo_orient_create(&in->orient, halo_ring_memory(live->ring), set->rotate,
                                        set->mirror, err);
    if (code < 0 || !in->orient)
        return code;
    if (halo_orient_shape(in->orient, &format, &par->width, &par->height) < 0)
        return halo_fail(err, -ENOTSUP,
                         "%s: frames of this pixel format cannot be rotated or mirrored",
                         live->name);
    par->format = format;
    return 0;
}

int halo_live_camera_agree(struct halo_live *live, struct halo_live_input *in,
                           struct halo_error *err)
{
    const struct halo_camera_mode *mode = halo_camera_mode(in->camera);
    int code = describe(in, mode->width, mode->height, mode->format->as, err);
    if (code < 0)
        return code;
    in->video->codecpar->color_range = mode->range;
    in->video->codecpar->color_space = mode->space;
    if (mode->rate > 0)
        in->video->avg_frame_rate = in->video->r_frame_rate = av_d2q(mode->rate, 1001000);
    if (mode->format->coded)
        code = open_jpeg(live, in, err);
    if (code >= 0)
        code = turn(live, in, err);
    in->unsure =
        code >= 0 && (mode->smaller || is_other(&live->settings.capture, in->video->codecpar));
    return code;
}

/* Reads a frame of the camera, compressed or not. If nothing that it sends can be decoded, it is
 * treated like a silent one. */
static int take_camera(struct halo_live *live, struct halo_live_input *in,
                       struct halo_raw_picture **ret, struct halo_error *err)
{
    const double stall = live->settings.capture.stall;
    const int64_t deadline = halo_now_ns() + (int64_t)(stall * 1e9);
    int code = 0;
    while (in->decoder && (code = halo_live_input_receive(live, in, ret, err)) == 0) {
        if (halo_now_ns() > deadline) {
            const char *words = halo_live_camera_stall(live->camera);
            return halo_fail(err, -ETIMEDOUT, "%s: %s (only damaged frames arrive)", live->name,
                             words);
        }
        code = halo_live_camera_read(live, in, ret, err);
        if (code <= 0)
            return code;
        code = halo_live_input_send(live, in, in->pkt, err);
        av_packet_unref(in->pkt);
        if (code < 0)
            return code;
    }
    if (in->decoder)
        return code;
    code = halo_live_camera_read(live, in, ret, err);
    in->pictures += code > 0;
    return code;
}

int halo_live_read_camera(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_picture **ret, struct halo_error *err)
{
    int code = take_camera(live, in, ret, err);
    if (code > 0 && in->orient && (code = halo_orient_pass(in->orient, ret, err)) < 0) {
        halo_raw_picture_destroy(*ret);
        *ret = NULL;
        return code;
    }
    return code < 0 ? code : *ret != NULL;
}
