/* SPDX-License-Identifier: BSD-2-Clause
 * Deliberate leaks (leak.h). */
#include "pipeline/gate/leak.h"

#include <libavutil/pixdesc.h>
#include <stdatomic.h>
#include <string.h>

#include "config/base/thread.h"
#include "kernels/fault.h"

const char *const halo_leak_names[HALO_LEAKS] = {
    "a whole unfiltered frame",
    "the luma of an unfiltered frame",
    "the first chroma plane of an unfiltered frame",
    "the second chroma plane of an unfiltered frame",
    "the upper left quarter of an unfiltered frame",
    "the upper right quarter of an unfiltered frame",
    "the lower left quarter of an unfiltered frame",
    "the lower right quarter of an unfiltered frame",
    "the middle of an unfiltered frame",
    "a band of eight rows of an unfiltered frame",
    "every second row of an unfiltered frame",
    "every second column of blocks of an unfiltered frame",
    "an equal mixture of an unfiltered frame and its filtered version",
    "one 16x16 tile of an unfiltered frame",
    "an older unfiltered frame, as stale output memory would show it",
    "rows of an older unfiltered frame, as if stale scratch memory were shown",
};

/* A rectangle in sixteenths of the frame's width and height; x1 and y1 are exclusive. */
struct part {
    int x0, y0, x1, y1;
};

static struct part part_of(int variant)
{
    switch (variant) {
    case 4:
        return (struct part){0, 0, 8, 8};
    case 5:
        return (struct part){8, 0, 16, 8};
    case 6:
        return (struct part){0, 8, 8, 16};
    case 7:
        return (struct part){8, 8, 16, 16};
    case 8:
        return (struct part){4, 4, 12, 12};
    default:
        return (struct part){0, 0, 16, 16};
    }
}

/* The share of the unfiltered frame in the luma sample at this place, in sixteenths. */
static int share_of(int variant, int x, int y, int width, int height)
{
    const struct part part = part_of(variant);
    const int across = x * 16 / width, down = y * 16 / height;
    if (across < part.x0 || across >= part.x1 || down < part.y0 || down >= part.y1)
        return 0;
    switch (variant) {
    case 9:
        return y / 8 == height / 16 ? 16 : 0;
    case 10:
        return y & 1 ? 0 : 16;
    case 11:
        return x / 8 & 1 ? 0 : 16;
    case 12:
        return 8;
    case 13:
        return x / 16 == 1 && y / 16 == 1 ? 16 : 0;
    case 15:
        return y / 8 & 1 ? 16 : 0;
    default:
        return 16;
    }
}

static void leak_plane(int variant, AVFrame *out, const AVFrame *raw, int p)
{
    const AVPixFmtDescriptor *form = av_pix_fmt_desc_get(out->format);
    const int right = p ? form->log2_chroma_w : 0, down = p ? form->log2_chroma_h : 0;
    for (int y = 0; y < AV_CEIL_RSHIFT(out->height, down); y++) {
        uint8_t *to = out->data[p] + (ptrdiff_t)y * out->linesize[p];
        const uint8_t *from = raw->data[p] + (ptrdiff_t)y * raw->linesize[p];
        for (int x = 0; x < AV_CEIL_RSHIFT(out->width, right); x++) {
            /* For "every second row", rows of the plane itself count. */
            const int at = variant == 10 ? y : y << down;
            const int share = share_of(variant, x << right, at, out->width, out->height);
            to[x] = (uint8_t)((from[x] * share + to[x] * (16 - share) + 8) / 16);
        }
    }
}

void halo_leak_make(int variant, AVFrame *out, const AVFrame *raw, const AVFrame *old)
{
    const AVFrame *from = variant >= 14 && old ? old : raw;
    for (int p = 0; p < 3 && out->data[p] && from->data[p]; p++)
        if (variant < 1 || variant > 3 || p == variant - 1)
            leak_plane(variant, out, from, p);
}

void halo_leak(AVFrame *out, const AVFrame *raw)
{
    static atomic_int turn;
    static struct halo_mutex lock;
    static AVFrame *old; /* never freed: only tests use this */
    if (out->hw_frames_ctx || !raw || raw->hw_frames_ctx || raw->format != out->format ||
        raw->width != out->width || raw->height != out->height || !halo_fault("gate", "leak"))
        return;
    halo_lock(&lock);
    const bool fits =
        old && old->format == raw->format && old->width == raw->width && old->height == raw->height;
    halo_leak_make(atomic_fetch_add(&turn, 1) % HALO_LEAKS, out, raw, fits ? old : NULL);
    av_frame_free(&old);
    old = av_frame_clone(raw);
    halo_unlock(&lock);
}
