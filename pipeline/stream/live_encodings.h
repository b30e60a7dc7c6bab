/* SPDX-License-Identifier: BSD-2-Clause
 * The encodings of a live stream, as its other threads see them: which of them run, how many frames
 * wait in them, and to which epochs these frames belong.
 *
 * Each encoding has a thread (live_encoding.h), started and joined with the stages. The lock guards
 * the field `passing` of all encodings. Only live_encodings.c uses it, and only the locks of queues
 * are acquired under it. */
#ifndef HALO_LIVE_ENCODINGS_H
#define HALO_LIVE_ENCODINGS_H

#include "config/base/thread.h"
#include "pipeline/stream/live_encoding.h"

struct halo_item;
struct halo_output_picture;

struct halo_live_encodings {
    int count; /* this and the next two fields are constant */
    struct halo_encoding what[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS]; /* the encoding of each output, see halo_encodings() */
    struct halo_live_encoding at[HALO_MAX_ENCODINGS];
    struct halo_mutex lock; /* guards the field `passing` of all encodings */
    struct halo_cond changed;
};

/* Creates the encodings that live->settings specify. Returns 0 or -ENOMEM.
 * halo_live_encodings_destroy() accepts NULL. */
int halo_live_encodings_create(struct halo_live_encodings **ret, struct halo_live *live);
void halo_live_encodings_destroy(struct halo_live_encodings *all);

/* ---- called by the thread that starts and ends the stages ---- */

/* main: the function of their threads; its argument is a struct halo_live_encoding. */
int halo_live_encodings_start(struct halo_live_encodings *all, void *(*main)(void *),
                              struct halo_error *err);
/* Makes the encodings output all of their frames, then joins their threads. */
void halo_live_encodings_end(struct halo_live_encodings *all);
/* Resets all encodings to the state in which they were before they were started. cards is the
 * number of cards made so far. */
void halo_live_encodings_reset(struct halo_live_encodings *all, int64_t cards);
/* Returns whether a viewer would lose the stream if parameters changed, because the viewer's
 * container cannot announce new parameters. */
bool halo_live_encodings_are_bound(struct halo_live_encodings *all);
/* Waits until all encodings have reported `begin`, the stream is stopped, or the given time (ns) is
 * reached. */
void halo_live_encodings_wait(const struct halo_live *live, int64_t until);

/* ---- called by any thread ---- */

/* Returns whether at least one encoding has a receiver. */
bool halo_live_encodings_run(struct halo_live_encodings *all);
/* Makes the encodings' threads check for cards. */
void halo_live_encodings_wake_for_cards(struct halo_live_encodings *all);
/* Wakes the encodings' threads so that they notice a stop. */
void halo_live_encodings_wake(struct halo_live_encodings *all);
/* Makes the encodings' threads end. */
void halo_live_encodings_abort(struct halo_live_encodings *all);

/* ---- frames ---- */

/* Passes on a frame that has left a gate, to every encoding that wants it and to snapshots. Takes
 * ownership of picture. Collect thread. */
void halo_live_left(struct halo_live *live, const struct halo_item *item,
                    struct halo_output_picture *picture);
/* The encoding's thread calls these two functions. halo_live_encodings_take() records that the
 * thread now encodes a frame of this epoch. halo_live_encodings_note() records that the thread has
 * finished `pictures` frames, and whether the encoder still holds any frames. */
void halo_live_encodings_take(struct halo_live_encoding *e, int64_t epoch);
void halo_live_encodings_note(struct halo_live_encoding *e, int pictures, bool holds);
/* The encoding's thread calls these two functions. halo_live_encodings_described() records that
 * `begin` was reported. halo_live_encodings_lets_go() returns whether the encoder must output the
 * frames that it holds; it returns true only once for each request. */
void halo_live_encodings_described(struct halo_live_encoding *e);
bool halo_live_encodings_lets_go(struct halo_live_encoding *e);

/* Returns the oldest epoch from which an encoding still has a frame, or INT64_MAX if no encoding
 * has any. Extra thread. */
int64_t halo_live_encodings_oldest(struct halo_live_encodings *all);
/* If encoders still hold frames of epochs before this one, makes them output these frames. An
 * encoder is left alone if newer frames have been sent to it or are waiting for it. */
void halo_live_encodings_let_go(struct halo_live_encodings *all, int64_t epoch);

#endif
