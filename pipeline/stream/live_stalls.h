/* SPDX-License-Identifier: BSD-2-Clause
 * Detects a thread of a live stream that is stuck in a call that should return at once. Calls that
 * may wait are not recorded here: for a source, for space in a queue, or for the GPU (which the
 * ring watches).
 *
 * Each thread writes the time at which it entered a call; the loop reads all of these times. They
 * are atomic, so no lock is needed. */
#ifndef HALO_LIVE_STALLS_H
#define HALO_LIVE_STALLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/encoding.h"
#include "pipeline/gate/ring.h"
#include "pipeline/input/decode_hw.h"

/* Each kind of call that is watched is identified by a number: HALO_CALL_DECODER for calls to the
 * decoder, and i for calls to the encoder of encoding i. */
enum { HALO_CALL_DECODER = HALO_MAX_ENCODINGS };

struct halo_live_stalls;

/* Creates an object. A nonzero *stop ends the wait for a turn; stop must outlive the object.
 * Returns NULL if out of memory. */
struct halo_live_stalls *halo_live_stalls_create(const atomic_int *stop);
void halo_live_stalls_destroy(struct halo_live_stalls *s); /* NULL: does nothing */

/* These functions are called before and after a call that should not block for long. own: during
 * the call, the thread holds nothing that other streams need, or that this stream needs when it is
 * started again. */
void halo_live_enter(struct halo_live_stalls *s, int call, bool own);
void halo_live_leave(struct halo_live_stalls *s, int call);

/* The source thread calls these functions to wait for its turn to open something on the GPU. For
 * the decoder, halo_live_stalls_opening() returns a halo_opening: the thread that opens the decoder
 * with it first waits for its turn (turn.h). For the ring, which has its own watchdog, call
 * halo_live_stalls_begin_ring() before creating the ring and halo_live_stalls_end_ring()
 * afterwards. If halo_live_stalls_begin_ring() returns false, the stream was stopped, and
 * halo_live_stalls_end_ring() must not be called. */
const struct halo_opening *halo_live_stalls_opening(const struct halo_live_stalls *s);
bool halo_live_stalls_begin_ring(struct halo_live_stalls *s);
void halo_live_stalls_end_ring(struct halo_live_stalls *s);
/* Works like halo_turn_place(), for the turn of this stream. Any thread. */
int halo_live_stalls_turn(const struct halo_live_stalls *s);

/* Implements halo_live_is_stuck(). ring is NULL if the ring has not been created yet. timeout is
 * the number of seconds that filters may run. Loop thread. */
bool halo_live_stalls_is_stuck(struct halo_live_stalls *s, struct halo_ring *ring, double timeout,
                               struct halo_error *err);
/* Implements halo_live_stalls_alone(). Call this function after halo_live_stalls_is_stuck(). Loop
 * thread. */
bool halo_live_stalls_is_alone(const struct halo_live_stalls *s);

#endif
