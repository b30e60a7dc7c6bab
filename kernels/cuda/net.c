/* SPDX-License-Identifier: BSD-2-Clause
 * Networks on a CUDA device: memory, weights in the layout of the kernels, graphs, and the
 * strategy's row. The kernels are in net.cu. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/lane.h"
#include "kernels/cuda/net_cuda.h"
#include "kernels/cuda/net_launch.h"

/* Steps are single layers, or a convolution and the add after it. */
#define NO_DEPTHWISE (SIZE_MAX - 1)

struct step {
    bool is_dense;
    bool softmax2; /* follows, in place */
    union {
        struct halo_net_dense dense;
        struct halo_net_other other;
    };
};

struct cuda {
    struct halo_net_runner base;
    int device;
    bool early;
    int processors;
    cudaStream_t stream;
    float *memory;    /* on the device: the three that follow */
    float *kept;      /* plan->kept_floats for each frame */
    float *work;      /* plan->floats for each frame */
    float *constants; /* weights, biases and taps */
    float *packed;    /* the same on the host, while the runner is opened */
    size_t packed_count;
    float *host; /* pinned: like `kept` */
    struct step *steps;
    /* By the number of frames. The first run with a number is not recorded: it may load code. */
    bool known[HALO_NET_MAX_BATCH + 1];
    cudaGraphExec_t graphs[HALO_NET_MAX_BATCH + 1];
};

/* Returns 0, -ENOMEM or -EIO. The runtime keeps errors until they are read; otherwise this one
 * would be mistaken for a failure of the next launch. */
static int check(cudaError_t status)
{
    if (status == cudaSuccess)
        return 0;
    (void)cudaGetLastError();
    return halo_cuda_errno(status) == -ENOMEM ? -ENOMEM : -EIO;
}

/* ---- tensors ---- */

static struct halo_net_batch batch_of(const struct cuda *c, int tensor)
{
    const struct halo_net_plan *plan = c->base.plan;
    const struct halo_net_tensor *t = &plan->tensors[tensor];
    return (struct halo_net_batch){
        .data = (t->kept ? c->kept : c->work) + t->offset,
        .stride = t->stride,
        .frame = t->kept ? plan->kept_floats : plan->floats,
        .planes = t->planes,
        .width = t->width,
        .height = t->height,
    };
}

/* ---- weights ---- */

static size_t rounded_up(size_t n)
{
    return (n + HALO_NET_ALIGNMENT - 1) / HALO_NET_ALIGNMENT * HALO_NET_ALIGNMENT;
}

/* Whether each cell reads the one pixel of its place. */
static bool is_pointwise(const struct halo_net_layer *l)
{
    const int wide = l->kind == HALO_NET_TRANSPOSED ? l->stride_x : 1;
    const int tall = l->kind == HALO_NET_TRANSPOSED ? l->stride_y : 1;
    return l->kernel_x == wide && l->kernel_y == tall && l->stride_x == wide &&
           l->stride_y == tall && !l->top && !l->left && !l->bottom && !l->right;
}

/* How many pixels side by side are computed as if they were planes. */
static int side_of(const struct halo_net_layer *l)
{
    return l->kind == HALO_NET_TRANSPOSED && is_pointwise(l) ? l->stride_x : 1;
}

static int rows_of(const struct halo_net_layer *l)
{
    return (l->planes * side_of(l) + 3) / 4 * 4;
}

/* The floats that a layer's constants need, at most. */
static size_t constant_floats(const struct halo_net *net, const struct halo_net_layer *l)
{
    if (!l->weights)
        return 0;
    const size_t taps = (size_t)(l->kernel_x * l->kernel_y);
    const size_t depth =
        l->kind == HALO_NET_DEPTHWISE ? taps : taps * (size_t)net->layers[l->inputs[0]].planes;
    return ((size_t)rows_of(l) + 2) * (depth + 1) +
           (2 * HALO_NET_MAX_PRODUCTS + 2) * HALO_NET_ALIGNMENT;
}

/* Takes memory for constants: where the host writes them, and where they will be. */
static float *take(struct cuda *c, size_t count, const float **ret_place)
{
    float *to = c->packed + c->packed_count;
    *ret_place = c->constants + c->packed_count;
    c->packed_count += rounded_up(count);
    return to;
}

static const float *pack_floats(struct cuda *c, const float *from, int count)
{
    const float *place;
    memcpy(take(c, (size_t)count, &place), from, (size_t)count * sizeof *from);
    return place;
}

