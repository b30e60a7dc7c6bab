/* SPDX-License-Identifier: BSD-2-Clause
 * What a live stream does with its source, for each kind of source (config/source_kinds.h): one row
 * each, in the file of that kind. A function that is NULL: as the comment says.
 *
 * All but check are called by the source thread. */
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
    bool endless; /* a session that ends without an error is not the end of the stream */
    bool whole;   /* pictures with damage are dropped */
    /* Looks at the name alone: 0 or a usage error. NULL: every name will do. */
    int (*check)(const char *input, struct halo_error *err);
    /* As halo_live_input_open(); `in` is zeroed but for its packet. */
    int (*open)(struct halo_live *live, struct halo_live_input *in, struct halo_error *err);
    /* The session is over; failed: it has failed, or none began. NULL: nothing to do. */
    void (*end)(struct halo_live *live, bool failed);
    /* A session as the settings want it, before there is one. NULL: they do not say what its
     * pictures are. */
    int (*describe)(struct halo_live *live, struct halo_live_input *in, struct halo_error *err);
    /* Why there is no session, for the card. NULL: it does not know. */
    const char *(*words)(const struct halo_live *live);
    /* Seconds of the first pause after what went wrong last, and of the longest. NULL: the
     * usual ones. */
    double (*pauses)(const struct halo_live *live, double *ret_last);
    /* Waits until then (ns), or for a reason to try sooner; true: a stop. NULL: there is no such
     * reason. */
    bool (*wait)(struct halo_live *live, int64_t until);
    /* Whether nobody needs it now; waits until somebody does, or a stop: true. NULL, both: it is
     * always open. */
    bool (*rests)(struct halo_live *live);
    bool (*rest)(struct halo_live *live);
};

/* For the table, from a file each. */
extern const struct halo_source_ops halo_source_camera, halo_source_test, halo_source_file;

/* By enum halo_source_kind; NULL: streams do not have it. */
extern const struct halo_source_ops *const halo_source_ops[HALO_SOURCE_KINDS];

/* Not in the rows: functions that take raw pictures are called by name (tests/style/frames.py), so
 * that their way can be followed. Each does what halo_live_input_read() does, which calls it. */
int halo_live_read_camera(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_picture **ret, struct halo_error *err);
int halo_live_read_test(struct halo_live_input *in, struct halo_raw_picture **ret,
                        struct halo_error *err);
int halo_live_read_file(struct halo_live *live, struct halo_live_input *in,
                        struct halo_raw_picture **ret_raw, AVPacket **ret_sound,
                        struct halo_error *err);

#endif
