/* SPDX-License-Identifier: BSD-2-Clause
 * The encodings of a live stream, as its other threads see them: which ones run, how many pictures
 * wait in them, and of which epoch.
 *
 * Each encoding has a thread (live_encoding.h), started and joined with the stages. The lock guards
 * `passing` of all of them. It is known to live_encodings.c alone, and only locks of queues are
 * taken under it. */
#ifndef HALO_LIVE_ENCODINGS_H
#define HALO_LIVE_ENCODINGS_H

#include "pipeline/live/live_encoding.h"

struct halo_item;

struct halo_live_encodings {
    int count; /* these two const */
    struct halo_encoding what[HALO_MAX_ENCODINGS];
    struct halo_live_encoding at[HALO_MAX_ENCODINGS];
    pthread_mutex_t lock; /* of `passing` in all of them */
    pthread_cond_t changed;
};

/* Those that live->settings ask for. 0 or -ENOMEM; destroy takes NULL. */
int halo_live_encodings_create(struct halo_live_encodings **ret, struct halo_live *live);
void halo_live_encodings_destroy(struct halo_live_encodings *all);

/* ---- who begins and ends the stages ---- */

int halo_live_encodings_start(struct halo_live_encodings *all, struct halo_error *err);
void halo_live_encodings_end(struct halo_live_encodings *all); /* all pictures come out; joins */
/* As they were before they began; cards: so many were made so far. */
void halo_live_encodings_reset(struct halo_live_encodings *all, int64_t cards);
/* Whether somebody would be cut: in some containers parameters cannot change. */
bool halo_live_encodings_are_bound(struct halo_live_encodings *all);
/* Until all have been described, a stop, or then (ns). */
void halo_live_encodings_wait(const struct halo_live *live, int64_t until);

/* ---- any thread ---- */

bool halo_live_encodings_run(struct halo_live_encodings *all); /* one has a receiver */
void halo_live_encodings_wake_for_cards(
    struct halo_live_encodings *all);                            /* their threads look for cards */
void halo_live_encodings_wake(struct halo_live_encodings *all);  /* who waits sees a stop */
void halo_live_encodings_abort(struct halo_live_encodings *all); /* their threads end */

/* ---- pictures ---- */

/* A filtered picture, of some epoch; takes it over. As halo_queue_put_newest(), where the stream is
 * live. Collect thread. */
int halo_live_encodings_give(struct halo_live_encoding *e, const struct halo_item *item);
/* The encoding's thread takes a picture of that epoch, and has done with so many, of which its
 * encoder holds some. */
void halo_live_encodings_take(struct halo_live_encoding *e, int64_t epoch);
void halo_live_encodings_note(struct halo_live_encoding *e, int pictures, bool holds);
/* Its thread: what it asks for itself. */
void halo_live_encodings_described(struct halo_live_encoding *e);
bool halo_live_encodings_lets_go(struct halo_live_encoding *e);

/* The oldest epoch of which a picture is in one of them; INT64_MAX: none is. Thread aside. */
int64_t halo_live_encodings_oldest(struct halo_live_encodings *all);
/* Encoders that hold pictures older than that epoch, and get no newer ones, give them. */
void halo_live_encodings_let_go(struct halo_live_encodings *all, int64_t epoch);

#endif
