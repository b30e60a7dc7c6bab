/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera on the loop (virtual_camera.h). */
#include "daemon/view/virtual_camera.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/view/pace.h"
#include "daemon/view/virtual_device.h"
#include "kernels/clock.h"
#include "pipeline/camera/watch.h"

enum {
    /* from a change in /dev to an attempt: a device gets its group after its name */
    SETTLE_MS = 50,
    FORGOTTEN = 3, /* timer turns without a frame until gray replaces a forgotten one */
};

struct halo_virtual {
    uv_timer_t timer;
    uv_poll_t watch; /* of the device's folder, while it is not open */
    uv_poll_t link;  /* of what the device reports, from its first opening on */
    int folder;      /* inotify */
    int handles;     /* not closed yet */
    const struct halo_virtual_device *kind;
    void *device;
    const struct halo_virtual_events *events;
    void *arg;

    bool open, linked;
    enum halo_v4l2_trouble trouble;
    char why[400];
    double pause; /* seconds, before the next try */
    struct halo_virtual_need need;
    int64_t lost; /* ns: when it was lost or could not be opened */

    AVPacket *frame; /* the newest frame; empty: none */
    AVPacket *card;  /* for compressed formats: shown while there is no frame; empty: none */
    uint8_t *gray;   /* NULL: the format is compressed, or nothing was written yet */
    size_t gray_size;
    bool fresh;    /* frame has not been written yet */
    int64_t taken; /* us: its time; 0: not needed */
    int forgotten; /* timer turns still to wait */

