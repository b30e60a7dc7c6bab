/* SPDX-License-Identifier: BSD-2-Clause
 * The gate (gate.h): raw picture in, filters, output picture out. */
#include "pipeline/gate.h"

#include <errno.h>
#include <libavutil/buffer.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/adapt.h"
#include "pipeline/format.h"
#include "pipeline/raw_picture.h"

enum {
    ALIGNMENT = 64, /* of rows: a cache line and the widest vector */
    POISON = 0x80,  /* gray, and no stale picture */
};

/* Defined here only: nobody else can make one. */
struct halo_output_picture {
    AVFrame *frame;
};

/* Memory for pictures of one format and size. */
struct picture_pool {
    AVBufferPool *buffers;
    int linesize[4];
    size_t plane_size[4];
};

struct filter_plan {
    struct halo_plane_plan plane[HALO_MAX_PLANES];
    const struct halo_strategy *strategy;
};

struct halo_gate {
    const struct halo_chain *chain;
    struct halo_backend *backend;
    struct halo_gate_input input;
    enum AVPixelFormat format;
    int planes;
    struct halo_adapter *adapter;
    struct picture_pool outputs; /* output pictures, and nothing else */
    AVFrame *scratch[2];         /* between filters; never leave the gate */
    struct filter_plan *plan;    /* one for each filter of the chain */
};

static int pool_init(struct picture_pool *pool, enum AVPixelFormat format, int width, int height)
{
    int ret = av_image_fill_linesizes(pool->linesize, format, FFALIGN(width, ALIGNMENT));
    if (ret < 0)
        return -EINVAL;
    ptrdiff_t wide[4];
    size_t total = ALIGNMENT;
    for (int p = 0; p < 4; p++)
        wide[p] = pool->linesize[p] = FFALIGN(pool->linesize[p], ALIGNMENT);
    /* Encoders read whole macroblocks: some rows more than the picture has. */
    ret = av_image_fill_plane_sizes(pool->plane_size, format, FFALIGN(height, 32) + 16, wide);
    if (ret < 0)
        return -EINVAL;
    for (int p = 0; p < 4; p++)
        total += pool->plane_size[p];
    pool->buffers = av_buffer_pool_init(total, NULL);
    return pool->buffers ? 0 : -ENOMEM;
}

static AVFrame *pool_get(struct picture_pool *pool, enum AVPixelFormat format, int width,
                         int height)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return NULL;
    frame->buf[0] = av_buffer_pool_get(pool->buffers);
    if (!frame->buf[0]) {
        av_frame_free(&frame);
        return NULL;
    }
    frame->format = format;
    frame->width = width;
    frame->height = height;
    uint8_t *at = (uint8_t *)FFALIGN((uintptr_t)frame->buf[0]->data, ALIGNMENT);
    for (int p = 0; p < 4 && pool->plane_size[p]; p++) {
        frame->data[p] = at;
        frame->linesize[p] = pool->linesize[p];
        memset(at, POISON, pool->plane_size[p]);
        at += pool->plane_size[p];
    }
    return frame;
}

static AVFrame *own_frame(const struct halo_gate *gate)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return NULL;
    frame->format = gate->format;
    frame->width = gate->input.width;
    frame->height = gate->input.height;
    if (av_frame_get_buffer(frame, ALIGNMENT) < 0)
        av_frame_free(&frame);
    return frame;
}

/* Only -vf null asks openly for no filter at all. */
static void say_idle(const struct halo_gate *gate, int f)
{
    const char *name = gate->chain->filter[f].kind->name;
    for (int p = 0; p < gate->planes; p++)
        if (gate->plan[f].plane[p].conv.kind != HALO_CONV_COPY)
            return;
    if (strcmp(name, "null") != 0)
        halo_log(HALO_LOG_WARNING, "stream %d: filter %d, %s, changes nothing with these options",
                 gate->input.stream, f + 1, name);
}

