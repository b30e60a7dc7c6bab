/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera on the loop (virtual_camera.h). */
#include "daemon/view/virtual_camera.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "pipeline/camera/loopback.h"
#include "pipeline/camera/watch.h"

enum {
    /* from a change in /dev to an attempt: a device gets its group after its name */
    SETTLE_MS = 50,
    FORGOTTEN = 3,  /* timer turns without a frame until gray replaces a forgotten one */
    MAX_BEHIND = 4, /* periods; more is not a delay, but a jump of the clock */
};

struct halo_virtual {
    uv_timer_t timer;
    uv_poll_t watch; /* of the device's folder, while it is not open */
    int folder;      /* inotify */
    int handles;     /* not closed yet */
    char *path;
    struct halo_loopback_mode mode;
    const struct halo_virtual_events *events;
    void *arg;

    struct halo_loopback *device; /* NULL: not open */
    enum halo_v4l2_trouble trouble;
    char why[400];
    double pause; /* seconds, before the next try */
    int readers;  /* 1, 0, -ENOTSUP */
    int64_t lost; /* ns: when it was lost or could not be opened */

    AVPacket *picture; /* the newest frame; empty: none */
    AVPacket *card;    /* for compressed formats: shown while there is no frame; empty: none */
    uint8_t *gray;     /* NULL: the format is compressed */
    size_t gray_size;
    bool fresh;    /* picture has not been written yet */
    int64_t taken; /* us: its time; 0: not needed */
    int forgotten; /* timer turns still to wait */

    int64_t period, due, written_at; /* ns; due: of the next frame, without jitter */
    int64_t pictures, repeated, dropped, opened, failures;
    struct halo_histogram delay; /* ns */
};

/* ---- the device ---- */

static void report(struct halo_virtual *v, enum halo_v4l2_trouble trouble, const char *why)
{
    if (trouble == v->trouble && (trouble == HALO_V4L2_FINE || !strcmp(why, v->why)))
        return;
    v->trouble = trouble;
    snprintf(v->why, sizeof v->why, "%s", why);
    halo_sanitise(v->why); /* it may be cut inside of a character */
    v->events->reported(
        v->arg, trouble == HALO_V4L2_FINE ? "writing" : halo_v4l2_states[trouble].name, v->why);
}

static void drain(uv_poll_t *watch, int status, int events);

static void report_watched(struct halo_virtual *v, bool somebody)
{
    if (v->events->watched)
        v->events->watched(v->arg, somebody);
}

void halo_virtual_clear(struct halo_virtual *v)
{
    av_packet_unref(v->picture);
    v->fresh = false;
}

/* Closes a device that does not work; it is tried again later. */
static void lose(struct halo_virtual *v, enum halo_v4l2_trouble trouble, const char *why)
{
    const struct halo_v4l2_state *state = &halo_v4l2_states[trouble];
    const bool again = trouble == v->trouble; /* v->trouble is FINE after a write */
    halo_loopback_close(v->device);
    v->device = NULL;
    v->lost = halo_now_ns();
    v->pause = again ? 2 * v->pause : state->first_pause;
    if (v->pause > state->last_pause)
        v->pause = state->last_pause;
    halo_virtual_clear(v);
    report_watched(v, false);
    uv_poll_start(&v->watch, UV_READABLE, drain);
    v->failures += !again;
    report(v, trouble, why);
}

static void try_to_open(struct halo_virtual *v)
{
    enum halo_v4l2_trouble trouble = HALO_V4L2_BROKEN;
    struct halo_error err = {0};
    if (halo_loopback_open(&v->device, v->path, &v->mode, &trouble, &err) < 0) {
        lose(v, trouble, err.text);
        return;
    }
    uv_poll_stop(&v->watch);
    v->opened++;
    v->due = v->written_at = halo_now_ns() - v->period;
}

/* ---- frames ---- */

static void note(struct halo_virtual *v, int64_t now)
{
    v->written_at = now;
    v->due += v->period;
    if (now - v->due > MAX_BEHIND * v->period)
        v->due = now;
}

