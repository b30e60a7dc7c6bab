/* SPDX-License-Identifier: BSD-2-Clause
 * Plans a network for one size of its input: the sizes of all tensors, which layers run together,
 * and where tensors lie in memory. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/net/net.h"

/* More multiply-adds than this take minutes on any machine. */
#define MAX_WORK 0x1p40

/* ---- sizes ---- */

/* One side of a convolution's or pool's result; below 1 if there is none. */
static int windows(int side, int kernel, int stride, int pads)
{
    return side + pads < kernel ? 0 : (side + pads - kernel) / stride + 1;
}

static bool same_size(const struct halo_net_tensor *a, const struct halo_net_tensor *b)
{
    return a->width == b->width && a->height == b->height;
}

/* Sets the size of layer t's result. Returns NULL, or why there is none. */
static const char *find_size(struct halo_net_plan *plan, int t)
{
    const struct halo_net_layer *l = &plan->net->layers[t];
    const struct halo_net_tensor *in = &plan->tensors[l->inputs[0]];
    struct halo_net_tensor *out = &plan->tensors[t];
    const int across = l->left + l->right, down = l->top + l->bottom;
    out->planes = l->planes;
    out->width = in->width;
    out->height = in->height;
    switch (l->kind) {
    case HALO_NET_CONV:
    case HALO_NET_DEPTHWISE:
    case HALO_NET_MAXPOOL:
        out->width = windows(in->width, l->kernel_x, l->stride_x, across);
        out->height = windows(in->height, l->kernel_y, l->stride_y, down);
        break;
    case HALO_NET_TRANSPOSED:
        out->width = (in->width - 1) * l->stride_x + l->kernel_x - across;
        out->height = (in->height - 1) * l->stride_y + l->kernel_y - down;
        break;
    case HALO_NET_ADD:
    case HALO_NET_MUL: {
        const struct halo_net_tensor *other = &plan->tensors[l->inputs[1]];
        if (!same_size(in, other) && (other->width != 1 || other->height != 1))
            return "its tensors have different sizes";
        break;
    }
    case HALO_NET_CONCAT:
        for (int i = 1; i < l->input_count; i++)
            if (!same_size(in, &plan->tensors[l->inputs[i]]))
                return "its tensors have different sizes";
        break;
    case HALO_NET_PAD:
        out->width += across;
        out->height += down;
        break;
    case HALO_NET_MEAN:
        out->width = out->height = 1;
        break;
    case HALO_NET_RESIZE:
        out->width = l->to ? plan->tensors[l->to_tensor].width : in->width * l->by_x;
        out->height = l->to ? plan->tensors[l->to_tensor].height : in->height * l->by_y;
        break;
    case HALO_NET_DEPTH_TO_SPACE:
        out->width *= l->block;
        out->height *= l->block;
        break;
    case HALO_NET_INPUT:
    case HALO_NET_ACT:
    case HALO_NET_KINDS:
        break;
    }
    if (out->width < 1 || out->height < 1)
        return "its result is empty";
    if (out->width > HALO_NET_MAX_SIDE || out->height > HALO_NET_MAX_SIDE)
        return "its result is too large";
    return NULL;
}

static double find_work(const struct halo_net_plan *plan, int t)
{
    const struct halo_net_layer *l = &plan->net->layers[t];
    const struct halo_net_tensor *in = &plan->tensors[l->inputs[0]], *out = &plan->tensors[t];
    const double pixels = (double)out->width * out->height * out->planes;
    const double size = (double)l->kernel_x * l->kernel_y;
    switch (l->kind) {
    case HALO_NET_CONV:
        return pixels * in->planes * size;
    case HALO_NET_DEPTHWISE:
        return pixels * size;
    case HALO_NET_TRANSPOSED:
        return (double)in->width * in->height * in->planes * out->planes * size;
    default:
        return 0;
    }
}

/* The distance of planes: an odd number of cache lines, so that the same pixel of many planes does
 * not lie in the same set of a cache. */
static size_t stride_of(const struct halo_net_tensor *t)
{
    const size_t pixels = (size_t)t->width * (size_t)t->height;
    const size_t lines = (pixels + HALO_NET_ALIGNMENT - 1) / HALO_NET_ALIGNMENT;
    return (lines | 1) * HALO_NET_ALIGNMENT;
}

static size_t floats_of(const struct halo_net_tensor *t)
{
    return (size_t)t->planes * t->stride;
}

/* ---- steps ---- */

struct planner {
    struct halo_net_plan *plan;
    size_t fuse_from;
    int *reader; /* per tensor: the layer that reads it; 0: none, -1: several, or it is an output */
    bool *taken; /* per layer: it belongs to an earlier step */
};

static void find_readers(struct planner *p)
{
    const struct halo_net *net = p->plan->net;
    for (int t = 1; t < net->tensors; t++)
        for (int i = 0; i < net->layers[t].input_count; i++) {
            int *reader = &p->reader[net->layers[t].inputs[i]];
            *reader = *reader ? -1 : t;
        }
    for (int i = 0; i < net->outputs; i++)
        p->reader[net->output[i].tensor] = -1;
}

