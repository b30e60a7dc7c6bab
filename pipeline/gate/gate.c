/* SPDX-License-Identifier: BSD-2-Clause
 * The gate (gate.h): an unfiltered frame enters, is filtered, and leaves as an output frame. */
#include "pipeline/gate/gate.h"

#include <errno.h>
#include <inttypes.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "config/base/log.h"
#include "kernels/fault.h"
#include "pipeline/base/av_version.h"
#include "pipeline/base/stats.h"
#include "pipeline/gate/adapt.h"
#include "pipeline/gate/gate_variants.h"
#include "pipeline/gate/leak.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/hw_frame.h"
#include "pipeline/frame/frame_pool.h"
#include "pipeline/frame/raw_frame_private.h"

/* Defined only here, so no other file can make one. */
struct halo_output_frame {
    AVFrame *frame;
    int64_t epoch;
};

struct halo_pending {
    struct halo_gate *gate;
    const struct halo_gate_variant *variant;
    int64_t epoch;          /* of the gate when the frame entered */
    struct halo_lane *lane; /* NULL: no lane is held */
    bool submitted;
    bool passed;     /* explicit passthrough (-vf null): output is native, and no lane has it */
    AVFrame *native; /* unfiltered: the lane reads it until it is done */
    AVFrame *output; /* the lane writes it until then */
    struct halo_frame_regions *regions; /* NULL: the plan's regions apply */
};

struct halo_gate {
    struct halo_gate_variants variants;
    const struct halo_gate_plan *plan; /* of the first variant, for fields that all share */
    struct halo_ring *ring;
    struct halo_adapter *adapter;
    struct halo_frame_pool *outputs; /* output frames, and nothing else */
    bool on_device;                  /* output frames are on a device */
    bool open;                       /* passthrough: all filters are null, which is allowed */
    atomic_bool warm;                /* a frame has been filtered: all kernels are loaded */
};

int halo_gate_create(struct halo_gate **ret, const struct halo_chain *chain, struct halo_ring *ring,
                     const struct halo_gate_input *input, struct halo_error *err)
{
    int code;
    struct halo_gate *gate = av_mallocz(sizeof *gate);
    if (!gate)
        return halo_fail(err, -ENOMEM, "out of memory");
    gate->ring = ring;
    gate->plan = &gate->variants.first.plan;
    code = halo_gate_variants_open(&gate->variants, chain, ring, input, err);
    if (code < 0)
        goto fail;
    /* A chain of null filters requests unfiltered frames explicitly. If privacy allows that, they
     * become the output without a copy, which would slow down a fast encoder by some percent. On a
     * GPU the copy runs in parallel, so it is kept. */
    gate->open = input->privacy == HALO_PRIVACY_OFF && halo_gate_plan_is_passthrough(gate->plan) &&
                 !halo_ring_ops(ring)->submit;
    const enum AVPixelFormat format = gate->plan->format;
    gate->outputs =
        halo_frame_pool_create(halo_ring_memory(ring), format, input->width, input->height);
    if (!gate->outputs) {
        code = halo_fail(err, -ENOMEM, "out of memory for frames of %dx%d", input->width,
                         input->height);
        goto fail;
    }
    code = halo_adapter_create(&gate->adapter, halo_ring_memory(ring), input, format, err);
    if (code < 0)
        goto fail;
    *ret = gate;
    return 0;
fail:
    halo_gate_destroy(gate);
    return code;
}

static void say_hidden(const struct halo_gate *gate)
{
    const struct halo_hidden_counts n = halo_gate_cells_hidden(gate->variants.cells);
    if (gate->plan->input.frozen) /* who keeps the values says it */
        return;
    if (n.objects > 0)
        halo_log(HALO_LOG_INFO,
                 "stream %d: hide replaced %lld object%s by cells, which reveal at most %.0f bits "
                 "in all",
                 gate->plan->input.stream, (long long)n.objects, n.objects == 1 ? "" : "s",
                 ceil(n.bits));
    if (n.epsilons > 0)
        halo_log(HALO_LOG_INFO, "stream %d: the epsilons of hide=noise add up to %g",
                 gate->plan->input.stream, n.epsilons);
}

