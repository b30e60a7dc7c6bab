/* SPDX-License-Identifier: BSD-2-Clause
 * The cards of a live stream, which are shown, with the reason, while no frames arrive. If the
 * source is unavailable from the start, the card thread also assumes a format, so that cards can be
 * drawn.
 *
 * The card thread makes the cards; the encodings' threads encode them. The lock guards the newest
 * card and the latest timestamp. Only live_cards.c uses it. It is acquired under no other lock; the
 * locks of the status and of the graphs are acquired under it. */
#ifndef HALO_LIVE_CARDS_H
#define HALO_LIVE_CARDS_H

#include <stdint.h>

#include "config/base/error.h"

struct halo_live;
struct halo_live_cards;
struct halo_live_encoding;
struct halo_output_frame;

int halo_live_cards_create(struct halo_live_cards **ret);    /* 0 or -ENOMEM */
void halo_live_cards_destroy(struct halo_live_cards *cards); /* NULL: does nothing */

/* These functions start and end the card thread, which exists only for live inputs. Only the source
 * thread calls these functions. make_up() assumes a format if there is none yet; the card thread
 * calls it. */
int halo_live_cards_start(struct halo_live *live, void (*make_up)(struct halo_live *live),
                          struct halo_error *err);
void halo_live_cards_end(struct halo_live_cards *cards);

/* Wakes the card thread after a change that may make a card due: a new state, a new format, or a
 * stop. Any thread. */
void halo_live_cards_wake(struct halo_live_cards *cards);
/* Requests a card before its usual time because a viewer has connected. */
void halo_live_cards_want(struct halo_live_cards *cards);
/* Records that a frame with this timestamp (us) has left the gate. Collect thread. */
void halo_live_cards_note(struct halo_live_cards *cards, int64_t pts);
/* Discards the newest card. Called when the format is about to be removed. Returns the number of
 * cards made so far. */
int64_t halo_live_cards_drop(struct halo_live_cards *cards);

/* Returns the newest card if the encoding must show it and has not shown it yet. Otherwise returns
 * NULL. The caller owns the returned card. Called by the encoding's thread. */
struct halo_output_frame *halo_live_card_take(struct halo_live_encoding *e);

#endif
