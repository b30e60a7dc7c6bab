/* SPDX-License-Identifier: BSD-2-Clause
 * The gate (gate.h): raw picture in, filters, output picture out. */
#include "pipeline/gate.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <stdatomic.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/adapt.h"
#include "pipeline/format.h"
#include "pipeline/hw_frame.h"
#include "pipeline/picture_pool.h"
#include "pipeline/raw_picture.h"
#include "pipeline/stats.h"

/* Defined here only: nobody else can make one. */
struct halo_output_picture {
    AVFrame *frame;
};

struct halo_pending {
    struct halo_gate *gate;
    struct halo_lane *lane; /* NULL: none is held */
    bool submitted;
    bool passed;     /* output is native by openly asked -vf null: no lane has it */
    AVFrame *native; /* raw: read by the lane until it is done */
    AVFrame *output; /* written by the lane until then */
};

/* The way of one plane through the chain. plain is the same without strategies, for another
 * backend than the ring began with. */
struct plane_steps {
    struct halo_step *own, *plain;
    int count;
};

struct halo_gate {
    const struct halo_chain *chain;
    struct halo_ring *ring;
    struct halo_gate_input input;
    enum AVPixelFormat format;
    int planes;
    struct halo_adapter *adapter;
    struct halo_picture_pool *outputs; /* output pictures, and nothing else */
    bool on_device;                    /* that is where they are */
    bool open;                         /* null is all that the chain says */
    struct filter_plan {
        struct halo_plane_plan plane[HALO_MAX_PLANES];
        const struct halo_strategy *strategy; /* NULL: auto */
    } * plan;                                 /* one for each filter of the chain */
    struct plane_steps steps[HALO_MAX_PLANES];
    struct halo_conv copy; /* the step of a plane that no filter changes */
    atomic_bool warm;      /* a picture has been through: all kernels have been loaded */
};

/* ---- planning ---- */

/* Chains that only say null ask for unfiltered pictures: those are the output then, without a copy,
 * which would cost a fast encoder some percent. A chain whose filters change nothing is none. */
