/* SPDX-License-Identifier: BSD-2-Clause
 * Frames for a detector (detect_frame.h): downloaded if they are on a GPU, scaled, turned upright,
 * padded, and written to sealed memory. */
#include "pipeline/detect/detect_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/base/av.h"
#include "pipeline/base/display.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/hw_frame.h"
#include "pipeline/frame/raw_frame_private.h"

enum {
    ALIGN = 64,          /* of rows that swscale writes, in bytes */
    MAX_PIXEL_RATIO = 4, /* pixels are not wider or higher than this */
    SAMPLES = 4,         /* per axis, for each value of a thumbnail */
    BRIGHT_R = 54,       /* BT.709, in 1/256 */
    BRIGHT_G = 183,
    BRIGHT_B = 19,
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL
};

struct halo_detect_frame {
    struct halo_memory *memory;
    struct halo_hw_download *download; /* created when needed */
    struct SwsContext *sws;            /* from `from` to `to`; NULL: none yet */
    struct halo_scaler_side from, to;
    AVFrame *scaled; /* as stored, not yet upright */
    uint8_t *packed; /* what is sent, rows without gaps */
    unsigned packed_room;
};

int halo_detect_frame_create(struct halo_detect_frame **ret, struct halo_memory *memory)
{
    struct halo_detect_frame *f = av_mallocz(sizeof *f);
    if (!f)
        return -ENOMEM;
    f->memory = memory;
    *ret = f;
    return 0;
}

static void drop_scaler(struct halo_detect_frame *f)
{
    sws_freeContext(f->sws);
    f->sws = NULL;
    av_frame_free(&f->scaled);
}

void halo_detect_frame_destroy(struct halo_detect_frame *f)
{
    if (!f)
        return;
    drop_scaler(f);
    halo_hw_download_destroy(f->download);
    av_free(f->packed);
    av_free(f);
}

/* ---- sizes ---- */

static int scale_side(int64_t side, int64_t by, int64_t of, int most)
{
    const int64_t ret = (side * by + of / 2) / of;
    return ret < 1 ? 1 : ret > most ? most : (int)ret;
}

/* Fits a frame whose sides are to each other as width to height into what is sent. */
static void fit(int64_t width, int64_t height, const struct halo_detect_ready *as, int inside[4])
{
    if (width * as->height > height * as->width) {
        inside[2] = as->width;
        inside[3] = scale_side(height, as->width, width, as->height);
    } else {
        inside[2] = scale_side(width, as->height, height, as->width);
        inside[3] = as->height;
    }
    inside[0] = (as->width - inside[2]) / 2;
    inside[1] = (as->height - inside[3]) / 2;
}

