/* SPDX-License-Identifier: BSD-2-Clause
 * What a live stream does with its source, for each kind of source (config/source_kinds.h): one row
 * each, in the file of that kind. Comments say what a NULL function means.
 *
 * The source thread calls all of them except check. */
#ifndef HALO_SOURCE_OPS_H
#define HALO_SOURCE_OPS_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"
#include "config/source_kinds.h"

struct halo_live;
struct halo_live_input;
struct halo_raw_picture;

struct halo_source_ops {
    bool endless; /* a session that ends without an error does not end the stream */
    bool whole;   /* damaged frames are dropped */
    /* Checks only the name: 0 or a usage error. NULL: every name is accepted. */
    int (*check)(const char *input, struct halo_error *err);
    /* As halo_live_input_open(); `in` is zeroed except for its packet. */
    int (*open)(struct halo_live *live, struct halo_live_input *in, struct halo_error *err);
    /* Called when a session is over; failed: it failed, or could not be opened. NULL: nothing to
     * do. */
    void (*end)(struct halo_live *live, bool failed);
    /* Describes a session from the settings, before the first one. NULL: the settings do not
     * specify the format of the frames. */
    int (*describe)(struct halo_live *live, struct halo_live_input *in, struct halo_error *err);
    /* Why there is no session, for the card. NULL: unknown. */
    const char *(*words)(const struct halo_live *live);
    /* Returns the first pause after the last failure, and sets the longest one; seconds. NULL: the
     * default pauses. */
    double (*pauses)(const struct halo_live *live, double *ret_last);
    /* Waits until this time (ns), or for a reason to retry sooner; true: a stop. NULL: there is no
     * such reason. */
    bool (*wait)(struct halo_live *live, int64_t until);
    /* rests: whether the source is not needed now; rest: waits until it is, or until a stop: true.
     * Both NULL: the source is always open. */
    bool (*rests)(struct halo_live *live);
    bool (*rest)(struct halo_live *live);
};

/* For the table; each in a file of its own. */
extern const struct halo_source_ops halo_source_camera, halo_source_test, halo_source_file;

/* By enum halo_source_kind; NULL: not available for streams. */
extern const struct halo_source_ops *const halo_source_ops[HALO_SOURCE_KINDS];

/* Not in the rows: functions that pass unfiltered frames are called by name
 * (tests/style/frames.py), so that the path of these frames can be followed. Each implements
 * halo_live_input_read() for its kind of source, and is called by it. */
int halo_live_read_camera(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_picture **ret, struct halo_error *err);
int halo_live_read_test(struct halo_live_input *in, struct halo_raw_picture **ret,
                        struct halo_error *err);
int halo_live_read_file(struct halo_live *live, struct halo_live_input *in,
                        struct halo_raw_picture **ret_raw, AVPacket **ret_sound,
                        struct halo_error *err);

#endif