/* One axis of a product: the outputs first, first + step, ..., `cells` of them, which have the
 * remainder `phase`; and the taps phase, phase + step, ..., of which the n-th one reads, for the
 * first output, the place at0 + n * next. */
struct axis {
    int phase, step;
    int first, cells;
    int at0, next;
};

static struct axis axis_of_conv(int outputs, int pad)
{
    return (struct axis){0, 1, 0, outputs, -pad, 1};
}

/* Output o is cell O = (o + pad - phase) / stride, of which tap phase + n * stride reads O - n. */
static struct axis axis_of_transposed(int outputs, int pad, int phase, int stride)
{
    const int cell = phase < pad ? (pad - phase + stride - 1) / stride : 0;
    const int first = cell * stride + phase - pad;
    const int cells = outputs > first ? (outputs - first + stride - 1) / stride : 0;
    return (struct axis){phase, stride, first, cells, cell, -1};
}

static struct halo_net_product pack_product(struct cuda *c, const struct halo_net_layer *l,
                                            const struct axis *down, const struct axis *across)
{
    const struct halo_net_tensor *in = &c->base.plan->tensors[l->inputs[0]];
    const int size = l->kernel_x * l->kernel_y, rows = rows_of(l), side = side_of(l);
    const int tall = (l->kernel_y - down->phase + down->step - 1) / down->step;
    const int wide = (l->kernel_x - across->phase + across->step - 1) / across->step;
    const int depth = in->planes * tall * wide;
    const float *weights, *taps;
    float *w = take(c, (size_t)depth * (size_t)rows, &weights);
    struct halo_net_tap *tap = (void *)take(c, 2 * (size_t)depth, &taps);
    for (int channel = 0; channel < in->planes; channel++)
        for (int i = 0; i < tall; i++)
            for (int j = 0; j < wide; j++) {
                const int at = channel * size + (down->phase + i * down->step) * l->kernel_x +
                               across->phase + j * across->step;
                const int y = down->at0 + i * down->next, x = across->at0 + j * across->next;
                *tap++ = (struct halo_net_tap){channel * (int)in->stride + y * in->width + x,
                                               (int16_t)x, (int16_t)y};
                for (int r = 0; r < rows; r++) {
                    const int p = r / side, beside = r % side;
                    *w++ = p < l->planes ? l->weights[p * in->planes * size + at + beside] : 0.0f;
                }
            }
    return (struct halo_net_product){weights,     (const void *)taps, depth,      across->cells,
                                     down->cells, across->first,      down->first};
}

/* ---- steps ---- */

static void make_dense(struct cuda *c, struct halo_net_dense *d, int t, int out)
{
    const struct halo_net_layer *l = &c->base.net->layers[t];
    const struct halo_net_tensor *to = &c->base.plan->tensors[t];
    const bool transposed = l->kind == HALO_NET_TRANSPOSED;
    float *bias;
    d->in = batch_of(c, l->inputs[0]);
    d->out = batch_of(c, out);
    d->side = side_of(l);
    d->planes = l->planes * d->side;
    d->rows = rows_of(l);
    d->pointwise = is_pointwise(l);
    d->stride_x = transposed ? 1 : l->stride_x;
    d->stride_y = transposed ? 1 : l->stride_y;
    d->step_x = transposed ? l->stride_x : 1;
    d->step_y = transposed ? l->stride_y : 1;
    bias = take(c, (size_t)d->rows, &d->bias);
    for (int r = 0; r < d->rows; r++)
        bias[r] = r < d->planes ? l->bias[r / d->side] : 0.0f;
    for (int i = 0; i < d->step_y; i++)
        for (int j = 0; j < d->step_x; j += d->side) {
            const struct axis down = transposed
                                         ? axis_of_transposed(to->height, l->top, i, l->stride_y)
                                         : axis_of_conv(to->height, l->top);
            const struct axis across = transposed
                                           ? axis_of_transposed(to->width, l->left, j, l->stride_x)
                                           : axis_of_conv(to->width, l->left);
            d->products[d->product_count++] = pack_product(c, l, &down, &across);
        }
}

static void make_other(struct cuda *c, struct halo_net_other *o, int t)
{
    const struct halo_net_layer *l = &c->base.net->layers[t];
    for (int i = 0; i < l->input_count; i++)
        o->in[i] = batch_of(c, l->inputs[i]);
    o->out = batch_of(c, t);
    o->kind = l->kind;
    o->kernel_x = l->kernel_x;
    o->kernel_y = l->kernel_y;
    o->stride_x = l->stride_x;
    o->stride_y = l->stride_y;
    o->top = l->top;
    o->left = l->left;
    o->block = l->block;
    o->nearest = l->nearest;
    if (l->kind == HALO_NET_MEAN)
        o->scale = (float)(1.0 / ((double)o->in[0].width * o->in[0].height));
    if (l->kind == HALO_NET_DEPTHWISE) {
        o->bias = pack_floats(c, l->bias, l->planes);
        o->weights = pack_floats(c, l->weights, l->planes * l->kernel_x * l->kernel_y);
    }
}