static int plan_filters(struct halo_gate *gate, struct halo_error *err)
{
    for (int f = 0; f < gate->chain->count; f++) {
        const struct halo_filter *filter = &gate->chain->filter[f];
        const char *strategy = filter->common.strategy;
        if (strategy && strcmp(strategy, "auto") != 0) {
            gate->plan[f].strategy = halo_strategy_find(gate->backend->ops, strategy);
            if (!gate->plan[f].strategy)
                halo_log(HALO_LOG_INFO, "%s: strategy %s is not of the %s backend: auto is used",
                         filter->kind->name, strategy, gate->backend->ops->name);
        }
        for (int p = 0; p < gate->planes; p++) {
            const struct halo_plane_info info =
                halo_format_plane_info(gate->format, gate->input.width, gate->input.height, p);
            const int ret = halo_filter_plan(filter, info, &gate->plan[f].plane[p], err);
            if (ret < 0)
                return ret;
        }
        say_idle(gate, f);
    }
    return 0;
}

int halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain,
                     struct halo_backend *backend, const struct halo_gate_input *input,
                     struct halo_error *err)
{
    int r;
    struct halo_gate *gate = av_mallocz(sizeof *gate);
    if (!gate)
        return halo_fail(err, -ENOMEM, "out of memory");
    gate->chain = chain;
    gate->backend = backend;
    gate->input = *input;
    gate->format = halo_format_nearest_native(input->format);
    if (gate->format == AV_PIX_FMT_NONE) {
        const char *name = av_get_pix_fmt_name(input->format);
        r = halo_fail(err, -ENOTSUP, "stream %d: pixel format %s cannot be filtered", input->stream,
                      name ? name : "unknown");
        goto fail;
    }
    gate->planes = halo_format_planes(gate->format);
    gate->plan = av_calloc(chain->count, sizeof *gate->plan);
    if (!gate->plan || pool_init(&gate->outputs, gate->format, input->width, input->height) < 0) {
        r = halo_fail(err, -ENOMEM, "out of memory for pictures of %dx%d", input->width,
                      input->height);
        goto fail;
    }
    if ((r = plan_filters(gate, err)) < 0)
        goto fail;
    if ((r = halo_adapter_create(&gate->adapter, input, gate->format, err)) < 0)
        goto fail;
    *ret = gate;
    return 0;
fail:
    halo_gate_destroy(gate);
    return r;
}

void halo_gate_destroy(struct halo_gate *gate)
{
    if (!gate)
        return;
    halo_adapter_destroy(gate->adapter);
    av_frame_free(&gate->scratch[0]);
    av_frame_free(&gate->scratch[1]);
    av_buffer_pool_uninit(&gate->outputs.buffers);
    av_free(gate->plan);
    av_free(gate);
}

enum AVPixelFormat halo_gate_format(const struct halo_gate *gate)
{
    return gate->format;
}

static int passes_of(const struct filter_plan *plan, int planes)
{
    int most = 1;
    for (int p = 0; p < planes; p++)
        most = FFMAX(most, plan->plane[p].passes);
    return most;
}

/* One pass of one filter over every plane. A plane whose passes are done is copied, so that all
 * planes are always in the same memory. */
static int run_pass(struct halo_gate *gate, const struct filter_plan *plan, int pass,
                    const AVFrame *src, const AVFrame *dst)
{
    struct halo_conv copy = {.kind = HALO_CONV_COPY};
    struct halo_job jobs[HALO_MAX_PLANES];
    for (int p = 0; p < gate->planes; p++) {
        const struct halo_plane_plan *plane = &plan->plane[p];
        jobs[p] = (struct halo_job){
            .conv = &plane->conv,
            .strategy = plan->strategy,
            .src = halo_format_plane(src, p),
            .dst = halo_format_plane(dst, p),
        };
        copy.depth = jobs[p].src.depth; /* one for all planes */
        if (pass >= plane->passes)
            jobs[p].conv = &copy;
        if (jobs[p].strategy &&
            !halo_backend_can(gate->backend, jobs[p].strategy, jobs[p].conv, jobs[p].src.channels))
            jobs[p].strategy = NULL;
    }
    return halo_backend_convolve(gate->backend, jobs, gate->planes);
}

