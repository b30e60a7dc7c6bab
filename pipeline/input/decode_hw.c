/* SPDX-License-Identifier: BSD-2-Clause
 * Decides whether the GPU decodes a video stream (decode_hw.h). */
#include "pipeline/input/decode_hw.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/input/decode_traits.h"
#include "pipeline/input/h264_sps.h"
#include "pipeline/frame/hw_device.h"
#include "pipeline/frame/hw_frame.h"

struct halo_decode_hw {
    const struct halo_decode_hw_wish *wish;
    const AVStream *stream;
    const AVCodec *codec;
    AVBufferRef *device;
    bool tried;   /* NVDEC was chosen during the current packet */
    bool working; /* NVDEC was chosen, and a packet has been decoded since */
    bool gave_up, said;
    bool opening, canceled; /* opening: begin was called, but not end; canceled: begin returned
                               false */
    char refusal[200];
};

/* Returns FFmpeg's own decoder that can use NVDEC, not one that uses the driver's parser
 * (h264_cuvid), or NULL if FFmpeg has no such decoder. */
static const AVCodec *find_codec(enum AVCodecID id)
{
    void *at = NULL;
    const AVCodec *codec;
    while ((codec = av_codec_iterate(&at))) {
        if (codec->id != id || !av_codec_is_decoder(codec) ||
            (codec->capabilities & AV_CODEC_CAP_HARDWARE))
            continue;
        const AVCodecHWConfig *config;
        for (int i = 0; (config = avcodec_get_hw_config(codec, i)); i++)
            if (config->device_type == AV_HWDEVICE_TYPE_CUDA &&
                (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX))
                return codec;
    }
    return NULL;
}

/* Logs the reason, once for each stream. */
static void say(bool *said, const struct halo_decode_hw_wish *wish, const AVStream *stream,
                const char *what, const char *why)
{
    if (*said)
        return;
    *said = true;
    halo_log(wish->hwaccel == HALO_HWACCEL_CUDA ? HALO_LOG_WARNING : HALO_LOG_INFO,
             "stream %d: %s is decoded by the CPU, not by NVDEC: %s", stream->index, what, why);
}

struct halo_decode_hw *halo_decode_hw_create(const struct halo_decode_hw_wish *wish,
                                             const AVStream *stream)
{
    const enum AVCodecID id = stream->codecpar->codec_id;
    const bool asked = wish->hwaccel == HALO_HWACCEL_CUDA;
    const AVCodec *codec = find_codec(id);
    struct halo_error err = {0};
    bool said = false;
    const bool fits = wish->on_device && (halo_decode_traits(id) & HALO_EXACT);
    if (wish->hwaccel == HALO_HWACCEL_NONE || (!asked && !fits))
        return NULL;
    if (!codec) {
        say(&said, wish, stream, avcodec_get_name(id),
            "this FFmpeg does not support NVDEC for this codec");
        return NULL;
    }
    /* FFmpeg's decoder announces 4:2:0 to the hardware, which then decodes garbage. */
    if (id == AV_CODEC_ID_H264 &&
        halo_h264_is_monochrome(stream->codecpar->extradata,
                                (size_t)stream->codecpar->extradata_size)) {
        say(&said, wish, stream, "h264 without colour", "NVDEC does not support this format");
        return NULL;
    }
    if (wish->arrival && halo_arrival_wait(wish->arrival) != HALO_ARRIVAL_THERE)
        return NULL; /* the ring has logged why */
    if (wish->opening && !wish->opening->begin(wish->opening->arg))
        return NULL;
    AVBufferRef *device = halo_hw_device_get(wish->gpu, true, &err);
    if (wish->opening)
        wish->opening->end(wish->opening->arg);
    struct halo_decode_hw *hw = device ? av_mallocz(sizeof *hw) : NULL;
    if (!hw) {
        say(&said, wish, stream, avcodec_get_name(id), device ? "out of memory" : err.text);
        av_buffer_unref(&device);
        return NULL;
    }
    *hw = (struct halo_decode_hw){wish, stream, codec, device};
    return hw;
}