/* The layer that alone reads layer t's result, if it is of this kind; or 0. */
static int follower(const struct planner *p, int t, enum halo_net_kind kind)
{
    const int next = p->reader[t];
    return t && next > 0 && p->plan->net->layers[next].kind == kind && !p->taken[next] ? next : 0;
}

static bool is_pointwise(const struct planner *p, int t)
{
    const struct halo_net_layer *l = &p->plan->net->layers[t];
    return l->kind == HALO_NET_CONV && l->kernel_x == 1 && l->kernel_y == 1 && l->stride_x == 1 &&
           l->stride_y == 1 && l->act.kind != HALO_NET_SOFTMAX2;
}

/* The add that can be made part of the convolution t, or 0. */
static int add_after(const struct planner *p, int t)
{
    const struct halo_net_layer *layers = p->plan->net->layers;
    const int add = follower(p, t, HALO_NET_ADD);
    if (!add || layers[t].act.kind != HALO_NET_NONE || layers[add].act.kind == HALO_NET_SOFTMAX2)
        return 0;
    const int *in = layers[add].inputs;
    return same_size(&p->plan->tensors[in[0]], &p->plan->tensors[in[1]]) ? add : 0;
}

static void append(struct halo_net_step *step, int layer)
{
    if (layer)
        step->layers[step->count++] = layer;
}

/* The layers that are run together with layer t, the first of them. */
static struct halo_net_step fuse(const struct planner *p, int t)
{
    const struct halo_net_layer *layers = p->plan->net->layers;
    struct halo_net_step step = {{t}, 1};
    if (p->fuse_from == SIZE_MAX)
        return step;
    int depthwise = is_pointwise(p, t) ? follower(p, t, HALO_NET_DEPTHWISE) : 0;
    if (layers[t].kind == HALO_NET_DEPTHWISE)
        depthwise = t;
    const int project = follower(p, depthwise, HALO_NET_CONV);
    if (project && is_pointwise(p, project) && layers[depthwise].act.kind != HALO_NET_SOFTMAX2 &&
        floats_of(&p->plan->tensors[depthwise]) >= p->fuse_from) {
        append(&step, depthwise == t ? 0 : depthwise);
        append(&step, project);
        append(&step, add_after(p, project));
    } else if (layers[t].kind == HALO_NET_CONV) {
        append(&step, add_after(p, t));
    }
    return step;
}

/* A step stands where its last layer does: all that it reads is there. */
static void make_steps(struct planner *p)
{
    struct halo_net_plan *plan = p->plan;
    const int tensors = plan->net->tensors;
    struct halo_net_step *const ends = plan->steps; /* by the last layer, until all are known */
    for (int t = 1; t < tensors; t++) {
        if (p->taken[t])
            continue;
        const struct halo_net_step step = fuse(p, t);
        for (int i = 0; i < step.count; i++)
            p->taken[step.layers[i]] = true;
        ends[step.layers[step.count - 1]] = step;
    }
    for (int t = 1; t < tensors; t++)
        if (ends[t].count > 0)
            plan->steps[plan->step_count++] = ends[t];
}

/* ---- memory ---- */

static void find_lives(struct halo_net_plan *plan)
{
    const struct halo_net *net = plan->net;
    for (int t = 0; t < net->tensors; t++)
        plan->tensors[t].first = plan->tensors[t].last = t ? -2 : -1;
    for (int s = 0; s < plan->step_count; s++) {
        const struct halo_net_step *step = &plan->steps[s];
        for (int i = 0; i < step->count; i++) {
            const struct halo_net_layer *l = &net->layers[step->layers[i]];
            for (int k = 0; k < l->input_count; k++)
                plan->tensors[l->inputs[k]].last = s;
        }
        struct halo_net_tensor *out = &plan->tensors[step->layers[step->count - 1]];
        out->first = out->last = s;
    }
    plan->tensors[0].kept = true;
    for (int i = 0; i < net->outputs; i++)
        plan->tensors[net->output[i].tensor].kept = true;
}

static bool is_placed(const struct halo_net_tensor *t)
{
    return !t->kept && t->first >= 0;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct halo_net_tensor *x = *(struct halo_net_tensor *const *)a;
    const struct halo_net_tensor *y = *(struct halo_net_tensor *const *)b;
    const size_t large = floats_of(x), small = floats_of(y);
    return large != small ? (large < small ? 1 : -1) : x < y ? -1 : x > y;
}

/* The lowest gap between the tensors that are needed at the same time; `placed` are in the order of
 * their offsets. */
static size_t find_gap(const struct halo_net_tensor *t, struct halo_net_tensor *const *placed,
                       int count)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_net_tensor *other = placed[i];
        if (other->last < t->first || other->first > t->last)
            continue;
        if (at + floats_of(t) <= other->offset)
            break;
        const size_t end = other->offset + floats_of(other);
        at = end > at ? end : at;
    }
    return at;
}

