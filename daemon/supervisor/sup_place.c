/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_place.h"

#include <stddef.h>

void sv_placement_leave(struct sv_placement *place)
{
    place->again = place->phase != SV_OUT;
    if (!place->again)
        place->engine = NULL;
}

void sv_placement_reset(struct sv_placement *place)
{
    sv_placement_leave(place);
    place->backoff = (struct sv_backoff){0};
    place->suspect = (struct halo_suspect){.device = place->suspect.device};
    place->on_cpu = place->for_memory = place->no_room = place->apart = false;
}

void sv_backoff_failed(struct sv_backoff *backoff, uint64_t now)
{
    if (backoff->good_since && now - backoff->good_since >= SV_GOOD_MS)
        backoff->failures = 0;
    backoff->good_since = 0;
    uint64_t pause = 0;
    if (backoff->failures > 0) {
        const int doublings = backoff->failures > 8 ? 8 : backoff->failures - 1;
        pause = (uint64_t)SV_BACKOFF_MS << doublings;
    }
    if (pause > SV_BACKOFF_MAX_MS)
        pause = SV_BACKOFF_MAX_MS;
    backoff->failures++;
    backoff->not_before = now + pause;
}
