/* SPDX-License-Identifier: BSD-2-Clause
 * Formats that viewers receive, selected by the suffix of a socket's name or by a key. */
#ifndef HALO_VIEWER_FORMAT_H
#define HALO_VIEWER_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct halo_viewer_format {
    const char *suffix;
    const char *muxer; /* FFmpeg's name of the muxer; NULL: filtered frames are passed as
                        * descriptors */
    bool raw;          /* whether the format can contain unencoded frames */
    bool rigid;        /* whether the contents are described only by one header at the beginning */
};
extern const struct halo_viewer_format halo_viewer_formats[]; /* the last entry has the suffix
                                                               * NULL */

/* Returns the format for the suffix of the path, or NULL. */
const struct halo_viewer_format *halo_viewer_format_find(const char *path);

/* Returns the format with this suffix (given without its dot), or NULL if there is none. Never
 * returns the format that passes frames as descriptors, because that format needs a path. */
const struct halo_viewer_format *halo_viewer_format_named(const char *name);

enum halo_viewer_format_list {
    HALO_VIEWER_FORMATS_SUFFIXES, /* all suffixes: ".ts, .mkv, .nut or .fd" if word is "or" */
    HALO_VIEWER_FORMATS_RAW,   /* only the suffixes of formats that can contain unencoded frames */
    HALO_VIEWER_FORMATS_NAMES, /* the names that halo_viewer_format_named() accepts */
};
const char *halo_viewer_format_list(char *ret, size_t size, enum halo_viewer_format_list which,
                                    const char *word);

#endif