static void make_step(struct cuda *c, struct step *s, const struct halo_net_step *plan)
{
    const struct halo_net_layer *layers = c->base.net->layers;
    const int t = plan->layers[0], last = plan->layers[plan->count - 1];
    struct halo_net_act act = layers[last].act;
    s->softmax2 = act.kind == HALO_NET_SOFTMAX2;
    if (s->softmax2)
        act.kind = HALO_NET_NONE;
    s->is_dense = layers[t].kind == HALO_NET_CONV || layers[t].kind == HALO_NET_TRANSPOSED;
    if (s->is_dense) {
        make_dense(c, &s->dense, t, last);
        s->dense.act = act;
        if (last != t)
            s->dense.add = batch_of(c, layers[last].inputs[layers[last].inputs[0] == t]);
    } else {
        make_other(c, &s->other, t);
        s->other.act = act;
    }
}

/* ---- running ---- */

static cudaError_t enqueue_step(const struct step *s, const struct halo_net_queue *q)
{
    const bool depthwise = !s->is_dense && s->other.kind == HALO_NET_DEPTHWISE;
    const cudaError_t status = s->is_dense ? halo_net_launch_dense(&s->dense, q)
                               : depthwise ? halo_net_launch_depthwise(&s->other, q)
                                           : halo_net_launch_other(&s->other, q);
    if (status != cudaSuccess || !s->softmax2)
        return status;
    return halo_net_launch_softmax2(s->is_dense ? &s->dense.out : &s->other.out, q);
}

static struct halo_net_queue queue_of(const struct cuda *c, int count, cudaStream_t stream)
{
    return (struct halo_net_queue){.call = {.stream = stream, .early = c->early},
                                   .frames = count,
                                   .processors = c->processors};
}

static cudaError_t enqueue_steps(const struct cuda *c, const struct halo_net_queue *q, int first,
                                 int end)
{
    cudaError_t status = cudaSuccess;
    for (int s = first; s < end && status == cudaSuccess; s++)
        status = enqueue_step(&c->steps[s], q);
    return status;
}

/* Records the steps first to end - 1, `times` times, as a graph. */
static cudaError_t record(const struct cuda *c, const struct halo_net_queue *q, int first, int end,
                          int times, cudaGraphExec_t *ret)
{
    cudaGraph_t graph = NULL;
    cudaError_t status = cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal);
    if (status != cudaSuccess)
        return status;
    cudaError_t enqueued = cudaSuccess;
    for (int i = 0; i < times && enqueued == cudaSuccess; i++)
        enqueued = enqueue_steps(c, q, first, end);
    status = cudaStreamEndCapture(c->stream, &graph);
    status = enqueued != cudaSuccess ? enqueued : status;
    if (status == cudaSuccess)
        status = cudaGraphInstantiate(ret, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    return status;
}

static cudaError_t enqueue(struct cuda *c, int count, cudaStream_t stream)
{
    const struct halo_net_queue q = queue_of(c, count, c->stream);
    const int steps = c->base.plan->step_count;
    cudaError_t status = cudaSuccess;
    if (!c->known[count]) {
        const struct halo_net_queue first = queue_of(c, count, stream);
        status = enqueue_steps(c, &first, 0, steps);
        c->known[count] = status == cudaSuccess;
        return status;
    }
    if (!c->graphs[count])
        status = record(c, &q, 0, steps, 1, &c->graphs[count]);
    return status != cudaSuccess ? status : cudaGraphLaunch(c->graphs[count], stream);
}

int halo_net_cuda_enqueue(struct halo_net_runner *r, int count, void *stream)
{
    struct cuda *c = (struct cuda *)r;
    if (count < 0 || count > r->batch)
        return -EINVAL;
    const int rc = check(cudaSetDevice(c->device));
    return rc || count == 0 ? rc : check(enqueue(c, count, stream));
}

