/* SPDX-License-Identifier: BSD-2-Clause
 * A camera's frames: the newest that is complete, with its time. */
#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/base/av_version.h"
#include "pipeline/camera/camera_private.h"
#include "pipeline/frame/raw_frame_private.h"

enum { MAX_EVENTS = 64 }; /* at once, for drivers whose queue does not end */

static const int64_t SECOND = INT64_C(1000000000);

/* Handles the driver's events: 0, or HALO_V4L2_CHANGED. */
static int take_events(const struct halo_camera *c, const struct halo_camera_fault *fault)
{
    struct v4l2_event event = {.type = 0};
    for (int i = 0; i < MAX_EVENTS && halo_v4l2_call(c->fd, VIDIOC_DQEVENT, &event) >= 0; i++) {
        if (event.type == V4L2_EVENT_SOURCE_CHANGE &&
            (event.u.src_change.changes & V4L2_EVENT_SRC_CH_RESOLUTION))
            return halo_camera_fail_as(c, fault, HALO_V4L2_CHANGED, -ESTALE, "");
        if (event.pending == 0)
            break;
    }
    return 0;
}

/* 1: a buffer is ready; 2: an error is pending, which DQBUF will return; 0: woken; -errno. */
static int wait_for(const struct halo_camera *c, const struct halo_camera_fault *fault)
{
    struct pollfd on[] = {{c->fd, POLLIN | POLLPRI, 0}, {c->wake, POLLIN, 0}};
    if (!halo_poll(on, 2, c->deadline))
        return halo_camera_fail_as(c, fault, HALO_V4L2_STALLED, -ETIMEDOUT, "");
    if (on[1].revents)
        return 0;
    if ((on[0].revents & POLLPRI) && take_events(c, fault) < 0)
        return -ESTALE;
    return on[0].revents & (POLLERR | POLLHUP | POLLNVAL) ? 2 : 1;
}

static void count_sequence(struct halo_camera *c, const struct halo_camera_taken *taken)
{
    const uint32_t gap = taken->sequence - c->sequence - 1;
    if (c->counted && gap < 10000) /* otherwise it restarted */
        c->counts.missed += gap;
    c->counted = true;
    c->sequence = taken->sequence;
}

/* The newest complete buffer that is ready: 1; 0: none is ready; -errno. The number of attempts is
 * limited, so a driver that is faster than this loop cannot keep it busy. */
static int take_newest(struct halo_camera *c, struct halo_camera_taken *ret,
                       const struct halo_camera_fault *fault)
{
    bool held = false;
    for (int i = 0; i < 2 * c->buffers; i++) {
        struct halo_camera_taken taken;
        int code = halo_camera_take(c, &taken, fault);
        if (code < 0)
            return code;
        if (code == 0)
            break;
        count_sequence(c, &taken);
        const bool whole = halo_camera_is_whole(c, &taken);
        c->counts.damaged += !whole;
        c->counts.late += whole && held;
        if ((!whole || held) &&
            (code = halo_camera_give(c, whole ? ret->index : taken.index, fault)) < 0)
            return code;
        if (whole)
            *ret = taken;
        held |= whole;
    }
    return held;
}

/* The driver's time, if it is of CLOCK_MONOTONIC and recent. */
static int64_t time_of(struct halo_camera *c, const struct halo_camera_taken *taken)
{
    const int64_t now = halo_now_ns();
    const int64_t s = taken->time.tv_sec, us = taken->time.tv_usec;
    const bool ours =
        (taken->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    /* Values that are far off might even overflow. */
    int64_t at =
        s >= 0 && s <= now / SECOND && us >= 0 && us < 1000000 ? s * SECOND + us * 1000 : 0;
    if (!ours || at > now || now - at > 2 * SECOND)
        at = now;
    return c->last = at > c->last ? at : c->last + 1;
}

static int64_t duration_of(const struct halo_camera *c)
{
    return c->mode.rate > 0 ? (int64_t)((double)SECOND / c->mode.rate) : SECOND / 25;
}

static struct halo_raw_frame *make_raw(struct halo_camera *c, const struct halo_camera_taken *taken)
{
    struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
    AVFrame *f = raw ? halo_frame_pool_get(c->pool, false) : NULL;
    if (!f) {
        av_free(raw);
        return NULL;
    }
    halo_camera_unpack(c, taken, f);
    f->color_range = c->mode.range;
    f->colorspace = c->mode.space;
    halo_av_frame_set_fields(f, c->mode.interlaced ? HALO_AV_INTERLACED : 0);
    f->sample_aspect_ratio = (AVRational){1, 1};
    f->pts = time_of(c, taken);
    halo_av_frame_set_duration(f, duration_of(c));
    raw->frame = f;
    raw->format = f->format;
    return raw;
}

static int make_packet(struct halo_camera *c, const struct halo_camera_taken *taken, AVPacket *ret)
{
    if (av_new_packet(ret, (int)taken->size[0]) < 0)
        return -ENOMEM;
    memcpy(ret->data, taken->data[0], taken->size[0]);
    ret->pts = ret->dts = time_of(c, taken);
    ret->duration = duration_of(c);
    ret->flags |= AV_PKT_FLAG_KEY;
    return 0;
}

/* Copies a frame from the driver's buffer, and returns the buffer to the driver. */
static int make_frame(struct halo_camera *c, const struct halo_camera_taken *taken,
                      struct halo_raw_frame **ret_raw, AVPacket *ret_pkt,
                      const struct halo_camera_fault *fault)
{
    struct halo_raw_frame *raw = NULL;
    const bool coded = c->mode.format->coded;
    const bool made =
        coded ? make_packet(c, taken, ret_pkt) >= 0 : (raw = make_raw(c, taken)) != NULL;
    int code = halo_camera_give(c, taken->index, fault);
    if (code >= 0 && !made)
        code = halo_camera_fail_as(c, fault, HALO_V4L2_MEMORY, -ENOMEM, "");
    if (code < 0) {
        halo_raw_frame_destroy(raw);
        av_packet_unref(ret_pkt);
        return code;
    }
    c->counts.frames++;
    *ret_raw = raw;
    return 1;
}

/* 1: *ret is filled; 0: woken, or damaged ones were dropped; -errno. */
static int wait_for_newest(struct halo_camera *c, struct halo_camera_taken *ret,
                           const struct halo_camera_fault *fault)
{
    const int64_t damaged = c->counts.damaged;
    for (bool error = false;;) {
        int code = take_newest(c, ret, fault);
        if (code != 0 || c->counts.damaged > damaged)
            return code;
        if (error) /* reported, but DQBUF returned nothing */
            return halo_camera_fail(c, fault, HALO_V4L2_DQBUF, EIO);
        code = wait_for(c, fault);
        if (code <= 0)
            return code;
        error = code == 2;
    }
}

int halo_camera_read(struct halo_camera *c, struct halo_raw_frame **ret_raw, AVPacket *ret_pkt,
                     const struct halo_camera_fault *fault)
{
    struct halo_camera_taken taken;
    *ret_raw = NULL;
    *fault->trouble = HALO_V4L2_FINE;
    if (!c->deadline) /* after a wake-up, the wait for the same frame continues */
        c->deadline = halo_now_ns() + (int64_t)(c->settings->stall * 1e9);
    const int code = wait_for_newest(c, &taken, fault);
    if (code != 0)
        c->deadline = 0;
    return code > 0 ? make_frame(c, &taken, ret_raw, ret_pkt, fault) : code;
}
