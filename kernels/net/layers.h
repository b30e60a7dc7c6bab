/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the strategies of the CPU: tensors in memory, and the code that is compiled once for
 * each instruction set. */
#ifndef HALO_NET_LAYERS_H
#define HALO_NET_LAYERS_H

#include "kernels/cpu/cpu.h"
#include "kernels/net/net.h"

/* A tensor, or some of its rows, in memory. */
struct halo_net_planes {
    float *data;   /* the first plane's row `first` */
    size_t stride; /* floats from one plane to the next */
    int planes, width;
    int height; /* of the whole tensor */
    int first;  /* the first row that is in memory */
};

static inline float *halo_net_row(const struct halo_net_planes *t, int plane, int y)
{
    return t->data + (size_t)plane * t->stride + (size_t)(y - t->first) * (size_t)t->width;
}

/* Which outputs of a layer to compute. */
struct halo_net_part {
    int plane0, plane1; /* SOFTMAX2: even numbers, or the end */
    int row0, row1;
};

/* Names of functions that are compiled for HALO_ISA. */
#define HALO_NET_NAME_(what, isa) halo_net_##what##_##isa
#define HALO_NET_NAME(what, isa)  HALO_NET_NAME_(what, isa)

/* reference.c: the definition of every layer but the input. Computes the planes part->plane0 to
 * plane1 - 1 of out, in the rows row0 to row1 - 1. `in` are the tensors that the layer reads. */
typedef void halo_net_plain_fn(const struct halo_net_layer *l, const struct halo_net_planes *in,
                               const struct halo_net_planes *out, const struct halo_net_part *part);
halo_net_plain_fn halo_net_plain_base, halo_net_plain_v3, halo_net_plain_v4;

#endif