static void find_inside(const AVFrame *frame, int turn, const struct halo_detect_ready *as,
                        int inside[4])
{
    int64_t width = frame->width, height = frame->height;
    const AVRational pixel = frame->sample_aspect_ratio;
    if (pixel.num > 0 && pixel.den > 0 && pixel.num / MAX_PIXEL_RATIO <= pixel.den &&
        pixel.den / MAX_PIXEL_RATIO <= pixel.num) {
        width *= pixel.num;
        height *= pixel.den;
    }
    while (width > INT32_MAX || height > INT32_MAX) {
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    fit(turn & HALO_DISPLAY_SIDEWAYS ? height : width,
        turn & HALO_DISPLAY_SIDEWAYS ? width : height, as, inside);
}

/* ---- scaling ---- */

static bool is_same(const struct halo_scaler_side *a, const struct halo_scaler_side *b)
{
    return a->width == b->width && a->height == b->height && a->format == b->format &&
           a->space == b->space && a->full_range == b->full_range;
}

static AVFrame *allocate(const struct halo_scaler_side *as)
{
    AVFrame *ret = av_frame_alloc();
    if (!ret)
        return NULL;
    ret->format = as->format;
    ret->width = as->width;
    ret->height = as->height;
    if (av_frame_get_buffer(ret, ALIGN) < 0)
        av_frame_free(&ret);
    return ret;
}

/* Makes a scaler for this frame, unless there is one already. */
static int prepare(struct halo_detect_frame *f, const AVFrame *frame,
                   const struct halo_scaler_side *to, struct halo_error *err)
{
    const struct halo_scaler_side from = {
        .width = frame->width,
        .height = frame->height,
        .format = frame->format,
        .space = frame->colorspace,
        .full_range =
            halo_format_colours(frame->format, frame->colorspace, frame->color_range).full,
    };
    if (f->sws && is_same(&from, &f->from) && is_same(to, &f->to))
        return 0;
    drop_scaler(f);
    f->scaled = allocate(to);
    f->sws = f->scaled ? halo_av_scaler(from, *to) : NULL;
    if (!f->scaled)
        return halo_fail(err, -ENOMEM, "out of memory for a frame");
    if (!f->sws)
        return halo_fail(err, -ENOTSUP, "cannot scale %dx%d %s to %dx%d %s for a detector",
                         from.width, from.height, av_get_pix_fmt_name(from.format), to->width,
                         to->height, av_get_pix_fmt_name(to->format));
    f->from = from;
    f->to = *to;
    return 0;
}

/* ---- what is sent ---- */

/* Copies the scaled frame to its place within what is sent, upright; the rest is black. */
static int pack(struct halo_detect_frame *f, const struct halo_detect_ready *as, int turn,
                const int inside[4], struct halo_error *err)
{
    const size_t size = halo_detect_ready_bytes(as);
    const ptrdiff_t pixel = as->format == AV_PIX_FMT_GRAY8 ? 1 : 3;
    const int width = f->scaled->width, height = f->scaled->height;
    ptrdiff_t x = pixel, y = f->scaled->linesize[0]; /* steps along the axes as stored */
    const uint8_t *first = f->scaled->data[0];
    av_fast_malloc(&f->packed, &f->packed_room, size);
    if (!f->packed)
        return halo_fail(err, -ENOMEM, "out of memory for a frame");
    if (turn & HALO_DISPLAY_X) {
        first += (width - 1) * x;
        x = -x;
    }
    if (turn & HALO_DISPLAY_Y) {
        first += (height - 1) * y;
        y = -y;
    }
    const ptrdiff_t right = turn & HALO_DISPLAY_SIDEWAYS ? y : x;
    const ptrdiff_t down = turn & HALO_DISPLAY_SIDEWAYS ? x : y;
    memset(f->packed, 0, size);
    for (int row = 0; row < inside[3]; row++) {
        const uint8_t *from = first + row * down;
        uint8_t *to = f->packed + ((ptrdiff_t)(inside[1] + row) * as->width + inside[0]) * pixel;
        if (right == pixel)
            memcpy(to, from, (size_t)(inside[2] * pixel));
        else
            for (int i = 0; i < inside[2]; i++, from += right, to += pixel)
                memcpy(to, from, (size_t)pixel);
    }
    return 0;
}

static int brightness(const uint8_t *pixel, enum AVPixelFormat format)
{
    if (format == AV_PIX_FMT_GRAY8)
        return *pixel;
    const int first = pixel[0], last = pixel[2];
    const int red = format == AV_PIX_FMT_RGB24 ? first : last, blue = first + last - red;
    return (red * BRIGHT_R + pixel[1] * BRIGHT_G + blue * BRIGHT_B + 128) >> 8;
}

/* The mean of some pixels at even distances in the area of each value, or of the only one there. */
static void draw_thumbnail(const struct halo_detect_frame *f, const struct halo_detect_ready *as,
                           const int inside[4], uint8_t *ret)
{
    const ptrdiff_t pixel = as->format == AV_PIX_FMT_GRAY8 ? 1 : 3;
    for (int y = 0; y < HALO_CUT_HEIGHT; y++)
        for (int x = 0; x < HALO_CUT_WIDTH; x++) {
            int sum = 0;
            for (int k = 0; k < SAMPLES * SAMPLES; k++) {
                const int across = 2 * (x * SAMPLES + k % SAMPLES) + 1;
                const int along = 2 * (y * SAMPLES + k / SAMPLES) + 1;
                const int i = inside[0] + across * inside[2] / (2 * SAMPLES * HALO_CUT_WIDTH);
                const int j = inside[1] + along * inside[3] / (2 * SAMPLES * HALO_CUT_HEIGHT);
                sum += brightness(f->packed + ((ptrdiff_t)j * as->width + i) * pixel, as->format);
            }
            *ret++ = (uint8_t)((sum + SAMPLES * SAMPLES / 2) / (SAMPLES * SAMPLES));
        }
}

static int write_all(int fd, const uint8_t *from, size_t size)
{
    for (size_t at = 0; at < size;) {
        const ssize_t n = write(fd, from + at, size - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += (size_t)n;
    }
    return 0;
}

static int seal(const uint8_t *from, size_t size, int *ret, struct halo_error *err)
{
    const int fd = memfd_create("halod-detect", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int code = fd < 0 ? -errno : write_all(fd, from, size);
    if (code == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        code = -errno;
    if (code < 0) {
        if (fd >= 0)
            close(fd);
        return halo_fail(err, code, "cannot make memory for a detector's frame: %s",
                         strerror(-code));
    }
    *ret = fd;
    return 0;
}

/* Makes it from a frame in host memory. */
static int make(struct halo_detect_frame *f, const AVFrame *frame, int turn,
                const struct halo_detect_ready *as, struct halo_detect_made *ret,
                struct halo_error *err)
{
    int inside[4], memfd = -1;
    find_inside(frame, turn, as, inside);
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    const struct halo_scaler_side to = {
        .width = inside[sideways ? 3 : 2],
        .height = inside[sideways ? 2 : 3],
        .format = as->format,
        .space = frame->colorspace, /* otherwise swscale changes gray from one matrix to another */
        .full_range = true,
        .fast = true,
    };
    int code = prepare(f, frame, &to, err);
    if (code == 0 && (code = halo_av_scale(f->sws, frame, f->scaled)) < 0)
        halo_fail(err, code, "a frame cannot be scaled for a detector");
    if (code == 0)
        code = pack(f, as, turn, inside, err);
    if (code == 0)
        code = seal(f->packed, halo_detect_ready_bytes(as), &memfd, err);
    if (code < 0)
        return code;
    ret->memfd = memfd;
    ret->turn = turn;
    memcpy(ret->inside, inside, sizeof inside);
    draw_thumbnail(f, as, inside, ret->thumbnail);
    return 0;
}

int halo_detect_frame_make(struct halo_detect_frame *f, const struct halo_raw_frame *raw,
                           const struct halo_detect_ready *as, struct halo_detect_made *ret,
                           struct halo_error *err)
{
    if (raw->turn < 0 || raw->turn >= HALO_DISPLAYS)
        return halo_fail(
            err, -ENOTSUP,
            "the rotation of a frame is ambiguous, so it cannot be sent to a detector");
    if (!halo_hw_frame_is(raw->frame))
        return make(f, raw->frame, raw->turn, as, ret, err);
    if (!f->download && !(f->download = halo_hw_download_create(f->memory)))
        return halo_fail(err, -ENOMEM, "out of memory");
    AVFrame *host = NULL;
    int code = halo_hw_download(f->download, raw->frame, raw->format, &host, err);
    if (code == 0)
        code = make(f, host, raw->turn, as, ret, err);
    av_frame_free(&host);
    return code;
}

/* ---- answers ---- */

struct halo_detect_box halo_detect_box_store(struct halo_detect_box box, int turn)
{
    struct halo_detect_box ret = box;
    if (turn & HALO_DISPLAY_SIDEWAYS) {
        ret.x = box.y;
        ret.y = box.x;
        ret.width = box.height;
        ret.height = box.width;
    }
    if (turn & HALO_DISPLAY_X)
        ret.x = 1 - ret.x - ret.width;
    if (turn & HALO_DISPLAY_Y)
        ret.y = 1 - ret.y - ret.height;
    return ret;
}

void halo_detect_mask_store(uint8_t *stored, const uint8_t *mask, int width, int height, int turn)
{
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    const int across = sideways ? height : width, down = sideways ? width : height;
    for (int y = 0; y < down; y++)
        for (int x = 0; x < across; x++) {
            const int i = turn & HALO_DISPLAY_X ? across - 1 - x : x;
            const int k = turn & HALO_DISPLAY_Y ? down - 1 - y : y;
            *stored++ = mask[(ptrdiff_t)(sideways ? i : k) * width + (sideways ? k : i)];
        }
}
