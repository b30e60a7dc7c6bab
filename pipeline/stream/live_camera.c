/* SPDX-License-Identifier: BSD-2-Clause
 * A session with a camera: found by its identity, opened, read; and the waits between sessions. */
#include "pipeline/stream/live_camera.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/camera/camera.h"
#include "pipeline/gate/ring.h"
#include "pipeline/input/decode.h"
#include "pipeline/frame/orient.h"
#include "pipeline/frame/raw_frame.h"
#include "pipeline/stream/live.h"
#include "pipeline/stream/live_counters.h"
#include "pipeline/stream/live_input.h"
#include "pipeline/stream/live_listener.h"
#include "pipeline/stream/live_source.h"
#include "pipeline/stream/live_status.h"
#include "pipeline/stream/live_stream.h"
#include "pipeline/stream/source_ops.h"

/* ---- controls ---- */

enum { LIMIT = 16 }; /* controls that may wait */

struct control {
    uint64_t id; /* of the halo_live_control() that requested it */
    char name[68];
    int64_t value;
};

struct halo_live_controls {
    struct halo_mutex lock;
    struct control control[LIMIT];
    int count;
};

struct halo_live_controls *halo_live_controls_create(void)
{
    return av_mallocz(sizeof(struct halo_live_controls));
}

void halo_live_controls_destroy(struct halo_live_controls *c)
{
    av_free(c);
}

int halo_live_control(struct halo_live *live, uint64_t id, const char *name, int64_t value,
                      struct halo_error *err)
{
    struct halo_live_controls *c = live->controls;
    int code = 0;
    if (!live->camera)
        return halo_fail_usage(err, "control %.64s: the stream's input is not a camera", name);
    halo_lock(&c->lock);
    if (atomic_load(&live->done) || c->count == LIMIT) {
        code = halo_fail(err, -EBUSY, "too many changes are waiting: try again later");
    } else {
        struct control *control = &c->control[c->count++];
        control->id = id;
        control->value = value;
        snprintf(control->name, sizeof control->name, "%s", name);
    }
    halo_unlock(&c->lock);
    live->post(live, HALO_LIVE_ASKED, 0);
    return code;
}

/* Stores the value for later sessions, too. */
static void keep(struct halo_live *live, const struct control *control)
{
    struct halo_capture_settings *set = &live->settings.capture;
    char *all = halo_controls_put(set->controls, control->name, control->value);
    if (!all)
        return;
    free(set->controls);
    set->controls = all;
}

static bool next(struct halo_live_controls *c, struct control *ret)
{
    halo_lock(&c->lock);
    const bool some = c->count > 0;
    if (some) {
        *ret = c->control[0];
        memmove(c->control, c->control + 1, sizeof *c->control * (size_t)--c->count);
    }
    halo_unlock(&c->lock);
    return some;
}

/* Sets all camera controls that are waiting, and answers the requests. camera is NULL while the
 * camera is unavailable; the controls are then set when it becomes available again. Source
 * thread. */
static void set_controls(struct halo_live *live, struct halo_camera *camera)
{
    struct control control;
    while (next(live->controls, &control)) {
        struct halo_error err = {0};
        if (!camera || halo_camera_control(camera, control.name, control.value, &err) >= 0)
            keep(live, &control);
        halo_live_tell_set(live->listener, control.id, err.code ? &err : NULL);
    }
}

/* ---- camera ---- */

static const int64_t SECOND = INT64_C(1000000000);
static const int64_t REST_AFTER = INT64_C(5000000000); /* ns without viewers */
/* ns: a device that appears causes several events */
static const int64_t SETTLE = INT64_C(100000000);

struct halo_live_camera {
    int wake; /* readable: a stop, a viewer or a control */
    int watch;
    bool known;
    struct halo_camera_id id; /* set once it has been opened */
    int counted;              /* the enum halo_v4l2_trouble that was last counted as a failure */
    atomic_int trouble;       /* enum halo_v4l2_trouble, of the last session; any thread */
    atomic_bool open, rests;  /* a session delivers frames; closed because nobody watches */
    int64_t looked_at;        /* ns: when it last had viewers */
};

