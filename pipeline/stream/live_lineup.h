/* SPDX-License-Identifier: BSD-2-Clause
 * A lineup contains the chains of a live stream and its renditions and, once the format of the
 * frames is known, the gates that run them. Chains with the same text share one gate.
 *
 * A lineup is constant while it is in use; before that, it belongs to the thread that makes it. A
 * stream keeps its lineups in the list that live_lineups.h describes. */
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
    int of[HALO_LIVE_CHAINS];                   /* index of each chain's gate */
    struct halo_gate *gate[HALO_LIVE_CHAINS];
    uint64_t id; /* the id of the halo_live_set() call that requested this lineup */
    bool failed; /* a frame could not be filtered; this field is owned by the collect thread */
    /* the files that its chains need have been read; this field is owned by the extra thread */
    bool loaded;
    /* `inside`: the number of frames that are in the lineup's gates or about to enter them, each
     * counted once for each gate; `next`: the next newer lineup in the stream's list (NULL: none).
     * Both fields are guarded by the lock of live_lineups.c, which no other file uses. */
    int inside;
    struct halo_lineup *next;
};

int halo_lineup_parse(struct halo_lineup **ret, const char *const *chains, int count,
                      enum halo_privacy privacy, struct halo_error *err);
/* Reads the lineup's mask images. Returns 0, or -errno with err filled. It is also an error if a
 * chain uses a region feed but feed is NULL. This may block. */
int halo_lineup_load(struct halo_lineup *lineup, const struct halo_region_feed *feed,
                     struct halo_error *err);
/* Creates the lineup's gates. feed is NULL if the stream has no region feed. */
int halo_lineup_build(struct halo_lineup *lineup, struct halo_ring *ring,
                      const struct halo_gate_input *input, struct halo_region_feed *feed,
                      struct halo_error *err);
void halo_lineup_strip(struct halo_lineup *lineup);   /* destroys the lineup's gates, which must be
                                                         empty */
void halo_lineup_destroy(struct halo_lineup *lineup); /* NULL: does nothing */

#endif