void halo_gate_destroy(struct halo_gate *gate)
{
    if (!gate)
        return;
    say_hidden(gate);
    halo_adapter_destroy(gate->adapter);
    halo_frame_pool_destroy(gate->outputs);
    halo_gate_variants_close(&gate->variants);
    av_free(gate);
}

void halo_gate_set_feed(struct halo_gate *gate, struct halo_region_feed *feed)
{
    halo_gate_variants_set_feed(&gate->variants, feed);
}

const struct halo_coverage *halo_gate_coverage(const struct halo_gate *gate)
{
    return &gate->variants.first.coverage;
}

enum AVPixelFormat halo_gate_format(const struct halo_gate *gate)
{
    return gate->plan->format;
}

int halo_gate_set_device(struct halo_gate *gate, AVBufferRef *device, AVBufferRef **ret_frames)
{
    const struct halo_gate_plan *plan = gate->plan;
    const struct halo_backend_ops *ops = halo_ring_ops(gate->ring);
    if (device && (!ops->submit || !halo_gate_plan_fits_device(plan)))
        return -ENOTSUP;
    const int width = plan->input.width, height = plan->input.height;
    struct halo_frame_pool *pool =
        device ? halo_frame_pool_create_on(device, halo_format_plain(plan->format), width, height,
                                           ret_frames)
               : halo_frame_pool_create(halo_ring_memory(gate->ring), plan->format, width, height);
    if (!pool)
        return -ENOMEM;
    halo_frame_pool_destroy(gate->outputs);
    gate->outputs = pool;
    gate->on_device = device != NULL;
    return 0;
}

/* Copies the metadata that an output frame has: time, colour description, geometry, closed captions
 * and HDR's light levels, and nothing else of the unfiltered frame. Other side data may show what
 * the filters hid. */
