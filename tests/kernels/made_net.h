/* SPDX-License-Identifier: BSD-2-Clause
 * Networks for tests: files made line by line, at random, or in the shape of a known detector. */
#ifndef HALO_TEST_MADE_NET_H
#define HALO_TEST_MADE_NET_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/net/net.h"

/* The parts of a file. */
struct made_net {
    char *head; /* lines */
    size_t head_size;
    float *weights;
    size_t weight_count;
    int layers;
    bool tame;      /* no weights that are denormal, for which some processors take long */
    uint64_t state; /* of what is random */
};

void made_net_init(struct made_net *m, uint64_t seed, const char *input);
void made_net_finish(struct made_net *m);
/* Adds a line. */
__attribute__((format(printf, 2, 3))) void made_net_line(struct made_net *m, const char *format,
                                                         ...);
/* Adds weights of a layer with so many planes and weights for each: random, of about the size that
 * keeps values as large as they are. */
void made_net_weights(struct made_net *m, int planes, int each);
/* The file's bytes, which the caller frees. */
char *made_net_bytes(const struct made_net *m, size_t *ret_size);

/* A network of random layers, and a size of the input that it takes. */
void made_net_random(struct made_net *m, uint64_t seed, int *ret_width, int *ret_height);
/* As large as CenterFace, with its kinds of layers and its four outputs. Sides are multiples of 32.
 */
void made_net_face(struct made_net *m, uint64_t seed);

#endif
