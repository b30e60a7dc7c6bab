/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a thread of a live stream is stuck in a call that should return at once. Calls that may
 * wait (for a source, for room in a queue, for the GPU, whose calls the ring watches) are not
 * counted here.
 *
 * Owner: the thread in a call writes its time of entry; the loop reads all of them. No lock: the
 * times are atomic. */
#ifndef HALO_LIVE_STALLS_H
#define HALO_LIVE_STALLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "config/encoding.h"
#include "config/error.h"
#include "pipeline/gate/ring.h"
#include "pipeline/input/decode_hw.h"

/* The decoder's call; smaller ones: that of the encoder of the encoding with this number. */
enum { HALO_CALL_DECODER = HALO_MAX_ENCODINGS };

struct halo_live_stalls;

/* stop: ends the wait for a turn; must outlive it. NULL: out of memory. */
struct halo_live_stalls *halo_live_stalls_create(const atomic_int *stop);
void halo_live_stalls_destroy(struct halo_live_stalls *s); /* NULL is nothing to do */

/* Around a call that waits for nobody. own: the thread holds nothing in it that other streams, or
 * the next start, need. */
void halo_live_enter(struct halo_live_stalls *s, int call, bool own);
void halo_live_leave(struct halo_live_stalls *s, int call);

/* Source thread. What opens something on the GPU waits for its turn: for the decoder, as
 * halo_opening; around the creation of the ring, which has a watch of its own: false: it was
 * stopped, and end does not follow. */
const struct halo_opening *halo_live_stalls_opening(const struct halo_live_stalls *s);
bool halo_live_stalls_begin_ring(struct halo_live_stalls *s);
void halo_live_stalls_end_ring(struct halo_live_stalls *s);
int halo_live_stalls_turn(const struct halo_live_stalls *s); /* as halo_turn_place(); any thread */

/* As halo_live_is_stuck() and, after it, halo_live_stalls_alone(). ring NULL: it is not there yet;
 * timeout: seconds that filters may take. The loop's. */
bool halo_live_stalls_is_stuck(struct halo_live_stalls *s, struct halo_ring *ring, double timeout,
                               struct halo_error *err);
bool halo_live_stalls_is_alone(const struct halo_live_stalls *s);

#endif