static int describe_output(AVFrame *out, const AVFrame *raw, const struct halo_gate *gate)
{
    out->pts = raw->pts;
    halo_av_frame_set_duration(out, halo_av_frame_duration(raw));
    out->sample_aspect_ratio = raw->sample_aspect_ratio;
    out->color_range = raw->color_range;
    out->color_primaries = raw->color_primaries;
    out->color_trc = raw->color_trc;
    out->colorspace = raw->colorspace;
    out->chroma_location = raw->chroma_location;
    halo_av_frame_set_fields(out, halo_av_frame_fields(raw));
    if (gate->plan->format != gate->plan->input.format && halo_format_is_rgb(gate->plan->format))
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

/* Replaces pending->output by a new output frame. A device fills its own memory with gray, and
 * every byte of its download replaces one here. */
static int prepare_output(struct halo_pending *pending, const AVFrame *raw)
{
    const bool gray = !pending->lane->backend->ops->submit;
    struct halo_stats *stats = halo_ring_stats(pending->gate->ring);
    const int64_t begin = halo_stats_begin(stats, HALO_STAGE_MEMORY);
    av_frame_free(&pending->output);
    pending->output = halo_frame_pool_get(pending->gate->outputs, gray);
    halo_stats_end(stats, HALO_STAGE_MEMORY, begin);
    return pending->output ? describe_output(pending->output, raw, pending->gate) : -ENOMEM;
}

static const struct halo_step *steps_of(const struct halo_pending *pending, int p, bool own)
{
    const struct halo_plane_steps *steps = &pending->variant->plan.steps[p];
    if (pending->regions)
        return halo_frame_regions_steps(pending->regions, p, own);
    return own ? steps->own : steps->plain;
}

/* Whether the lane is where the chain was planned for, and not on the CPU instead. */
static bool is_own(const struct halo_pending *pending)
{
    return pending->lane->backend->ops == halo_ring_ops(pending->gate->ring);
}

static int submit(struct halo_pending *pending)
{
    const struct halo_gate *gate = pending->gate;
    const struct halo_gate_plan *plan = &pending->variant->plan;
    const bool own = is_own(pending);
    const bool from_device = halo_hw_frame_is(pending->native);
    if ((gate->on_device || from_device) && !own)
        return -EIO; /* a lane that fell back to the CPU */
    struct halo_frame frame = {
        .planes = plan->planes, .src_on_device = from_device, .dst_on_device = gate->on_device};
    if (from_device)
        frame.after = halo_hw_frame_stream(pending->native);
    for (int p = 0; p < plan->planes; p++) {
        frame.plane[p] = (struct halo_frame_plane){
            .dst = halo_format_plane_as(pending->output, plan->format, p),
            .steps = steps_of(pending, p, own),
            .count = plan->steps[p].count,
        };
        if (from_device)
            halo_hw_frame_plane(pending->native, plan->format, p, &frame.plane[p]);
        else
            frame.plane[p].src = halo_format_plane(pending->native, p);
    }
    struct halo_stats *stats = halo_ring_stats(gate->ring);
    const enum halo_stage stage =
        pending->lane->backend->ops->submit ? HALO_STAGE_SUBMIT : HALO_STAGE_KERNELS;
    const int64_t begin = halo_stats_begin(stats, stage);
    const int code = halo_ring_submit(gate->ring, pending->lane, &frame, !atomic_load(&gate->warm));
    halo_stats_end(stats, stage, begin);
    pending->submitted = code == 0;
    return code;
}

/* Reports that a filter failed, for another reason than the device (-EIO), which is reported
 * elsewhere. */
static int fail_filter(const struct halo_pending *pending, int code, struct halo_error *err)
{
    return halo_fail(
        err, code, "stream %d: a filter failed on the %s backend (%s); the frame is not shown",
        pending->gate->plan->input.stream, pending->lane->backend->ops->name, strerror(-code));
}

/* Fails a frame that is only on the failed device, or whose encoder is. */
static int fail_with_device(const struct halo_pending *pending, int code, struct halo_error *err)
{
    char why[200];
    const struct halo_backend *lane = pending->lane->backend;
    halo_backend_error(lane->ops, lane, why, sizeof why);
    if (code == -ENOMEM)
        return halo_fail_scarce(err, "the GPU's memory is full (%s); the frame is not shown", why);
    if (pending->gate->on_device)
        return halo_fail_device(err, "stream %d: the GPU that filters and encodes failed: %s",
                                pending->gate->plan->input.stream, why);
    return halo_fail_device(err,
                            "the %s backend failed: %s; the frame, which existed only on that GPU, "
                            "is lost, and nothing unfiltered is written (-hwaccel none keeps "
                            "frames on the host)",
                            lane->ops->name, why);
}

/* Submits the frame again after a failure of the device (-EIO, or -ENOMEM: its memory is full), if
 * the lane can continue on the CPU. */
static int submit_again(struct halo_pending *pending, int code, struct halo_error *err)
{
    if (pending->gate->on_device || halo_hw_frame_is(pending->native))
        return fail_with_device(pending, code, err);
    int ret = halo_ring_fall_back(pending->gate->ring, pending->lane, code, err);
    if (ret < 0)
        return ret;
    /* Copies the metadata, not the samples: describe_output() took it from the unfiltered frame. */
    AVFrame *old = pending->output;
    pending->output = halo_frame_pool_get(pending->gate->outputs, true);
    ret = pending->output ? av_frame_copy_props(pending->output, old) : -ENOMEM;
    if (!halo_backend_is_lost(halo_ring_ops(pending->gate->ring)))
        av_frame_free(&old); /* not if the device is lost: it may still write into that memory */
    if (ret >= 0)
        ret = submit(pending);
    return ret < 0 ? fail_filter(pending, ret, err) : 0;
}

/* Converts the frame to the native format, if necessary. */
static int adapt(struct halo_pending *pending, const struct halo_raw_frame *raw,
                 struct halo_error *err)
{
    const struct halo_gate *gate = pending->gate;
    struct halo_stats *stats = halo_ring_stats(gate->ring);
    const int64_t begin = halo_stats_begin(stats, HALO_STAGE_CONVERT);
    const int code =
        halo_adapter_pass(gate->adapter, raw->frame, raw->format, &pending->native, err);
    halo_stats_end(stats, HALO_STAGE_CONVERT, begin);
    if (code >= 0 && pending->native->data[0] != raw->frame->data[0])
        halo_stats_copied(stats, pending->native);
    return code;
}

/* Waits until the lane has finished the frame. */
static int finish(struct halo_pending *pending)
{
    struct halo_stats *stats = halo_ring_stats(pending->gate->ring);
    struct halo_frame_times times;
    const int64_t begin = halo_stats_begin(stats, HALO_STAGE_DEVICE_WAIT);
    const int code = halo_ring_finish(pending->gate->ring, pending->lane);
    halo_stats_end(stats, HALO_STAGE_DEVICE_WAIT, begin);
    if (code == 0 && stats && halo_frame_times(pending->lane->backend, &times) == 0)
        halo_stats_device(stats, pending->lane->number, &times);
    pending->submitted = false;
    return code;
}

/* Passthrough: makes the output another reference to the samples of the frame, and to nothing else
 * of it. */
static int pass_samples(struct halo_pending *pending, const AVFrame *raw, struct halo_error *err)
{
    const AVFrame *native = pending->native;
    AVFrame *out = pending->output = av_frame_alloc();
    int code = out ? 0 : -ENOMEM;
    for (int i = 0; code >= 0 && i < AV_NUM_DATA_POINTERS; i++) {
        out->data[i] = native->data[i];
        out->linesize[i] = native->linesize[i];
        if (native->buf[i] && !(out->buf[i] = av_buffer_ref(native->buf[i])))
            code = -ENOMEM;
    }
    if (code >= 0) {
        out->format = native->format;
        out->width = native->width;
        out->height = native->height;
        code = describe_output(out, raw, pending->gate);
    }
    pending->passed = true;
    return code < 0 ? halo_fail(err, code, "out of memory for an output frame") : 0;
}

/* Whether the unfiltered frame may itself be the output: only for passthrough (open), in the native
 * format, and in reference-counted memory with rows from the top down, which encoders need. */
static bool can_pass(const struct halo_gate *gate, const AVFrame *native)
{
    return gate->open && native->format == gate->plan->format && native->buf[0] &&
           native->linesize[0] > 0;
}

/* Returns the planes of the frame that enters; brings it to the host if it is on a device. */
static bool find_planes(void *arg, struct halo_plane *ret)
{
    struct halo_pending *pending = arg;
    const struct halo_gate *gate = pending->gate;
    struct halo_error err = {0};
    if (halo_adapter_to_host(gate->adapter, &pending->native, &err) < 0)
        return false;
    for (int p = 0; p < gate->plan->planes; p++)
        ret[p] = halo_format_plane(pending->native, p);
    return true;
}

/* Sets the frame's regions: those of the region feed for its time, those of its verdict, and none
 * (the whole frame is filtered) for written regions whose place in this frame is not known. */
static int take_regions(struct halo_pending *pending, const struct halo_raw_frame *raw)
{
    struct halo_gate *gate = pending->gate;
    const int spill =
        raw->spill | (halo_av_frame_fields(raw->frame) & HALO_AV_INTERLACED ? HALO_SPILL_Y : 0);
    struct halo_regions_frame frame = {raw->frame->pts, raw->verdict, HALO_KNOWN,
                                       halo_adapter_reach(gate->adapter)};
    pending->variant = halo_gate_variants_choose(&gate->variants, raw->turn, spill,
                                                 halo_adapter_scales(gate->adapter), &frame.known);
    const struct halo_gate_plan *plan = &pending->variant->plan;
    const bool same = memcmp(&frame.reach, &plan->reach, sizeof frame.reach) == 0;
    if (!pending->variant->regions ||
        (!plan->supplied && frame.known == HALO_KNOWN && !gate->variants.cells && same))
        return 0;
    const struct halo_cells_frame cells = {find_planes, pending};
    halo_gate_cells_begin(gate->variants.cells, &cells);
    pending->regions = halo_gate_regions_take(pending->variant->regions, &frame);
    return pending->regions ? 0 : -ENOMEM;
}

static int enter_lane(struct halo_pending *pending, const struct halo_raw_frame *raw,
                      struct halo_error *err)
{
    pending->lane = halo_ring_acquire(pending->gate->ring);
    if (!pending->lane)
        return -ECANCELED;
    int code = 0;
    if (!pending->lane->backend->ops->submit) /* the lane may have fallen back to the CPU */
        code = halo_adapter_to_host(pending->gate->adapter, &pending->native, err);
    if (code < 0)
        return code;
    if ((code = prepare_output(pending, raw->frame)) < 0)
        return halo_fail(err, code, "out of memory for an output frame");
    if ((code = take_regions(pending, raw)) < 0)
        return halo_fail(err, code, "out of memory for the regions of a frame");
    code = submit(pending);
    if (code == -EIO || code == -ENOMEM)
        return submit_again(pending, code, err);
    return code < 0 ? fail_filter(pending, code, err) : 0;
}

int halo_gate_enter(struct halo_gate *gate, const struct halo_raw_frame *raw,
                    struct halo_pending **ret, struct halo_error *err)
{
    struct halo_pending *pending = av_mallocz(sizeof *pending);
    if (!pending)
        return halo_fail(err, -ENOMEM, "out of memory");
    pending->gate = gate;
    pending->epoch = gate->plan->input.epoch;
    int code = adapt(pending, raw, err);
    if (code >= 0)
        code = can_pass(gate, pending->native) ? pass_samples(pending, raw->frame, err)
                                               : enter_lane(pending, raw, err);
    if (code < 0)
        halo_pending_destroy(pending);
    else
        *ret = pending;
    return code;
}

/* Refuses a frame that was filtered with settings other than the expected ones, even if they filter
 * it well. */
static int agree(const struct halo_pending *pending, int64_t epoch, struct halo_error *err)
{
    const struct halo_gate_input *input = &pending->gate->plan->input;
    const bool fault = halo_fault("gate", "epoch");
    if (pending->epoch == epoch && input->epoch == epoch && !fault)
        return 0;
    return halo_fail(err, -ESTALE,
                     "stream %d: a frame that entered under configuration %" PRId64
                     " was about to leave a gate with configuration %" PRId64
                     ", but both were expected to be configuration %" PRId64
                     "; the frame is not shown",
                     input->stream, pending->epoch, input->epoch, epoch);
}

int halo_gate_leave(struct halo_pending *pending, int64_t epoch, struct halo_output_frame **ret,
                    struct halo_error *err)
{
    struct halo_output_frame *frame = av_mallocz(sizeof *frame);
    int code = frame ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0 && !pending->passed)
        code = finish(pending);
    if (code == -EIO) {
        code = submit_again(pending, code, err);
        if (code >= 0)
            code = finish(pending);
    }
    if (code >= 0 && !pending->passed && is_own(pending))
        atomic_store(&pending->gate->warm, true);
    if (code >= 0)
        code = agree(pending, epoch, err);
    if (code < 0) {
        if (!pending->passed)
            fail_filter(pending, code, err);
        av_free(frame);
    } else {
        halo_leak(pending->output, pending->native);
        frame->frame = pending->output;
        frame->epoch = epoch;
        pending->output = NULL;
        *ret = frame;
    }
    halo_pending_destroy(pending);
    return code;
}