/* Places the tensors, the largest ones first. */
static int place(struct halo_net_plan *plan)
{
    const int tensors = plan->net->tensors;
    struct halo_net_tensor **order = calloc((size_t)tensors * 2, sizeof *order);
    if (!order)
        return -ENOMEM;
    struct halo_net_tensor **placed = order + tensors;
    int count = 0;
    for (int t = 0; t < tensors; t++) {
        struct halo_net_tensor *tensor = &plan->tensors[t];
        if (tensor->kept) {
            tensor->offset = plan->kept_floats;
            plan->kept_floats += floats_of(tensor);
        } else if (is_placed(tensor)) {
            order[count++] = tensor;
        }
    }
    qsort(order, (size_t)count, sizeof *order, compare_sizes);
    for (int i = 0; i < count; i++) {
        order[i]->offset = find_gap(order[i], placed, i);
        int at = i;
        for (; at > 0 && placed[at - 1]->offset > order[i]->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = order[i];
        const size_t end = order[i]->offset + floats_of(order[i]);
        plan->floats = end > plan->floats ? end : plan->floats;
    }
    free(order);
    return 0;
}

/* ---- the plan ---- */

__attribute__((format(printf, 2, 3))) static int refuse(struct halo_net_fault *fault,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return -EINVAL;
}

static int find_sizes(struct halo_net_plan *plan, struct halo_net_fault *fault)
{
    for (int t = 0; t < plan->net->tensors; t++) {
        struct halo_net_tensor *tensor = &plan->tensors[t];
        const char *error = t ? find_size(plan, t) : NULL;
        if (error)
            return refuse(fault, "layer %d: %s", t, error);
        tensor->stride = stride_of(tensor);
        if (floats_of(tensor) > HALO_NET_MAX_FLOATS)
            return refuse(fault, "layer %d: its result is too large", t);
        plan->work += t ? find_work(plan, t) : 0;
    }
    if (plan->work > MAX_WORK)
        return refuse(fault, "%.3g multiply-adds for a frame, more than %.3g", plan->work,
                      MAX_WORK);
    return 0;
}

static int check_size(const struct halo_net *net, int width, int height,
                      struct halo_net_fault *fault)
{
    if (net->multiple == 0 && (width != net->width || height != net->height))
        return refuse(fault, "the network needs frames of %dx%d, not %dx%d", net->width,
                      net->height, width, height);
    if (width < 1 || width > HALO_NET_MAX_SIDE || height < 1 || height > HALO_NET_MAX_SIDE)
        return refuse(fault, "sides must be 1 to %d, not %dx%d", HALO_NET_MAX_SIDE, width, height);
    if (net->multiple > 0 && (width % net->multiple || height % net->multiple))
        return refuse(fault, "%dx%d are no multiples of %d", width, height, net->multiple);
    return 0;
}

static int make_plan(struct halo_net_plan *plan, size_t fuse_from, struct halo_net_fault *fault)
{
    const size_t tensors = (size_t)plan->net->tensors;
    int rc = find_sizes(plan, fault);
    if (rc)
        return rc;
    struct planner p = {plan, fuse_from, calloc(tensors, sizeof *p.reader),
                        calloc(tensors, sizeof *p.taken)};
    rc = p.reader && p.taken ? 0 : -ENOMEM;
    if (!rc) {
        find_readers(&p);
        make_steps(&p);
        find_lives(plan);
        rc = place(plan);
    }
    free(p.reader);
    free(p.taken);
    if (!rc && plan->floats + plan->kept_floats > HALO_NET_MAX_FLOATS)
        rc = refuse(fault, "%zu floats of memory, more than %d", plan->floats + plan->kept_floats,
                    HALO_NET_MAX_FLOATS);
    return rc;
}

int halo_net_plan_create(struct halo_net_plan **ret, const struct halo_net *net, int width,
                         int height, size_t fuse_from, struct halo_net_fault *fault)
{
    int rc = check_size(net, width, height, fault);
    if (rc)
        return rc;
    struct halo_net_plan *plan = calloc(1, sizeof *plan);
    rc = -ENOMEM;
    snprintf(fault->text, sizeof fault->text, "out of memory");
    if (!plan)
        return rc;
    plan->net = net;
    plan->tensors = calloc((size_t)net->tensors, sizeof *plan->tensors);
    plan->steps = calloc((size_t)net->tensors, sizeof *plan->steps);
    if (plan->tensors && plan->steps) {
        plan->tensors[0].planes = net->layers[0].planes;
        plan->tensors[0].width = width;
        plan->tensors[0].height = height;
        rc = make_plan(plan, fuse_from, fault);
    }
    if (rc) {
        halo_net_plan_destroy(plan);
        return rc;
    }
    *ret = plan;
    return 0;
}

void halo_net_plan_destroy(struct halo_net_plan *plan)
{
    if (!plan)
        return;
    free(plan->tensors);
    free(plan->steps);
    free(plan);
}
