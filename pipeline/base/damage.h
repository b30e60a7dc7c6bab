/* SPDX-License-Identifier: BSD-2-Clause
 * Damaged input is an error or, with -keep-going, is counted and skipped. Each stream has one
 * struct halo_damage; any of the stream's threads may call this. */
#ifndef HALO_DAMAGE_H
#define HALO_DAMAGE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/error.h"

struct halo_damage {
    bool keep_going;
    atomic_llong places;
};

/* Call this when damaged input was found. code is the value that halo_fail(err) returned. Returns
 * code if the stream must end, or 0 if it is to continue. When this returns 0, err is empty again,
 * the damage has been counted, and its message has been logged (the first few messages as warnings,
 * the others at -v debug). */
int halo_damage_meet(struct halo_damage *damage, int code, struct halo_error *err);

#endif
