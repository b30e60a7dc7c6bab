/* SPDX-License-Identifier: BSD-2-Clause
 * A session with a camera: found by what it is, opened, read; and the waits between sessions. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pipeline/live/live_private.h"
#include "pipeline/picture/raw_picture.h"

static const int64_t SECOND = INT64_C(1000000000);
static const int64_t REST_AFTER = INT64_C(5000000000); /* ns without anybody who looks */
static const int64_t SETTLE = INT64_C(100000000); /* ns: a device that comes makes several events */

int halo_live_camera_init(struct halo_live *live, struct halo_error *err)
{
    struct halo_live_camera *c = &live->camera;
    c->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (c->wake < 0)
        return halo_fail(err, -errno, "no eventfd: %s", strerror(errno));
    c->watch = halo_camera_watch(); /* without it pauses end by themselves */
    return 0;
}

void halo_live_camera_finish(struct halo_live *live)
{
    if (live->camera.wake >= 0)
        close(live->camera.wake);
    if (live->camera.watch >= 0)
        close(live->camera.watch);
}

void halo_live_camera_wake(struct halo_live *live)
{
    if (live->camera.is)
        eventfd_write(live->camera.wake, 1);
}

/* ---- who looks ---- */

static bool is_looked_at(struct halo_live *live)
{
    if (live->settings.capture.open == HALO_CAPTURE_ALWAYS)
        return true;
    bool looks = false;
    for (int i = 0; i < live->encodings; i++)
        looks |= halo_live_encoding_runs(&live->encoder[i]);
    pthread_mutex_lock(&live->lock);
    looks |= live->snapshots > 0;
    pthread_mutex_unlock(&live->lock);
    return looks;
}

static bool may_rest(struct halo_live *live)
{
    const int64_t now = halo_now_ns();
    if (is_looked_at(live))
        live->camera.looked_at = now;
    return now - live->camera.looked_at > REST_AFTER;
}

/* ---- controls ---- */

int halo_live_control(struct halo_live *live, uint64_t id, const char *name, int64_t value,
                      struct halo_error *err)
{
    struct halo_live_camera *c = &live->camera;
    int ret = 0;
    if (!c->is)
        return halo_fail_usage(err, "control %.64s: the stream's input is no camera", name);
    pthread_mutex_lock(&live->lock);
    if (atomic_load(&live->done) || c->controls == HALO_LIVE_REQUESTS) {
        ret = halo_fail(err, -EBUSY, "too many changes wait already");
    } else {
        struct halo_live_control *control = &c->control[c->controls++];
        control->id = id;
        control->value = value;
        snprintf(control->name, sizeof control->name, "%s", name);
    }
    pthread_mutex_unlock(&live->lock);
    halo_live_camera_wake(live);
    return ret;
}

/* What is set holds for later sessions too. */
static void keep_control(struct halo_live *live, const struct halo_live_control *control)
{
    struct halo_capture_settings *set = &live->settings.capture;
    char *all = halo_controls_put(set->controls, control->name, control->value);
    if (!all)
        return;
    free(set->controls);
    set->controls = all;
}

static bool next_control(struct halo_live *live, struct halo_live_control *ret)
{
    struct halo_live_camera *c = &live->camera;
    pthread_mutex_lock(&live->lock);
    const bool some = c->controls > 0;
    if (some) {
        *ret = c->control[0];
        memmove(c->control, c->control + 1, sizeof *c->control * (size_t)--c->controls);
    }
    pthread_mutex_unlock(&live->lock);
    return some;
}

/* camera NULL: it is away, and gets them when it is there. */
static void set_controls(struct halo_live *live, struct halo_camera *camera)
{
    struct halo_live_control control;
    while (next_control(live, &control)) {
        struct halo_error err = {0};
        if (!camera || halo_camera_control(camera, control.name, control.value, &err) >= 0)
            keep_control(live, &control);
        HALO_LIVE_TELL(live->listener, set, control.id, err.code ? &err : NULL);
    }
}

static void drain(struct halo_live *live)
{
    eventfd_t value;
    eventfd_read(live->camera.wake, &value);
}

/* ---- waiting ---- */

/* Until then (ns), or something happens: true: a node came or went. */
static bool wait_once(struct halo_live *live, int64_t until)
{
    struct halo_live_camera *c = &live->camera;
    struct pollfd on[] = {{c->wake, POLLIN, 0}, {c->watch, POLLIN, 0}};
    const int64_t left = until - halo_now_ns();
    const int ms = left <= 0 ? 0 : (int)FFMIN(left / 1000000 + 1, 60000);
    if (poll(on, c->watch >= 0 ? 2 : 1, ms) <= 0)
        return false;
    if (on[0].revents) {
        drain(live);
        set_controls(live, NULL);
    }
    return on[1].revents && halo_camera_watch_drain(c->watch);
}

bool halo_live_camera_pause(struct halo_live *live, int64_t until)
{
    bool settling = false;
    while (!halo_live_stopped(live) && halo_now_ns() < until)
        if (wait_once(live, until) && !settling) {
            until = FFMIN(until, halo_now_ns() + SETTLE);
            settling = true;
        }
    return halo_live_stopped(live);
}

