/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera of the supervisor (camera_out.h). */
#include "daemon/camera_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "config/encoding.h"
#include "kernels/clock.h"
#include "pipeline/loopback.h"

enum {
    SETTLE_MS = 50,  /* from a change in /dev to a try: a device gets its group after its name */
    REJOIN_MS = 500, /* after on_error: stop */
    FORGOTTEN = 3,   /* turns without a picture until gray takes the place of a forgotten one */
    MOST_BEHIND = 4, /* periods; more is no delay but another time */
};

struct halo_camera_out {
    struct halo_feed_taker taker; /* first: it is found by it */
    uv_timer_t timer;
    uv_poll_t watch; /* of the device's folder, while it is not open */
    int folder;      /* inotify */
    int handles;     /* not closed yet */
    char *path, *format, *size;
    struct halo_loopback_form form;
    halo_camera_told *told;
    void *arg;

    struct halo_loopback *device; /* NULL: not open */
    enum halo_v4l2_trouble trouble;
    char why[400];
    double pause;  /* seconds, before the next try */
    int readers;   /* 1, 0, -ENOTSUP */
    int64_t tried; /* ns */

    struct halo_feed *feed; /* to be in while somebody may look; NULL: none */
    int64_t left;           /* us: ended by the feed then; 0: no */
    AVPacket *picture;      /* the newest; empty: none */
    AVPacket *card;         /* of coded pictures: what there is before; empty: none */
    uint8_t *gray;          /* NULL: of coded pictures */
    size_t gray_size;
    bool fresh;    /* picture was not written yet */
    int forgotten; /* turns to wait */

    int64_t period, due, written_at; /* ns; due: of the next picture, were the source exact */
    int64_t pictures, repeated, dropped, opened, failures;
};

/* ---- the device ---- */

static void tell(struct halo_camera_out *out, enum halo_v4l2_trouble trouble, const char *why)
{
    if (trouble == out->trouble && (trouble == HALO_V4L2_FINE || !strcmp(why, out->why)))
        return;
    out->trouble = trouble;
    snprintf(out->why, sizeof out->why, "%s", why);
    out->told(out->arg, trouble == HALO_V4L2_FINE ? "writing" : halo_v4l2_states[trouble].name,
              out->why);
}

static void drain(uv_poll_t *watch, int status, int events);

static void step_out(struct halo_camera_out *out)
{
    halo_feed_leave(&out->taker);
    av_packet_unref(out->picture);
    out->fresh = false;
    out->left = 0;
}

/* It does not work: closed, and tried again later. */
static void lose(struct halo_camera_out *out, enum halo_v4l2_trouble trouble, const char *why)
{
    const struct halo_v4l2_state *state = &halo_v4l2_states[trouble];
    const bool again = !out->device && trouble == out->trouble;
    halo_loopback_close(out->device);
    out->device = NULL;
    out->pause = again ? 2 * out->pause : state->first_pause;
    if (out->pause > state->last_pause)
        out->pause = state->last_pause;
    step_out(out);
    uv_poll_start(&out->watch, UV_READABLE, drain);
    out->failures += !again;
    tell(out, trouble, why);
}

static void try_to_open(struct halo_camera_out *out)
{
    enum halo_v4l2_trouble trouble = HALO_V4L2_BROKEN;
    struct halo_error err = {0};
    out->tried = halo_now_ns();
    if (halo_loopback_open(&out->device, out->path, &out->form, &trouble, &err) < 0) {
        lose(out, trouble, err.text);
        return;
    }
    uv_poll_stop(&out->watch);
    out->opened++;
    out->due = out->written_at = halo_now_ns() - out->period;
    tell(out, HALO_V4L2_FINE, "");
}

/* ---- pictures ---- */

static void note(struct halo_camera_out *out, int64_t now)
{
    out->written_at = now;
    out->due += out->period;
    if (now - out->due > MOST_BEHIND * out->period)
        out->due = now;
}

static void write_one(struct halo_camera_out *out)
{
    const AVPacket *pkt = out->picture->data ? out->picture : out->card;
    const void *data = pkt->data ? pkt->data : out->gray;
    const size_t size = pkt->data ? (size_t)pkt->size : out->gray_size;
    enum halo_v4l2_trouble trouble = HALO_V4L2_BROKEN;
    struct halo_error err = {0};
    note(out, halo_now_ns());
    if (out->forgotten > 0 && !out->picture->data) {
        out->forgotten--;
        return;
    }
    if (!data)
        return;
    const int ret = halo_loopback_write(out->device, data, size, &trouble, &err);
    if (ret == 0) {
        out->pictures++;
        out->repeated += !out->fresh;
    } else if (ret == -EAGAIN) {
        out->dropped++;
    } else {
        lose(out, trouble, err.text);
    }
    out->fresh = false;
}

