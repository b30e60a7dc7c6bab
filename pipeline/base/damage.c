/* SPDX-License-Identifier: BSD-2-Clause
 * Damaged input: an error, or counted and skipped (damage.h). */
#include "pipeline/base/damage.h"

#include "config/base/log.h"

enum { SAID = 3 }; /* damaged places that are reported one by one; the others are only counted */

int halo_damage_meet(struct halo_damage *damage, int code, struct halo_error *err)
{
    if (!damage->keep_going)
        return code;
    const long long before = atomic_fetch_add(&damage->places, 1);
    halo_log(before < SAID ? HALO_LOG_WARNING : HALO_LOG_DEBUG, "%s; continuing", err->text);
    if (before + 1 == SAID)
        halo_log(HALO_LOG_WARNING,
                 "from now on, damage is only counted (-v debug reports each case)");
    *err = (struct halo_error){0};
    return 0;
}
