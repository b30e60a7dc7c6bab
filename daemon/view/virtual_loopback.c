/* SPDX-License-Identifier: BSD-2-Clause
 * v4l2loopback devices as devices of virtual cameras (camera/loopback.h makes the system calls). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/view/virtual_device.h"
#include "pipeline/camera/loopback.h"

struct loopback {
    char *path;
    struct halo_loopback_mode mode;
    struct halo_loopback *device; /* NULL: not open */
};

/* Reads the mode from the settings; false: no device supports it. */
static bool read_mode(struct halo_loopback_mode *mode, const struct halo_output_settings *output)
{
    const struct halo_v4l2_format *f = halo_v4l2_formats;
    while (f->fourcc && strcmp(f->name, output->format) != 0)
        f++;
    mode->format = f;
    mode->rate = output->video.fps;
    return f->fourcc && mode->rate > 0 && strrchr(output->target, '/') &&
           sscanf(output->video.size, "%dx%d", &mode->width, &mode->height) == 2;
}

static void close_it(void *device)
{
    struct loopback *l = device;
    halo_loopback_close(l->device);
    l->device = NULL;
}

static void destroy(void *device)
{
    struct loopback *l = device;
    if (!l)
        return;
    close_it(l);
    free(l->path);
    free(l);
}

static int create(void **ret, const struct halo_output_settings *output)
{
    struct loopback *l = calloc(1, sizeof *l);
    int code = l ? 0 : -ENOMEM;
    if (code == 0 && !read_mode(&l->mode, output))
        code = -EINVAL;
    if (code == 0 && !(l->path = strdup(output->target)))
        code = -ENOMEM;
    if (code < 0)
        destroy(l);
    else
        *ret = l;
    return code;
}

static bool is_of(const void *device, const struct halo_output_settings *output)
{
    const struct loopback *l = device;
    const struct halo_loopback_mode *has = &l->mode;
    struct halo_loopback_mode mode;
    return output->kind == HALO_OUTPUT_V4L2 && !strcmp(l->path, output->target) &&
           read_mode(&mode, output) && mode.format == has->format && mode.width == has->width &&
           mode.height == has->height && mode.rate == has->rate;
}

static const char *path(const void *device)
{
    return ((const struct loopback *)device)->path;
}

static int open_it(void *device, enum halo_v4l2_trouble *ret_trouble, struct halo_error *err)
{
    struct loopback *l = device;
    return halo_loopback_open(&l->device, l->path, &l->mode, ret_trouble, err);
}

static void look(void *device, struct halo_virtual_need *ret)
{
    struct loopback *l = device;
    *ret = (struct halo_virtual_need){
        .readers = l->device ? halo_loopback_readers(l->device) : 0,
        .size = l->mode.format->coded ? 0 : halo_loopback_size(&l->mode),
        .rate = l->mode.rate,
    };
}

static int write_it(void *device, const void *data, size_t size, int64_t time,
                    enum halo_v4l2_trouble *ret_trouble, struct halo_error *err)
{
    struct loopback *l = device;
    (void)time; /* the driver sets it */
    return halo_loopback_write(l->device, data, size, ret_trouble, err);
}

const struct halo_virtual_device halo_virtual_loopback = {
    .create = create,
    .destroy = destroy,
    .is_of = is_of,
    .path = path,
    .open = open_it,
    .close = close_it,
    .look = look,
    .write = write_it,
};