static bool is_open(const struct halo_chain *chain)
{
    for (int f = 0; f < chain->count; f++)
        if (strcmp(chain->filter[f].kind->name, "null") != 0)
            return false;
    return true;
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

static const struct halo_strategy *find_strategy(const struct halo_gate *gate,
                                                 const struct halo_filter *filter)
{
    const struct halo_backend_ops *ops = halo_ring_ops(gate->ring);
    const char *name = filter->common.strategy;
    if (!name || !strcmp(name, "auto"))
        return NULL;
    const struct halo_strategy *found = halo_strategy_find(ops, name);
    if (!found)
        halo_log(HALO_LOG_INFO, "%s: strategy %s is not of the %s backend: auto is used",
                 filter->kind->name, name, ops->name);
    return found;
}

static int plan_filters(struct halo_gate *gate, struct halo_error *err)
{
    for (int f = 0; f < gate->chain->count; f++) {
        gate->plan[f].strategy = find_strategy(gate, &gate->chain->filter[f]);
        for (int p = 0; p < gate->planes; p++) {
            const struct halo_plane_info info =
                halo_format_plane_info(gate->format, gate->input.width, gate->input.height, p);
            const int ret =
                halo_filter_plan(&gate->chain->filter[f], info, &gate->plan[f].plane[p], err);
            if (ret < 0)
                return ret;
        }
        say_idle(gate, f);
    }
    return 0;
}

/* Appends a filter's passes; a copy among other steps changes nothing and is left out. */
static void add_steps(const struct halo_gate *gate, struct plane_steps *steps, int f, int p,
                      int channels)
{
    const struct halo_plane_plan *plane = &gate->plan[f].plane[p];
    const struct halo_strategy *strategy = gate->plan[f].strategy;
    if (plane->conv.kind == HALO_CONV_COPY)
        return;
    if (strategy && !halo_ring_can(gate->ring, strategy, &plane->conv, channels))
        strategy = NULL;
    for (int pass = 0; pass < plane->passes; pass++) {
        steps->own[steps->count] = (struct halo_step){&plane->conv, strategy};
        steps->plain[steps->count++] = (struct halo_step){&plane->conv, NULL};
    }
}

/* After plan_filters: the plans stay where they are. */
static int plan_steps(struct halo_gate *gate)
{
    for (int p = 0; p < gate->planes; p++) {
        struct plane_steps *steps = &gate->steps[p];
        const struct halo_plane_info info =
            halo_format_plane_info(gate->format, gate->input.width, gate->input.height, p);
        size_t most = 1;
        for (int f = 0; f < gate->chain->count; f++)
            most += (size_t)gate->plan[f].plane[p].passes;
        steps->own = av_calloc(most, sizeof *steps->own);
        steps->plain = av_calloc(most, sizeof *steps->plain);
        if (!steps->own || !steps->plain ||
            halo_conv_copy(&gate->copy, &(struct halo_conv_target){.depth = info.target.depth}) < 0)
            return -ENOMEM;
        for (int f = 0; f < gate->chain->count; f++)
            add_steps(gate, steps, f, p, halo_format_channels(gate->format, p));
        if (steps->count == 0)
            steps->own[steps->count++] = steps->plain[0] = (struct halo_step){&gate->copy, NULL};
    }
    return 0;
}

int halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain, struct halo_ring *ring,
                     const struct halo_gate_input *input, struct halo_error *err)
{
    int r;
    struct halo_gate *gate = av_mallocz(sizeof *gate);
    if (!gate)
        return halo_fail(err, -ENOMEM, "out of memory");
    gate->chain = chain;
    gate->ring = ring;
    gate->input = *input;
    gate->format = halo_format_nearest_native(input->format);
    if (gate->format == AV_PIX_FMT_NONE) {
        const char *name = av_get_pix_fmt_name(input->format);
        r = halo_fail(err, -ENOTSUP, "stream %d: pixel format %s cannot be filtered", input->stream,
                      name ? name : "unknown");
        goto fail;
    }
    gate->planes = halo_format_planes(gate->format);
    gate->open = is_open(chain) && !halo_ring_ops(ring)->submit; /* a GPU copies beside */
    gate->plan = av_calloc(chain->count, sizeof *gate->plan);
    gate->outputs =
        halo_picture_pool_create(halo_ring_memory(ring), gate->format, input->width, input->height);
    if (!gate->plan || !gate->outputs) {
        r = halo_fail(err, -ENOMEM, "out of memory for pictures of %dx%d", input->width,
                      input->height);
        goto fail;
    }
    if ((r = plan_filters(gate, err)) < 0)
        goto fail;
    if ((r = plan_steps(gate)) < 0) {
        halo_fail(err, r, "out of memory");
        goto fail;
    }
    r = halo_adapter_create(&gate->adapter, halo_ring_memory(ring), input, gate->format, err);
    if (r < 0)
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
    halo_picture_pool_destroy(gate->outputs);
    for (int p = 0; p < HALO_MAX_PLANES; p++) {
        av_free(gate->steps[p].own);
        av_free(gate->steps[p].plain);
    }
    av_free(gate->plan);
    av_free(gate);
}

enum AVPixelFormat halo_gate_format(const struct halo_gate *gate)
{
    return gate->format;
}

/* What both the pool of the device and its encoders have, in whole samples of chroma: FFmpeg's
 * layout of such planes wants that. */
static bool fits_device(const struct halo_gate *gate)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12,
                                                 AV_PIX_FMT_P010, AV_PIX_FMT_YUV444P};
    const int odd = (gate->input.width | gate->input.height) & 1;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i] == halo_format_plain(gate->format))
            return !odd;
    return false;
}

int halo_gate_set_device(struct halo_gate *gate, AVBufferRef *device, AVBufferRef **ret_frames)
{
    const struct halo_backend_ops *ops = halo_ring_ops(gate->ring);
    if (device && (!ops->submit || !fits_device(gate)))
        return -ENOTSUP;
    const int width = gate->input.width, height = gate->input.height;
    struct halo_picture_pool *pool =
        device
            ? halo_picture_pool_create_on(device, halo_format_plain(gate->format), width, height,
                                          ret_frames)
            : halo_picture_pool_create(halo_ring_memory(gate->ring), gate->format, width, height);
    if (!pool)
        return -ENOMEM;
    halo_picture_pool_destroy(gate->outputs);
    gate->outputs = pool;
    gate->on_device = device != NULL;
    return 0;
}

/* ---- passing ---- */

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

/* A fresh output picture in place of what there was. The device grays its own memory, and every
 * byte that it sends back replaces one here. */