int halo_live_camera_create(struct halo_live_camera **ret, const char *input,
                            struct halo_error *err)
{
    struct halo_live_camera *c = av_mallocz(sizeof *c);
    if (!c)
        return halo_fail(err, -ENOMEM, "out of memory");
    c->watch = -1;
    c->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (c->wake < 0) {
        const int code = -errno;
        halo_live_camera_destroy(c);
        return halo_fail(err, code, "cannot create an eventfd: %s", strerror(-code));
    }
    c->watch = halo_camera_watch(input); /* if it fails, pauses last their full time */
    *ret = c;
    return 0;
}

void halo_live_camera_destroy(struct halo_live_camera *c)
{
    if (!c)
        return;
    if (c->wake >= 0)
        close(c->wake);
    if (c->watch >= 0)
        close(c->watch);
    av_free(c);
}

void halo_live_camera_wake(struct halo_live_camera *c)
{
    if (c)
        eventfd_write(c->wake, 1);
}

/* ---- viewers ---- */

static bool is_watched(struct halo_live *live)
{
    if (live->settings.capture.open == HALO_CAPTURE_ALWAYS)
        return true;
    return live->needed(live);
}

static bool may_rest(struct halo_live *live)
{
    const int64_t now = halo_now_ns();
    if (is_watched(live))
        live->camera->looked_at = now;
    return now - live->camera->looked_at > REST_AFTER;
}

/* ---- waiting ---- */

static void drain(struct halo_live_camera *c)
{
    eventfd_t value;
    eventfd_read(c->wake, &value);
}

/* Waits until this time (ns) or an event; true: a device node appeared or disappeared. */
static bool wait_once(struct halo_live *live, int64_t until)
{
    struct halo_live_camera *c = live->camera;
    struct pollfd on[] = {{c->wake, POLLIN, 0}, {c->watch, POLLIN, 0}};
    if (!halo_poll(on, 2, until))
        return false;
    if (on[0].revents) {
        drain(c);
        set_controls(live, NULL);
    }
    return on[1].revents && halo_camera_watch_drain(c->watch);
}

static bool wait(struct halo_live *live, int64_t until)
{
    bool settling = false;
    while (!halo_live_stopped(live) && halo_now_ns() < until)
        if (wait_once(live, until) && !settling) {
            until = FFMIN(until, halo_now_ns() + SETTLE);
            settling = true;
        }
    return halo_live_stopped(live);
}

static bool rests(struct halo_live *live)
{
    return !is_watched(live);
}

static bool rest(struct halo_live *live)
{
    struct halo_error err = {0};
    halo_fail(&err, -EAGAIN,
              "%s: the camera is closed until someone watches the stream (open: on-demand)",
              live->name);
    atomic_store(&live->camera->rests, true);
    /* only new viewers see it, and the camera is opened for them */
    halo_live_report_away(live->status, "starting", &err);
    while (!halo_live_stopped(live) && !is_watched(live))
        wait_once(live, halo_now_ns() + SECOND);
    live->camera->looked_at = halo_now_ns();
    atomic_store(&live->camera->rests, false);
    return halo_live_stopped(live);
}

const char *halo_live_camera_state(const struct halo_live_camera *c)
{
    if (!c)
        return "";
    const enum halo_v4l2_trouble trouble = (enum halo_v4l2_trouble)atomic_load(&c->trouble);
    return atomic_load(&c->rests)      ? "closed"
           : atomic_load(&c->open)     ? "open"
           : trouble == HALO_V4L2_FINE ? "closed"
                                       : halo_v4l2_states[trouble].name;
}

static double pauses(const struct halo_live *live, double *ret_last)
{
    const struct halo_v4l2_state *state = &halo_v4l2_states[atomic_load(&live->camera->trouble)];
    *ret_last = state->last_pause;
    return state->first_pause;
}

static const char *words(const struct halo_live *live)
{
    return halo_v4l2_states[atomic_load(&live->camera->trouble)].words;
}

/* Records that no frame from the camera can be decoded. Returns the text for the card. */
static const char *note_stall(struct halo_live_camera *c)
{
    atomic_store(&c->trouble, HALO_V4L2_STALLED);
    return halo_v4l2_states[HALO_V4L2_STALLED].words;
}

