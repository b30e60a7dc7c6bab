/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the files that implement an open camera (camera.h); no other file uses it.
 *
 *   camera.c          opening, closing, choosing a mode and the fallback; camera_read.c: reading
 *   camera_modes.c    the modes that the driver lists
 *   camera_buffers.c  mapped buffers and the driver's queue
 *   camera_unpack.c   unpacking a mapped buffer into a frame
 *   camera_control.c  controls
 *   camera_ask.c      the data that halod devices shows
 *   camera_pipewire.c the same for nodes of PipeWire */
#ifndef HALO_CAMERA_PRIVATE_H
#define HALO_CAMERA_PRIVATE_H

#include <libavutil/frame.h>
#include <linux/videodev2.h>
#include <stdbool.h>
#include <stddef.h>

#include "pipeline/camera/camera.h"
#include "pipeline/frame/frame_pool.h"

enum {
    HALO_CAMERA_BUFFERS = 4,  /* number of buffers to request */
    HALO_CAMERA_MAX = 32,     /* maximum number of buffers used */
    HALO_CAMERA_PLANES = 3,   /* maximum number of memory planes per frame */
    HALO_CAMERA_MODES = 1024, /* maximum number of modes considered */
    HALO_CAMERA_CONTROLS = 128,
    HALO_CAMERA_SIDE = 16384, /* largest valid width or height of a frame, in pixels */
};

struct halo_camera_buffer {
    void *data[HALO_CAMERA_PLANES];
    size_t size[HALO_CAMERA_PLANES];
};

/* A filled buffer that was dequeued from the driver. */
struct halo_camera_taken {
    int index;
    uint32_t flags, sequence;
    struct timeval time;
    const uint8_t *data[HALO_CAMERA_PLANES];
    size_t size[HALO_CAMERA_PLANES];
};

struct halo_pipewire_source;

struct halo_camera {
    int fd, wake;
    struct halo_pipewire_source *pipewire; /* a node of PipeWire; NULL: a V4L2 device */
    struct halo_camera_id id;
    const struct halo_capture_settings *settings;
    struct halo_memory *memory;
    uint32_t type; /* type of the camera's queue: single-planar or multi-planar */
    struct halo_camera_mode mode;
    uint32_t fourcc; /* the driver's pixel format */
    int memories;    /* memory planes per frame: 1, or one for each of the format's planes */
    uint32_t stride[HALO_CAMERA_PLANES];
    struct halo_camera_buffer buffer[HALO_CAMERA_MAX];
    int buffers;
    bool streaming;
    struct halo_frame_pool *pool; /* for raw formats */
    struct halo_camera_counts counts;
    bool counted; /* `sequence` is valid */
    uint32_t sequence;
    int64_t last;     /* time of the last frame returned, in ns */
    int64_t deadline; /* time by which the awaited frame must arrive, in ns; 0: not waiting */
};

static inline bool halo_camera_is_planar(const struct halo_camera *camera)
{
    return camera->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
}

/* ---- v4l2.c ---- */

/* Reports in `fault` that a V4L2 call failed. `error` is an errno, positive or negative. Returns
 * the code that the caller should return. */
int halo_camera_fail(const struct halo_camera *camera, const struct halo_camera_fault *fault,
                     enum halo_v4l2_call call, int error);
/* Does the same as halo_camera_fail(), for a problem that was found without a failed call. Returns
 * code. */
int halo_camera_fail_as(const struct halo_camera *camera, const struct halo_camera_fault *fault,
                        enum halo_v4l2_trouble trouble, int code, const char *what);
/* Calls ioctl. Returns 0 on success or after an error that does not matter (see halo_v4l2_judge()),
 * otherwise the code that the caller should return. */
int halo_camera_call(const struct halo_camera *camera, const struct halo_camera_fault *fault,
                     enum halo_v4l2_call call, unsigned long request, void *argument);

/* ---- camera.c ---- */

/* Returns the queue type of a device with these capabilities, or 0 if the device does not capture
 * video. */
uint32_t halo_camera_queue(uint32_t caps);

/* ---- camera_modes.c ---- */

/* Lists all modes of the device that have a format known to halod. `type` is the type of the
 * device's queue. If the driver reports ranges of sizes, the list includes the size nearest to
 * want_width x want_height. The caller frees *ret with free(). Returns the number of modes, or
 * -errno if a call failed. */
int halo_camera_modes(int fd, uint32_t type, int want_width, int want_height,
                      struct halo_camera_offered_mode **ret);

/* Converts a frame interval to frames per second. Returns 0 if the interval is unknown or
 * implausible. */
double halo_camera_rate(const struct v4l2_fract *interval);

/* ---- camera_buffers.c ---- */
int halo_camera_start(struct halo_camera *camera, const struct halo_camera_fault *fault);
void halo_camera_stop(struct halo_camera *camera); /* call it even if halo_camera_start() failed */
/* Dequeues a buffer. Returns 1 with *ret filled, 0 if no buffer is ready, or -errno. */
int halo_camera_take(struct halo_camera *camera, struct halo_camera_taken *ret,
                     const struct halo_camera_fault *fault);
int halo_camera_give(struct halo_camera *camera, int index, const struct halo_camera_fault *fault);

/* ---- camera_unpack.c ---- */

/* Returns whether the format's planes fit into the driver's memory planes (camera->memories):
 * either there is only one, which holds all planes of the format, or each plane has its own. */
bool halo_camera_fits(const struct halo_camera *camera);
/* Returns whether the dequeued buffer contains a complete frame. */
bool halo_camera_is_whole(const struct halo_camera *camera, const struct halo_camera_taken *taken);
/* Copies the frame from the dequeued buffer to `to`, which has the mode's size and format. */
void halo_camera_unpack(const struct halo_camera *camera, const struct halo_camera_taken *taken,
                        AVFrame *to);

/* ---- camera_control.c ---- */
/* Sets the controls that the settings specify. If the device refuses a value, this is logged, but
 * is not an error. */
int halo_camera_set_all(struct halo_camera *camera, const struct halo_camera_fault *fault);
/* Finds the first settable control after *q, or the first one of all if *q is zeroed. Returns 0,
 * -EINVAL if there is no such control, or another -errno. */
int halo_camera_next_control(int fd, struct v4l2_queryctrl *q);
/* Converts the driver's name for a control to the name that v4l2-ctl uses: "Exposure, Auto" becomes
 * exposure_auto. */
void halo_camera_control_name(const char *name, char *ret, size_t size);

#endif
