/* SPDX-License-Identifier: BSD-2-Clause
 * A lineup: the chains of a live stream's renditions and, once the format of the frames is known,
 * the gates that run them. Chains with the same text share one gate.
 *
 * Constant while it is in use; before that, it belongs to the thread that makes it. live_lineups.h
 * keeps those of a stream. */
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
    int of[HALO_LIVE_CHAINS];                   /* index of the gate of each chain */
    struct halo_gate *gate[HALO_LIVE_CHAINS];
    uint64_t id; /* of the halo_live_set() that requested it */
    bool failed; /* a frame could not be filtered; owned by the collect thread */
    bool loaded; /* the files that its chains need have been read; owned by the extra thread */
    /* inside: frames in its gates or about to enter one; next: the next newer lineup. Both are
     * under the lock of live_lineups.c, which alone knows it. */
    int inside;
    struct halo_lineup *next;
};

int halo_lineup_parse(struct halo_lineup **ret, const char *const *chains, int count,
                      enum halo_privacy privacy, struct halo_error *err);
/* Reads its mask images; returns an error if a chain uses a region feed and feed is NULL.
 * Blocks. */
int halo_lineup_load(struct halo_lineup *lineup, const struct halo_region_feed *feed,
                     struct halo_error *err);
/* Creates its gates. feed: NULL if the stream has none. */
int halo_lineup_build(struct halo_lineup *lineup, struct halo_ring *ring,
                      const struct halo_gate_input *input, struct halo_region_feed *feed,
                      struct halo_error *err);
void halo_lineup_strip(struct halo_lineup *lineup); /* destroys its gates; no frame may be in one */
void halo_lineup_destroy(struct halo_lineup *lineup); /* NULL: does nothing */

#endif
