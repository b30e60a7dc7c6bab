/* SPDX-License-Identifier: BSD-2-Clause
 * Detectors: programs that find faces or people in a stream's frames (docs/detectors.md), for
 * filters with region=faces, region=people or region=background. */
#ifndef HALO_DETECTORS_H
#define HALO_DETECTORS_H

#include <stdbool.h>

#include "config/option.h"

enum {
    HALO_DETECTOR_COMMAND = 4096, /* length of a command in bytes */
    HALO_DETECTOR_WORDS = 64,     /* words of a command */
};

/* What a detector looks for. */
enum halo_find { HALO_FIND_FACES, HALO_FIND_PEOPLE, HALO_FINDS };

/* The names of enum halo_find, as in settings and messages: "faces", "people". */
extern const char *const halo_find_names[HALO_FINDS];

/* A set of finds: bit f is set if find f belongs to it. */
typedef unsigned halo_find_set;
static inline halo_find_set halo_find_bit(enum halo_find find)
{
    return 1u << find;
}

struct halo_detector_settings {
    char *command; /* program and arguments, separated by blanks; NULL: halo-detect and the find's
                    * name */
    bool shared;   /* whether one process serves all streams that have the same command */
    bool gpu;      /* whether the program may open the GPU's devices */
    double wait;   /* seconds for which a frame of a live stream waits for its verdict; 0: does not
                    * wait, and moves the shapes of the newest verdict instead */
    double ahead;  /* seconds: a frame of a live stream that was judged waits until a frame that is
                    * later by so much was judged, too; not if wait is 0 */
    int enter;     /* number of consecutive frames that must agree before anything is shown at the
                    * start, after a cut, and after a silence */
    double hold;   /* seconds for which a shape is kept after the detector stops reporting it */
    double margin; /* fraction of a box's width and height that is added on each side */
    double score;  /* boxes with at least this score begin a track, 0 to 1 */
    double low;    /* boxes with at least this score continue a track, 0 to `score` */
};

/* One table for each find, because their defaults differ. */
extern const struct halo_option *const halo_detector_options[HALO_FINDS];

/* Checks what the rows do not express: the command's length, and that low <= score. Returns 0, or
 * -EINVAL with err filled. */
int halo_detector_check(const struct halo_detector_settings *settings, struct halo_error *err);

/* Parses "KEY=VALUE:KEY=VALUE..." into settings, which already have values; keys that are not
 * given keep theirs. In a value, "\\:" stands for a colon and "\\\\" for a backslash. Returns 0 or,
 * with err filled, -EINVAL, -ERANGE or -ENOMEM. On failure some keys may be set. */
int halo_detector_parse(struct halo_detector_settings *settings, enum halo_find find,
                        const char *text, struct halo_error *err);

#endif
