/* SPDX-License-Identifier: BSD-2-Clause
 * Proves that a network's arithmetic stays finite: interval arithmetic in double for each plane of
 * each tensor.
 *
 * A chain of n fused multiply-adds has an error of at most n 2^-24 times the sum of the summands'
 * magnitudes M while M (1 + n 2^-23) is finite, and each result below the normal numbers adds at
 * most 2^-150. Intervals are widened by twice as much, which also covers the rounding of the
 * doubles. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/net/net.h"

/* What sums and values must stay below: half of the largest float. */
#define LIMIT 0x1p127

struct interval {
    double low, high;
};

struct proof {
    const struct halo_net *net;
    struct interval **tensors; /* per tensor, per plane */
};

static double magnitude(struct interval v)
{
    return fmax(-v.low, v.high);
}

static struct interval with_zero(struct interval v)
{
    return (struct interval){fmin(v.low, 0), fmax(v.high, 0)};
}

static struct interval both(struct interval a, struct interval b)
{
    return (struct interval){fmin(a.low, b.low), fmax(a.high, b.high)};
}

/* v, which is the result of `count` operations on summands of magnitude `sum` altogether. Not
 * finite: LIMIT may be exceeded. */
static struct interval widen(struct interval v, double sum, double count)
{
    const double slack = (count + 2) * (sum * 0x1p-23 + 0x1p-148);
    if (!(sum + slack < LIMIT))
        return (struct interval){-INFINITY, INFINITY};
    return (struct interval){v.low - slack, v.high + slack};
}

/* ---- activations ---- */

static struct interval activate(const struct halo_net_act *act, struct interval v)
{
    const double most = magnitude(v);
    switch (act->kind) {
    case HALO_NET_NONE:
        return v;
    case HALO_NET_RELU:
        return (struct interval){fmax(v.low, 0), fmax(v.high, 0)};
    case HALO_NET_CLAMP:
        return (struct interval){fmin(fmax(v.low, act->low), act->high),
                                 fmin(fmax(v.high, act->low), act->high)};
    case HALO_NET_LEAKY: {
        const struct interval sloped = {fmin(v.low * act->slope, 0), fmax(v.low * act->slope, 0)};
        const struct interval below = v.low < 0 ? sloped : (struct interval){v.low, v.low};
        const struct interval above = {fmax(v.low, 0), fmax(v.high, 0)};
        return widen(v.low < 0 ? both(below, above) : above, fmax(most, fabs(most * act->slope)),
                     1);
    }
    case HALO_NET_HSWISH: /* x times at most 6; at least -0.375 */
        return widen((struct interval){v.low < 0 ? -0.375 : 0, fmax(v.high, 0)}, 6 * most + 3, 3);
    case HALO_NET_SIGMOID:
        return (struct interval){0, 1};
    case HALO_NET_SOFTMAX2: /* of differences */
    case HALO_NET_ACTS:
        return widen((struct interval){0, 1}, 2 * most, 1);
    }
    return v;
}

/* ---- layers ---- */

/* A convolution's chain for plane p: taps that may be in the padding may be 0. */
static struct interval chain(const struct proof *proof, const struct halo_net_layer *l, int p)
{
    const struct interval *in = proof->tensors[l->inputs[0]];
    const bool each = l->kind == HALO_NET_DEPTHWISE;
    const int channels = each ? 1 : proof->net->layers[l->inputs[0]].planes;
    const int size = l->kernel_x * l->kernel_y;
    const float *w = l->weights + (size_t)p * (size_t)channels * (size_t)size;
    struct interval sum = {l->bias[p], l->bias[p]};
    double all = fabs(l->bias[p]);
    /* Which taps of a transposed convolution meet depends on the output: any may be missing. */
    const bool may_miss =
        l->kind == HALO_NET_TRANSPOSED || l->top || l->left || l->bottom || l->right;
    for (int c = 0; c < channels; c++) {
        const struct interval from = in[each ? p : c];
        const struct interval v = may_miss ? with_zero(from) : from;
        const double most = magnitude(v);
        for (int i = 0; i < size; i++) {
            const double weight = *w++;
            sum.low += weight * (weight < 0 ? v.high : v.low);
            sum.high += weight * (weight < 0 ? v.low : v.high);
            all += fabs(weight) * most;
        }
    }
    return widen(sum, all, (double)channels * size);
}

