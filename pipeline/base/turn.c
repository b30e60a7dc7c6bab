/* SPDX-License-Identifier: BSD-2-Clause
 * Turns to open something (turn.h): one queue of each kind for the whole process. */
#include "pipeline/base/turn.h"

#include <stddef.h>

#include "config/base/thread.h"

static struct halo_mutex lock;
static struct halo_cond moved;
static struct {
    struct halo_turn *line; /* waiting threads, the next one first */
    int inside;
} queues[HALO_TURN_QUEUES];
static const int most[HALO_TURN_QUEUES] = {HALO_TURNS, HALO_FILE_TURNS};

static void count_places(enum halo_turn_queue queue)
{
    int place = 0;
    for (struct halo_turn *t = queues[queue].line; t; t = t->next)
        atomic_store(&t->place, ++place);
}

static void leave_line(struct halo_turn *turn)
{
    struct halo_turn **at = &queues[turn->queue].line;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    turn->next = NULL;
    atomic_store(&turn->place, 0);
    count_places(turn->queue);
}

/* Gives turns to waiting threads while fewer than `most` have one. */
static void let_in(enum halo_turn_queue queue)
{
    while (queues[queue].line && queues[queue].inside < most[queue]) {
        struct halo_turn *turn = queues[queue].line;
        leave_line(turn);
        turn->state = HALO_TURN_HAS;
        queues[queue].inside++;
    }
    halo_cond_broadcast(&moved);
}

bool halo_turn_take(struct halo_turn *turn, enum halo_turn_queue queue, const atomic_int *stop,
                    int64_t until)
{
    halo_lock(&lock);
    struct halo_turn **last = &queues[queue].line;
    while (*last)
        last = &(*last)->next;
    *last = turn;
    turn->queue = queue;
    turn->state = HALO_TURN_WAITS;
    count_places(queue);
    let_in(queue);
    while (turn->state == HALO_TURN_WAITS && !atomic_load(stop) &&
           halo_cond_wait(&moved, &lock, until))
        ;
    const bool may = turn->state == HALO_TURN_HAS || !atomic_load(stop);
    if (turn->state == HALO_TURN_WAITS) {
        leave_line(turn);
        turn->state = HALO_TURN_NONE;
    }
    halo_unlock(&lock);
    return may;
}

void halo_turn_end(struct halo_turn *turn)
{
    halo_lock(&lock);
    if (turn->state == HALO_TURN_HAS) {
        turn->state = HALO_TURN_NONE;
        queues[turn->queue].inside--;
        let_in(turn->queue);
    }
    halo_unlock(&lock);
}

void halo_turns_wake(void)
{
    halo_lock(&lock);
    halo_cond_broadcast(&moved);
    halo_unlock(&lock);
}