static void write_one(struct halo_virtual *v)
{
    const AVPacket *pkt = v->picture->data ? v->picture : v->card;
    const void *data = pkt->data ? pkt->data : v->gray;
    const size_t size = pkt->data ? (size_t)pkt->size : v->gray_size;
    enum halo_v4l2_trouble trouble = HALO_V4L2_BROKEN;
    struct halo_error err = {0};
    note(v, halo_now_ns());
    if (v->forgotten > 0 && !v->picture->data) {
        v->forgotten--;
        return;
    }
    if (!data)
        return;
    const int code = halo_loopback_write(v->device, data, size, &trouble, &err);
    if (code == 0) {
        report(v, HALO_V4L2_FINE, ""); /* not earlier: some devices can be opened but not written */
        v->pictures++;
        v->repeated += !v->fresh;
        if (v->fresh && v->taken)
            halo_histogram_add(&v->delay, halo_now_ns() - v->taken * 1000);
    } else if (code == -EAGAIN) {
        v->dropped++;
    } else {
        lose(v, trouble, err.text);
    }
    v->fresh = false;
}

/* The earliest time of the next write: at once for a new frame, but no faster than the rate; for a
 * repeat only if the new frame is late. */
static int64_t time_of_next(const struct halo_virtual *v)
{
    const int64_t quarter = v->period / 4;
    const int64_t at = v->fresh ? v->due - quarter : v->due + 3 * quarter;
    const int64_t least = v->written_at + (v->fresh ? quarter : 2 * quarter);
    return at > least ? at : least;
}

/* ---- the clock ---- */

static void turn(uv_timer_t *timer);

static void set_timer(struct halo_virtual *v, int64_t at)
{
    const int64_t wait = at - halo_now_ns();
    uv_update_time(v->timer.loop);
    uv_timer_start(&v->timer, turn, wait > 0 ? (uint64_t)((wait + 999999) / 1000000) : 0, 0);
}

bool halo_virtual_is_watched(struct halo_virtual *v)
{
    v->readers = v->device ? halo_loopback_readers(v->device) : 0;
    return v->readers != 0;
}

static void turn(uv_timer_t *timer)
{
    struct halo_virtual *v = timer->data;
    if (!v->device)
        try_to_open(v);
    if (v->device)
        report_watched(v, halo_virtual_is_watched(v));
    if (v->device && halo_now_ns() >= time_of_next(v) - 500000)
        write_one(v);
    set_timer(v, v->device ? time_of_next(v) : v->lost + (int64_t)(v->pause * 1e9));
}

/* Something has changed in the device's folder. */
static void drain(uv_poll_t *watch, int status, int events)
{
    struct halo_virtual *v = watch->data;
    const char *const names[] = {strrchr(v->path, '/') + 1, NULL};
    (void)status;
    (void)events;
    if (halo_watch_drain(v->folder, names))
        set_timer(v, halo_now_ns() + SETTLE_MS * INT64_C(1000000));
}

/* ---- input ---- */

void halo_virtual_card(struct halo_virtual *v, const AVPacket *card)
{
    av_packet_unref(v->card);
    if (v->mode.format->coded && card)
        av_packet_ref(v->card, card); /* a failure leaves it empty */
}

void halo_virtual_put(struct halo_virtual *v, const AVPacket *picture, int64_t taken)
{
    v->dropped += v->fresh;
    av_packet_unref(v->picture);
    if (av_packet_ref(v->picture, picture) < 0)
        return;
    v->fresh = true;
    v->taken = taken;
    v->forgotten = 0;
    if (v->device)
        set_timer(v, time_of_next(v));
}

void halo_virtual_forget(struct halo_virtual *v)
{
    halo_virtual_clear(v);
    v->forgotten = FORGOTTEN;
}

/* ---- life ---- */

static void release(uv_handle_t *handle)
{
    struct halo_virtual *v = handle->data;
    if (--v->handles > 0)
        return;
    if (v->folder >= 0)
        close(v->folder);
    av_packet_free(&v->picture);
    av_packet_free(&v->card);
    free(v->gray);
    free(v->path);
    free(v);
}

/* If the folder does not exist, only the slow periodic attempts are left. */
static int watch_folder(const char *path)
{
    char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));
    const int fd = folder ? halo_watch(folder) : -ENOMEM;
    free(folder);
    return fd;
}