static struct interval sum_or_product(const struct proof *proof, const struct halo_net_layer *l,
                                      int p)
{
    const struct interval a = proof->tensors[l->inputs[0]][p];
    const struct interval b = proof->tensors[l->inputs[1]][p];
    if (l->kind == HALO_NET_ADD)
        return widen((struct interval){a.low + b.low, a.high + b.high}, magnitude(a) + magnitude(b),
                     1);
    const struct interval low = {fmin(a.low * b.low, a.low * b.high),
                                 fmax(a.low * b.low, a.low * b.high)};
    const struct interval high = {fmin(a.high * b.low, a.high * b.high),
                                  fmax(a.high * b.low, a.high * b.high)};
    return widen(both(low, high), magnitude(a) * magnitude(b), 1);
}

static struct interval of_concat(const struct proof *proof, const struct halo_net_layer *l, int p)
{
    const int *in = l->inputs;
    for (; p >= proof->net->layers[*in].planes; in++)
        p -= proof->net->layers[*in].planes;
    return proof->tensors[*in][p];
}

static struct interval result(const struct proof *proof, const struct halo_net_layer *l, int p)
{
    const struct interval *in = proof->tensors[l->inputs[0]];
    const int planes = proof->net->layers[l->inputs[0]].planes;
    const double pixels = (double)HALO_NET_MAX_SIDE * HALO_NET_MAX_SIDE;
    switch (l->kind) {
    case HALO_NET_CONV:
    case HALO_NET_DEPTHWISE:
    case HALO_NET_TRANSPOSED:
        return chain(proof, l, p);
    case HALO_NET_ADD:
    case HALO_NET_MUL:
        return sum_or_product(proof, l, p);
    case HALO_NET_CONCAT:
        return of_concat(proof, l, p);
    case HALO_NET_PAD:
        return p < planes ? with_zero(in[p]) : (struct interval){0, 0};
    case HALO_NET_MEAN: /* each value is rounded in its lane, its row and the sum of the rows */
        if (!(magnitude(in[p]) * pixels < LIMIT / 2))
            return (struct interval){-INFINITY, INFINITY};
        return widen(in[p], magnitude(in[p]), 2 * HALO_NET_MAX_SIDE);
    case HALO_NET_RESIZE: /* of differences of two values, three times */
        if (l->nearest)
            return in[p];
        return widen(in[p], 8 * magnitude(in[p]), 3);
    case HALO_NET_DEPTH_TO_SPACE: {
        struct interval all = in[p];
        for (int i = 1; i < l->block * l->block; i++)
            all = both(all, in[i * l->planes + p]);
        return all;
    }
    case HALO_NET_INPUT:
    case HALO_NET_MAXPOOL:
    case HALO_NET_ACT:
    case HALO_NET_KINDS:
        return in[p];
    }
    return in[p];
}

static int prove(struct proof *proof, struct halo_net_fault *fault)
{
    const struct halo_net *net = proof->net;
    for (size_t i = 0; i < net->weight_count; i++)
        if (!isfinite(net->weights[i])) {
            snprintf(fault->text, sizeof fault->text, "weight %zu is infinite or not a number", i);
            return -EINVAL;
        }
    for (int t = 0; t < net->tensors; t++) {
        const struct halo_net_layer *l = &net->layers[t];
        struct interval *to = malloc((size_t)l->planes * sizeof *to);
        proof->tensors[t] = to;
        if (!to)
            return -ENOMEM;
        for (int p = 0; p < l->planes; p++) {
            if (t == 0) {
                to[p] = (struct interval){net->low, net->high};
                continue;
            }
            to[p] = result(proof, l, p);
            if (isfinite(to[p].low) && isfinite(to[p].high))
                to[p] = activate(&l->act, to[p]);
            if (!(magnitude(to[p]) < LIMIT)) {
                snprintf(fault->text, sizeof fault->text,
                         "layer %d: plane %d could overflow: an activation such as clamp must "
                         "limit it or what it is made of",
                         t, p);
                return -EINVAL;
            }
        }
    }
    return 0;
}

int halo_net_prove(const struct halo_net *net, struct halo_net_fault *fault)
{
    struct proof proof = {net, calloc((size_t)net->tensors, sizeof *proof.tensors)};
    const int rc = proof.tensors ? prove(&proof, fault) : -ENOMEM;
    for (int t = 0; proof.tensors && t < net->tensors; t++)
        free(proof.tensors[t]);
    free(proof.tensors);
    return rc;
}
