/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a device is there yet (arrival.h). */
#include "pipeline/base/arrival.h"

void halo_arrival_init(struct halo_arrival *a, enum halo_arrival_state state)
{
    atomic_store(&a->state, state);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
}

void halo_arrival_finish(struct halo_arrival *a)
{
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
}

void halo_arrival_set(struct halo_arrival *a, enum halo_arrival_state state)
{
    pthread_mutex_lock(&a->lock);
    atomic_store(&a->state, state);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

enum halo_arrival_state halo_arrival_wait(struct halo_arrival *a)
{
    pthread_mutex_lock(&a->lock);
    while (halo_arrival_state(a) == HALO_ARRIVAL_DUE)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return halo_arrival_state(a);
}