void halo_pending_destroy(struct halo_pending *pending)
{
    if (!pending)
        return;
    if (pending->submitted)
        (void)halo_ring_finish(pending->gate->ring, pending->lane); /* the lane still uses them */
    av_frame_free(&pending->native); /* first, because decoders have few surfaces */
    if (pending->regions)
        halo_gate_regions_give(pending->variant->regions, pending->regions);
    if (pending->lane)
        halo_ring_release(pending->gate->ring, pending->lane);
    av_frame_free(&pending->output);
    av_free(pending);
}

const AVFrame *halo_output_frame_frame(const struct halo_output_frame *frame)
{
    return frame->frame;
}

int64_t halo_output_frame_epoch(const struct halo_output_frame *frame)
{
    return frame->epoch;
}

struct halo_output_frame *halo_output_frame_ref(const struct halo_output_frame *frame)
{
    struct halo_output_frame *ref = av_mallocz(sizeof *ref);
    if (!ref)
        return NULL;
    ref->epoch = frame->epoch;
    ref->frame = av_frame_clone(frame->frame);
    if (!ref->frame)
        av_freep(&ref);
    return ref;
}

int halo_gate_blank(struct halo_gate *gate, bool black, struct halo_output_frame **ret)
{
    const struct halo_gate_input *in = &gate->plan->input;
    struct halo_output_frame *picture = av_mallocz(sizeof *picture);
    AVFrame *frame = picture ? halo_frame_pool_get(gate->outputs, true) : NULL;
    ptrdiff_t linesize[4] = {0};
    for (int p = 0; frame && p < 4; p++)
        linesize[p] = frame->linesize[p];
    if (!frame || (black && av_image_fill_black(frame->data, linesize, gate->plan->format,
                                                in->range, in->width, in->height) < 0)) {
        av_frame_free(&frame);
        av_free(picture);
        return -ENOMEM;
    }
    frame->pts = 0;
    frame->color_range = in->range;
    frame->colorspace = in->space;
    picture->frame = frame;
    *ret = picture;
    return 0;
}

