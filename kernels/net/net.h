/* SPDX-License-Identifier: BSD-2-Clause
 * Networks: frozen tables of layers over planes of floats, with the same bits on every machine.
 *
 * Arithmetic. IEEE single precision, rounded to nearest, with denormal numbers. Each output of a
 * convolution is one chain of fused multiply-adds: acc = bias; then, for channel, kernel row and
 * kernel column in this order, acc = fma(weight, value, acc). Strategies compute many outputs at
 * the same time and may store a chain and continue it later, but never split or reorder it.
 * reference.c defines all layers, and math_tmpl.h the functions.
 *
 * A layer stores act(acc) + 0.0f, so no stored value is -0. Therefore it makes no difference
 * whether taps in the padding are skipped or multiplied by +0: adding a zero changes at most the
 * sign of an acc of 0, on which no later sum depends, and which the final + 0.0f removes.
 *
 * No value is infinite or NaN: halo_net_load() proves for each layer that neither a result nor a
 * sum on the way to it can overflow, as long as the values of the input are in their declared
 * range.
 *
 * A tensor consists of planes, which consist of rows without gaps. Tensor 0 is the input, and
 * tensor i the result of layer i, which reads only tensors with smaller numbers.
 *
 * Loaded networks and plans are const and may be used by any thread. A runner is used by one thread
 * at a time. */
#ifndef HALO_NET_H
#define HALO_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HALO_NET_MAX_LAYERS = 1024,
    HALO_NET_MAX_INPUTS = 16, /* tensors that a layer reads */
    HALO_NET_MAX_OUTPUTS = 32,
    HALO_NET_MAX_PLANES = 4096,
    HALO_NET_MAX_SIDE = 16384,
    HALO_NET_MAX_KERNEL = 7,
    HALO_NET_MAX_STRIDE = 4,
    HALO_NET_MAX_WEIGHTS = 1 << 24, /* of all layers, biases included */
    HALO_NET_MAX_FLOATS = 1 << 29,  /* of a plan's memory */
    HALO_NET_MAX_NAME = 31,
    HALO_NET_MAX_BATCH = 64,
    HALO_NET_ALIGNMENT = 16, /* floats: planes begin at multiples of this */
};

enum halo_net_kind {
    HALO_NET_INPUT, /* layer 0 */
    HALO_NET_CONV,
    HALO_NET_DEPTHWISE,
    HALO_NET_TRANSPOSED,
    HALO_NET_ADD,
    HALO_NET_MUL,
    HALO_NET_CONCAT,
    HALO_NET_PAD,
    HALO_NET_MAXPOOL,
    HALO_NET_MEAN,
    HALO_NET_RESIZE,
    HALO_NET_DEPTH_TO_SPACE,
    HALO_NET_ACT,
    HALO_NET_KINDS
};

enum halo_net_act_kind {
    HALO_NET_NONE,
    HALO_NET_RELU,
    HALO_NET_CLAMP, /* low to high; relu6 is 0 to 6 */
    HALO_NET_LEAKY, /* x > 0 ? x : slope * x */
    HALO_NET_HSWISH,
    HALO_NET_SIGMOID,
    HALO_NET_SOFTMAX2, /* of the planes 2i and 2i + 1 */
    HALO_NET_ACTS
};

struct halo_net_act {
    enum halo_net_act_kind kind;
    float low, high; /* CLAMP */
    float slope;     /* LEAKY */
};

/* A layer. Members that its kind does not use are 0. */
struct halo_net_layer {
    enum halo_net_kind kind;
    struct halo_net_act act;
    int inputs[HALO_NET_MAX_INPUTS]; /* tensors */
    int input_count;
    int planes; /* of the result */
    /* CONV, DEPTHWISE, TRANSPOSED and MAXPOOL; pads also PAD. */
    int kernel_x, kernel_y, stride_x, stride_y;
    int top, left, bottom, right;
    /* RESIZE: by factors, or to the size of a tensor, which may be the input. */
    bool nearest; /* else bilinear, with centres at half pixels */
    bool to;
    int to_tensor, by_x, by_y;
    int block; /* DEPTH_TO_SPACE */
    /* CONV and TRANSPOSED: [planes][planes of the input][kernel_y][kernel_x]. DEPTHWISE:
     * [planes][kernel_y][kernel_x]. NULL for other kinds. bias has `planes` elements. */
    const float *bias, *weights;
};

struct halo_net_output {
    char name[HALO_NET_MAX_NAME + 1];
    int tensor;
};

/* A loaded network. layers[0] stands for the input, and layers[i] makes tensor i. */
struct halo_net {
    char name[256], licence[256], source[256]; /* printable ASCII */
    char order[8];                             /* of the input's planes: rgb, bgr, gray or other */
    float low, high;                           /* what values of the input are at least and most */
    int multiple;      /* widths and heights of the input are multiples of this; or 0: */
    int width, height; /* its only size */
    int tensors;       /* layers, and the input */
    int outputs;
    struct halo_net_output output[HALO_NET_MAX_OUTPUTS];
    struct halo_net_layer *layers;
    float *weights; /* of all layers, in their order */
    size_t weight_count;
};

/* What is wrong, and where: one line. */
struct halo_net_fault {
    char text[240];
};

/* Loads a network from the contents of a file (README.md), which may be any bytes and are not kept.
 * Returns 0 (the caller destroys *ret), -ENOMEM or -EINVAL, with *fault filled. */
int halo_net_load(struct halo_net **ret, const void *bytes, size_t size,
                  struct halo_net_fault *fault);
