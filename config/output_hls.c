/* SPDX-License-Identifier: BSD-2-Clause
 * hls: a live playlist and its segments, which the engine writes into a folder. */
#include <string.h>

#include "config/load.h"
#include "config/output_kinds.h"

enum {
    SEGMENT_S = 2,
    MAX_SEGMENT_S = 60,
    KEEP = 6,
};

/* Whether a playlist can name its segments after this file without escapes, and whether the engine
 * can tell these segments from other files. */
static bool is_plain(const char *base)
{
    const char *dot = strrchr(base, '.');
    return *base != '.' && dot && dot != base && !strcmp(dot, ".m3u8") &&
           strspn(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               strlen(base);
}

static void fill(struct halo_loader *l, struct halo_output_settings *output, struct halo_node *node)
{
    struct halo_node *video = halo_node_get(node, "video");
    if (output->segment_time <= 0)
        output->segment_time = SEGMENT_S;
    if (!output->keep)
        output->keep = KEEP;
    if (!video || !halo_node_get(video, "gop"))
        output->video.gop = output->segment_time;
    if (!output->audio && !(output->audio = strdup("aac")))
        l->no_memory = true;
}

static void check(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node)
{
    const char *slash = strrchr(output->target, '/');
    fill(l, output, node);
    if (!is_plain(slash ? slash + 1 : output->target))
        halo_loader_say_of(
            l, node, "hls",
            "must be the path of a playlist, such as /srv/hls/door/index.m3u8, whose "
            "name consists of letters, digits, '.', '_' and '-' and ends in .m3u8");
    else if (strchr(output->target, '%'))
        halo_loader_say_of(l, node, "hls", "must not contain %%: a playlist has one name");
    if (output->segment_time > MAX_SEGMENT_S)
        halo_loader_say_of(l, node, "segment_time", "must be at most %d s for hls", MAX_SEGMENT_S);
    else if (output->video.gop > output->segment_time)
        halo_loader_say_of(l, node, "video",
                           "gop: must be at most segment_time (%g s), because each segment begins "
                           "at a keyframe",
                           output->segment_time);
}

const struct halo_output_row halo_output_hls = {
    .key = "hls",
    .help = "path of a playlist ending in .m3u8, whose segments are written to the same folder",
    .example = "/srv/hls/door/index.m3u8",
    .target = HALO_AT_FILE,
    .writer = HALO_WRITER_ENGINE,
    .coded = true,
    .container = "mp4",
    .keys = (const char *const[]){"rendition", "video", "audio", "segment_time", "keep", NULL},
    .check = check,
};
