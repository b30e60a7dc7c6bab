/* SPDX-License-Identifier: BSD-2-Clause
 * When a virtual camera is written (pace.h). */
#include "daemon/view/pace.h"

enum {
    MAX_BEHIND = 4, /* periods; more is not a delay, but a jump of the clock */
    SLOWNESS = 8,   /* frames: how slowly the grid follows */
    SETTLING = 16,  /* frames that are not held back; the earliest of them aligns the grid */
};

void halo_pace_start(struct halo_pace *p, int64_t period, int64_t now)
{
    *p = (struct halo_pace){.period = period, .due = now - period, .written_at = now - period};
}

void halo_pace_loosen(struct halo_pace *p)
{
    p->frames = 0;
}

int64_t halo_pace_next(const struct halo_pace *p, bool fresh)
{
    const int64_t quarter = p->period / 4;
    const int64_t least = p->written_at + (fresh ? quarter : 2 * quarter);
    const int64_t at = fresh ? p->due - quarter : p->due + 3 * quarter;
    const bool settling = fresh && p->frames < SETTLING;
    return at > least && !settling ? at : least;
}

void halo_pace_note(struct halo_pace *p, int64_t now, bool fresh)
{
    const int64_t late = now - p->due;
    const bool aligns = fresh && (p->frames == 0 || (p->frames < SETTLING && late < 0));
    if (aligns || late > MAX_BEHIND * p->period)
        p->due = now;
    else if (fresh)
        p->due += late / SLOWNESS;
    p->frames += fresh && p->frames < SETTLING;
    p->due += p->period;
    p->written_at = now;
}
