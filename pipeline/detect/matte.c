/* SPDX-License-Identifier: BSD-2-Clause
 * Mattes (matte.h). */
#include "pipeline/detect/matte.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>

#include "kernels/gather.h"
#include "kernels/matte.h"
#include "pipeline/frame/hw_frame.h"
#include "pipeline/frame/raw_frame_private.h"

struct halo_matte {
    struct halo_memory *memory;
    struct halo_hw_download *download; /* NULL: no frame was on a device yet */
    struct halo_matte_nodes *nodes;    /* NULL: no mask yet */
    int width, height;                 /* of masks */
    void *gathered;                    /* samples that are not next to each other in the frame */
    size_t gathered_bytes;
};

struct halo_matte *halo_matte_create(struct halo_memory *memory)
{
    struct halo_matte *matte = calloc(1, sizeof *matte);
    if (matte)
        matte->memory = memory;
    return matte;
}

void halo_matte_destroy(struct halo_matte *matte)
{
    if (!matte)
        return;
    halo_hw_download_destroy(matte->download);
    halo_matte_nodes_destroy(matte->nodes);
    free(matte->gathered);
    free(matte);
}

void halo_matte_reset(struct halo_matte *matte)
{
    if (matte->nodes)
        halo_matte_nodes_reset(matte->nodes);
}

/* ---- the brightness of a frame ---- */

/* The samples of a component of a frame. False: a format whose samples cannot be read. */
static bool find_samples(const AVFrame *frame, struct halo_plane *ret, int *ret_step)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    const uint64_t other = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT |
                           AV_PIX_FMT_FLAG_HWACCEL;
    if (!d || (d->flags & other))
        return false;
    const AVComponentDescriptor *c = &d->comp[d->flags & AV_PIX_FMT_FLAG_RGB ? 1 : 0];
    const int bytes = c->depth > 8 ? 2 : 1;
    if (c->depth < 8 || c->depth + c->shift > 8 * bytes || c->step % bytes || c->offset % bytes ||
        c->step / bytes > HALO_GATHER_MAX || (bytes > 1 && (d->flags & AV_PIX_FMT_FLAG_BE)))
        return false;
    *ret = (struct halo_plane){.data = frame->data[c->plane] + c->offset,
                               .stride = frame->linesize[c->plane],
                               .width = frame->width,
                               .height = frame->height,
                               .channels = 1,
                               .depth = c->depth,
                               .shift = c->shift};
    *ret_step = c->step / bytes;
    return true;
}

/* Finds the frame's luma or green. *ret_known: whether its format can be read; without it a matte
 * is only as sharp as the mask. */
static int find_luma(struct halo_matte *matte, const AVFrame *frame, struct halo_plane *ret,
                     bool *ret_known)
{
    struct halo_plane from = {0};
    int step = 1;
    *ret_known = find_samples(frame, &from, &step);
    *ret = from;
    if (!*ret_known || step == 1)
        return 0;
    const size_t row = halo_plane_row_bytes(&from), bytes = row * (size_t)from.height;
    if (matte->gathered_bytes < bytes) {
        free(matte->gathered);
        matte->gathered = malloc(bytes);
        matte->gathered_bytes = matte->gathered ? bytes : 0;
    }
    if (!matte->gathered)
        return -ENOMEM;
    ret->data = matte->gathered;
    ret->stride = (ptrdiff_t)row;
    ret->shift = 0;
    halo_gather(ret, &from, step);
    return 0;
}

/* ---- mattes ---- */

static int settle(struct halo_matte *matte, const struct halo_matte_mask *mask,
                  const struct halo_plane *luma)
{
    if (matte->nodes && (matte->width != mask->width || matte->height != mask->height)) {
        halo_matte_nodes_destroy(matte->nodes);
        matte->nodes = NULL;
    }
    if (!matte->nodes)
        matte->nodes = halo_matte_nodes_create(mask->width, mask->height);
    if (!matte->nodes)
        return -ENOMEM;
    matte->width = mask->width;
    matte->height = mask->height;
    if (mask->cut)
        halo_matte_nodes_reset(matte->nodes);
    const int code = halo_matte_settle(matte->nodes, mask->weight, luma);
    if (code == 0)
        halo_matte_fit(matte->nodes);
    return code;
}