    struct halo_pace pace;
    int64_t frames, repeated, dropped, opened, failures;
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

static void report_watched(struct halo_virtual *v, int format)
{
    if (v->events->watched)
        v->events->watched(v->arg, format);
}

void halo_virtual_clear(struct halo_virtual *v)
{
    av_packet_unref(v->frame);
    v->fresh = false;
    halo_pace_loosen(&v->pace);
}

/* Closes a device that does not work; it is tried again later. */
static void lose(struct halo_virtual *v, enum halo_v4l2_trouble trouble, const char *why)
{
    const struct halo_v4l2_state *state = &halo_v4l2_states[trouble];
    const bool again = trouble == v->trouble; /* v->trouble is FINE after a write */
    v->kind->close(v->device);
    v->open = false;
    v->lost = halo_now_ns();
    v->pause = again ? 2 * v->pause : state->first_pause;
    if (v->pause > state->last_pause)
        v->pause = state->last_pause;
    halo_virtual_clear(v);
    report_watched(v, -1);
    uv_poll_start(&v->watch, UV_READABLE, drain);
    v->failures += !again;
    report(v, trouble, why);
}

static void take_report(uv_poll_t *link, int status, int events);

/* Waits for what the device reports; without it the device is of no use. */
static int listen_to(struct halo_virtual *v)
{
    int code = 0;
    if (v->linked || !v->kind->poll)
        return 0;
    code = uv_poll_init(v->timer.loop, &v->link, v->kind->poll(v->device));
    if (code < 0)
        return code;
    v->linked = true;
    v->handles++;
    return uv_poll_start(&v->link, UV_READABLE, take_report);
}

static int64_t period_of(const struct halo_virtual *v)
{
    return (int64_t)(1e9 / v->need.rate);
}

static void try_to_open(struct halo_virtual *v)
{
    enum halo_v4l2_trouble trouble = HALO_V4L2_BROKEN;
    struct halo_error err = {0};
    int code = v->kind->open(v->device, &trouble, &err);
    if (code >= 0 && (code = listen_to(v)) < 0)
        halo_fail(&err, code, "the virtual camera cannot be polled: %s", strerror(-code));
    if (code < 0) {
        lose(v, trouble, err.text);
        return;
    }
    v->open = true;
    uv_poll_stop(&v->watch);
    v->opened++;
    halo_pace_start(&v->pace, period_of(v), halo_now_ns());
}

/* ---- frames ---- */

/* Makes a gray frame: all bytes are the same in each of the raw formats. */
static const uint8_t *gray_of(struct halo_virtual *v)
{
    if (v->gray_size == v->need.size)
        return v->gray;
    free(v->gray);
    v->gray = malloc(v->need.size);
    v->gray_size = v->gray ? v->need.size : 0;
    if (v->gray)
        memset(v->gray, 128, v->gray_size);
    return v->gray;
}

static void write_one(struct halo_virtual *v)
{
    const AVPacket *pkt = v->frame->data ? v->frame : v->card;
    const void *data = pkt->data ? pkt->data : gray_of(v);
    const size_t size = pkt->data ? (size_t)pkt->size : v->gray_size;
    const int64_t taken = v->fresh && v->taken ? v->taken * 1000 : halo_now_ns();
    enum halo_v4l2_trouble trouble = HALO_V4L2_BROKEN;
    struct halo_error err = {0};
    halo_pace_note(&v->pace, halo_now_ns(), v->fresh);
    if (v->forgotten > 0 && !v->frame->data) {
        v->forgotten--;
        return;
    }
    if (!data)
        return;
    const int code = v->kind->write(v->device, data, size, taken, &trouble, &err);
    if (code == 0) {
        report(v, HALO_V4L2_FINE, ""); /* not earlier: some devices can be opened but not written */
        v->frames++;
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

/* ---- the clock ---- */

static void turn(uv_timer_t *timer);

static void set_timer(struct halo_virtual *v, int64_t at)
{
    const int64_t wait = at - halo_now_ns();
    uv_update_time(v->timer.loop);
    uv_timer_start(&v->timer, turn, wait > 0 ? (uint64_t)((wait + 999999) / 1000000) : 0, 0);
}

int halo_virtual_wanted(struct halo_virtual *v)
{
    v->kind->look(v->device, &v->need);
    v->pace.period = period_of(v);
    return v->open && v->need.readers != 0 ? v->need.format : -1;
}

static void turn(uv_timer_t *timer)
{
    struct halo_virtual *v = timer->data;
    if (!v->open)
        try_to_open(v);
    if (v->open)
        report_watched(v, halo_virtual_wanted(v));
    if (v->open && halo_now_ns() >= halo_pace_next(&v->pace, v->fresh) - 500000)
        write_one(v);
    set_timer(v,
              v->open ? halo_pace_next(&v->pace, v->fresh) : v->lost + (int64_t)(v->pause * 1e9));
}

/* The device has something to report: readers that come or go, or its end. */
static void take_report(uv_poll_t *link, int status, int events)
{
    struct halo_virtual *v = link->data;
    enum halo_v4l2_trouble trouble = HALO_V4L2_BROKEN;
    struct halo_error err = {0};
    (void)status;
    (void)events;
    const int code = v->kind->turn(v->device, &trouble, &err);
    if (!v->open)
        return;
    if (code >= 0) {
        turn(&v->timer);
        return;
    }
    lose(v, trouble, err.text);
    set_timer(v, v->lost + (int64_t)(v->pause * 1e9));
}

/* Something has changed in the device's folder. */
static void drain(uv_poll_t *watch, int status, int events)
{
    struct halo_virtual *v = watch->data;
    const char *const names[] = {strrchr(v->kind->path(v->device), '/') + 1, NULL};
    (void)status;
    (void)events;
    if (halo_watch_drain(v->folder, names))
        set_timer(v, halo_now_ns() + SETTLE_MS * INT64_C(1000000));
}

/* ---- input ---- */

void halo_virtual_card(struct halo_virtual *v, const AVPacket *card)
{
    av_packet_unref(v->card);
    if (v->need.size == 0 && card)
        av_packet_ref(v->card, card); /* a failure leaves it empty */
}

void halo_virtual_put(struct halo_virtual *v, const AVPacket *frame, int64_t taken)
{
    v->dropped += v->fresh;
    av_packet_unref(v->frame);
    if (av_packet_ref(v->frame, frame) < 0)
        return;
    v->fresh = true;
    v->taken = taken;
    v->forgotten = 0;
    if (v->open)
        set_timer(v, halo_pace_next(&v->pace, true));
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
    av_packet_free(&v->frame);
    av_packet_free(&v->card);
    if (v->kind)
        v->kind->destroy(v->device);
    free(v->gray);
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

int halo_virtual_create(struct halo_virtual **ret, uv_loop_t *loop,
                        const struct halo_output_settings *output,
                        const struct halo_virtual_events *events, void *arg, struct halo_error *err)
{
    struct halo_virtual *v = calloc(1, sizeof *v);
    if (!v)
        return halo_fail(err, -ENOMEM, "out of memory");
    v->timer.data = v->watch.data = v->link.data = v;
    v->folder = -1;
    v->handles = 1; /* so that release() below frees v */
    v->kind =
        output->kind == HALO_OUTPUT_PIPEWIRE ? &halo_virtual_pipewire : &halo_virtual_loopback;
    v->frame = av_packet_alloc();
    v->card = av_packet_alloc();
    int code = v->frame && v->card ? v->kind->create(&v->device, output) : -ENOMEM;
    if (code == 0)
        v->kind->look(v->device, &v->need);
    if (code == 0)
        code = v->folder = watch_folder(v->kind->path(v->device));
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
    uv_timer_start(&v->timer, turn, 0, 0);
    *ret = v;
    return 0;
}

void halo_virtual_destroy(struct halo_virtual *v)
{
    if (!v)
        return;
    v->kind->close(v->device);
    v->open = false;
    uv_close((uv_handle_t *)&v->timer, release);
    uv_close((uv_handle_t *)&v->watch, release);
    if (v->linked)
        uv_close((uv_handle_t *)&v->link, release);
}

bool halo_virtual_is_of(const struct halo_virtual *v, const struct halo_output_settings *output)
{
    return v->kind->is_of(v->device, output);
}

bool halo_virtual_is_open(const struct halo_virtual *v)
{
    return v->open;
}

enum halo_v4l2_trouble halo_virtual_trouble(const struct halo_virtual *v)
{
    return v->trouble;
}

const struct halo_histogram *halo_virtual_delay(const struct halo_virtual *v)
{
    return &v->delay;
}

json_t *halo_virtual_status(const struct halo_virtual *v)
{
    json_t *readers = !v->open || v->need.readers < 0 ? json_null() : json_boolean(v->need.readers);
    const char *state = v->open ? "writing" : halo_v4l2_states[v->trouble].name;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "state",
                     v->open || v->trouble ? state : "starting", "why", v->open ? "" : v->why,
                     "pictures", (json_int_t)v->frames, "repeated", (json_int_t)v->repeated,
                     "dropped_packets", (json_int_t)v->dropped, "opened", (json_int_t)v->opened,
                     "failures", (json_int_t)v->failures, "delay_ms",
                     json_pack("{s:f, s:f}", "p50",
                               (double)halo_histogram_percentile(&v->delay, 0.5) / 1e6, "p99",
                               (double)halo_histogram_percentile(&v->delay, 0.99) / 1e6),
                     "readers", readers);
}
