/* SPDX-License-Identifier: BSD-2-Clause
 * What a region feed must hide, computed from every update that it received by the rules of
 * pipeline/region/region_feed.h and region_motion.c: a second, plainer implementation that calls
 * nothing in those files. It does not model their limits (many shapes, very long ones, equal ids
 * with different units); callers stay within them. Any thread, one at a time. */
#ifndef HALO_PROOF_EXPECTED_H
#define HALO_PROOF_EXPECTED_H

#include "pipeline/region/region_feed.h"
#include "tests/proof/spec.h"

enum {
    PROOF_THINGS = 6,       /* of an update */
    PROOF_EXPECTED_MAX = 64 /* shapes of a frame */
};

/* What is told of one frame. Lengths of a shape are all of one unit. */
struct proof_update {
    int64_t frame, came; /* us; ns */
    int count;
    struct {
        char id[4]; /* "": the same as no other */
        struct proof_shape shape;
        int64_t ttl; /* us */
    } thing[PROOF_THINGS];
};

struct proof_expected_settings {
    int margin;          /* eighths */
    int64_t hold, limit; /* us */
};

struct proof_expected;

struct proof_expected *proof_expected_open(const struct proof_expected_settings *settings);
void proof_expected_close(struct proof_expected *expected); /* NULL: nothing */

/* As halo_region_feed_begin() and _pass(). */
void proof_expected_begin(struct proof_expected *expected, int64_t frame);
void proof_expected_pass(struct proof_expected *expected, int64_t frame);

/* What halo_region_feed_update() must answer: 0, -ESTALE or -ERANGE. */
int proof_expected_update(struct proof_expected *expected, const struct proof_update *update);

/* What was taken, whatever the rules say of that; and as after proof_expected_open(). */
void proof_expected_add(struct proof_expected *expected, const struct proof_update *update);
void proof_expected_forget(struct proof_expected *expected);

/* Whether one of its things was told of in the same frame already in the other unit: there the
 * rules say nothing. */
bool proof_expected_mixes(const struct proof_expected *expected, const struct proof_update *update);

/* Shapes of a frame, in pixels. */
struct proof_drawn {
    struct proof_shape shape[PROOF_EXPECTED_MAX];
    int count;
};

/* What a frame of that time hides, and may show, in one of width x height. now: ns. */
struct proof_place {
    bool known;  /* else everything is hidden */
    bool unsure; /* rounding could say either */
    bool moving; /* something is between two places */
    bool held;   /* something is there that the last update did not name */
    struct proof_drawn hidden, shown;
};
void proof_expected_at(const struct proof_expected *expected, int64_t frame, int64_t now, int width,
                       int height, struct proof_place *ret);

/* For proof_judge_expect(); they lead into the place. */
void proof_place_regions(const struct proof_place *place, struct proof_region ret[2]);

/* The update in halod's words; they lead into corners. */
void proof_update_say(const struct proof_update *update, struct halo_region_update *ret,
                      struct halo_length (*corners)[PROOF_CORNERS][2]);

#endif
