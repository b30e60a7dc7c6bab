/* SPDX-License-Identifier: BSD-2-Clause
 * Detects a thread of a live stream that is stuck in a call that should return at once. Calls that
 * may wait (for a source, for space in a queue, for the GPU, whose calls the ring watches) are not
 * recorded here.
 *
 * Owner: the thread in a call writes the time at which it entered; the loop reads all of them. No
 * lock: the times are atomic. */
#ifndef HALO_LIVE_STALLS_H
#define HALO_LIVE_STALLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/encoding.h"
#include "config/error.h"
#include "pipeline/gate/ring.h"
#include "pipeline/input/decode_hw.h"

/* The decoder's call; smaller numbers: the encoder of the encoding with that number. */
enum { HALO_CALL_DECODER = HALO_MAX_ENCODINGS };

struct halo_live_stalls;

/* stop: ends the wait for a turn; must outlive the object. NULL: out of memory. */
struct halo_live_stalls *halo_live_stalls_create(const atomic_int *stop);
void halo_live_stalls_destroy(struct halo_live_stalls *s); /* NULL: does nothing */

/* Call these around a call that should not wait. own: meanwhile the thread holds nothing that other
 * streams, or the next start of this one, need. */
void halo_live_enter(struct halo_live_stalls *s, int call, bool own);
void halo_live_leave(struct halo_live_stalls *s, int call);

/* Source thread. Opening something on the GPU requires a turn. For the decoder, _opening() returns
 * a halo_opening that waits for it. For the ring, which has a watchdog of its own, call
 * _begin_ring() before and _end_ring() after its creation; if _begin_ring() returns false, the
 * stream was stopped, and _end_ring() must not be called. */
const struct halo_opening *halo_live_stalls_opening(const struct halo_live_stalls *s);
bool halo_live_stalls_begin_ring(struct halo_live_stalls *s);
void halo_live_stalls_end_ring(struct halo_live_stalls *s);
int halo_live_stalls_turn(const struct halo_live_stalls *s); /* as halo_turn_place(); any thread */

/* As halo_live_is_stuck() and, after it, halo_live_stalls_alone(). ring NULL: not created yet;
 * timeout: seconds that filters may run. Loop thread. */
bool halo_live_stalls_is_stuck(struct halo_live_stalls *s, struct halo_ring *ring, double timeout,
                               struct halo_error *err);
bool halo_live_stalls_is_alone(const struct halo_live_stalls *s);

#endif
