/* SPDX-License-Identifier: BSD-2-Clause
 * The table of native pixel formats; their geometry is from FFmpeg's own descriptors. */
#include "pipeline/frame/format.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <math.h>

#include "pipeline/base/display.h"

/* AV_PIX_FMT_NONE ends the list, as avcodec_find_best_pix_fmt_of_list() requires. */
static const enum AVPixelFormat native_formats[] = {
    AV_PIX_FMT_GRAY8,     AV_PIX_FMT_GRAY10,    AV_PIX_FMT_GRAY12,    AV_PIX_FMT_YUV420P,
    AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10,
    AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV444P12,
    AV_PIX_FMT_GBRP,      AV_PIX_FMT_GBRP10,    AV_PIX_FMT_GBRP12,    AV_PIX_FMT_NV12,
    AV_PIX_FMT_P010,      AV_PIX_FMT_YUVJ420P,  AV_PIX_FMT_YUVJ422P,  AV_PIX_FMT_YUVJ444P,
#ifdef AV_PIX_FMT_P012 /* FFmpeg 6.0 */
    AV_PIX_FMT_P012,
#endif
    AV_PIX_FMT_NONE,
};

bool halo_format_is_native(enum AVPixelFormat format)
{
    for (int i = 0; native_formats[i] != AV_PIX_FMT_NONE; i++)
        if (native_formats[i] == format)
            return true;
    return false;
}

enum AVPixelFormat halo_format_nearest_native(enum AVPixelFormat format)
{
    if (halo_format_is_native(format))
        return format;
    if (!sws_isSupportedInput(format))
        return AV_PIX_FMT_NONE;
    if (av_pix_fmt_desc_get(format)->flags & AV_PIX_FMT_FLAG_PAL)
        return AV_PIX_FMT_GBRP;
    return avcodec_find_best_pix_fmt_of_list(native_formats, format, 0, NULL);
}

enum AVPixelFormat halo_format_plain(enum AVPixelFormat format)
{
    switch (format) {
    case AV_PIX_FMT_YUVJ420P:
        return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
        return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
        return AV_PIX_FMT_YUV444P;
    default:
        return format;
    }
}

bool halo_format_is_rgb(enum AVPixelFormat format)
{
    return av_pix_fmt_desc_get(format)->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL);
}

int halo_format_planes(enum AVPixelFormat native)
{
    return av_pix_fmt_count_planes(native);
}

static bool is_chroma(const AVPixFmtDescriptor *d, int index)
{
    return !(d->flags & AV_PIX_FMT_FLAG_RGB) && (index == 1 || index == 2);
}

/* The number of components interleaved in this plane. */
static int channels_of(const AVPixFmtDescriptor *d, int index)
{
    int n = 0;
    for (int c = 0; c < d->nb_components; c++)
        n += d->comp[c].plane == index;
    return n;
}

struct halo_plane_info halo_format_plane_info(enum AVPixelFormat native, int width, int height,
                                              int index)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(native);
    struct halo_plane_info info = {.index = index, .width = width, .height = height};
    info.target.depth = d->comp[0].depth;
    if (is_chroma(d, index)) {
        info.chroma = true;
        info.log2_sub_x = d->log2_chroma_w;
        info.log2_sub_y = d->log2_chroma_h;
        info.width = AV_CEIL_RSHIFT(width, d->log2_chroma_w);
        info.height = AV_CEIL_RSHIFT(height, d->log2_chroma_h);
    }
    return info;
}

struct halo_plane_colours halo_format_colours(enum AVPixelFormat native, enum AVColorSpace space,
                                              enum AVColorRange range)
{
    static const struct {
        enum AVColorSpace space;
        double kr, kb;
    } matrices[] = {
        {AVCOL_SPC_BT709, 0.2126, 0.0722},     {AVCOL_SPC_FCC, 0.30, 0.11},
        {AVCOL_SPC_SMPTE240M, 0.212, 0.087},   {AVCOL_SPC_BT2020_NCL, 0.2627, 0.0593},
        {AVCOL_SPC_BT2020_CL, 0.2627, 0.0593},
    };
    const bool gray = av_pix_fmt_desc_get(native)->nb_components == 1;
    const bool tagged = halo_format_plain(native) != native || range == AVCOL_RANGE_JPEG;
    struct halo_plane_colours ret = {
        .rgb = halo_format_is_rgb(native),
        .full = tagged || (gray && range == AVCOL_RANGE_UNSPECIFIED),
        .kr = 0.299,
        .kb = 0.114,
    };
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        if (matrices[i].space == space) {
            ret.kr = matrices[i].kr;
            ret.kb = matrices[i].kb;
        }
    return ret;
}

int halo_format_channels(enum AVPixelFormat native, int index)
{
    return channels_of(av_pix_fmt_desc_get(native), index);
}

struct halo_plane halo_format_plane(const AVFrame *frame, int index)
{
    return halo_format_plane_as(frame, frame->format, index);
}

