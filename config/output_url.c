/* SPDX-License-Identifier: BSD-2-Clause
 * url: a server to which the engine pushes through FFmpeg. */
#include <string.h>

#include "config/load.h"
#include "config/output_kinds.h"

static void check(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node)
{
    const char *colon = strchr(output->target, ':');
    if (!colon || colon == output->target || strchr("/.", *output->target))
        halo_loader_say_of(l, node, "url", "must begin with a protocol, as in rtsp://HOST/PATH");
}

const struct halo_output_row halo_output_url = {
    .key = "url",
    .help = "URL that FFmpeg pushes to: rtsp://, srt://, rtmp:// ...",
    .example = "rtsp://host/door",
    .target = HALO_AT_URL,
    .writer = HALO_WRITER_ENGINE,
    .coded = true,
    .keys = (const char *const[]){"rendition", "video", "audio", "format", NULL},
    .check = check,
};
