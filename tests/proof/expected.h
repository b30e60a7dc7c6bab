/* SPDX-License-Identifier: BSD-2-Clause
 * What a region feed hides, by the rules of pipeline/region/region_feed.h and region_motion.c alone,
 * from all that it was ever told: written once more and plainly, and nothing of those files is
 * called. Beyond their limits (many shapes, very long ones, equal ids of two units) it knows
 * nothing, and who tells keeps within them. Any thread, one at a time. */
#ifndef HALO_PROOF_EXPECTED_H
#define HALO_PROOF_EXPECTED_H

#include "pipeline/region/region_feed.h"
#include "tests/proof/spec.h"

enum {
    PROOF_THINGS = 6,    /* of an update */
    PROOF_TOLD_MOST = 64 /* shapes of a picture */
};

/* What is told of one picture. Lengths of a shape are all of one unit. */
struct proof_update {
    int64_t picture, came; /* us; ns */
    int count;
    struct {
        char id[4]; /* "": the same as no other */
        struct proof_shape shape;
        int64_t ttl; /* us */
    } thing[PROOF_THINGS];
};

struct proof_told_settings {
    int margin;          /* eighths */
    int64_t hold, limit; /* us */
};

struct proof_told;

struct proof_told *proof_told_open(const struct proof_told_settings *settings);
void proof_told_close(struct proof_told *told); /* NULL: nothing */

/* As halo_region_feed_begin() and _pass(). */
void proof_told_begin(struct proof_told *told, int64_t picture);
void proof_told_pass(struct proof_told *told, int64_t picture);

/* What halo_region_feed_update() must answer: 0, -ESTALE or -ERANGE. */
int proof_told_update(struct proof_told *told, const struct proof_update *update);

/* What was taken, whatever the rules say of that; and as after proof_told_open(). */
void proof_told_add(struct proof_told *told, const struct proof_update *update);
void proof_told_forget(struct proof_told *told);

/* Whether one of its things was told of in the same picture already in the other unit: there the
 * rules say nothing. */
bool proof_told_mixes(const struct proof_told *told, const struct proof_update *update);

/* Shapes of a picture, in pixels. */
struct proof_drawn {
    struct proof_shape shape[PROOF_TOLD_MOST];
    int count;
};

/* What a picture of that time hides, and may show, in one of width x height. now: ns. */
struct proof_place {
    bool known;  /* else everything is hidden */
    bool unsure; /* rounding could say either */
    bool moving; /* something is between two places */
    bool held;   /* something is there that the last update did not name */
    struct proof_drawn hidden, shown;
};
void proof_told_at(const struct proof_told *told, int64_t picture, int64_t now, int width,
                   int height, struct proof_place *ret);

/* For proof_judge_tell(); they lead into the place. */
void proof_place_regions(const struct proof_place *place, struct proof_region ret[2]);

/* The update in halod's words; they lead into corners. */
void proof_update_say(const struct proof_update *update, struct halo_region_told *ret,
                      struct halo_length (*corners)[PROOF_CORNERS][2]);

#endif
