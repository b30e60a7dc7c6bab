/* SPDX-License-Identifier: BSD-2-Clause
 * Turns to open something on a GPU (turn.h): one queue for the whole process. */
#include "pipeline/base/turn.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static struct halo_turn *line; /* waiting threads, the next one first */
static int inside;

static void count_places(void)
{
    int place = 0;
    for (struct halo_turn *t = line; t; t = t->next)
        atomic_store(&t->place, ++place);
}

static void leave_line(struct halo_turn *turn)
{
    struct halo_turn **at = &line;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    turn->next = NULL;
    atomic_store(&turn->place, 0);
    count_places();
}

/* Gives turns to waiting threads while fewer than HALO_TURNS have one. */
static void let_in(void)
{
    while (line && inside < HALO_TURNS) {
        struct halo_turn *turn = line;
        leave_line(turn);
        turn->state = HALO_TURN_HAS;
        inside++;
    }
    pthread_cond_broadcast(&moved);
}

bool halo_turn_take(struct halo_turn *turn, const atomic_int *stop)
{
    pthread_mutex_lock(&lock);
    struct halo_turn **last = &line;
    while (*last)
        last = &(*last)->next;
    *last = turn;
    turn->state = HALO_TURN_WAITS;
    count_places();
    let_in();
    while (turn->state == HALO_TURN_WAITS && !atomic_load(stop))
        pthread_cond_wait(&moved, &lock);
    const bool has = turn->state == HALO_TURN_HAS;
    if (!has) {
        leave_line(turn);
        turn->state = HALO_TURN_NONE;
    }
    pthread_mutex_unlock(&lock);
    return has;
}

void halo_turn_end(struct halo_turn *turn)
{
    pthread_mutex_lock(&lock);
    inside -= turn->state == HALO_TURN_HAS;
    turn->state = HALO_TURN_NONE;
    let_in();
    pthread_mutex_unlock(&lock);
}

void halo_turns_wake(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
}
