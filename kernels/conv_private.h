/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the functions that make masks. Any thread. */
#ifndef HALO_CONV_PRIVATE_H
#define HALO_CONV_PRIVATE_H

#include <stdbool.h>

#include "kernels/conv.h"
#include "kernels/plane.h"

static inline bool halo_conv_target_ok(const struct halo_conv_target *t)
{
    return t->depth >= 8 && t->depth <= 16 && (int)t->border >= 0 &&
           t->border < HALO_BORDER_COUNT && t->border_value >= 0 &&
           t->border_value <= halo_sample_max(t->depth);
}

static inline struct halo_conv halo_conv_begin(enum halo_conv_kind kind,
                                               const struct halo_conv_target *t)
{
    return (struct halo_conv){
        .kind = kind,
        .depth = t->depth,
        .border = t->border,
        .border_value = t->border_value,
    };
}

#endif
