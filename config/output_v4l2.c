/* SPDX-License-Identifier: BSD-2-Clause
 * v4l2: a virtual camera, which the supervisor feeds. */
#include <stdio.h>
#include <string.h>

#include "config/encoding.h"
#include "config/load.h"
#include "config/output_kinds.h"

static void give(struct halo_loader *l, char **field, const char *text)
{
    if (!*field && !(*field = strdup(text)))
        l->no_memory = true;
}

/* Programs that read a virtual camera do not follow changes, and receive frames before the input is
 * open: so size and rate must be fixed here. */
static void check(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node)
{
    enum { MAX_SIDE = 8192 }; /* limit of v4l2loopback; the supervisor keeps a frame of this size */
    struct halo_video_settings *video = &output->video;
    int width = 2, height = 2, count = 0;
    char size[24];
    if (strncmp(output->target, "/dev/", 5) != 0)
        halo_loader_say_of(l, node, "v4l2", "must be a device such as /dev/video10");
    if (video->chroma != HALO_CHROMA_AUTO)
        halo_loader_say_of(l, node, "video",
                           "'chroma' has no effect on outputs of the kind 'v4l2'");
    give(l, &output->format, halo_camera_formats[0]);
    snprintf(size, sizeof size, "%dx%d", HALO_DEFAULT_WIDTH, HALO_DEFAULT_HEIGHT);
    give(l, &video->size, size);
    if (video->fps <= 0)
        video->fps = HALO_DEFAULT_RATE;
    while (halo_camera_formats[count] &&
           strcmp(halo_camera_formats[count], output->format ? output->format : "") != 0)
        count++;
    if (!halo_camera_formats[count])
        halo_loader_say_of(l, node, "format", "must be yuyv, yu12, nv12 or mjpeg");
    if (video->size && strstr(video->size, "-1"))
        halo_loader_say_of(
            l, node, "video",
            "size: %s: a virtual camera needs both a width and a height, because programs read "
            "its size before the first frame",
            video->size);
    else if (video->size && sscanf(video->size, "%dx%d", &width, &height) == 2 &&
             (width % 2 || height % 2))
        halo_loader_say_of(l, node, "video",
                           "size: %s: the width and height of a virtual camera must be even",
                           video->size);
    if (width > MAX_SIDE || height > MAX_SIDE)
        halo_loader_say_of(l, node, "video",
                           "size: %s: a virtual camera can have at most %dx%d pixels", video->size,
                           MAX_SIDE, MAX_SIDE);
}

const struct halo_output_row halo_output_v4l2 = {
    .key = "v4l2",
    .help = "the device of a virtual camera, which the module v4l2loopback provides, such as "
            "/dev/video10",
    .example = "/dev/video10",
    .target = HALO_AT_DEVICE,
    .writer = HALO_WRITER_SUPERVISOR,
    .keys = (const char *const[]){"rendition", "video", "format", NULL},
    .video_keys = (const char *const[]){"size", "chroma", "gop", "fps", NULL},
    .check = check,
};