void halo_decode_hw_destroy(struct halo_decode_hw *hw)
{
    if (!hw)
        return;
    av_buffer_unref(&hw->device);
    av_free(hw);
}

const AVCodec *halo_decode_hw_codec(const struct halo_decode_hw *hw)
{
    return hw->codec;
}

/* One thread: each frame thread would hold some of the few surfaces that the hardware has. */
int halo_decode_hw_prepare(const struct halo_decode_hw *hw, AVCodecContext *c)
{
    c->hw_device_ctx = av_buffer_ref(hw->device);
    c->extra_hw_frames = hw->wish->in_flight;
    c->thread_count = 1;
    halo_av_hand_out_surfaces(c);
    return c->hw_device_ctx ? 0 : -ENOMEM;
}

static enum AVPixelFormat open_on_gpu(struct halo_decode_hw *hw)
{
    const struct halo_opening *opening = hw->wish->opening;
    if (opening && !hw->opening)
        hw->opening = opening->begin(opening->arg);
    hw->canceled = opening && !hw->opening;
    hw->tried = !hw->canceled;
    return hw->canceled ? AV_PIX_FMT_NONE : AV_PIX_FMT_CUDA;
}

int halo_decode_hw_opened(struct halo_decode_hw *hw)
{
    if (hw->opening)
        hw->wish->opening->end(hw->wish->opening->arg);
    hw->opening = false;
    return hw->canceled ? -ECANCELED : 0;
}

enum AVPixelFormat halo_decode_hw_choose(struct halo_decode_hw *hw, const AVCodecContext *c,
                                         const enum AVPixelFormat *offered)
{
    enum AVPixelFormat software = AV_PIX_FMT_NONE;
    bool has = false;
    for (; *offered != AV_PIX_FMT_NONE; offered++) {
        has |= *offered == AV_PIX_FMT_CUDA;
        const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(*offered);
        if (software == AV_PIX_FMT_NONE && d && !(d->flags & AV_PIX_FMT_FLAG_HWACCEL))
            software = *offered;
    }
    /* The layout of JPEGs with an odd width or height is not documented. */
    const bool odd = c->codec_id == AV_CODEC_ID_MJPEG && (c->coded_width | c->coded_height) % 2;
    if (has && !odd && halo_hw_format_known(software))
        return open_on_gpu(hw);
    char what[200], why[400];
    /* "h264 (High 10), 1920x1080 yuv420p10le" */
    const char *profile = avcodec_profile_name(c->codec_id, c->profile);
    const char *format = av_get_pix_fmt_name(software);
    snprintf(what, sizeof what, "%s%s%s%s, %dx%d %s,", avcodec_get_name(c->codec_id),
             profile ? " (" : "", profile ? profile : "", profile ? ")" : "", c->coded_width,
             c->coded_height, format ? format : "");
    halo_av_last_line(((const struct halo_av_packet *)c->opaque)->complaints, why, sizeof why);
    const char *words = !hw->tried ? "NVDEC does not support this format"
                        : *why     ? why
                                   : "NVDEC could not be started";
    say(&hw->said, hw->wish, hw->stream, what, words);
    if (hw->tried)
        snprintf(hw->refusal, sizeof hw->refusal, "%s is decoded by the CPU, not by NVDEC: %.120s",
                 avcodec_get_name(c->codec_id), words);
    hw->gave_up = true;
    hw->tried = false;
    return software;
}

const char *halo_decode_hw_refusal(const struct halo_decode_hw *hw)
{
    return hw->refusal;
}

bool halo_decode_hw_refused(struct halo_decode_hw *hw)
{
    const bool refused = hw->gave_up && !hw->working;
    hw->working |= hw->tried;
    hw->tried = false;
    return refused;
}

int halo_decode_hw_check(const struct halo_decode_hw *hw, struct halo_error *err)
{
    return halo_hw_device_check((const AVHWDeviceContext *)hw->device->data, err);
}
