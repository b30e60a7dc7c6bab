/* SPDX-License-Identifier: BSD-2-Clause
 * Turns to open something. Threads wait in a queue, first come, first served, and at most a few
 * threads of a process have a turn of the queue at a time.
 *
 * HALO_TURNS_GPU: a driver serialises opening, so if a hundred threads ask at once, the last one
 * waits for all the others, inside a call that shows no progress. A thread's timeout starts with
 * its turn.
 *
 * HALO_TURNS_FILE: probing a file keeps a processor busy. If a hundred threads probe at once, all
 * of them are ready late, and the GPU has nothing to open until then. */
#ifndef HALO_TURN_H
#define HALO_TURN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum halo_turn_queue { HALO_TURNS_GPU, HALO_TURNS_FILE, HALO_TURN_QUEUES };

/* Numbers of threads that have a turn at a time. */
enum { HALO_TURNS = 4, HALO_FILE_TURNS = 8 };

enum halo_turn_state { HALO_TURN_NONE, HALO_TURN_WAITS, HALO_TURN_HAS };

/* Each struct halo_turn belongs to one thread. It must be zeroed at first, and must stay valid
 * while the thread waits or has the turn. */
struct halo_turn {
    struct halo_turn *next; /* in the queue */
    enum halo_turn_queue queue;
    enum halo_turn_state state; /* the members so far are protected by the queues' lock */
    atomic_int place;           /* place in the queue (1: the next one); 0: not waiting */
};

/* Waits for a turn. Returns true if the caller now has the turn, or if it may go on without one
 * because the time `until` was reached (in ns, CLOCK_MONOTONIC; INT64_MAX: never); or false if
 * *stop was not 0. If it returns false, the caller need not call halo_turn_end(). *stop is checked
 * at the start and after each halo_turns_wake(). */
bool halo_turn_take(struct halo_turn *turn, enum halo_turn_queue queue, const atomic_int *stop,
                    int64_t until);
void halo_turn_end(struct halo_turn *turn); /* ends the thread's turn; does nothing if the thread
                                               has no turn */
void halo_turns_wake(void); /* makes waiting threads check their *stop; any thread may call this
                               function */

/* Returns the place of the turn's thread in the queue, or 0 if this thread is not waiting. Any
 * thread. */
static inline int halo_turn_place(const struct halo_turn *turn)
{
    return atomic_load(&turn->place);
}

#endif
