/* SPDX-License-Identifier: BSD-2-Clause
 * The cards of a live stream: shown while no picture comes, with the reason. Their thread also has
 * a shape made up if a source is away from the start, so that there is something to draw on.
 *
 * The card thread makes them, the encodings' threads take them. The lock guards the newest card and
 * the latest time on the line. It is known to live_cards.c alone, is taken under no other lock, and
 * those of the status and of the lineups are taken under it. */
#ifndef HALO_LIVE_CARDS_H
#define HALO_LIVE_CARDS_H

#include <stdint.h>

#include "config/error.h"

struct halo_live;
struct halo_live_cards;
struct halo_live_encoding;
struct halo_output_picture;

int halo_live_cards_create(struct halo_live_cards **ret);    /* 0 or -ENOMEM */
void halo_live_cards_destroy(struct halo_live_cards *cards); /* NULL is nothing to do */

/* Source thread: the thread begins, which only live inputs have; and ends. */
int halo_live_cards_start(struct halo_live *live, struct halo_error *err);
void halo_live_cards_end(struct halo_live_cards *cards);

/* Any thread: something has changed that a card may be due for: the state, the shape, a stop. */
void halo_live_cards_wake(struct halo_live_cards *cards);
/* One before its time: a viewer connected. */
void halo_live_cards_want(struct halo_live_cards *cards);
/* A picture of that time (us) has come out. Collect thread. */
void halo_live_cards_note(struct halo_live_cards *cards, int64_t pts);
/* The shape goes, and with it the newest card. Returns how many there were so far. */
int64_t halo_live_cards_drop(struct halo_live_cards *cards);

/* With the stream's name; as halo_gate_card(). */
int halo_live_card_draw(const struct halo_live *live, const struct halo_output_picture *like,
                        const char *words, int64_t pts, struct halo_output_picture **ret);
/* The encoding's thread: a card that it has not shown yet, where it has to show one; the caller's.
 * NULL: none. */
struct halo_output_picture *halo_live_card_take(struct halo_live_encoding *e);

#endif