/* ---- identity ---- */

void halo_live_know_camera(struct halo_live *live, const char *id)
{
    struct halo_live_camera *c = live->camera;
    if (c)
        c->known = halo_camera_id_read(&c->id, id) >= 0;
}

static void know(struct halo_live *live, const struct halo_camera_id *id)
{
    char before[HALO_CAMERA_ID_TEXT], now[HALO_CAMERA_ID_TEXT];
    struct halo_live_camera *c = live->camera;
    halo_camera_id_write(&c->id, before);
    halo_camera_id_write(id, now);
    c->id = *id;
    if (!c->known || strcmp(before, now) != 0)
        halo_live_tell_camera(live->listener, now);
    c->known = true;
}

/* ---- reading ---- */

static void count(struct halo_live *live, struct halo_live_input *in)
{
    struct halo_camera_counts now;
    halo_camera_counts(in->camera, &now);
    halo_live_drop(live->counters, HALO_DROP_LATE, now.late - in->counted.late);
    halo_live_count(live->counters, HALO_COUNT_CAPTURE_LATE, now.late - in->counted.late);
    halo_live_drop(live->counters, HALO_DROP_DAMAGED, now.damaged - in->counted.damaged);
    halo_live_count(live->counters, HALO_COUNT_CAPTURE_DAMAGED, now.damaged - in->counted.damaged);
    halo_live_count(live->counters, HALO_COUNT_CAPTURE_MISSED, now.missed - in->counted.missed);
    in->counted = now;
}

/* Reads a frame. Returns 1 with *ret_raw filled (for compressed formats: with in->pkt filled
 * instead), 0 if the stream was stopped or has no viewers, or -errno with err filled. */
static int read_camera(struct halo_live *live, struct halo_live_input *in,
                       struct halo_raw_frame **ret_raw, struct halo_error *err)
{
    struct halo_live_camera *c = live->camera;
    for (;;) {
        enum halo_v4l2_trouble trouble;
        const int code = halo_camera_read(in->camera, ret_raw, in->pkt,
                                          &(struct halo_camera_fault){&trouble, err});
        count(live, in);
        atomic_store(&c->open, code >= 0);
        if (code < 0)
            atomic_store(&c->trouble, trouble);
        else if (code > 0)
            c->counted = HALO_V4L2_FINE; /* a frame ends the trouble; opening alone does not */
        if (code == 0)
            drain(c);
        if (code >= 0) /* a camera that always has frames does not return 0 */
            set_controls(live, in->camera);
        if (code < 0 || (code > 0 && !may_rest(live)))
            return code;
        if (code > 0) {
            halo_raw_frame_destroy(*ret_raw);
            av_packet_unref(in->pkt);
            *ret_raw = NULL;
        }
        if (code > 0 || halo_live_stopped(live)) {
            /* it is closed on purpose, without trouble */
            atomic_store(&c->trouble, HALO_V4L2_FINE);
            return 0;
        }
    }
}

/* ---- the format of its frames ---- */

/* The format of a camera's frames: as the camera sends them, decoded if they are compressed, and
 * rotated or mirrored. */

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
    const bool worker = set->rotate & 1;
    return set->size &&
           ((worker ? height : width) != par->width || (worker ? width : height) != par->height);
}

