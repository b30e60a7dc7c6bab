/* SPDX-License-Identifier: BSD-2-Clause
 * The operations of a live stream on its source. Each kind of source (config/source_kinds.h) has
 * one table row, which the file for that kind defines. Comments explain what a NULL function means.
 *
 * The source thread calls all of these functions except check. */
#ifndef HALO_SOURCE_OPS_H
#define HALO_SOURCE_OPS_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/source_kinds.h"

struct halo_live;
struct halo_live_input;
struct halo_raw_frame;

struct halo_source_ops {
    bool endless; /* the stream continues even if a session ends without an error */
    bool whole;   /* damaged frames are dropped */
    /* Checks only the name of the input; nothing is opened. Returns 0 or a usage error. */
    int (*check)(const char *input, struct halo_error *err);
    /* Implements halo_live_input_open(); `in` is zeroed except for its packet. */
    int (*open)(struct halo_live *live, struct halo_live_input *in, struct halo_error *err);
    /* Called when a session has ended. failed: the session failed or could not be opened. NULL:
     * nothing needs to be done. */
    void (*end)(struct halo_live *live, bool failed);
    /* Describes the format that the settings specify for a session. Called before the first
     * session. NULL: the settings do not specify the format of the frames. */
    int (*describe)(struct halo_live *live, struct halo_live_input *in, struct halo_error *err);
    /* Returns the reason why there is no session, for the card. NULL: the reason is unknown. */
    const char *(*words)(const struct halo_live *live);
    /* Returns the pause before the first retry after a failure, and sets *ret_last to the longest
     * pause between later retries, both in seconds. Both pauses depend on the reason for the
     * failure. NULL: the default pauses apply. */
    double (*pauses)(const struct halo_live *live, double *ret_last);
    /* Waits until the given time (ns), or until there is a reason to retry sooner. Returns true if
     * the stream was stopped. NULL: there is never a reason to retry sooner. */
    bool (*wait)(struct halo_live *live, int64_t until);
    /* Returns whether the source is not needed at the moment. NULL: the source is always open. */
    bool (*rests)(struct halo_live *live);
    /* Waits until the source is needed or the stream is stopped. Returns true if the stream was
     * stopped. NULL: the source is always open. */
    bool (*rest)(struct halo_live *live);
};

/* The rows of the table, each defined in its own file. */
extern const struct halo_source_ops halo_source_camera, halo_source_test, halo_source_file;

/* Indexed by enum halo_source_kind; NULL if the kind is not available for streams. */
extern const struct halo_source_ops *const halo_source_ops[HALO_SOURCE_KINDS];

/* Functions that pass on unfiltered frames are called by name, so that a test can follow the path
 * of these frames (tests/style/frames.py); therefore the following functions are not in the rows of
 * the table. Each of these functions implements halo_live_input_read() for its kind of source, and
 * is called by halo_live_input_read(). */
int halo_live_read_camera(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_frame **ret, struct halo_error *err);
int halo_live_read_file(struct halo_live *live, struct halo_live_input *in,
                        struct halo_raw_frame **ret_raw, AVPacket **ret_sound,
                        struct halo_error *err);

#endif
