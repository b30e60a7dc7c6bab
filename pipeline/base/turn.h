/* SPDX-License-Identifier: BSD-2-Clause
 * Turns to open something on a GPU. A driver serialises opening, so if a hundred threads ask at
 * once, the last one waits for all the others, inside a call that shows no progress. Here threads
 * wait in a queue instead, first come, first served. At most HALO_TURNS threads of a process have a
 * turn at a time, and a thread's timeout starts with its turn. */
#ifndef HALO_TURN_H
#define HALO_TURN_H

#include <stdatomic.h>
#include <stdbool.h>

enum { HALO_TURNS = 4 };

enum halo_turn_state { HALO_TURN_NONE, HALO_TURN_WAITS, HALO_TURN_HAS };

/* Belongs to one thread. Zeroed at first; must stay valid while the thread waits or has the
 * turn. */
struct halo_turn {
    struct halo_turn *next;     /* in the queue */
    enum halo_turn_state state; /* both under the queue's lock */
    atomic_int place;           /* in the queue: 1 is next; 0: not waiting */
};

/* Waits for a turn. True: the caller has it. False: *stop was not 0, which is checked at first and
 * after each halo_turns_wake(); the caller then has no turn to end. */
bool halo_turn_take(struct halo_turn *turn, const atomic_int *stop);
void halo_turn_end(struct halo_turn *turn); /* does nothing without a turn */
void halo_turns_wake(void);                 /* after some *stop was set; any thread */

/* The thread's place in the queue, 0 if it does not wait. Any thread. */
static inline int halo_turn_place(const struct halo_turn *turn)
{
    return atomic_load(&turn->place);
}

#endif