/* The earliest time of the next write: a new picture at once, but no faster than the rate; a repeat
 * only when a new one is late. */
static int64_t time_of_next(const struct halo_camera_out *out)
{
    const int64_t quarter = out->period / 4;
    const int64_t at = out->fresh ? out->due - quarter : out->due + 3 * quarter;
    const int64_t least = out->written_at + (out->fresh ? quarter : 2 * quarter);
    return at > least ? at : least;
}

/* ---- the clock ---- */

static void turn(uv_timer_t *timer);

static void set_timer(struct halo_camera_out *out, int64_t at)
{
    const int64_t wait = at - halo_now_ns();
    uv_update_time(out->timer.loop);
    uv_timer_start(&out->timer, turn, wait > 0 ? (uint64_t)((wait + 999999) / 1000000) : 0, 0);
}

/* In the feed while somebody may look. */
static void look_for_readers(struct halo_camera_out *out)
{
    out->readers = out->device ? halo_loopback_readers(out->device) : 0;
    const bool wanted = out->feed && out->readers != 0;
    if (!wanted && out->taker.feed)
        step_out(out);
    else if (wanted && !out->taker.feed && halo_now_us() - out->left >= REJOIN_MS * 1000)
        halo_feed_join(out->feed, &out->taker);
}

static void turn(uv_timer_t *timer)
{
    struct halo_camera_out *out = timer->data;
    if (!out->device)
        try_to_open(out);
    if (out->device)
        look_for_readers(out);
    if (out->device && halo_now_ns() >= time_of_next(out) - 500000)
        write_one(out);
    set_timer(out, out->device ? time_of_next(out) : out->tried + (int64_t)(out->pause * 1e9));
}

