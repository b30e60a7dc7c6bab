/* SPDX-License-Identifier: BSD-2-Clause
 * Converts decoded frames to the native format and the first size (adapt.h). */
#include "pipeline/gate/adapt.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>

#include "config/base/log.h"
#include "pipeline/base/av.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/hw_frame.h"
#include "pipeline/frame/frame_pool.h"

struct halo_adapter {
    struct halo_gate_input first; /* the frames with which the stream began */
    struct halo_gate_input now;   /* the current frames */
    enum AVPixelFormat native;
    struct halo_memory *memory;
    struct SwsContext *convert;        /* NULL: frames need no conversion */
    struct halo_frame_pool *pool;      /* created when needed */
    struct halo_hw_download *download; /* created when needed */
    bool said_change;
};

bool halo_adapter_scales(const struct halo_adapter *a)
{
    return a->now.width != a->first.width || a->now.height != a->first.height;
}

struct halo_reach halo_adapter_reach(const struct halo_adapter *a)
{
    return halo_format_reach((struct halo_format_size){a->now.format, a->now.width, a->now.height},
                             (struct halo_format_size){a->native, a->first.width, a->first.height});
}

static bool is_native(const struct halo_adapter *a)
{
    return a->now.format == a->native && !halo_adapter_scales(a);
}

/* Makes a converter for the current frames. */
static int follow(struct halo_adapter *a, struct halo_error *err)
{
    const struct halo_gate_input *in = &a->now;
    sws_freeContext(a->convert);
    a->convert = NULL;
    if (is_native(a))
        return 0;
    const bool full = a->first.range == AVCOL_RANGE_JPEG;
    a->convert = halo_av_scaler((struct halo_scaler_side){in->width, in->height, in->format,
                                                          in->space, in->range == AVCOL_RANGE_JPEG},
                                (struct halo_scaler_side){a->first.width, a->first.height,
                                                          a->native, a->first.space,
                                                          halo_format_is_rgb(a->native) || full});
    if (!a->pool)
        a->pool = halo_frame_pool_create(a->memory, a->native, a->first.width, a->first.height);
    if (!a->pool)
        return halo_fail(err, -ENOMEM, "out of memory for frames of %dx%d", a->first.width,
                         a->first.height);
    if (!a->convert)
        return halo_fail(err, -ENOTSUP, "stream %d: cannot convert %dx%d %s to %dx%d %s",
                         in->stream, in->width, in->height, av_get_pix_fmt_name(in->format),
                         a->first.width, a->first.height, av_get_pix_fmt_name(a->native));
    return 0;
}

static void say_conversion(const struct halo_adapter *a)
{
    const enum AVPixelFormat from = a->first.format;
    const bool alpha = av_pix_fmt_desc_get(from)->flags & AV_PIX_FMT_FLAG_ALPHA;
    halo_log(alpha ? HALO_LOG_WARNING : HALO_LOG_INFO,
             "stream %d: %s frames are converted to %s for filtering%s", a->first.stream,
             av_get_pix_fmt_name(from), av_get_pix_fmt_name(a->native),
             alpha ? ": transparency is lost" : "");
}

int halo_adapter_create(struct halo_adapter **ret, struct halo_memory *memory,
                        const struct halo_gate_input *input, enum AVPixelFormat native,
                        struct halo_error *err)
{
    struct halo_adapter *a = av_mallocz(sizeof *a);
    if (!a)
        return halo_fail(err, -ENOMEM, "out of memory");
    a->first = a->now = *input;
    a->native = native;
    a->memory = memory;
    const int code = follow(a, err);
    if (code < 0) {
        halo_adapter_destroy(a);
        return code;
    }
    if (native != input->format)
        say_conversion(a);
    *ret = a;
    return 0;
}

void halo_adapter_destroy(struct halo_adapter *a)
{
    if (!a)
        return;
    sws_freeContext(a->convert);
    halo_frame_pool_destroy(a->pool);
    halo_hw_download_destroy(a->download);
    av_free(a);
}

static int width_of(const AVFrame *raw)
{
    return halo_hw_frame_is(raw) ? halo_hw_frame_width(raw) : raw->width;
}

static int height_of(const AVFrame *raw)
{
    return halo_hw_frame_is(raw) ? halo_hw_frame_height(raw) : raw->height;
}

static int change(struct halo_adapter *a, const AVFrame *raw, enum AVPixelFormat format,
                  struct halo_error *err)
{
    const struct halo_gate_input old = a->now;
    a->now.format = format;
    a->now.width = width_of(raw);
    a->now.height = height_of(raw);
    a->now.space = raw->colorspace != AVCOL_SPC_UNSPECIFIED ? raw->colorspace : a->first.space;
    a->now.range = raw->color_range != AVCOL_RANGE_UNSPECIFIED ? raw->color_range : a->first.range;
    if (!a->said_change)
        halo_log(HALO_LOG_WARNING,
                 "stream %d: frames change from %dx%d %s to %dx%d %s: they are scaled to the first "
                 "size from now on",
                 old.stream, old.width, old.height, av_get_pix_fmt_name(old.format), a->now.width,
                 a->now.height, av_get_pix_fmt_name(format));
    a->said_change = true;
    const int code = follow(a, err);
    if (code < 0)
        a->now = (struct halo_gate_input){.format = AV_PIX_FMT_NONE}; /* matches no frame */
    return code;
}

static int convert(struct halo_adapter *a, const AVFrame *raw, AVFrame **ret,
                   struct halo_error *err)
{
    AVFrame *to = halo_frame_pool_get(a->pool, false);
    if (!to)
        return halo_fail(err, -ENOMEM, "out of memory for a frame");
    const int code = halo_av_scale(a->convert, raw, to);
    if (code < 0) {
        av_frame_free(&to);
        return halo_fail(err, code, "stream %d: a frame cannot be converted to %s for filtering",
                         a->first.stream, av_get_pix_fmt_name(a->native));
    }
    *ret = to;
    return 0;
}

static int download(struct halo_adapter *a, const AVFrame *raw, enum AVPixelFormat format,
                    AVFrame **ret, struct halo_error *err)
{
    if (!a->download && !(a->download = halo_hw_download_create(a->memory)))
        return halo_fail(err, -ENOMEM, "out of memory");
    return halo_hw_download(a->download, raw, format, ret, err);
}

int halo_adapter_to_host(struct halo_adapter *a, AVFrame **frame, struct halo_error *err)
{
    AVFrame *host = NULL;
    const int code = halo_hw_frame_is(*frame) ? download(a, *frame, a->native, &host, err) : 0;
    if (code >= 0 && host) {
        av_frame_free(frame);
        *frame = host;
    }
    return code;
}

int halo_adapter_pass(struct halo_adapter *a, const AVFrame *raw, enum AVPixelFormat format,
                      AVFrame **ret, struct halo_error *err)
{
    if (format != a->now.format || width_of(raw) != a->now.width ||
        height_of(raw) != a->now.height) {
        const int code = change(a, raw, format, err);
        if (code < 0)
            return code;
    }
    if (a->convert && halo_hw_frame_is(raw)) {
        AVFrame *host = NULL;
        int code = download(a, raw, format, &host, err);
        if (code >= 0)
            code = convert(a, host, ret, err);
        av_frame_free(&host);
        return code;
    }
    if (a->convert)
        return convert(a, raw, ret, err);
    *ret = av_frame_clone(raw);
    return *ret ? 0 : halo_fail(err, -ENOMEM, "out of memory");
}