/* Times a step with the events; the first launch of a graph takes longer. */
static cudaError_t time_step(const struct cuda *c, int count, int step, const cudaEvent_t *events,
                             double *ret_us)
{
    enum { TIMES = 40 };
    const struct halo_net_queue q = queue_of(c, count, c->stream);
    cudaGraphExec_t graph = NULL;
    float ms = 0;
    cudaError_t status = record(c, &q, step, step + 1, TIMES, &graph);
    for (int i = 0; i < 2 && status == cudaSuccess; i++) {
        status = cudaEventRecord(events[0], c->stream);
        if (status == cudaSuccess)
            status = cudaGraphLaunch(graph, c->stream);
        if (status == cudaSuccess)
            status = cudaEventRecord(events[1], c->stream);
        if (status == cudaSuccess)
            status = cudaEventSynchronize(events[1]);
    }
    if (status == cudaSuccess)
        status = cudaEventElapsedTime(&ms, events[0], events[1]);
    if (graph)
        cudaGraphExecDestroy(graph);
    *ret_us = ms * 1000.0 / TIMES;
    return status;
}

int halo_net_cuda_time(struct halo_net_runner *r, int count, double *ret_us)
{
    struct cuda *c = (struct cuda *)r;
    cudaEvent_t events[2] = {NULL, NULL};
    cudaError_t status = cudaSetDevice(c->device);
    for (int i = 0; i < 2 && status == cudaSuccess; i++)
        status = cudaEventCreate(&events[i]);
    for (int s = 0; s < r->plan->step_count && status == cudaSuccess; s++)
        status = time_step(c, count, s, events, &ret_us[s]);
    for (int i = 0; i < 2; i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    return check(status);
}

/* The input, or all that comes after it, of each frame. */
static cudaError_t copy(const struct cuda *c, int count, enum cudaMemcpyKind kind)
{
    const struct halo_net_tensor *in = &c->base.plan->tensors[0];
    const bool up = kind == cudaMemcpyHostToDevice;
    const size_t floats = in->stride * (size_t)in->planes, each = c->base.plan->kept_floats;
    const size_t from = up ? 0 : floats, wide = up ? floats : each - floats;
    if (wide == 0) /* no output besides the input */
        return cudaSuccess;
    return cudaMemcpy2DAsync((up ? c->kept : c->host) + from, each * sizeof(float),
                             (up ? c->host : c->kept) + from, each * sizeof(float),
                             wide * sizeof(float), (size_t)count, kind, c->stream);
}

static int cuda_run(struct halo_net_runner *r, int count)
{
    struct cuda *c = (struct cuda *)r;
    int rc = check(cudaSetDevice(c->device));
    if (rc || count == 0)
        return rc;
    cudaError_t status = copy(c, count, cudaMemcpyHostToDevice);
    if (status == cudaSuccess)
        status = enqueue(c, count, c->stream);
    if (status == cudaSuccess)
        status = copy(c, count, cudaMemcpyDeviceToHost);
    rc = check(status);
    const int waited = check(cudaStreamSynchronize(c->stream));
    return rc ? rc : waited;
}

static float *input_in(const struct cuda *c, float *kept, int frame)
{
    return kept + (size_t)frame * c->base.plan->kept_floats + c->base.plan->tensors[0].offset;
}

static const float *output_in(const struct cuda *c, const float *kept, int frame, int output)
{
    return kept + (size_t)frame * c->base.plan->kept_floats +
           halo_net_output_shape(&c->base, output)->offset;
}

static float *cuda_input(struct halo_net_runner *r, int frame)
{
    const struct cuda *c = (const struct cuda *)r;
    return input_in(c, c->host, frame);
}

static const float *cuda_output(const struct halo_net_runner *r, int frame, int output)
{
    const struct cuda *c = (const struct cuda *)r;
    return output_in(c, c->host, frame, output);
}

float *halo_net_cuda_input(const struct halo_net_runner *r, int frame)
{
    const struct cuda *c = (const struct cuda *)r;
    return input_in(c, c->kept, frame);
}

const float *halo_net_cuda_output(const struct halo_net_runner *r, int frame, int output)
{
    const struct cuda *c = (const struct cuda *)r;
    return output_in(c, c->kept, frame, output);
}

/* ---- the runner ---- */

static bool cuda_can(void)
{
    int devices = 0;
    if (halo_cuda_is_lost())
        return false;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    (void)cudaGetLastError();
    return status == cudaSuccess && devices > 0;
}

static void cuda_close(struct halo_net_runner *r)
{
    struct cuda *c = (struct cuda *)r;
    if (!halo_cuda_is_lost() && cudaSetDevice(c->device) == cudaSuccess) {
        for (int i = 0; i <= HALO_NET_MAX_BATCH; i++)
            if (c->graphs[i])
                cudaGraphExecDestroy(c->graphs[i]);
        if (c->stream)
            cudaStreamDestroy(c->stream);
        cudaFreeHost(c->host);
        cudaFree(c->memory);
    }
    (void)cudaGetLastError();
    halo_net_plan_destroy(r->plan);
    free(c->packed);
    free(c->steps);
    free(c);
}

static cudaError_t find_device(struct cuda *c)
{
    int major = 0;
    cudaError_t status = cudaGetDevice(&c->device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, c->device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&c->processors, cudaDevAttrMultiProcessorCount, c->device);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking, 0);
    c->early = major >= 9;
    return status;
}

