/* SPDX-License-Identifier: BSD-2-Clause
 * What hide has left of objects (gate_cells.h), counted by all gates that are given the same
 * struct. Any thread; zeroed memory has counted nothing. */
#ifndef HALO_HIDDEN_H
#define HALO_HIDDEN_H

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>

struct halo_hidden {
    atomic_llong objects;   /* that got values; one that is lost and found counts twice */
    atomic_llong millibits; /* thousandths of a bit that the values leave at most, in all */
    atomic_llong millieps;  /* thousandths of epsilon, in all; millibits contains them, too */
};

struct halo_hidden_counts {
    int64_t objects;
    double bits, epsilons;
};

static inline void halo_hidden_add(struct halo_hidden *to, double bits, double epsilon)
{
    to->objects += 1;
    to->millibits += (int64_t)ceil(1000 * bits);
    to->millieps += (int64_t)lround(1000 * epsilon);
}

static inline struct halo_hidden_counts halo_hidden_read(const struct halo_hidden *from)
{
    return (struct halo_hidden_counts){from->objects, (double)from->millibits / 1000,
                                       (double)from->millieps / 1000};
}

#endif