struct halo_plane halo_format_plane_as(const AVFrame *frame, enum AVPixelFormat format, int index)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    const struct halo_plane_info info =
        halo_format_plane_info(format, frame->width, frame->height, index);
    return (struct halo_plane){
        .data = frame->data[index],
        .stride = frame->linesize[index],
        .width = info.width,
        .height = info.height,
        .channels = channels_of(d, index),
        .depth = d->comp[0].depth,
        .shift = d->comp[0].shift,
    };
}

/* Along one axis: from samples of 2^from_log2 pixels, of `from` in all, to those of 2^to_log2
 * pixels, of `to`. A sample counts from three away: two by the scaler, and one that lies only
 * partly where something is hidden. */
static int reach_of(int from_log2, int from, int to_log2, int to)
{
    const int64_t source = ((int64_t)3 * to << from_log2) / from + 1, own = (int64_t)3 << to_log2;
    const int64_t reach = source > own ? source : own;
    return from_log2 == to_log2 && from == to ? 0 : reach < to ? (int)reach : to;
}

struct halo_reach halo_format_reach(struct halo_format_size from, struct halo_format_size to)
{
    const AVPixFmtDescriptor *a = av_pix_fmt_desc_get(from.format),
                             *b = av_pix_fmt_desc_get(to.format);
    const bool raw = a->flags & AV_PIX_FMT_FLAG_BAYER; /* colours are mixed, and then scaled */
    struct halo_reach ret;
    for (int chroma = 0; chroma < 2; chroma++) {
        const int x = raw ? 2 : chroma ? a->log2_chroma_w : 0;
        const int y = raw ? 2 : chroma ? a->log2_chroma_h : 0;
        ret.x[chroma] = reach_of(x, from.width, chroma ? b->log2_chroma_w : 0, to.width);
        ret.y[chroma] = reach_of(y, from.height, chroma ? b->log2_chroma_h : 0, to.height);
    }
    if (!b->log2_chroma_w && !b->log2_chroma_h) { /* RGB, or planes with the same masks */
        ret.x[0] = ret.x[1] = ret.x[0] > ret.x[1] ? ret.x[0] : ret.x[1];
        ret.y[0] = ret.y[1] = ret.y[0] > ret.y[1] ? ret.y[0] : ret.y[1];
    }
    return ret;
}

/* Whether each sample is a byte or a native word of its own. */
static bool has_plain_samples(const AVPixFmtDescriptor *d)
{
    const uint64_t other = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                           AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
    const int depth = d->comp[0].depth, bytes = depth > 8 ? 2 : 1;
    const bool big = d->flags & AV_PIX_FMT_FLAG_BE;
    if (d->flags & other || depth < 8 || depth > 16 ||
        (bytes == 2 && big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)))
        return false;
    for (int c = 0; c < (d->nb_components < 3 ? 1 : 3); c++)
        if (d->comp[c].depth != depth || d->comp[c].shift != d->comp[0].shift ||
            depth + d->comp[c].shift > 8 * bytes || d->comp[c].step % bytes ||
            d->comp[c].offset % bytes || d->comp[c].step > 4 * bytes)
            return false;
    return true;
}

int halo_format_prepare(const AVFrame *frame, enum AVPixelFormat format, int turn,
                        struct halo_prepare_format *ret, struct halo_prepare_component component[3])
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    if (!d || !has_plain_samples(d))
        return -ENOTSUP;
    const struct halo_plane_colours colours =
        halo_format_colours(format, frame->colorspace, frame->color_range);
    const bool gray = d->nb_components < 3, yuv = !gray && !colours.rgb;
    const int bytes = d->comp[0].depth > 8 ? 2 : 1;
    *ret = (struct halo_prepare_format){
        .width = frame->width,
        .height = frame->height,
        .depth = d->comp[0].depth,
        .kind = gray  ? HALO_PREPARE_GRAY
                : yuv ? HALO_PREPARE_YUV
                      : HALO_PREPARE_RGB,
        .step_x = yuv ? 1 << d->log2_chroma_w : 1,
        .step_y = yuv ? 1 << d->log2_chroma_h : 1,
        .full = colours.full,
        .kr = (int)lrint(colours.kr * 10000),
        .kb = (int)lrint(colours.kb * 10000),
        .flip_x = turn & HALO_DISPLAY_X,
        .flip_y = turn & HALO_DISPLAY_Y,
        .sideways = turn & HALO_DISPLAY_SIDEWAYS,
    };
    for (int c = 0; c < (gray ? 1 : 3); c++) {
        const AVComponentDescriptor *comp = &d->comp[c];
        const bool chroma = yuv && c > 0;
        component[c] = (struct halo_prepare_component){
            .plane = {.data = frame->data[comp->plane],
                      .stride = frame->linesize[comp->plane],
                      .width = AV_CEIL_RSHIFT(frame->width, chroma ? d->log2_chroma_w : 0),
                      .height = AV_CEIL_RSHIFT(frame->height, chroma ? d->log2_chroma_h : 0),
                      .channels = comp->step / bytes,
                      .depth = comp->depth,
                      .shift = comp->shift},
            .channel = comp->offset / bytes,
        };
    }
    return 0;
}