static int describe_early(struct halo_live *live, struct halo_live_input *in,
                          struct halo_error *err)
{
    const struct halo_capture_settings *set = &live->settings.capture;
    int width, height;
    double rate;
    *in = (struct halo_live_input){.pkt = NULL};
    halo_camera_wishes(set, &width, &height, &rate);
    if ((int64_t)width * height > MAX_MADE_UP)
        halo_camera_wishes(&(struct halo_capture_settings){.fps = rate}, &width, &height, &rate);
    const bool worker = set->rotate & 1;
    const int code =
        describe(in, worker ? height : width, worker ? width : height, AV_PIX_FMT_YUV420P, err);
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
    struct halo_raw_frame *none;
    const struct halo_decoder_settings decoder = {
        .memory = halo_ring_memory(live->ring),
        /* hardware decoders do not report damage */
        .hw = {.hwaccel = HALO_HWACCEL_NONE, .in_flight = 1},
        .live = true,
        .whole = true,
        .most_pixels = most_pixels(halo_camera_mode(in->camera)),
    };
    int code = read_camera(live, in, &none, err);
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

static int agree(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
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

/* ---- sessions ---- */

static void note_mode(struct halo_live *live, const struct halo_camera_mode *mode)
{
    struct halo_live_capture capture = {
        .width = mode->width, .height = mode->height, .rate = mode->rate};
    snprintf(capture.format, sizeof capture.format, "%s", mode->format->name);
    halo_live_note_capture(live->counters, &capture);
}

static int open_camera(struct halo_live *live, struct halo_live_input *in, struct halo_error *err)
{
    struct halo_live_camera *c = live->camera;
    struct halo_camera_id id;
    enum halo_v4l2_trouble trouble;
    const struct halo_camera_fault fault = {&trouble, err};
    atomic_store(&c->open, false);
    int code = halo_camera_find(&id, live->settings.source.input, c->known ? &c->id : NULL, err);
    atomic_store(&c->trouble, code == -EEXIST ? HALO_V4L2_UNFIT : HALO_V4L2_ABSENT);
    if (code < 0)
        return code;
    set_controls(live, NULL);
    code = halo_camera_open(&in->camera, &id, &live->settings.capture, halo_ring_memory(live->ring),
                            c->wake, &fault);
    /* BROKEN: for failures from here on that are not specified further. */
    atomic_store(&c->trouble, code < 0 ? trouble : HALO_V4L2_BROKEN);
    atomic_store(&c->open, code >= 0);
    if (code < 0)
        return code;
    know(live, &id);
    note_mode(live, halo_camera_mode(in->camera));
    return agree(live, in, err);
}

/* However often it is retried meanwhile, the same trouble counts as one failure. */
static void count_failure(struct halo_live *live)
{
    struct halo_live_camera *c = live->camera;
    const int trouble = atomic_load(&c->trouble);
    if (halo_live_stopped(live) || trouble == c->counted)
        return;
    c->counted = trouble;
    halo_live_count(live->counters, HALO_COUNT_CAPTURE_FAILURES, 1);
}

static void end(struct halo_live *live, bool failed)
{
    if (failed)
        count_failure(live);
    atomic_store(&live->camera->open, false);
}

/* Reads a frame of the camera, compressed or not. If nothing that it sends can be decoded, it is
 * treated like a silent one. */
static int take_camera(struct halo_live *live, struct halo_live_input *in,
                       struct halo_raw_frame **ret, struct halo_error *err)
{
    const double stall = live->settings.capture.stall;
    const int64_t deadline = halo_now_ns() + (int64_t)(stall * 1e9);
    int code = 0;
    while (in->decoder && (code = halo_live_input_receive(live, in, ret, err)) == 0) {
        if (halo_now_ns() > deadline) {
            const char *words = note_stall(live->camera);
            return halo_fail(err, -ETIMEDOUT, "%s: %s (only damaged frames arrive)", live->name,
                             words);
        }
        code = read_camera(live, in, ret, err);
        if (code <= 0)
            return code;
        code = halo_live_input_send(live, in, in->pkt, err);
        av_packet_unref(in->pkt);
        if (code < 0)
            return code;
    }
    if (in->decoder)
        return code;
    code = read_camera(live, in, ret, err);
    in->frames += code > 0;
    return code;
}

int halo_live_read_camera(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_frame **ret, struct halo_error *err)
{
    int code = take_camera(live, in, ret, err);
    if (code > 0 && in->orient && (code = halo_orient_pass(in->orient, ret, err)) < 0) {
        halo_raw_frame_destroy(*ret);
        *ret = NULL;
        return code;
    }
    return code < 0 ? code : *ret != NULL;
}

const struct halo_source_ops halo_source_camera = {
    .endless = true,
    .whole = true,
    .check = halo_camera_check,
    .open = open_camera,
    .end = end,
    .describe = describe_early,
    .words = words,
    .pauses = pauses,
    .wait = wait,
    .rests = rests,
    .rest = rest,
};