static int draw(const struct halo_matte *matte, const struct halo_matte_curve *curve,
                const struct halo_plane *luma, struct halo_plane size, struct halo_mask_image **ret)
{
    struct halo_mask_image *image = halo_mask_image_create(size.width, size.height);
    if (!image)
        return -ENOMEM;
    const struct halo_plane to = {.data = image->weight,
                                  .stride = size.width,
                                  .width = size.width,
                                  .height = size.height,
                                  .channels = 1,
                                  .depth = 8};
    struct halo_matte_grid grid;
    halo_matte_grid(matte->nodes, curve, &grid);
    const int code = halo_matte_draw(&grid, luma, &to);
    if (code < 0) {
        halo_mask_image_destroy(image);
        return code;
    }
    halo_mask_image_measure(image);
    *ret = image;
    return 0;
}

static int make(struct halo_matte *matte, const struct halo_matte_mask *mask, const AVFrame *frame,
                struct halo_mask_image **hidden, struct halo_mask_image **shown)
{
    struct halo_plane luma = {0};
    bool known;
    int code = find_luma(matte, frame, &luma, &known);
    const struct halo_plane *guide = known ? &luma : NULL;
    const struct halo_plane size = {.width = frame->width, .height = frame->height};
    struct halo_mask_image *made[2] = {NULL, NULL};
    if (code == 0)
        code = settle(matte, mask, guide);
    if (code == 0 && hidden)
        code = draw(matte, &halo_matte_hidden, guide, size, &made[0]);
    if (code == 0 && shown)
        code = draw(matte, &halo_matte_shown, guide, size, &made[1]);
    if (code < 0) {
        halo_mask_image_destroy(made[0]);
        return code;
    }
    if (hidden)
        *hidden = made[0];
    if (shown)
        *shown = made[1];
    return 0;
}

static bool fits(const struct halo_matte_mask *mask, int width, int height)
{
    return mask->width >= HALO_MATTE_MIN_SIDE && mask->width <= HALO_MATTE_MAX_SIDE &&
           mask->height >= HALO_MATTE_MIN_SIDE && mask->height <= HALO_MATTE_MAX_SIDE &&
           width > 0 && width <= HALO_MATTE_MAX_FRAME && height > 0 &&
           height <= HALO_MATTE_MAX_FRAME;
}

static int download(struct halo_matte *matte, const struct halo_raw_frame *raw, AVFrame **ret,
                    struct halo_error *err)
{
    if (!matte->download)
        matte->download = halo_hw_download_create(matte->memory);
    if (!matte->download)
        return halo_fail(err, -ENOMEM, "out of memory");
    return halo_hw_download(matte->download, raw->frame,
                            halo_hw_frame_format(raw->frame, raw->format), ret, err);
}

int halo_matte_make(struct halo_matte *matte, const struct halo_matte_mask *mask,
                    const struct halo_raw_frame *raw, struct halo_mask_image **ret_hidden,
                    struct halo_mask_image **ret_shown, struct halo_error *err)
{
    AVFrame *downloaded = NULL;
    int code = 0;
    if (halo_hw_frame_is(raw->frame))
        code = download(matte, raw, &downloaded, err);
    if (code < 0) {
        halo_matte_reset(matte);
        return code;
    }
    const AVFrame *frame = downloaded ? downloaded : raw->frame;
    if (!fits(mask, frame->width, frame->height))
        code = halo_fail(err, -EINVAL, "a mask of %dx%d or a frame of %dx%d has an invalid size",
                         mask->width, mask->height, frame->width, frame->height);
    else if ((code = make(matte, mask, frame, ret_hidden, ret_shown)) < 0)
        halo_fail(err, code, "out of memory");
    if (code < 0)
        halo_matte_reset(matte);
    av_frame_free(&downloaded);
    return code;
}