/* Allocates the memory of `frames` frames, all zeros, and the constants after it. */
static cudaError_t allocate(struct cuda *c, size_t frames, size_t constants)
{
    const struct halo_net_plan *plan = c->base.plan;
    const size_t kept = plan->kept_floats * frames, work = plan->floats * frames;
    cudaError_t status =
        cudaMalloc((void **)&c->memory, (kept + work + constants) * sizeof *c->memory);
    if (status == cudaSuccess)
        status = cudaHostAlloc((void **)&c->host, kept * sizeof *c->host, cudaHostAllocDefault);
    if (status != cudaSuccess)
        return status;
    c->kept = c->memory;
    c->work = c->kept + kept;
    c->constants = c->work + work;
    memset(c->host, 0, kept * sizeof *c->host);
    return cudaMemsetAsync(c->memory, 0, (kept + work) * sizeof *c->memory, c->stream);
}

static cudaError_t make_runner(struct cuda *c)
{
    const struct halo_net *net = c->base.net;
    const struct halo_net_plan *plan = c->base.plan;
    size_t constants = HALO_NET_ALIGNMENT;
    for (int t = 1; t < net->tensors; t++)
        constants += constant_floats(net, &net->layers[t]);
    c->packed = calloc(constants, sizeof *c->packed);
    c->steps = calloc((size_t)plan->step_count + 1, sizeof *c->steps);
    if (!c->packed || !c->steps)
        return cudaErrorMemoryAllocation;
    cudaError_t status = find_device(c);
    if (status == cudaSuccess)
        status = allocate(c, (size_t)c->base.batch, constants);
    if (status != cudaSuccess)
        return status;
    for (int s = 0; s < plan->step_count; s++)
        make_step(c, &c->steps[s], &plan->steps[s]);
    status = cudaMemcpyAsync(c->constants, c->packed, c->packed_count * sizeof *c->packed,
                             cudaMemcpyHostToDevice, c->stream);
    const cudaError_t waited = cudaStreamSynchronize(c->stream);
    free(c->packed);
    c->packed = NULL;
    return status != cudaSuccess ? status : waited;
}

static int check_batch(const struct halo_net_plan *plan, int batch, struct halo_net_fault *fault)
{
    for (int t = 0; t < plan->net->tensors; t++)
        if (plan->tensors[t].stride > (INT_MAX >> 1) / (size_t)batch) {
            snprintf(fault->text, sizeof fault->text,
                     "layer %d: a batch of %d frames is too large for a GPU", t, batch);
            return -EINVAL;
        }
    return 0;
}

static int cuda_open(struct halo_net_runner **ret, const struct halo_net *net,
                     const struct halo_net_settings *settings, struct halo_net_fault *fault)
{
    const size_t fuse_from = settings->fuse_from == SIZE_MAX ? SIZE_MAX : NO_DEPTHWISE;
    struct halo_net_plan *plan;
    int rc = halo_net_plan_create(&plan, net, settings->width, settings->height, fuse_from, fault);
    if (rc)
        return rc;
    rc = check_batch(plan, settings->batch, fault);
    struct cuda *c = rc ? NULL : calloc(1, sizeof *c);
    if (!c) {
        halo_net_plan_destroy(plan);
        return rc ? rc : -ENOMEM;
    }
    c->base = (struct halo_net_runner){&halo_net_cuda, net, plan, settings->batch};
    const cudaError_t status = make_runner(c);
    if (status != cudaSuccess) {
        snprintf(fault->text, sizeof fault->text, "the GPU: %s", cudaGetErrorString(status));
        rc = check(status);
        cuda_close(&c->base);
        return rc;
    }
    *ret = &c->base;
    return 0;
}

const struct halo_net_strategy halo_net_cuda = {
    .name = "cuda",
    .about = "an NVIDIA GPU: products in tiles, in registers and shared memory",
    .can = cuda_can,
    .open = cuda_open,
    .close = cuda_close,
    .input = cuda_input,
    .run = cuda_run,
    .output = cuda_output,
};