/* Allocates a frame like another one, filled with gray, including the padding between rows, because
 * encoders read some of it. */
static int allocate_card(AVFrame *frame, const AVFrame *like)
{
    frame->format = like->format;
    frame->width = like->width;
    frame->height = like->height;
    frame->color_range = like->color_range;
    frame->colorspace = like->colorspace;
    frame->color_primaries = like->color_primaries;
    frame->color_trc = like->color_trc;
    frame->chroma_location = like->chroma_location;
    frame->sample_aspect_ratio = like->sample_aspect_ratio;
    if (like->hw_frames_ctx)
        return -ENOTSUP;
    if (av_frame_get_buffer(frame, 0) < 0)
        return -ENOMEM;
    for (int i = 0; i < AV_NUM_DATA_POINTERS && frame->buf[i]; i++)
        memset(frame->buf[i]->data, 0x80, frame->buf[i]->size);
    return 0;
}

int halo_gate_card(const struct halo_output_frame *like, const struct halo_card *card, int64_t pts,
                   struct halo_output_frame **ret)
{
    struct halo_output_frame *frame = av_mallocz(sizeof *frame);
    int code = frame && (frame->frame = av_frame_alloc()) ? 0 : -ENOMEM;
    if (code >= 0)
        code = allocate_card(frame->frame, like->frame);
    if (code < 0) {
        halo_output_frame_destroy(frame);
        return code;
    }
    halo_card_draw(frame->frame, card);
    frame->frame->pts = pts;
    *ret = frame;
    return 0;
}

void halo_output_frame_destroy(struct halo_output_frame *frame)
{
    if (!frame)
        return;
    av_frame_free(&frame->frame);
    av_free(frame);
}