void halo_net_destroy(struct halo_net *net); /* may be NULL */

/* Called by halo_net_load(): proves that no weight is infinite or NaN, and no value or sum can be.
 * Returns 0, -ENOMEM or -EINVAL, with *fault filled. */
int halo_net_prove(const struct halo_net *net, struct halo_net_fault *fault);

/* ---- the plan for one size of the input ---- */

/* A tensor's size, and where it lies in the memory of a plan. Rows have no gaps. */
struct halo_net_tensor {
    int planes, width, height;
    size_t stride;   /* floats from one plane to the next, a multiple of HALO_NET_ALIGNMENT */
    size_t offset;   /* floats from the start of the memory in which it lies; likewise a multiple */
    bool kept;       /* the input and outputs: it lies in memory of the frame's own */
    int first, last; /* the steps that write it and read it last; -1: the input, which is there
                      * before; -2: it is never stored */
};

enum { HALO_NET_MAX_FUSED = 4 };

/* Layers that are run together: each but the last one is read only by the next one, and its tensor
 * is never stored. [conv 1x1, depthwise, conv 1x1, add], of which the first, the last or both may
 * be missing; or [conv, add]; or a single layer of any kind. Only the last layer may have SOFTMAX2,
 * and then it is a single one. The layer before an add has no activation, and the other tensor of
 * the add has the same size. */
struct halo_net_step {
    int layers[HALO_NET_MAX_FUSED];
    int count;
};

struct halo_net_plan {
    const struct halo_net *net;
    struct halo_net_tensor *tensors; /* net->tensors */
    struct halo_net_step *steps;
    int step_count;
    size_t floats; /* of memory for the tensors that are not kept; those that are not needed at the
                    * same time overlap */
    size_t kept_floats; /* of memory for each frame's tensors that are kept */
    double work;        /* multiply-adds for a frame */
};

/* Plans for one size of the input. fuse_from: a depthwise layer is run together with its neighbours
 * if its tensor has at least this many floats; SIZE_MAX: every step is a single layer. net must
 * outlive the plan. Returns 0 (the caller destroys *ret), -ENOMEM, or -EINVAL (the network cannot
 * take this size, or would need too much), with *fault filled. */
int halo_net_plan_create(struct halo_net_plan **ret, const struct halo_net *net, int width,
                         int height, size_t fuse_from, struct halo_net_fault *fault);
void halo_net_plan_destroy(struct halo_net_plan *plan); /* may be NULL */

/* ---- running it ---- */

struct halo_net_strategy;

struct halo_net_settings {
    const struct halo_net_strategy *strategy; /* NULL: the first of the table that can run here */
    int width, height;                        /* of the input */
    int batch;                                /* frames that one run can take, 1 to MAX_BATCH */
    int threads;      /* of the CPU; 0: one for each CPU that this process may use */
    size_t fuse_from; /* as for halo_net_plan_create(); 0: the strategy chooses */
};

/* An opened network: packed weights, memory and threads. */
struct halo_net_runner {
    const struct halo_net_strategy *strategy;
    const struct halo_net *net;
    struct halo_net_plan *plan;
    int batch;
};

/* A row of the table: one way to run networks. All of them give the same bits. */
struct halo_net_strategy {
    const char *name;  /* avx512, avx2, neon, reference, ... */
    const char *about; /* one line */
    bool (*can)(void); /* whether it can run on this machine */
    /* As below; open's settings are checked. */
    int (*open)(struct halo_net_runner **ret, const struct halo_net *net,
                const struct halo_net_settings *settings, struct halo_net_fault *fault);
    void (*close)(struct halo_net_runner *r);
    float *(*input)(struct halo_net_runner *r, int frame);
    int (*run)(struct halo_net_runner *r, int count);
    const float *(*output)(const struct halo_net_runner *r, int frame, int output);
};

extern const struct halo_net_strategy *const halo_net_strategies[];       /* NULL-terminated */
const struct halo_net_strategy *halo_net_strategy_find(const char *name); /* NULL: none */

/* Opens a network for one size of its input. net must outlive the runner. Returns 0 (the caller
 * closes *ret), -ENOMEM, -ENOTSUP (the strategy cannot run on this machine) or -EINVAL, with
 * *fault filled. May block. */
int halo_net_open(struct halo_net_runner **ret, const struct halo_net *net,
                  const struct halo_net_settings *settings, struct halo_net_fault *fault);
void halo_net_close(struct halo_net_runner *r); /* may be NULL */

/* Returns the memory for the input of a frame, 0 to batch - 1, to which the caller writes before
 * each run: planes as in halo_net_input_shape(), with all values from net->low to net->high. */
float *halo_net_input(struct halo_net_runner *r, int frame);

/* Computes the outputs of the frames 0 to count - 1, and blocks until they are complete. The result
 * for a frame does not depend on the others. Returns 0, -EINVAL (more than a batch), -ENOMEM or
 * -EIO (a device failed; the outputs are undefined). */
int halo_net_run(struct halo_net_runner *r, int count);

/* Returns an output of a frame of the last run, valid until the next one: planes as in
 * halo_net_output_shape(). */
const float *halo_net_output(const struct halo_net_runner *r, int frame, int output);
static inline const struct halo_net_tensor *halo_net_output_shape(const struct halo_net_runner *r,
                                                                  int output)
{
    return &r->plan->tensors[r->net->output[output].tensor];
}
static inline const struct halo_net_tensor *halo_net_input_shape(const struct halo_net_runner *r)
{
    return &r->plan->tensors[0];
}

#endif
