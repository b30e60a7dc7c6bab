/* SPDX-License-Identifier: BSD-2-Clause
 * Kept frozen cells: the values that gates show in place of objects (gate_cells.h), for a run whose
 * gates are in several processes (daemon/cli/job). All of them must show the same values of an
 * object, although only one has the frame in which it appears:
 *
 *   PLAN   Nothing is read: it is found out which object gets values in which frame.
 *   TAKE   The gate for such a frame takes the values of its objects.
 *   SHOW   Gates show them, and take none.
 *
 * One thread at a time. */
#ifndef HALO_FROZEN_H
#define HALO_FROZEN_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"

enum halo_frozen_mode { HALO_FROZEN_SHOW, HALO_FROZEN_PLAN, HALO_FROZEN_TAKE };

/* An object of a filter. One that a gate would have forgotten appears again. */
struct halo_frozen_object {
    int64_t frame;  /* in which it appears, counted from 0 in the whole file */
    uint64_t track; /* its number */
    int64_t value;  /* index of its first value */
    int32_t filter;
    int32_t count;   /* of its values */
    int32_t taken;   /* whether it has values */
    int32_t written; /* it is a shape in the chain's text, which may be too small for values */
};

struct halo_frozen {
    struct halo_frozen_object *object; /* in the order of `frame` */
    int64_t objects;
    uint16_t *value;
    int64_t values;
    /* How much all values reveal (hidden.h). */
    int64_t shown;
    double bits, epsilons;

    /* Not stored: */
    enum halo_frozen_mode mode;
    int64_t frame;   /* the one that enters a gate */
    int64_t entered; /* number of frames that have entered gates in TAKE */
    bool missing;    /* a gate needed values that are not there, and showed the filter's colour */
};

/* Frees what *frozen owns, and zeroes it. Zeroed memory is empty. */
void halo_frozen_finish(struct halo_frozen *frozen);

/* Adds an object that appears in the current frame, without values yet. Returns 0 or -ENOMEM. */
int halo_frozen_add(struct halo_frozen *frozen, int filter, uint64_t track, int count,
                    bool written);

/* Whether values are only taken, and no frame is filtered. NULL: false. */
static inline bool halo_frozen_takes(const struct halo_frozen *frozen)
{
    return frozen && frozen->mode == HALO_FROZEN_TAKE;
}

/* Says which frame enters the gates next: its number in the whole file, or -1 if it is not known;
 * then, unless values are taken, all objects appear in the first frame. Returns false if the frame
 * is not needed, because values are only taken and no object appears in it. */
bool halo_frozen_enter(struct halo_frozen *frozen, int64_t frame);

/* The frame has entered the gates. Returns 0; or -ESTALE, with err filled, if it is not known what
 * to show in place of an object. */
int halo_frozen_check(const struct halo_frozen *frozen, struct halo_error *err);

/* Returns the object's newest appearance up to the current frame; NULL: there is none. */
struct halo_frozen_object *halo_frozen_find(const struct halo_frozen *frozen, int filter,
                                            uint64_t track);

/* Number of objects that appear in the frames from..to-1. */
int64_t halo_frozen_count(const struct halo_frozen *frozen, int64_t from, int64_t to);

/* Whether all objects have values that must have some. */
bool halo_frozen_is_complete(const struct halo_frozen *frozen);

#endif
