/* SPDX-License-Identifier: BSD-2-Clause
 * What viewers get: the suffix of a socket's name chooses one of these forms, or a key does. */
#ifndef HALO_VIEWER_FORMAT_H
#define HALO_VIEWER_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct halo_viewer_format {
    const char *suffix;
    const char *muxer; /* FFmpeg's name of it; NULL: finished frames by descriptor */
    bool raw;          /* may have pictures that are not encoded */
    bool rigid;        /* says once, at its beginning, what is in it */
};
extern const struct halo_viewer_format halo_viewer_formats[]; /* ends with a suffix of NULL */

/* That of the path, or NULL. */
const struct halo_viewer_format *halo_viewer_format_find(const char *path);

/* That of the suffix without its dot, or NULL; frames by descriptor need a path. */
const struct halo_viewer_format *halo_viewer_format_named(const char *name);

enum halo_viewer_format_list {
    HALO_FORMS_SUFFIXES,       /* ".ts, .mkv, .nut or .fd", with "or" as the word */
    HALO_VIEWER_FORMATS_RAW,   /* only those of raw forms */
    HALO_VIEWER_FORMATS_NAMES, /* what halo_viewer_format_named takes */
};
const char *halo_viewer_format_list(char *ret, size_t size, enum halo_viewer_format_list which,
                                    const char *word);

#endif
