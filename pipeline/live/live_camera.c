/* SPDX-License-Identifier: BSD-2-Clause
 * A session with a camera: found by its identity, opened, read; and the waits between sessions. */
#include "pipeline/live/live_camera.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "pipeline/base/thread.h"
#include "pipeline/camera/camera.h"
#include "pipeline/gate/ring.h"
#include "pipeline/live/live.h"
#include "pipeline/live/live_controls.h"
#include "pipeline/live/live_encodings.h"
#include "pipeline/live/live_figures.h"
#include "pipeline/live/live_input.h"
#include "pipeline/live/live_listener.h"
#include "pipeline/live/live_snapshots.h"
#include "pipeline/live/live_status.h"
#include "pipeline/live/live_stream.h"
#include "pipeline/live/source_ops.h"
#include "pipeline/picture/raw_picture.h"

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
    return halo_live_encodings_run(live->encodings) || halo_live_snapshots_wait(live->snapshots);
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
        halo_live_controls_set(live, NULL);
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

const char *halo_live_camera_stall(struct halo_live_camera *c)
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

/* ---- sessions ---- */

static void note_mode(struct halo_live *live, const struct halo_camera_mode *mode)
{
    struct halo_live_capture capture = {
        .width = mode->width, .height = mode->height, .rate = mode->rate};
    snprintf(capture.format, sizeof capture.format, "%s", mode->format->name);
    halo_live_note_capture(live->figures, &capture);
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
    halo_live_controls_set(live, NULL);
    code = halo_camera_open(&in->camera, &id, &live->settings.capture, halo_ring_memory(live->ring),
                            c->wake, &fault);
    /* BROKEN: for failures from here on that are not specified further. */
    atomic_store(&c->trouble, code < 0 ? trouble : HALO_V4L2_BROKEN);
    atomic_store(&c->open, code >= 0);
    if (code < 0)
        return code;
    know(live, &id);
    note_mode(live, halo_camera_mode(in->camera));
    return halo_live_camera_agree(live, in, err);
}

/* However often it is retried meanwhile, the same trouble counts as one failure. */
static void count_failure(struct halo_live *live)
{
    struct halo_live_camera *c = live->camera;
    const int trouble = atomic_load(&c->trouble);
    if (halo_live_stopped(live) || trouble == c->counted)
        return;
    c->counted = trouble;
    halo_live_count(live->figures, HALO_COUNT_CAPTURE_FAILURES, 1);
}

static void end(struct halo_live *live, bool failed)
{
    if (failed)
        count_failure(live);
    atomic_store(&live->camera->open, false);
}

static void count(struct halo_live *live, struct halo_live_input *in)
{
    struct halo_camera_counts now;
    halo_camera_counts(in->camera, &now);
    halo_live_drop(live->figures, HALO_DROP_LATE, now.late - in->counted.late);
    halo_live_count(live->figures, HALO_COUNT_CAPTURE_LATE, now.late - in->counted.late);
    halo_live_drop(live->figures, HALO_DROP_DAMAGED, now.damaged - in->counted.damaged);
    halo_live_count(live->figures, HALO_COUNT_CAPTURE_DAMAGED, now.damaged - in->counted.damaged);
    halo_live_count(live->figures, HALO_COUNT_CAPTURE_MISSED, now.missed - in->counted.missed);
    in->counted = now;
}

int halo_live_camera_read(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_picture **ret_raw, struct halo_error *err)
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
            halo_live_controls_set(live, in->camera);
        if (code < 0 || (code > 0 && !may_rest(live)))
            return code;
        if (code > 0) {
            halo_raw_picture_destroy(*ret_raw);
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

const struct halo_source_ops halo_source_camera = {
    .endless = true,
    .whole = true,
    .check = halo_camera_check,
    .open = open_camera,
    .end = end,
    .describe = halo_live_camera_describe,
    .words = words,
    .pauses = pauses,
    .wait = wait,
    .rests = rests,
    .rest = rest,
};