static int prepare_output(struct halo_pending *pending, const AVFrame *raw)
{
    const bool gray = !pending->lane->backend->ops->submit;
    struct halo_stats *stats = halo_ring_stats(pending->gate->ring);
    const int64_t begin = halo_stats_begin(stats, HALO_STAGE_MEMORY);
    av_frame_free(&pending->output);
    pending->output = halo_picture_pool_get(pending->gate->outputs, gray);
    halo_stats_end(stats, HALO_STAGE_MEMORY, begin);
    return pending->output ? describe_output(pending->output, raw, pending->gate) : -ENOMEM;
}

static int submit(struct halo_pending *pending)
{
    const struct halo_gate *gate = pending->gate;
    const bool own = pending->lane->backend->ops == halo_ring_ops(gate->ring);
    const bool from_device = halo_hw_frame_is(pending->native);
    if ((gate->on_device || from_device) && !own)
        return -EIO; /* a lane that fell back to the CPU */
    struct halo_frame frame = {
        .planes = gate->planes, .src_on_device = from_device, .dst_on_device = gate->on_device};
    if (from_device)
        frame.after = halo_hw_frame_stream(pending->native);
    for (int p = 0; p < gate->planes; p++) {
        frame.plane[p] = (struct halo_frame_plane){
            .dst = halo_format_plane_as(pending->output, gate->format, p),
            .steps = own ? gate->steps[p].own : gate->steps[p].plain,
            .count = gate->steps[p].count,
        };
        if (from_device)
            halo_hw_frame_plane(pending->native, gate->format, p, &frame.plane[p]);
        else
            frame.plane[p].src = halo_format_plane(pending->native, p);
    }
    struct halo_stats *stats = halo_ring_stats(gate->ring);
    const enum halo_stage stage =
        pending->lane->backend->ops->submit ? HALO_STAGE_SUBMIT : HALO_STAGE_KERNELS;
    const int64_t begin = halo_stats_begin(stats, stage);
    const int ret = halo_ring_submit(gate->ring, pending->lane, &frame, !atomic_load(&gate->warm));
    halo_stats_end(stats, stage, begin);
    pending->submitted = ret == 0;
    return ret;
}

/* -EIO is the device's; anything else is ours. */
static int fail_filter(const struct halo_pending *pending, int code, struct halo_error *err)
{
    return halo_fail(
        err, code, "stream %d: a filter failed on the %s backend (%s); nothing is shown",
        pending->gate->input.stream, pending->lane->backend->ops->name, strerror(-code));
}

/* A picture that the lost device alone has, or whose encoder it has. */
static int fail_with_device(const struct halo_pending *pending, struct halo_error *err)
{
    char why[200];
    const struct halo_backend *lane = pending->lane->backend;
    halo_backend_error(lane->ops, lane, why, sizeof why);
    if (pending->gate->on_device)
        return halo_fail_device(err, "stream %d: the GPU that filters and encodes failed: %s",
                                pending->gate->input.stream, why);
    return halo_fail_device(err,
                            "the %s backend failed: %s; the picture was on that GPU only: nothing "
                            "unfiltered is written (-hwaccel none keeps pictures on the host)",
                            lane->ops->name, why);
}

/* Submits again after a failure of the device, where there is another one to go on with. */
static int submit_again(struct halo_pending *pending, struct halo_error *err)
{
    if (pending->gate->on_device || halo_hw_frame_is(pending->native))
        return fail_with_device(pending, err);
    int ret = halo_ring_fall_back(pending->gate->ring, pending->lane, err);
    if (ret < 0)
        return ret;
    /* Everything but the samples: describe_output() read it from the raw picture. */
    AVFrame *old = pending->output;
    pending->output = halo_picture_pool_get(pending->gate->outputs, true);
    ret = pending->output ? av_frame_copy_props(pending->output, old) : -ENOMEM;
    av_frame_free(&old);
    if (ret >= 0)
        ret = submit(pending);
    return ret < 0 ? fail_filter(pending, ret, err) : 0;
}

/* To the native format, where it is not that already. */
static int adapt(struct halo_pending *pending, const struct halo_raw_picture *raw,
                 struct halo_error *err)
{
    const struct halo_gate *gate = pending->gate;
    struct halo_stats *stats = halo_ring_stats(gate->ring);
    const int64_t begin = halo_stats_begin(stats, HALO_STAGE_CONVERT);
    const int ret =
        halo_adapter_pass(gate->adapter, raw->frame, raw->format, &pending->native, err);
    halo_stats_end(stats, HALO_STAGE_CONVERT, begin);
    if (ret >= 0 && pending->native->data[0] != raw->frame->data[0])
        halo_stats_copied(stats, pending->native);
    return ret;
}

