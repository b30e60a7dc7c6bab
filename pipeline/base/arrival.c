/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a device is there yet (arrival.h). */
#include "pipeline/base/arrival.h"

#include "config/base/thread.h"

void halo_arrival_set(struct halo_arrival *a, enum halo_arrival_state state)
{
    halo_lock(&a->lock);
    atomic_store(&a->state, state);
    halo_cond_broadcast(&a->changed);
    halo_unlock(&a->lock);
}

enum halo_arrival_state halo_arrival_wait(struct halo_arrival *a)
{
    halo_lock(&a->lock);
    while (halo_arrival_state(a) == HALO_ARRIVAL_DUE)
        halo_cond_wait(&a->changed, &a->lock, INT64_MAX);
    halo_unlock(&a->lock);
    return halo_arrival_state(a);
}
