/* SPDX-License-Identifier: BSD-2-Clause
 * pipewire: a camera of the user's session, which the supervisor feeds. */
#include <stdio.h>
#include <string.h>

#include "config/encoding.h"
#include "config/load.h"
#include "config/output_kinds.h"
#include "config/pipewire.h"

static void check_name(struct halo_loader *l, const char *name, struct halo_node *node)
{
    if (strlen(name) >= HALO_PIPEWIRE_NAME)
        halo_loader_say_of(l, node, "pipewire", "name: at most %d bytes are allowed",
                           HALO_PIPEWIRE_NAME - 1);
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) {
            halo_loader_say_of(l, node, "pipewire", "name: control characters are not allowed");
            return;
        }
}

/* Programs negotiate with the node before the input is open, and the format stays fixed while one
 * is linked: so size and rate must be known here. */
static void check(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node)
{
    struct halo_video_settings *video = &output->video;
    int width = 8, height = 2;
    if (!halo_pipewire_is_built())
        halo_loader_say_of(l, node, "pipewire",
                           "this halod was built without PipeWire: rebuild it with the headers of "
                           "libpipewire-0.3");
    check_name(l, output->target, node);
    if (video->fps <= 0)
        video->fps = HALO_DEFAULT_RATE;
    if (!video->size) {
        if (asprintf(&video->size, "%dx%d", HALO_DEFAULT_WIDTH, HALO_DEFAULT_HEIGHT) < 0) {
            video->size = NULL;
            l->no_memory = true;
        }
        return;
    }
    if (strstr(video->size, "-1") || sscanf(video->size, "%dx%d", &width, &height) != 2)
        halo_loader_say_of(l, node, "video",
                           "size: %s: a PipeWire camera needs both a width and a height, "
                           "because programs read its size before the first frame",
                           video->size);
    else if (width % 8 || height % 2)
        halo_loader_say_of(l, node, "video",
                           "size: %s: the width must be a multiple of 8, and the height even, "
                           "because programs disagree about the layout of other sizes",
                           video->size);
}

const struct halo_output_row halo_output_pipewire = {
    .key = "pipewire",
    .help = "a PipeWire camera, which programs in the user's session can select",
    .example = "halod door",
    .target = HALO_AT_NODE,
    .writer = HALO_WRITER_SUPERVISOR,
    .keys = (const char *const[]){"rendition", "video", NULL},
    .video_keys = (const char *const[]){"size", "chroma", "gop", "fps", NULL},
    .check = check,
};
