/* SPDX-License-Identifier: BSD-2-Clause
 * What viewers of an output socket get: the suffix of its name chooses one of these forms. */
#ifndef HALO_VIEWER_FORM_H
#define HALO_VIEWER_FORM_H

#include <stdbool.h>
#include <stddef.h>

struct halo_viewer_form {
    const char *suffix;
    const char *muxer; /* FFmpeg's name of it; NULL: finished frames by descriptor */
    bool raw;          /* may have pictures that are not encoded */
    bool rigid;        /* says once, at its beginning, what is in it */
};
extern const struct halo_viewer_form halo_viewer_forms[]; /* ends with a suffix of NULL */

/* That of the path, or NULL. */
const struct halo_viewer_form *halo_viewer_form_find(const char *path);

/* ".ts, .mkv, .nut or .fd" with "or" as the word: all suffixes, or only those of raw forms. */
const char *halo_viewer_form_list(char *ret, size_t size, bool only_raw, const char *word);

#endif
