/* SPDX-License-Identifier: BSD-2-Clause
 * A device that is started while work goes on without it: whether it is there yet. Any thread may
 * call these functions. */
#ifndef HALO_ARRIVAL_H
#define HALO_ARRIVAL_H

#include <stdatomic.h>

#include "config/base/thread.h"

enum halo_arrival_state {
    HALO_ARRIVAL_DUE,   /* it is being started */
    HALO_ARRIVAL_THERE, /* it can be used */
    HALO_ARRIVAL_NEVER, /* it could not be started */
};

/* Memory of zeros is one that is DUE. */
struct halo_arrival {
    atomic_int state;
    struct halo_mutex lock;
    struct halo_cond changed;
};

/* Ends HALO_ARRIVAL_DUE. Whatever the caller wrote before is visible to those who see the new
 * state. */
void halo_arrival_set(struct halo_arrival *a, enum halo_arrival_state state);

static inline enum halo_arrival_state halo_arrival_state(const struct halo_arrival *a)
{
    return (enum halo_arrival_state)atomic_load(&a->state);
}

/* Waits while the state is HALO_ARRIVAL_DUE, and returns the one after it. */
enum halo_arrival_state halo_arrival_wait(struct halo_arrival *a);

#endif
