/* SPDX-License-Identifier: BSD-2-Clause
 * Nodes of the PipeWire graph as devices of virtual cameras (pipewire/node.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/view/virtual_device.h"
#include "pipeline/camera/camera_pipewire.h"
#include "pipeline/pipewire/node.h"
#include "pipeline/pipewire/socket.h"

struct desktop {
    struct halo_pipewire_node *node;
    struct halo_pipewire_mode mode; /* its name is `name` */
    char *name, *socket;
};

static bool read_mode(struct halo_pipewire_mode *mode, const struct halo_output_settings *output)
{
    mode->name = output->target;
    mode->rate = output->video.fps;
    return mode->rate > 0 && sscanf(output->video.size, "%dx%d", &mode->width, &mode->height) == 2;
}

static void destroy(void *device)
{
    struct desktop *d = device;
    if (!d)
        return;
    halo_pipewire_node_destroy(d->node);
    free(d->name);
    free(d->socket);
    free(d);
}

static int create(void **ret, const struct halo_output_settings *output)
{
    struct halo_error ignored = {0}; /* opening the node reports it */
    struct desktop *d = calloc(1, sizeof *d);
    int code = d ? 0 : -ENOMEM;
    if (code == 0 && !read_mode(&d->mode, output))
        code = -EINVAL;
    if (code == 0) {
        d->socket = halo_pipewire_socket(&ignored);
        if (!d->socket)
            d->socket = strdup("/run/user/pipewire-0");
        d->mode.name = d->name = strdup(output->target);
        code = d->name && d->socket ? halo_pipewire_node_create(&d->node, &d->mode) : -ENOMEM;
    }
    if (code < 0)
        destroy(d);
    else
        *ret = d;
    return code;
}

static bool is_of(const void *device, const struct halo_output_settings *output)
{
    const struct desktop *d = device;
    struct halo_pipewire_mode mode;
    return output->kind == HALO_OUTPUT_PIPEWIRE && !strcmp(d->name, output->target) &&
           read_mode(&mode, output) && mode.width == d->mode.width &&
           mode.height == d->mode.height && mode.rate == d->mode.rate;
}

static const char *path(const void *device)
{
    return ((const struct desktop *)device)->socket;
}

static int open_it(void *device, enum halo_v4l2_trouble *ret_trouble, struct halo_error *err)
{
    const int code = halo_pipewire_node_open(((struct desktop *)device)->node, err);
    *ret_trouble = halo_camera_pipewire_judge(code);
    return code;
}

static void close_it(void *device)
{
    halo_pipewire_node_close(((struct desktop *)device)->node);
}

static void look(void *device, struct halo_virtual_need *ret)
{
    const struct desktop *d = device;
    struct halo_pipewire_wish wish;
    halo_pipewire_node_wish(d->node, &wish);
    *ret = (struct halo_virtual_need){
        .readers = wish.linked,
        .format = wish.format,
        .size = halo_pipewire_node_size(d->node, wish.format),
        .rate = wish.rate,
    };
}

static int write_it(void *device, const void *data, size_t size, int64_t time,
                    enum halo_v4l2_trouble *ret_trouble, struct halo_error *err)
{
    const int code = halo_pipewire_node_write(((struct desktop *)device)->node, data, size, time);
    *ret_trouble = HALO_V4L2_STALLED;
    return code == -ETIMEDOUT ? halo_fail(err, code,
                                          "a program is connected, but has read no frame for %d s; "
                                          "the camera is created again",
                                          HALO_PIPEWIRE_STUCK_S)
                              : code;
}

static int poll_of(const void *device)
{
    return halo_pipewire_node_poll(((const struct desktop *)device)->node);
}

static int turn(void *device, enum halo_v4l2_trouble *ret_trouble, struct halo_error *err)
{
    *ret_trouble = HALO_V4L2_ABSENT;
    return halo_pipewire_node_turn(((struct desktop *)device)->node, err);
}

const struct halo_virtual_device halo_virtual_pipewire = {
    .create = create,
    .destroy = destroy,
    .is_of = is_of,
    .path = path,
    .open = open_it,
    .close = close_it,
    .look = look,
    .write = write_it,
    .poll = poll_of,
    .turn = turn,
};