/* Waits for the lane. */
static int finish(struct halo_pending *pending)
{
    struct halo_stats *stats = halo_ring_stats(pending->gate->ring);
    struct halo_frame_times times;
    const int64_t begin = halo_stats_begin(stats, HALO_STAGE_DEVICE_WAIT);
    const int ret = halo_ring_finish(pending->gate->ring, pending->lane);
    halo_stats_end(stats, HALO_STAGE_DEVICE_WAIT, begin);
    if (ret == 0 && stats && halo_frame_times(pending->lane->backend, &times) == 0)
        halo_stats_device(stats, pending->lane->number, &times);
    pending->submitted = false;
    return ret;
}

/* The samples of a picture and nothing else, as another reference. */
static int pass_samples(struct halo_pending *pending, const AVFrame *raw, struct halo_error *err)
{
    const AVFrame *native = pending->native;
    AVFrame *out = pending->output = av_frame_alloc();
    int r = out ? 0 : -ENOMEM;
    for (int i = 0; r >= 0 && i < AV_NUM_DATA_POINTERS; i++) {
        out->data[i] = native->data[i];
        out->linesize[i] = native->linesize[i];
        if (native->buf[i] && !(out->buf[i] = av_buffer_ref(native->buf[i])))
            r = -ENOMEM;
    }
    if (r >= 0) {
        out->format = native->format;
        out->width = native->width;
        out->height = native->height;
        r = describe_output(out, raw, pending->gate);
    }
    pending->passed = true;
    return r < 0 ? halo_fail(err, r, "out of memory for an output picture") : 0;
}

/* Encoders read counted memory, from the top down. */
static bool can_pass(const struct halo_gate *gate, const AVFrame *native)
{
    return gate->open && native->format == gate->format && native->buf[0] &&
           native->linesize[0] > 0;
}

static int enter_lane(struct halo_pending *pending, const AVFrame *raw, struct halo_error *err)
{
    pending->lane = halo_ring_acquire(pending->gate->ring);
    if (!pending->lane)
        return -ECANCELED;
    int r = 0;
    if (!pending->lane->backend->ops->submit) /* a lane that fell back */
        r = halo_adapter_to_host(pending->gate->adapter, &pending->native, err);
    if (r < 0)
        return r;
    if ((r = prepare_output(pending, raw)) < 0)
        return halo_fail(err, r, "out of memory for an output picture");
    r = submit(pending);
    if (r == -EIO)
        return submit_again(pending, err);
    return r < 0 ? fail_filter(pending, r, err) : 0;
}

int halo_gate_enter(struct halo_gate *gate, const struct halo_raw_picture *raw,
                    struct halo_pending **ret, struct halo_error *err)
{
    struct halo_pending *pending = av_mallocz(sizeof *pending);
    if (!pending)
        return halo_fail(err, -ENOMEM, "out of memory");
    pending->gate = gate;
    int r = adapt(pending, raw, err);
    if (r >= 0)
        r = can_pass(gate, pending->native) ? pass_samples(pending, raw->frame, err)
                                            : enter_lane(pending, raw->frame, err);
    if (r < 0)
        halo_pending_destroy(pending);
    else
        *ret = pending;
    return r;
}

int halo_gate_leave(struct halo_pending *pending, struct halo_output_picture **ret,
                    struct halo_error *err)
{
    struct halo_output_picture *picture = av_mallocz(sizeof *picture);
    int r = picture ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (r >= 0 && !pending->passed)
        r = finish(pending);
    if (r == -EIO) {
        r = submit_again(pending, err);
        if (r >= 0)
            r = finish(pending);
    }
    if (r >= 0)
        atomic_store(&pending->gate->warm, true);
    if (r < 0) {
        if (!pending->passed)
            fail_filter(pending, r, err);
        av_free(picture);
    } else {
        picture->frame = pending->output;
        pending->output = NULL;
        *ret = picture;
    }
    halo_pending_destroy(pending);
    return r;
}

void halo_pending_destroy(struct halo_pending *pending)
{
    if (!pending)
        return;
    if (pending->submitted)
        (void)halo_ring_finish(pending->gate->ring, pending->lane); /* it still reads and writes */
    av_frame_free(&pending->native); /* before the next: decoders have few surfaces */
    if (pending->lane)
        halo_ring_release(pending->gate->ring, pending->lane);
    av_frame_free(&pending->output);
    av_free(pending);
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
