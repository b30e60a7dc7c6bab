/* SPDX-License-Identifier: BSD-2-Clause
 * Damaged input: an error, or, with -keep-going, counted and skipped. One struct halo_damage for
 * each stream; any of its threads may call this. */
#ifndef HALO_DAMAGE_H
#define HALO_DAMAGE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/error.h"

struct halo_damage {
    bool keep_going;
    atomic_llong places;
};

/* Call it when input is damaged, with the code that halo_fail(err) returned. Returns code, or 0 if
 * the stream shall continue: err is then empty again, and the damage is counted and its message
 * logged (the first few as warnings, the others at -v debug). */
int halo_damage_meet(struct halo_damage *damage, int code, struct halo_error *err);

#endif
