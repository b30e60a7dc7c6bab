/* SPDX-License-Identifier: BSD-2-Clause
 * V4L2 code shared by camera sources and virtual cameras: calls, the table of formats, and the
 * meaning of each errno. v4l2.c makes the only V4L2 calls; only it, camera.c, loopback.c and their
 * private files include linux/videodev2.h. Any thread, but only one at a time for each device. */
#ifndef HALO_V4L2_H
#define HALO_V4L2_H

#include <libavutil/pixfmt.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"

/* Reasons why a device does not work. Every errno of every call maps to one of these, so that
 * messages, events and cards get their wording from halo_v4l2_states alone. */
enum halo_v4l2_trouble {
    HALO_V4L2_FINE,
    HALO_V4L2_ABSENT,    /* missing or unplugged: ENOENT, ENODEV, ENXIO, and EINVAL from DQBUF */
    HALO_V4L2_DENIED,    /* EACCES, EPERM */
    HALO_V4L2_BUSY,      /* in use by another program: EBUSY, for example from S_FMT or REQBUFS */
    HALO_V4L2_BANDWIDTH, /* not enough bandwidth on the USB bus: ENOSPC, for example from
                            STREAMON */
    HALO_V4L2_STALLED,   /* no frame has arrived for too long, or a call returned ETIMEDOUT */
    HALO_V4L2_BROKEN,    /* the device has to be reopened: EIO, EPROTO, EPIPE ... */
    HALO_V4L2_UNFIT,     /* not a camera (for an output: not a virtual camera), or it has no format
                            that halod knows */
    HALO_V4L2_CHANGED,   /* the format or timing has changed; the device is reopened at once */
    HALO_V4L2_SIGNAL,    /* the input has no signal: ENOLINK, ENOLCK */
    HALO_V4L2_MEMORY,    /* ENOMEM */
    HALO_V4L2_TROUBLES,
};

struct halo_v4l2_state {
    const char *name;               /* name in status, events and metrics: "absent", "busy" ... */
    const char *words;              /* short words for the card: "no camera", "camera in use" ... */
    const char *advice;             /* what to do, for the log and `haloctl doctor`; may be NULL */
    double first_pause, last_pause; /* seconds before the next attempt: first_pause at first, then
                                       doubled each time, up to last_pause */
};
extern const struct halo_v4l2_state halo_v4l2_states[HALO_V4L2_TROUBLES];

/* V4L2 calls. The calls are distinguished because messages name the call that failed, and because
 * the meaning of an errno depends on the call. */
enum halo_v4l2_call {
    HALO_V4L2_OPEN,
    HALO_V4L2_QUERYCAP,
    HALO_V4L2_ENUM, /* the calls that list formats, sizes, rates, inputs and controls */
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
enum halo_v4l2_trouble halo_v4l2_judge(enum halo_v4l2_call call, int error); /* positive errno */

/* Fills err with "PATH: WORDS: CALL: ERROR; ADVICE", and *ret with the trouble. Returns -error. */
int halo_v4l2_fail(struct halo_error *err, enum halo_v4l2_trouble *ret, const char *path,
                   enum halo_v4l2_call call, int error);

/* halo_v4l2_open() calls open(O_RDWR | O_NONBLOCK | O_CLOEXEC), and halo_v4l2_call() calls ioctl().
 * halo_v4l2_open() and halo_v4l2_call() repeat the system call after EINTR. On success,
 * halo_v4l2_open() returns the descriptor, and halo_v4l2_call() returns 0; on failure, both return
 * -errno. */
int halo_v4l2_open(const char *path);
int halo_v4l2_call(int fd, unsigned long request, void *argument);

/* Returns the capabilities (V4L2_CAP_...) of the node itself, taken from the result of QUERYCAP. */
struct v4l2_capability;
uint32_t halo_v4l2_caps(const struct v4l2_capability *cap);

/* A frame format. If a camera offers several formats with the same size and rate, the one that is
 * earlier in halo_v4l2_formats is preferred. */
struct halo_v4l2_format {
    uint32_t fourcc;
    uint32_t planar;       /* the format's fourcc in the multi-planar API; 0: none */
    const char *name;      /* name in `format:` and `halod devices`: "yuyv", "nv12", "mjpeg" ... */
    enum AVPixelFormat as; /* format of the unpacked frames on the host; AV_PIX_FMT_NONE: the
                              decoder decides */
    bool coded;            /* the format is JPEG, which libavcodec decodes */
    int bits;              /* bits per pixel on the bus, to estimate bandwidth; 0: varies */
};
extern const struct halo_v4l2_format halo_v4l2_formats[];            /* ends with fourcc 0 */
const struct halo_v4l2_format *halo_v4l2_format_of(uint32_t fourcc); /* NULL: unknown */

#endif