/* Something came or changed where the device is to be. */
static void drain(uv_poll_t *watch, int status, int events)
{
    struct halo_camera_out *out = watch->data;
    char seen[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    const char *slash = strrchr(out->path, '/');
    bool ours = false;
    (void)status;
    (void)events;
    for (ssize_t n; (n = read(out->folder, seen, sizeof seen)) > 0;)
        for (const char *at = seen; at < seen + n;) {
            const struct inotify_event *event = (const struct inotify_event *)at;
            ours |= !event->len || !strcmp(event->name, slash + 1);
            at += sizeof *event + event->len;
        }
    if (ours)
        set_timer(out, halo_now_ns() + SETTLE_MS * INT64_C(1000000));
}

/* ---- from the feed ---- */

static void taker_begin(struct halo_feed_taker *taker, const struct halo_live_begin *begin)
{
    struct halo_camera_out *out = (struct halo_camera_out *)taker;
    av_packet_unref(out->card);
    if (out->form.format->coded && begin->card)
        av_packet_ref(out->card, begin->card); /* a failure leaves it empty */
}

static void taker_packet(struct halo_feed_taker *taker, const AVPacket *pkt)
{
    struct halo_camera_out *out = (struct halo_camera_out *)taker;
    if (pkt->stream_index != 0)
        return;
    out->dropped += out->fresh;
    av_packet_unref(out->picture);
    if (av_packet_ref(out->picture, pkt) < 0)
        return;
    out->fresh = true;
    out->forgotten = 0;
    set_timer(out, time_of_next(out));
}

static void taker_end(struct halo_feed_taker *taker, const char *why)
{
    struct halo_camera_out *out = (struct halo_camera_out *)taker;
    (void)why;
    step_out(out);
    out->left = halo_now_us();
}

void halo_camera_out_join(struct halo_camera_out *out, struct halo_feed *feed)
{
    halo_camera_out_leave(out);
    out->feed = feed;
    if (out->device)
        look_for_readers(out);
}

void halo_camera_out_leave(struct halo_camera_out *out)
{
    step_out(out);
    out->feed = NULL;
}

void halo_camera_out_forget(struct halo_camera_out *out)
{
    av_packet_unref(out->picture);
    out->fresh = false;
    out->forgotten = FORGOTTEN;
}

/* ---- life ---- */

static void release(uv_handle_t *handle)
{
    struct halo_camera_out *out = handle->data;
    if (--out->handles > 0)
        return;
    if (out->folder >= 0)
        close(out->folder);
    av_packet_free(&out->picture);
    av_packet_free(&out->card);
    free(out->gray);
    free(out->path);
    free(out->format);
    free(out->size);
    free(out);
}

/* The folder may not be there: then the slow tries are all there is. */
static int watch_folder(const char *path)
{
    const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char *folder = strdup(path);
    if (fd >= 0 && folder) {
        *strrchr(folder, '/') = '\0';
        (void)inotify_add_watch(fd, folder, IN_CREATE | IN_ATTRIB | IN_MOVED_TO);
    }
    free(folder);
    return fd < 0 ? -errno : fd;
}

/* What the settings say; false: no device takes that. */
static bool read_form(struct halo_camera_out *out, const struct halo_output_settings *output)
{
    struct halo_loopback_form *form = &out->form;
    const struct halo_v4l2_format *f = halo_v4l2_formats;
    while (f->fourcc && strcmp(f->name, output->format) != 0)
        f++;
    form->format = f;
    form->rate = output->video.fps;
    return f->fourcc && form->rate > 0 && strrchr(output->target, '/') &&
           sscanf(output->video.size, "%dx%d", &form->width, &form->height) == 2;
}

static bool fill(struct halo_camera_out *out, const struct halo_output_settings *output)
{
    const struct halo_loopback_form *form = &out->form;
    out->path = strdup(output->target);
    out->format = strdup(output->format);
    out->size = strdup(output->video.size);
    out->picture = av_packet_alloc();
    out->card = av_packet_alloc();
    if (!form->format->coded) {
        out->gray_size =
            (size_t)form->width * (size_t)form->height * (size_t)form->format->bits / 8;
        out->gray = malloc(out->gray_size);
        if (!out->gray)
            return false;
        memset(out->gray, 128, out->gray_size); /* in each of the formats */
    }
    return out->path && out->format && out->size && out->picture && out->card;
}

int halo_camera_out_create(struct halo_camera_out **ret, uv_loop_t *loop,
                           const struct halo_output_settings *output, halo_camera_told *told,
                           void *arg, struct halo_error *err)
{
    struct halo_camera_out *out = calloc(1, sizeof *out);
    if (!out)
        return halo_fail(err, -ENOMEM, "out of memory");
    out->timer.data = out->watch.data = out;
    out->folder = -1;
    out->handles = 1; /* of release() below */
    int code = read_form(out, output) ? 0 : -EINVAL;
    if (code == 0)
        code = fill(out, output) ? 0 : -ENOMEM;
    if (code == 0)
        code = out->folder = watch_folder(output->target);
    if (code >= 0)
        code = uv_poll_init(loop, &out->watch, out->folder);
    if (code < 0) {
        release((uv_handle_t *)&out->timer);
        return halo_fail(err, code, "%s: no virtual camera: %s", output->target, strerror(-code));
    }
    uv_timer_init(loop, &out->timer);
    out->handles = 2;
    out->taker =
        (struct halo_feed_taker){.begin = taker_begin, .packet = taker_packet, .end = taker_end};
    out->told = told;
    out->arg = arg;
    out->period = (int64_t)(1e9 / out->form.rate);
    uv_timer_start(&out->timer, turn, 0, 0);
    *ret = out;
    return 0;
}

void halo_camera_out_destroy(struct halo_camera_out *out)
{
    if (!out)
        return;
    halo_camera_out_leave(out);
    halo_loopback_close(out->device);
    out->device = NULL;
    uv_close((uv_handle_t *)&out->timer, release);
    uv_close((uv_handle_t *)&out->watch, release);
}

bool halo_camera_out_is_of(const struct halo_camera_out *out,
                           const struct halo_output_settings *output)
{
    return output->kind == HALO_OUTPUT_V4L2 && !strcmp(out->path, output->target) &&
           !strcmp(out->format, output->format) && !strcmp(out->size, output->video.size) &&
           out->form.rate == output->video.fps;
}

json_t *halo_camera_out_status(const struct halo_camera_out *out)
{
    json_t *readers = !out->device || out->readers < 0 ? json_null() : json_boolean(out->readers);
    const char *state = out->device ? "writing" : halo_v4l2_states[out->trouble].name;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "state",
                     out->device || out->trouble ? state : "starting", "why", out->why, "pictures",
                     (json_int_t)out->pictures, "repeated", (json_int_t)out->repeated,
                     "dropped_packets", (json_int_t)out->dropped, "opened", (json_int_t)out->opened,
                     "failures", (json_int_t)out->failures, "readers", readers);
}
