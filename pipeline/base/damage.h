/* SPDX-License-Identifier: BSD-2-Clause
 * What is damaged in an input: an error, or, where -keep-going accepts it, counted and passed
 * over. One for each stream; any of its threads. */
#ifndef HALO_DAMAGE_H
#define HALO_DAMAGE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_damage {
    bool keep_going;
    atomic_llong places;
};

/* Call where input was found damaged, with the code that halo_fail(err) gave for it. Returns code,
 * or 0 where the input is to be read on: then err is empty again and what it said is logged (the
 * first times) and counted. */
int halo_damage_meet(struct halo_damage *damage, int code, struct halo_error *err);

#endif