static int ensure_scratch(struct halo_gate *gate, int passes)
{
    for (int i = 0; i < 2 && i < passes - 1; i++) {
        if (!gate->scratch[i])
            gate->scratch[i] = own_frame(gate);
        if (!gate->scratch[i])
            return -ENOMEM;
    }
    return 0;
}

/* The whole chain: raw to scratch to scratch ... to output. Returns passes run, or -errno. */
static int run_chain(struct halo_gate *gate, const AVFrame *raw, const AVFrame *output)
{
    int total = 0, done = 0;
    for (int f = 0; f < gate->chain->count; f++)
        total += passes_of(&gate->plan[f], gate->planes);
    if (ensure_scratch(gate, total) < 0)
        return -ENOMEM;

    const AVFrame *from = raw;
    for (int f = 0; f < gate->chain->count; f++) {
        const int passes = passes_of(&gate->plan[f], gate->planes);
        for (int pass = 0; pass < passes; pass++) {
            const AVFrame *to = done == total - 1 ? output : gate->scratch[done & 1];
            const int ret = run_pass(gate, &gate->plan[f], pass, from, to);
            if (ret < 0)
                return ret;
            from = to;
            done++;
        }
    }
    return from == output && done == total ? done : -EIO;
}

/* What an output picture says of itself: time, colours, shape, captions and HDR's light levels,
 * nothing else of the raw one. Other side data may show what the filters hid. */
static int describe_output(AVFrame *out, const AVFrame *raw, const struct halo_gate *gate)
{
    out->pts = raw->pts;
    out->pkt_duration = raw->pkt_duration;
    out->sample_aspect_ratio = raw->sample_aspect_ratio;
    out->color_range = raw->color_range;
    out->color_primaries = raw->color_primaries;
    out->color_trc = raw->color_trc;
    out->colorspace = raw->colorspace;
    out->chroma_location = raw->chroma_location;
    out->interlaced_frame = raw->interlaced_frame;
    out->top_field_first = raw->top_field_first;
    if (gate->format != gate->input.format && halo_format_is_rgb(gate->format))
        out->colorspace = AVCOL_SPC_RGB;
    static const enum AVFrameSideDataType kept[] = {AV_FRAME_DATA_A53_CC,
                                                    AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
                                                    AV_FRAME_DATA_CONTENT_LIGHT_LEVEL};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const AVFrameSideData *side = av_frame_get_side_data(raw, kept[i]);
        AVFrameSideData *copy = side ? av_frame_new_side_data(out, kept[i], side->size) : NULL;
        if (side && !copy)
            return -ENOMEM;
        if (side)
            memcpy(copy->data, side->data, side->size);
    }
    return 0;
}

int halo_gate_pass(struct halo_gate *gate, const struct halo_raw_picture *raw,
                   struct halo_output_picture **ret, struct halo_error *err)
{
    const AVFrame *native;
    int r = halo_adapter_pass(gate->adapter, raw->frame, &native, err);
    if (r < 0)
        return r;
    struct halo_output_picture *picture = av_mallocz(sizeof *picture);
    if (picture)
        picture->frame =
            pool_get(&gate->outputs, gate->format, gate->input.width, gate->input.height);
    if (!picture || !picture->frame) {
        halo_output_picture_destroy(picture);
        return halo_fail(err, -ENOMEM, "out of memory for an output picture");
    }
    r = run_chain(gate, native, picture->frame);
    if (r >= 0)
        r = describe_output(picture->frame, raw->frame, gate);
    if (r < 0) {
        halo_output_picture_destroy(picture);
        return halo_fail(err, r,
                         "stream %d: a filter failed on the %s backend (%s); nothing is shown",
                         gate->input.stream, gate->backend->ops->name, strerror(-r));
    }
    *ret = picture;
    return 0;
}

const AVFrame *halo_output_picture_frame(const struct halo_output_picture *picture)
{
    return picture->frame;
}

void halo_output_picture_destroy(struct halo_output_picture *picture)
{
    if (!picture)
        return;
    av_frame_free(&picture->frame);
    av_free(picture);
}
