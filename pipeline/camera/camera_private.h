/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of an open camera (camera.h) share, and nobody else.
 *
 *   camera.c          opening, closing; camera_read.c: reading
 *   camera_modes.c    what the driver says it has
 *   camera_agree.c    which of that is taken, and the ladder
 *   camera_buffers.c  mapped buffers and the queue of the driver
 *   camera_unpack.c   from a mapped buffer to a picture
 *   camera_control.c  controls
 *   camera_ask.c      what halod devices tells */
#ifndef HALO_CAMERA_PRIVATE_H
#define HALO_CAMERA_PRIVATE_H

#include <libavutil/frame.h>
#include <linux/videodev2.h>
#include <stdbool.h>
#include <stddef.h>

#include "pipeline/camera/camera.h"
#include "pipeline/picture/picture_pool.h"

enum {
    HALO_CAMERA_BUFFERS = 4,  /* asked for */
    HALO_CAMERA_MAX = 32,     /* taken */
    HALO_CAMERA_PLANES = 3,   /* memories of a picture */
    HALO_CAMERA_MODES = 1024, /* looked at */
    HALO_CAMERA_CONTROLS = 128,
    HALO_CAMERA_SIDE = 16384, /* pixels: more is no picture */
};

struct halo_camera_buffer {
    void *data[HALO_CAMERA_PLANES];
    size_t size[HALO_CAMERA_PLANES];
};

/* A filled buffer, out of the driver's hands. */
struct halo_camera_taken {
    int index;
    uint32_t flags, sequence;
    struct timeval time;
    const uint8_t *data[HALO_CAMERA_PLANES];
    size_t size[HALO_CAMERA_PLANES];
};

struct halo_camera {
    int fd, wake;
    struct halo_camera_id id;
    const struct halo_capture_settings *settings;
    struct halo_memory *memory;
    uint32_t type; /* of its queue: single- or multi-planar */
    struct halo_camera_mode mode;
    uint32_t fourcc; /* as the driver has it */
    int memories;    /* of a picture */
    uint32_t stride[HALO_CAMERA_PLANES];
    struct halo_camera_buffer buffer[HALO_CAMERA_MAX];
    int buffers;
    bool streaming;
    struct halo_picture_pool *pool; /* of raw formats */
    struct halo_camera_counts counts;
    bool counted; /* sequence is of a picture */
    uint32_t sequence;
    int64_t last;     /* ns, told */
    int64_t deadline; /* ns, of the picture that is waited for; 0: none is */
};

static inline bool halo_camera_is_planar(const struct halo_camera *camera)
{
    return camera->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
}

/* ---- camera.c ---- */

/* error: positive or negative. The code for the caller to return. */
int halo_camera_fail(const struct halo_camera *camera, const struct halo_camera_fault *fault,
                     enum halo_v4l2_call call, int error);
/* The same, of a trouble that no call said. */
int halo_camera_fail_as(const struct halo_camera *camera, const struct halo_camera_fault *fault,
                        enum halo_v4l2_trouble trouble, int code, const char *what);
/* The ioctl; 0 where its error is none that matters (halo_v4l2_judge). */
int halo_camera_call(const struct halo_camera *camera, const struct halo_camera_fault *fault,
                     enum halo_v4l2_call call, unsigned long request, void *argument);

/* The type of its queue, of what it can do; 0: it gives no pictures. */
uint32_t halo_camera_queue(uint32_t caps);

/* ---- camera_modes.c ---- */

/* All that the device of type has, of formats that are known; malloc'ed. want: of ranges of sizes
 * the nearest is told, too. How many, or -errno of the call that failed. */
int halo_camera_modes(int fd, uint32_t type, int want_width, int want_height,
                      struct halo_camera_offered_mode **ret);

/* Pictures a second; 0: it does not say, or what cannot be. */
double halo_camera_rate(const struct v4l2_fract *interval);

/* ---- camera_agree.c ---- */

/* Format, size, rate, buffers and STREAMON, down the ladder where the bus is full. */
int halo_camera_agree(struct halo_camera *camera, const struct halo_camera_fault *fault);

/* ---- camera_buffers.c ---- */
int halo_camera_start(struct halo_camera *camera, const struct halo_camera_fault *fault);
void halo_camera_stop(struct halo_camera *camera); /* half-started ones too */
/* 1: *ret is filled; 0: none is ready; -errno. */
int halo_camera_take(struct halo_camera *camera, struct halo_camera_taken *ret,
                     const struct halo_camera_fault *fault);
int halo_camera_give(struct halo_camera *camera, int index, const struct halo_camera_fault *fault);

/* ---- camera_unpack.c ---- */

/* Whether its planes lie in as many memories as they can: in one, or each in its own. */
bool halo_camera_fits(const struct halo_camera *camera);
/* Whether all of the picture is there. */
bool halo_camera_is_whole(const struct halo_camera *camera, const struct halo_camera_taken *taken);
/* to: of the form's size and format. */
void halo_camera_unpack(const struct halo_camera *camera, const struct halo_camera_taken *taken,
                        AVFrame *to);

/* ---- camera_control.c ---- */
/* Those of the settings. What the device does not take is said, and costs nothing else. */
int halo_camera_set_all(struct halo_camera *camera, const struct halo_camera_fault *fault);
/* The control behind *q (zeroed: the first) that can be set. 0; -EINVAL: there is none; -errno. */
int halo_camera_next_control(int fd, struct v4l2_queryctrl *q);
/* How the driver names it, as v4l2-ctl does: "Exposure, Auto" is exposure_auto. */
void halo_camera_control_name(const char *name, char *ret, size_t size);

#endif
