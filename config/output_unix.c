/* SPDX-License-Identifier: BSD-2-Clause
 * unix: a socket that viewers connect to. */
#include <string.h>

#include "config/encoding.h"
#include "config/load.h"
#include "config/output_kinds.h"

static void check(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node)
{
    const struct halo_viewer_format *format = halo_output_format(output);
    const char *codec = output->video.codec;
    char list[64];
    if (!format)
        halo_loader_say_of(
            l, node, "unix", "the file name must end in %s, which selects the format",
            halo_viewer_format_list(list, sizeof list, HALO_VIEWER_FORMATS_SUFFIXES, "or"));
    else if (!format->muxer && output->audio && strcmp(output->audio, "off"))
        halo_loader_say_of(l, node, "audio", "a %s socket has no audio", format->suffix);
    else if (!format->muxer && codec && strcmp(codec, "raw"))
        halo_loader_say_of(l, node, "video",
                           "a %s socket carries unencoded frames: the codec must be raw",
                           format->suffix);
}

const struct halo_output_row halo_output_unix = {
    .key = "unix",
    .help = "path of a socket that viewers connect to; its suffix selects the format: .ts, .mkv or "
            ".nut (encoded), .fd (unencoded frames)",
    .example = "/run/halod/door.ts",
    .target = HALO_AT_SOCKET,
    .writer = HALO_WRITER_SUPERVISOR,
    .coded = true,
    .keys = (const char *const[]){"rendition", "video", "audio", NULL},
    .check = check,
};
