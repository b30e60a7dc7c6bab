/* SPDX-License-Identifier: BSD-2-Clause
 * A lineup: the chains of a live stream's renditions and, once the shape of the pictures is known,
 * the gates that run them. Chains of the same text share one gate.
 *
 * Constant while it is in use; before that, it belongs to the thread that makes it.
 * live_lineups.h keeps those of a stream. */
#ifndef HALO_LIVE_LINEUP_H
#define HALO_LIVE_LINEUP_H

#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "pipeline/filter/privacy.h"
#include "pipeline/gate/gate.h"

enum { HALO_LIVE_CHAINS = HALO_MAX_RENDITIONS + 1 };

struct halo_lineup {
    int64_t epoch;
    int chains, gates;
    struct halo_chain *chain[HALO_LIVE_CHAINS]; /* by rendition */
    int of[HALO_LIVE_CHAINS];                   /* the gate of each */
    struct halo_gate *gate[HALO_LIVE_CHAINS];
    uint64_t id; /* of the halo_live_set() that asks for it */
    bool failed; /* a picture of it could not be filtered; the collect thread's */
    bool loaded; /* what its chains need from files; the aside thread's */
    int inside;  /* its pictures in the gates or about to enter one; this and what follows: under
                    the lock of live_lineups.c, which alone knows it */
    struct halo_lineup *next; /* newer */
};

int halo_lineup_parse(struct halo_lineup **ret, const char *const *chains, int count,
                      enum halo_privacy privacy, struct halo_error *err);
/* Reads its masks; refuses regions of a feed where there is none. Blocks. */
int halo_lineup_load(struct halo_lineup *lineup, const struct halo_region_feed *feed,
                     struct halo_error *err);
/* Makes its gates. feed: NULL where the stream has none. */
int halo_lineup_build(struct halo_lineup *lineup, struct halo_ring *ring,
                      const struct halo_gate_input *input, struct halo_region_feed *feed,
                      struct halo_error *err);
void halo_lineup_strip(struct halo_lineup *lineup);   /* its gates go; no picture is in one */
void halo_lineup_destroy(struct halo_lineup *lineup); /* NULL is nothing to do */

#endif