bool halo_live_camera_rests(struct halo_live *live)
{
    return !is_looked_at(live);
}

bool halo_live_camera_rest(struct halo_live *live)
{
    struct halo_error err = {0};
    halo_fail(&err, -EAGAIN, "%s: closed until somebody looks (open: on-demand)", live->name);
    atomic_store(&live->camera.rests, true);
    halo_live_tell_away(live, "starting", &err); /* who sees it is who it is opened for */
    while (!halo_live_stopped(live) && !is_looked_at(live))
        wait_once(live, halo_now_ns() + SECOND);
    live->camera.looked_at = halo_now_ns();
    atomic_store(&live->camera.rests, false);
    return halo_live_stopped(live);
}

const char *halo_live_camera_state(const struct halo_live *live)
{
    const struct halo_live_camera *c = &live->camera;
    const enum halo_v4l2_trouble trouble = (enum halo_v4l2_trouble)atomic_load(&c->trouble);
    return !c->is                      ? ""
           : atomic_load(&c->rests)    ? "closed"
           : atomic_load(&c->open)     ? "open"
           : trouble == HALO_V4L2_FINE ? "closed"
                                       : halo_v4l2_states[trouble].name;
}

double halo_live_camera_pauses(const struct halo_live *live, double *ret_last)
{
    const struct halo_v4l2_state *state = &halo_v4l2_states[atomic_load(&live->camera.trouble)];
    *ret_last = state->last_pause;
    return state->first_pause;
}

/* ---- which one it is ---- */

void halo_live_know_camera(struct halo_live *live, const char *id)
{
    struct halo_live_camera *c = &live->camera;
    c->known = c->is && halo_camera_id_read(&c->id, id) >= 0;
}

static void know(struct halo_live *live, const struct halo_camera_id *id)
{
    char before[HALO_CAMERA_ID_TEXT], now[HALO_CAMERA_ID_TEXT];
    struct halo_live_camera *c = &live->camera;
    halo_camera_id_write(&c->id, before);
    halo_camera_id_write(id, now);
    c->id = *id;
    if (!c->known || strcmp(before, now) != 0)
        HALO_LIVE_TELL(live->listener, camera, now);
    c->known = true;
}

/* ---- sessions ---- */

static void note_form(struct halo_live *live, const struct halo_camera_form *form)
{
    struct halo_live_capture capture = {
        .width = form->width, .height = form->height, .rate = form->rate};
    snprintf(capture.format, sizeof capture.format, "%s", form->format->name);
    halo_live_note_capture(live->figures, &capture);
}

int halo_live_camera_open(struct halo_live *live, struct halo_live_input *in,
                          struct halo_error *err)
{
    struct halo_live_camera *c = &live->camera;
    struct halo_camera_id id;
    enum halo_v4l2_trouble trouble;
    const struct halo_camera_fault fault = {&trouble, err};
    atomic_store(&c->open, false);
    int ret = halo_camera_find(&id, live->settings.source.input, c->known ? &c->id : NULL, err);
    atomic_store(&c->trouble, ret == -EEXIST ? HALO_V4L2_UNFIT : HALO_V4L2_ABSENT);
    if (ret < 0)
        return ret;
    set_controls(live, NULL);
    ret = halo_camera_open(&in->camera, &id, &live->settings.capture, halo_ring_memory(live->ring),
                           c->wake, &fault);
    /* BROKEN: of what fails from here on without saying more. */
    atomic_store(&c->trouble, ret < 0 ? trouble : HALO_V4L2_BROKEN);
    atomic_store(&c->open, ret >= 0);
    if (ret < 0)
        return ret;
    know(live, &id);
    note_form(live, halo_camera_form(in->camera));
    return halo_live_camera_agree(live, in, err);
}

void halo_live_camera_failed(struct halo_live *live)
{
    struct halo_live_camera *c = &live->camera;
    const int trouble = atomic_load(&c->trouble);
    if (!c->is || halo_live_stopped(live) || trouble == c->counted)
        return;
    c->counted = trouble;
    halo_live_count(live->figures, HALO_COUNT_CAPTURE_FAILURES, 1);
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
    for (;;) {
        enum halo_v4l2_trouble trouble;
        const int ret = halo_camera_read(in->camera, ret_raw, in->pkt,
                                         &(struct halo_camera_fault){&trouble, err});
        count(live, in);
        atomic_store(&live->camera.open, ret >= 0);
        if (ret < 0)
            atomic_store(&live->camera.trouble, trouble);
        else if (ret > 0)
            live->camera.counted = HALO_V4L2_FINE; /* one that opens and sends nothing is as ill */
        if (ret == 0)
            drain(live);
        if (ret >= 0) /* a camera that is always ready does not wake us */
            set_controls(live, in->camera);
        if (ret < 0 || (ret > 0 && !may_rest(live)))
            return ret;
        if (ret > 0) {
            halo_raw_picture_destroy(*ret_raw);
            av_packet_unref(in->pkt);
            *ret_raw = NULL;
        }
        if (ret > 0 || halo_live_stopped(live)) {
            atomic_store(&live->camera.trouble, HALO_V4L2_FINE); /* it is let go of, nothing else */
            return 0;
        }
    }
}
