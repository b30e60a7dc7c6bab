/* SPDX-License-Identifier: BSD-2-Clause
 * A camera's mapped buffers, and its driver's queue. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "pipeline/camera/camera_pipewire.h"
#include "pipeline/camera/camera_private.h"

/* Prepares a buffer as an argument of calls; planes must remain valid as long as the buffer. */
static struct v4l2_buffer describe(const struct halo_camera *c, int index,
                                   struct v4l2_plane *planes)
{
    struct v4l2_buffer b = {.index = (unsigned)index, .type = c->type, .memory = V4L2_MEMORY_MMAP};
    memset(planes, 0, VIDEO_MAX_PLANES * sizeof *planes);
    if (halo_camera_is_planar(c)) {
        b.m.planes = planes;
        b.length = VIDEO_MAX_PLANES;
    }
    return b;
}

static int map_one(struct halo_camera *c, int index, const struct halo_camera_fault *fault)
{
    struct v4l2_plane plane[VIDEO_MAX_PLANES];
    struct v4l2_buffer b = describe(c, index, plane);
    struct halo_camera_buffer *to = &c->buffer[index];
    const int code = halo_camera_call(c, fault, HALO_V4L2_QUERYBUF, VIDIOC_QUERYBUF, &b);
    if (code < 0)
        return code;
    const bool planar = halo_camera_is_planar(c);
    if (planar && b.length < (unsigned)c->memories)
        return halo_camera_fail(c, fault, HALO_V4L2_QUERYBUF, EPROTO);
    for (int i = 0; i < c->memories; i++) {
        const size_t size = planar ? plane[i].length : b.length;
        const off_t at = planar ? plane[i].m.mem_offset : b.m.offset;
        void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, at);
        if (data == MAP_FAILED)
            return halo_camera_fail(c, fault, HALO_V4L2_QUERYBUF, errno);
        to->data[i] = data;
        to->size[i] = size;
    }
    return 0;
}

int halo_camera_start(struct halo_camera *c, const struct halo_camera_fault *fault)
{
    struct v4l2_requestbuffers r = {
        .count = HALO_CAMERA_BUFFERS, .type = c->type, .memory = V4L2_MEMORY_MMAP};
    int code = halo_camera_call(c, fault, HALO_V4L2_REQBUFS, VIDIOC_REQBUFS, &r);
    if (code >= 0 && r.count == 0)
        code = halo_camera_fail(c, fault, HALO_V4L2_REQBUFS, ENOMEM);
    for (int i = 0; code >= 0 && i < (int)r.count && i < HALO_CAMERA_MAX; i++) {
        c->buffers = i + 1;
        code = map_one(c, i, fault);
        if (code >= 0)
            code = halo_camera_give(c, i, fault);
    }
    if (code >= 0)
        code = halo_camera_call(c, fault, HALO_V4L2_STREAMON, VIDIOC_STREAMON, &c->type);
    c->streaming = code >= 0;
    return code;
}

/* Errors do not matter here: every step is done in any case. */
void halo_camera_stop(struct halo_camera *c)
{
    struct v4l2_requestbuffers none = {.type = c->type, .memory = V4L2_MEMORY_MMAP};
    if (c->streaming)
        halo_v4l2_call(c->fd, VIDIOC_STREAMOFF, &c->type);
    for (int i = 0; i < c->buffers; i++)
        for (int k = 0; k < HALO_CAMERA_PLANES; k++)
            if (c->buffer[i].data[k])
                munmap(c->buffer[i].data[k], c->buffer[i].size[k]);
    if (c->buffers > 0)
        halo_v4l2_call(c->fd, VIDIOC_REQBUFS, &none);
    memset(c->buffer, 0, sizeof c->buffer);
    c->buffers = 0;
    c->streaming = false;
}

int halo_camera_give(struct halo_camera *c, int index, const struct halo_camera_fault *fault)
{
    if (c->pipewire) {
        halo_camera_pipewire_give(c, index);
        return 0;
    }
    struct v4l2_plane plane[VIDEO_MAX_PLANES];
    struct v4l2_buffer b = describe(c, index, plane);
    if (halo_camera_is_planar(c))
        b.length = (unsigned)c->memories;
    return halo_camera_call(c, fault, HALO_V4L2_QBUF, VIDIOC_QBUF, &b);
}

/* The data in one memory, without the driver's data before it; empty if the driver's numbers exceed
 * the memory. */
static void judge(struct halo_camera_taken *ret, const struct halo_camera_buffer *buffer, int i,
                  size_t used, size_t offset)
{
    const bool fits = used <= buffer->size[i] && offset <= used;
    ret->data[i] = (const uint8_t *)buffer->data[i] + (fits ? offset : 0);
    ret->size[i] = fits ? used - offset : 0;
}

int halo_camera_take(struct halo_camera *c, struct halo_camera_taken *ret,
                     const struct halo_camera_fault *fault)
{
    if (c->pipewire)
        return halo_camera_pipewire_take(c, ret, fault);
    struct v4l2_plane plane[VIDEO_MAX_PLANES];
    struct v4l2_buffer b = describe(c, 0, plane);
    const int code = halo_v4l2_call(c->fd, VIDIOC_DQBUF, &b);
    if (code == -EAGAIN)
        return 0;
    if (code < 0)
        return halo_camera_fail(c, fault, HALO_V4L2_DQBUF, code);
    if (b.index >= (unsigned)c->buffers)
        return halo_camera_fail(c, fault, HALO_V4L2_DQBUF, EPROTO);
    *ret = (struct halo_camera_taken){
        .index = (int)b.index, .flags = b.flags, .sequence = b.sequence, .time = b.timestamp};
    const bool planar = halo_camera_is_planar(c);
    for (int i = 0; i < c->memories; i++)
        judge(ret, &c->buffer[b.index], i, planar ? plane[i].bytesused : b.bytesused,
              planar ? plane[i].data_offset : 0);
    return 1;
}
