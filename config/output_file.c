/* SPDX-License-Identifier: BSD-2-Clause
 * file: a file, or segments of one, which the engine writes. */
#include <string.h>

#include "config/load.h"
#include "config/output_kinds.h"

/* Whether a name has only conversions of strftime that cannot add folders or depend on the locale's
 * lengths; counts them. */
static bool is_pattern(const char *name, int *conversions)
{
    *conversions = 0;
    for (const char *s = strchr(name, '%'); s; s = strchr(s + 2, '%')) {
        if (!s[1] || !strchr("%YymdjHMSsFTzZaAbBuVG", s[1]))
            return false;
        *conversions += s[1] != '%';
    }
    return true;
}

static void check(struct halo_loader *l, struct halo_output_settings *output,
                  struct halo_node *node)
{
    const char *base = strrchr(output->target, '/');
    int conversions = 0;
    base = base ? base + 1 : output->target;
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base || !dot[1])
        halo_loader_say_of(l, node, "file",
                           "the file name must end in a suffix that selects the container, such as "
                           ".mkv or .mp4");
    else if (!is_pattern(output->target, &conversions))
        halo_loader_say_of(
            l, node, "file",
            "%% must be followed by one of YymdjHMSsFTzZaAbBuVG (write %%%% for %%)");
    else if (output->segment_time > 0 && !conversions)
        halo_loader_say_of(l, node, "file",
                           "each segment needs its own name, such as door-%%Y%%m%%d-%%H%%M%%S.mkv");
    if (output->keep_size > 0 && output->segment_time <= 0)
        halo_loader_say_of(l, node, "keep_size", "requires segment_time");
}

const struct halo_output_row halo_output_file = {
    .key = "file",
    .help = "name of the file; with segment_time it must contain strftime conversions, such as "
            "%Y%m%d-%H%M%S",
    .example = "/srv/door.mkv",
    .target = HALO_AT_FILE,
    .writer = HALO_WRITER_ENGINE,
    .coded = true,
    .records = true,
    .keys = (const char *const[]){"rendition", "video", "audio", "segment_time", "keep_size",
                                  "hook", NULL},
    .check = check,
};
