/* SPDX-License-Identifier: BSD-2-Clause
 * The kernels of networks (kernels/net/net.h defines what they compute, to the bit): arguments of
 * their launchers. Compiled by the C compiler and nvcc.
 *
 * Launchers only enqueue work, for all frames of a batch at the same time; they neither wait nor
 * allocate. All pointers are to device memory. Each returns the CUDA runtime's status. */
#ifndef HALO_NET_LAUNCH_H
#define HALO_NET_LAUNCH_H

#include "kernels/cuda/strategies.h"
#include "kernels/net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of several frames. What lies between a plane's end and the next multiple of
 * HALO_NET_ALIGNMENT may be read and written. */
struct halo_net_batch {
    float *data;
    size_t stride, frame; /* floats from plane to plane, and from frame to frame */
    int planes, width, height;
};

/* What the launches have in common. */
struct halo_net_queue {
    struct halo_cuda_call call; /* its stream, and whether kernels are started early */
    int frames;
    int processors; /* of the device */
};

/* Where a weight's value lies, relative to the place that a cell reads. */
struct halo_net_tap {
    int offset; /* floats */
    int16_t x, y;
};

/* A convolution as the product of a matrix of weights, with a row for each output plane, and a
 * matrix of values, with a row for each weight (channel and tap: `depth` of them) and a column for
 * each cell of a grid of outputs. */
struct halo_net_product {
    const float *weights;            /* [depth][rows] */
    const struct halo_net_tap *taps; /* [depth] */
    int depth;
    int width, height; /* of the grid */
    int left, top;     /* the first cell's pixel */
};

enum { HALO_NET_MAX_PRODUCTS = HALO_NET_MAX_STRIDE * HALO_NET_MAX_STRIDE };

/* A transposed convolution is several products, one for each remainder of the outputs' coordinates
 * divided by the strides. If they read the same, those for a row are one product (side). */
struct halo_net_dense {
    struct halo_net_batch in, out;
    struct halo_net_batch add; /* added to the result before the activation; data NULL: nothing */
    struct halo_net_act act;   /* not SOFTMAX2 */
    const float *bias;         /* [rows] */
    int planes;                /* of the result, times `side` */
    int rows;                  /* planes, rounded up to a multiple of 4, with zeros */
    int side;                  /* so many planes in a row are pixels side by side of one plane */
    bool pointwise;            /* each cell reads the pixel of the same place, and nothing else */
    int stride_x, stride_y;    /* from cell to cell in the input */
    int step_x, step_y;        /* and in the output */
    int product_count;
    struct halo_net_product products[HALO_NET_MAX_PRODUCTS];
};
cudaError_t halo_net_launch_dense(const struct halo_net_dense *d, const struct halo_net_queue *q);

/* Any other layer, with its members of struct halo_net_layer. */
struct halo_net_other {
    struct halo_net_batch in[HALO_NET_MAX_INPUTS], out;
    struct halo_net_act act; /* SOFTMAX2: in a launch of its own, below */
    enum halo_net_kind kind;
    int kernel_x, kernel_y, stride_x, stride_y, top, left;
    int block;
    bool nearest;
    float scale;                 /* MEAN: 1 / count */
    const float *bias, *weights; /* DEPTHWISE: [planes], [planes][kernel_y][kernel_x] */
};
cudaError_t halo_net_launch_depthwise(const struct halo_net_other *o,
                                      const struct halo_net_queue *q);
cudaError_t halo_net_launch_other(const struct halo_net_other *o, const struct halo_net_queue *q);

/* SOFTMAX2 of a tensor in place. */
cudaError_t halo_net_launch_softmax2(const struct halo_net_batch *t,
                                     const struct halo_net_queue *q);

#ifdef __cplusplus
}
#endif

#endif