/* Reads the mode from the settings; false: no device supports it. */
static bool read_mode(struct halo_loopback_mode *mode, const struct halo_output_settings *output)
{
    const struct halo_v4l2_format *f = halo_v4l2_formats;
    while (f->fourcc && strcmp(f->name, output->format) != 0)
        f++;
    mode->format = f;
    mode->rate = output->video.fps;
    return f->fourcc && mode->rate > 0 && strrchr(output->target, '/') &&
           sscanf(output->video.size, "%dx%d", &mode->width, &mode->height) == 2;
}

static bool fill(struct halo_virtual *v, const struct halo_output_settings *output)
{
    v->path = strdup(output->target);
    v->picture = av_packet_alloc();
    v->card = av_packet_alloc();
    if (!v->mode.format->coded) {
        v->gray_size = halo_loopback_size(&v->mode);
        v->gray = malloc(v->gray_size);
        if (!v->gray)
            return false;
        memset(v->gray, 128, v->gray_size); /* gray in each of the formats */
    }
    return v->path && v->picture && v->card;
}

int halo_virtual_create(struct halo_virtual **ret, uv_loop_t *loop,
                        const struct halo_output_settings *output,
                        const struct halo_virtual_events *events, void *arg, struct halo_error *err)
{
    struct halo_virtual *v = calloc(1, sizeof *v);
    if (!v)
        return halo_fail(err, -ENOMEM, "out of memory");
    v->timer.data = v->watch.data = v;
    v->folder = -1;
    v->handles = 1; /* so that release() below frees v */
    int code = read_mode(&v->mode, output) ? 0 : -EINVAL;
    if (code == 0)
        code = fill(v, output) ? 0 : -ENOMEM;
    if (code == 0)
        code = v->folder = watch_folder(output->target);
    if (code >= 0)
        code = uv_poll_init(loop, &v->watch, v->folder);
    if (code < 0) {
        release((uv_handle_t *)&v->timer);
        return halo_fail(err, code, "%s: cannot use the virtual camera: %s", output->target,
                         strerror(-code));
    }
    uv_timer_init(loop, &v->timer);
    v->handles = 2;
    v->events = events;
    v->arg = arg;
    v->period = (int64_t)(1e9 / v->mode.rate);
    uv_timer_start(&v->timer, turn, 0, 0);
    *ret = v;
    return 0;
}

void halo_virtual_destroy(struct halo_virtual *v)
{
    if (!v)
        return;
    halo_loopback_close(v->device);
    v->device = NULL;
    uv_close((uv_handle_t *)&v->timer, release);
    uv_close((uv_handle_t *)&v->watch, release);
}

bool halo_virtual_is_of(const struct halo_virtual *v, const struct halo_output_settings *output)
{
    const struct halo_loopback_mode *has = &v->mode;
    struct halo_loopback_mode mode;
    return output->kind == HALO_OUTPUT_V4L2 && !strcmp(v->path, output->target) &&
           read_mode(&mode, output) && mode.format == has->format && mode.width == has->width &&
           mode.height == has->height && mode.rate == has->rate;
}

bool halo_virtual_is_open(const struct halo_virtual *v)
{
    return v->device != NULL;
}

enum halo_v4l2_trouble halo_virtual_trouble(const struct halo_virtual *v)
{
    return v->trouble;
}

const struct halo_histogram *halo_virtual_delay(const struct halo_virtual *v)
{
    return &v->delay;
}

static json_t *delay_status(const struct halo_histogram *delay)
{
    return json_pack("{s:f, s:f}", "p50", (double)halo_histogram_percentile(delay, 0.5) / 1e6,
                     "p99", (double)halo_histogram_percentile(delay, 0.99) / 1e6);
}

json_t *halo_virtual_status(const struct halo_virtual *v)
{
    json_t *readers = !v->device || v->readers < 0 ? json_null() : json_boolean(v->readers);
    const char *state = v->device ? "writing" : halo_v4l2_states[v->trouble].name;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "state",
                     v->device || v->trouble ? state : "starting", "why", v->device ? "" : v->why,
                     "pictures", (json_int_t)v->pictures, "repeated", (json_int_t)v->repeated,
                     "dropped_packets", (json_int_t)v->dropped, "opened", (json_int_t)v->opened,
                     "failures", (json_int_t)v->failures, "delay_ms", delay_status(&v->delay),
                     "readers", readers);
}
