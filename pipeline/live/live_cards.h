/* SPDX-License-Identifier: BSD-2-Clause
 * The cards of a live stream: shown, with the reason, while no frames arrive. The card thread also
 * assumes a format if the source is away from the start, so that cards can be drawn.
 *
 * The card thread makes them; the encodings' threads take them. The lock guards the newest card and
 * the latest timestamp. Only live_cards.c knows it; it is acquired under no other lock, and those
 * of the status and of the lineups are acquired under it. */
#ifndef HALO_LIVE_CARDS_H
#define HALO_LIVE_CARDS_H

#include <stdint.h>

#include "config/error.h"

struct halo_live;
struct halo_live_cards;
struct halo_live_encoding;
struct halo_output_picture;

int halo_live_cards_create(struct halo_live_cards **ret);    /* 0 or -ENOMEM */
void halo_live_cards_destroy(struct halo_live_cards *cards); /* NULL: does nothing */

/* Start and end the card thread, from the source thread. Only live inputs have one. */
int halo_live_cards_start(struct halo_live *live, struct halo_error *err);
void halo_live_cards_end(struct halo_live_cards *cards);

/* Wakes the card thread after a change that may make a card due: of the state, of the format, or a
 * stop. Any thread. */
void halo_live_cards_wake(struct halo_live_cards *cards);
/* Makes a card before its usual time, because a viewer has connected. */
void halo_live_cards_want(struct halo_live_cards *cards);
/* Records that a frame with this timestamp (us) has left the gate. Collect thread. */
void halo_live_cards_note(struct halo_live_cards *cards, int64_t pts);
/* Drops the newest card, because the format is about to be removed. Returns the number of cards so
 * far. */
int64_t halo_live_cards_drop(struct halo_live_cards *cards);

/* Draws a card with the stream's name; as halo_gate_card(). */
int halo_live_card_draw(const struct halo_live *live, const struct halo_output_picture *like,
                        const char *words, int64_t pts, struct halo_output_picture **ret);
/* Encoding's thread: returns a card that the encoding has to show and has not shown yet, owned by
 * the caller; NULL: no such card. */
struct halo_output_picture *halo_live_card_take(struct halo_live_encoding *e);

#endif
