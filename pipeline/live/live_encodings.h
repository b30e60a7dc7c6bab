/* SPDX-License-Identifier: BSD-2-Clause
 * The encodings of a live stream, as its other threads see them: which of them run, how many frames
 * wait in them, and of which epoch these are.
 *
 * Each encoding has a thread (live_encoding.h), started and joined with the stages. The lock guards
 * `passing` of all of them. Only live_encodings.c knows it, and only locks of queues are acquired
 * under it. */
#ifndef HALO_LIVE_ENCODINGS_H
#define HALO_LIVE_ENCODINGS_H

#include "pipeline/live/live_encoding.h"

struct halo_item;

struct halo_live_encodings {
    int count; /* this and the next field are constant */
    struct halo_encoding what[HALO_MAX_ENCODINGS];
    struct halo_live_encoding at[HALO_MAX_ENCODINGS];
    pthread_mutex_t lock; /* guards `passing` of all of them */
    pthread_cond_t changed;
};

/* Creates the encodings that live->settings specify. 0 or -ENOMEM; destroy accepts NULL. */
int halo_live_encodings_create(struct halo_live_encodings **ret, struct halo_live *live);
void halo_live_encodings_destroy(struct halo_live_encodings *all);

/* ---- the thread that starts and ends the stages ---- */

int halo_live_encodings_start(struct halo_live_encodings *all, struct halo_error *err);
/* Outputs all frames, then joins the threads. */
void halo_live_encodings_end(struct halo_live_encodings *all);
/* Resets them to the state before their start; cards: the number of cards made so far. */
void halo_live_encodings_reset(struct halo_live_encodings *all, int64_t cards);
/* Whether a viewer would lose the stream if parameters changed, because its container cannot
 * announce new ones. */
bool halo_live_encodings_are_bound(struct halo_live_encodings *all);
/* Waits until all have reported `begin`, until a stop, or until this time (ns). */
void halo_live_encodings_wait(const struct halo_live *live, int64_t until);

/* ---- any thread ---- */

/* Whether at least one has a receiver. */
bool halo_live_encodings_run(struct halo_live_encodings *all);
/* Makes their threads check for cards. */
void halo_live_encodings_wake_for_cards(struct halo_live_encodings *all);
/* Makes waiting threads notice a stop. */
void halo_live_encodings_wake(struct halo_live_encodings *all);
void halo_live_encodings_abort(struct halo_live_encodings *all); /* makes their threads end */

/* ---- frames ---- */

/* Queues a filtered frame and takes ownership of it; as halo_queue_put_newest() if the stream is
 * live. Collect thread. */
int halo_live_encodings_give(struct halo_live_encoding *e, const struct halo_item *item);
/* Encoding's thread: take records that it now encodes a frame of this epoch; note, that it has
 * finished so many frames, and whether its encoder still holds any. */
void halo_live_encodings_take(struct halo_live_encoding *e, int64_t epoch);
void halo_live_encodings_note(struct halo_live_encoding *e, int pictures, bool holds);
/* Encoding's thread: described records that `begin` was reported; lets_go returns, once, whether it
 * must output the frames in its encoder. */
void halo_live_encodings_described(struct halo_live_encoding *e);
bool halo_live_encodings_lets_go(struct halo_live_encoding *e);

/* The oldest epoch of which an encoding still has a frame; INT64_MAX: no encoding has any. Extra
 * thread. */
int64_t halo_live_encodings_oldest(struct halo_live_encodings *all);
/* Makes encoders output frames older than this epoch that they hold, if they get no newer ones. */
void halo_live_encodings_let_go(struct halo_live_encodings *all, int64_t epoch);

#endif
