/* SPDX-License-Identifier: BSD-2-Clause
 * What source and sink share of V4L2: calls, the table of formats, and what an errno means. v4l2.c
 * makes the only V4L2 calls; nothing else includes linux/videodev2.h but camera.c, loopback.c and
 * their private files. Any thread, one at a time for a device. */
#ifndef HALO_V4L2_H
#define HALO_V4L2_H

#include <libavutil/pixfmt.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"

/* In what state a device is that does not work. Every errno of every call is one of these, so that
 * what users, events and the card say is a matter of this table alone. */
enum halo_v4l2_trouble {
    HALO_V4L2_FINE,
    HALO_V4L2_ABSENT,    /* not there, or gone: ENOENT, ENODEV, ENXIO; after STREAMON EINVAL too */
    HALO_V4L2_DENIED,    /* EACCES, EPERM */
    HALO_V4L2_BUSY,      /* EBUSY at S_FMT or REQBUFS: another program has it */
    HALO_V4L2_BANDWIDTH, /* ENOSPC at STREAMON: the USB bus carries no more */
    HALO_V4L2_STALLED,   /* no picture for too long; ETIMEDOUT */
    HALO_V4L2_BROKEN,    /* EIO, EPROTO, EPIPE ...: it has to be opened anew */
    HALO_V4L2_UNFIT,     /* no camera (no sink), or it has no format that we know */
    HALO_V4L2_CHANGED,   /* another format or timing: opened anew at once */
    HALO_V4L2_SIGNAL,    /* an input without a signal: ENOLINK, ENOLCK */
    HALO_V4L2_MEMORY,    /* ENOMEM */
    HALO_V4L2_TROUBLES,
};

struct halo_v4l2_state {
    const char *name;   /* in status, events and metrics: "absent", "busy" ... */
    const char *words;  /* on the card: few, for people: "no camera", "camera in use" ... */
    const char *advice; /* what to do, for the log and doctor; may be NULL */
    double first_pause, last_pause; /* seconds until it is tried again, doubling */
};
extern const struct halo_v4l2_state halo_v4l2_states[HALO_V4L2_TROUBLES];

/* The calls, named for messages and for the table of errors. */
enum halo_v4l2_call {
    HALO_V4L2_OPEN,
    HALO_V4L2_QUERYCAP,
    HALO_V4L2_ENUM, /* formats, sizes, rates, inputs, controls */
    HALO_V4L2_S_FMT,
    HALO_V4L2_S_PARM,
    HALO_V4L2_S_CTRL,
    HALO_V4L2_REQBUFS,
    HALO_V4L2_QUERYBUF, /* and mmap */
    HALO_V4L2_QBUF,
    HALO_V4L2_STREAMON,
    HALO_V4L2_DQBUF,
    HALO_V4L2_STREAMOFF,
    HALO_V4L2_CALLS,
};
enum halo_v4l2_trouble halo_v4l2_judge(enum halo_v4l2_call call, int error); /* errno, positive */

/* "PATH: WHAT FAILED: words; advice", and the trouble in *ret. Returns -error. */
int halo_v4l2_fail(struct halo_error *err, enum halo_v4l2_trouble *ret, const char *path,
                   enum halo_v4l2_call call, int error);

/* open(O_RDWR | O_NONBLOCK | O_CLOEXEC) and ioctl, again after EINTR. fd or 0, or -errno. */
int halo_v4l2_open(const char *path);
int halo_v4l2_call(int fd, unsigned long request, void *argument);

/* What the node itself can do (V4L2_CAP_...), of what QUERYCAP says. */
struct v4l2_capability;
uint32_t halo_v4l2_caps(const struct v4l2_capability *cap);

/* Formats of pictures, best first for the same size and rate. */
struct halo_v4l2_format {
    uint32_t fourcc;
    uint32_t planar;  /* its fourcc of the multi-planar API, 0: none */
    const char *name; /* as `format:` and `halod devices` call it: "yuyv", "nv12", "mjpeg" ... */
    enum AVPixelFormat as; /* what pictures of it become on the host; NONE: the decoder says */
    bool coded;            /* JPEG: libavcodec makes pictures of it */
    int bits;              /* of a pixel on the bus, to judge bandwidth; 0: it depends */
};
extern const struct halo_v4l2_format halo_v4l2_formats[];            /* ends with a fourcc of 0 */
const struct halo_v4l2_format *halo_v4l2_format_of(uint32_t fourcc); /* NULL: unknown */

#endif
