/* SPDX-License-Identifier: BSD-2-Clause
 * Turns to open something on a GPU. A driver opens one thing after the other, so a hundred threads
 * that ask at once make the last one wait for all of them, in a call that says nothing. Here they
 * stand in line instead, in the order in which they came; HALO_TURNS of a process are let in at a
 * time, and each one's time counts from there. */
#ifndef HALO_TURN_H
#define HALO_TURN_H

#include <stdatomic.h>
#include <stdbool.h>

enum { HALO_TURNS = 4 };

enum halo_turn_state { HALO_TURN_NONE, HALO_TURN_WAITS, HALO_TURN_HAS };

/* One thread's; zeroed at first, and its owner keeps it while it waits or has the turn. */
struct halo_turn {
    struct halo_turn *next;     /* in the line */
    enum halo_turn_state state; /* both under the line's lock */
    atomic_int place;           /* in the line: 1 is the next; 0: it does not wait */
};

/* Comes back when it is this one's turn: true; or when *stop is not 0 and halo_turns_wake() was
 * called since: false, and there is nothing to end. */
bool halo_turn_take(struct halo_turn *turn, const atomic_int *stop);
void halo_turn_end(struct halo_turn *turn); /* nothing to do where it was not taken */
void halo_turns_wake(void);                 /* some stop was set; any thread */

/* Any thread: its place in the line, 0 where it does not wait. */
static inline int halo_turn_place(const struct halo_turn *turn)
{
    return atomic_load(&turn->place);
}

#endif
