/* SPDX-License-Identifier: BSD-2-Clause
 * Which stream is the reason why engines die. An engine that dies takes all of its streams with it,
 * so one death says nothing of any of them: each has been active in it. Where engines of a device
 * die again and again the streams that were active each time are halved: one half gets an extra
 * engine, and the next death says in which half the reason is. So it is found in as many deaths as
 * they can be halved, and no stream is moved that does not begin anew anyway. Of all devices
 * together there are never more than HALO_EXTRA_ENGINES extra engines.
 *
 * No clock and no processes: whoever has them tells of deaths, and puts streams where this says. */
#ifndef HALO_SUSPECTS_H
#define HALO_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HALO_EXTRA_ENGINES = 4,
    HALO_SUSPECT_DEATHS = 2,  /* with a stream active ... */
    HALO_SUSPECT_MS = 600000, /* ... each within that time of the one before */
};

/* Of one stream; zeroed but for its device: nothing is held against it. */
struct halo_suspect {
    int device;     /* streams with the same number share engines */
    int extra;      /* 0: on the engine of the device; else on that extra one, up to 4 */
    bool active;    /* it was on the engine that died; the caller's */
    bool moved;     /* to another engine, by the last death */
    bool suspected; /* one of those among which the reason is */
    bool blamed;    /* it is the reason; stays so until the caller forgets it */
    int deaths;     /* in which it was active */
    uint64_t died;  /* the last one: ms */
};

enum halo_verdict {
    HALO_VERDICT_NONE,   /* nothing changes */
    HALO_VERDICT_SHARED, /* none of the suspects was in it: nobody is suspected any more */
    HALO_VERDICT_HALVED, /* some were moved */
    HALO_VERDICT_FOUND,  /* one is blamed now, and alone where there is an engine for it */
};

/* An engine of that device has died, now (ms), with those that are `active` and whose place it was.
 * all: of every stream that is wanted and shares an engine. asker: the one that asked for the
 * death, which then is the only one that it counts for; NULL: none. */
enum halo_verdict halo_suspects_died(struct halo_suspect *const *all, int count, int device,
                                     int extra, struct halo_suspect *asker, uint64_t now);

/* One of them has stalled: its engine goes on with the others, and it has left that. FOUND: its
 * place is an extra engine now; NONE: there is none for it, and it stays where it was. */
enum halo_verdict halo_suspects_stalled(struct halo_suspect *const *all, int count,
                                        struct halo_suspect *one);

#endif
