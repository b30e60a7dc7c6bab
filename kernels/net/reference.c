/* SPDX-License-Identifier: BSD-2-Clause
 * The definition of every layer, one output at a time. It is also compiled for each instruction set
 * (HALO_ISA), because that makes fmaf() an instruction: so strategies in vectors use it for layers
 * that take little time. */
#include <math.h>
#include <string.h>

#include "kernels/net/layers.h"

typedef float number;
typedef int32_t whole;
static inline number all(float x)
{
    return x;
}

static inline number fused(number a, number b, number c)
{
    return fmaf(a, b, c);
}

static inline number larger(number a, number b)
{
    return a > b ? a : b;
}

static inline number smaller(number a, number b)
{
    return a < b ? a : b;
}

static inline number pick(bool condition, number a, number b)
{
    return condition ? a : b;
}

static inline whole as_whole(number x)
{
    whole ret;
    memcpy(&ret, &x, sizeof ret);
    return ret;
}

static inline number as_number(whole x)
{
    number ret;
    memcpy(&ret, &x, sizeof ret);
    return ret;
}

#include "kernels/net/math_tmpl.h"

/* ---- activations ---- */

/* act(x) + 0.0f, for n values that the layer has stored. */
static void activate(const struct halo_net_act *act, float *x, int n)
{
    const float low = act->low, high = act->high, slope = act->slope;
    switch (act->kind) {
    case HALO_NET_RELU:
        for (int i = 0; i < n; i++)
            x[i] = larger(x[i], 0.0f) + 0.0f;
        return;
    case HALO_NET_CLAMP:
        for (int i = 0; i < n; i++)
            x[i] = smaller(larger(x[i], low), high) + 0.0f;
        return;
    case HALO_NET_LEAKY:
        for (int i = 0; i < n; i++)
            x[i] = (x[i] > 0.0f ? x[i] : slope * x[i]) + 0.0f;
        return;
    case HALO_NET_HSWISH:
        for (int i = 0; i < n; i++)
            x[i] = net_hswish(x[i]) + 0.0f;
        return;
    case HALO_NET_SIGMOID:
        for (int i = 0; i < n; i++)
            x[i] = net_sigmoid(x[i]) + 0.0f;
        return;
    case HALO_NET_NONE:
    case HALO_NET_SOFTMAX2: /* in pairs of planes, below */
    case HALO_NET_ACTS:
        for (int i = 0; i < n; i++)
            x[i] = x[i] + 0.0f;
        return;
    }
}

static void softmax2(const struct halo_net_planes *out, const struct halo_net_part *part)
{
    for (int p = part->plane0; p < part->plane1; p += 2)
        for (int y = part->row0; y < part->row1; y++) {
            float *first = halo_net_row(out, p, y), *second = halo_net_row(out, p + 1, y);
            for (int x = 0; x < out->width; x++) {
                const float a = first[x], b = second[x];
                first[x] = net_sigmoid(a - b) + 0.0f;
                second[x] = net_sigmoid(b - a) + 0.0f;
            }
        }
}

/* ---- layers: one row of one plane of the result, before its activation ---- */

struct row {
    const struct halo_net_layer *layer;
    const struct halo_net_planes *in;
    const struct halo_net_planes *out;
    int plane, y;
    float *to;
};

/* The value of a tap, which is 0 in the padding. */
static inline float tap(const struct halo_net_planes *in, int plane, int y, int x)
{
    if (y < 0 || y >= in->height || x < 0 || x >= in->width)
        return 0.0f;
    return halo_net_row(in, plane, y)[x];
}

/* The taps of one plane of the input, from the weight w on. */
static inline float taps(const struct row *r, const float *w, int plane, int x, float acc)
{
    const struct halo_net_layer *l = r->layer;
    const int y0 = r->y * l->stride_y - l->top, x0 = x * l->stride_x - l->left;
    for (int i = 0; i < l->kernel_y; i++)
        for (int j = 0; j < l->kernel_x; j++)
            acc = fmaf(*w++, tap(r->in, plane, y0 + i, x0 + j), acc);
    return acc;
}

static void conv(const struct row *r)
{
    const struct halo_net_layer *l = r->layer;
    const int size = l->kernel_x * l->kernel_y, channels = r->in->planes;
    const float *w = l->weights + (size_t)r->plane * (size_t)channels * (size_t)size;
    for (int x = 0; x < r->out->width; x++) {
        float acc = l->bias[r->plane];
        for (int c = 0; c < channels; c++)
            acc = taps(r, w + (size_t)c * (size_t)size, c, x, acc);
        r->to[x] = acc;
    }
}

static void depthwise(const struct row *r)
{
    const struct halo_net_layer *l = r->layer;
    const float *w = l->weights + (size_t)r->plane * (size_t)(l->kernel_x * l->kernel_y);
    for (int x = 0; x < r->out->width; x++)
        r->to[x] = taps(r, w, r->plane, x, l->bias[r->plane]);
}

/* Only the taps for which (y + top - i) and (x + left - j) are multiples of the strides. */
static void transposed(const struct row *r)
{
    const struct halo_net_layer *l = r->layer;
    const int size = l->kernel_x * l->kernel_y, channels = r->in->planes;
    const float *w = l->weights + (size_t)r->plane * (size_t)channels * (size_t)size;
    const int sy = l->stride_y, sx = l->stride_x, y = r->y + l->top;
    for (int x = 0; x < r->out->width; x++) {
        const int column = x + l->left;
        float acc = l->bias[r->plane];
        for (int c = 0; c < channels; c++)
            for (int i = y % sy; i < l->kernel_y; i += sy)
                for (int j = column % sx; j < l->kernel_x; j += sx)
                    acc = fmaf(w[c * size + i * l->kernel_x + j],
                               tap(r->in, c, (y - i) / sy, (column - j) / sx), acc);
        r->to[x] = acc;
    }
}

/* The second tensor's value for a pixel: a plane of 1x1 has one for all. */
static inline float other(const struct row *r, const float *row, int x)
{
    return row[r->in[1].width == r->out->width ? x : 0];
}

static void add_or_mul(const struct row *r)
{
    const float *a = halo_net_row(&r->in[0], r->plane, r->y);
    const float *b =
        halo_net_row(&r->in[1], r->plane, r->in[1].height == r->out->height ? r->y : 0);
    if (r->layer->kind == HALO_NET_ADD)
        for (int x = 0; x < r->out->width; x++)
            r->to[x] = a[x] + other(r, b, x);
    else
        for (int x = 0; x < r->out->width; x++)
            r->to[x] = a[x] * other(r, b, x);
}

static void concat(const struct row *r)
{
    const struct halo_net_planes *in = r->in;
    int plane = r->plane;
    for (; plane >= in->planes; in++)
        plane -= in->planes;
    memcpy(r->to, halo_net_row(in, plane, r->y), (size_t)r->out->width * sizeof *r->to);
}

static void pad(const struct row *r)
{
    const struct halo_net_layer *l = r->layer;
    for (int x = 0; x < r->out->width; x++)
        r->to[x] =
            r->plane < r->in->planes ? tap(r->in, r->plane, r->y - l->top, x - l->left) : 0.0f;
}

static void maxpool(const struct row *r)
{
    const struct halo_net_layer *l = r->layer;
    const int y0 = r->y * l->stride_y - l->top;
    for (int x = 0; x < r->out->width; x++) {
        const int x0 = x * l->stride_x - l->left;
        float most = -INFINITY; /* a window is never entirely in the padding */
        for (int i = y0 < 0 ? 0 : y0; i < y0 + l->kernel_y && i < r->in->height; i++)
            for (int j = x0 < 0 ? 0 : x0; j < x0 + l->kernel_x && j < r->in->width; j++)
                most = larger(halo_net_row(r->in, r->plane, i)[j], most);
        r->to[x] = most;
    }
}

/* Each row is summed in 16 lanes, whose sums are added in pairs of distance 8, 4, 2 and 1. */
static void mean(const struct row *r)
{
    enum { LANES = 16 };
    const int width = r->in->width, full = width / LANES * LANES;
    float sum = 0.0f;
    for (int y = 0; y < r->in->height; y++) {
        const float *row = halo_net_row(r->in, r->plane, y);
        float lanes[LANES] = {0.0f};
        for (int x = 0; x < full; x += LANES)
            for (int i = 0; i < LANES; i++)
                lanes[i] += row[x + i];
        for (int x = full; x < width; x++)
            lanes[x - full] += row[x];
        for (int distance = LANES / 2; distance > 0; distance /= 2)
            for (int i = 0; i < distance; i++)
                lanes[i] += lanes[i + distance];
        sum += lanes[0];
    }
    r->to[0] = sum * (float)(1.0 / ((double)width * r->in->height));
}

/* Positions of a side of `of` pixels in one of n: pixel x lies between the pixels a and a + 1, at
 * rest / (2 of) of the way, where centres are at half pixels. Before the first centre a is -1. */
struct walk {
    int a, rest, step, step_rest, per_pixel;
};

static struct walk walk_to(int x, int of, int n)
{
    const int unit = 2 * of, at = (2 * x + 1) * n - of; /* no product exceeds 2^30 */
    return (struct walk){at < 0 ? -1 : at / unit, at < 0 ? at + unit : at % unit, 2 * n / unit,
                         2 * n % unit, unit};
}

static inline void walk_on(struct walk *w)
{
    w->a += w->step;
    w->rest += w->step_rest;
    if (w->rest >= w->per_pixel) {
        w->rest -= w->per_pixel;
        w->a++;
    }
}

static inline float mix(float a, float b, float at)
{
    return fmaf(at, b - a, a);
}

/* Across, then down. Before the first and after the last centre, both pixels are the same. */
static void bilinear(const struct row *r)
{
    const int width = r->in->width, height = r->in->height;
    const struct walk down = walk_to(r->y, r->out->height, height);
    const float part = (float)down.rest / (float)down.per_pixel;
    const float *above = halo_net_row(r->in, r->plane, down.a < 0 ? 0 : down.a);
    const float *below = halo_net_row(r->in, r->plane, down.a + 1 < height ? down.a + 1 : down.a);
    struct walk across = walk_to(0, r->out->width, width);
    for (int x = 0; x < r->out->width; x++, walk_on(&across)) {
        const int a = across.a < 0 ? 0 : across.a, b = across.a + 1 < width ? across.a + 1 : a;
        const float at = (float)across.rest / (float)across.per_pixel;
        r->to[x] = mix(mix(above[a], above[b], at), mix(below[a], below[b], at), part);
    }
}

static void resize(const struct row *r)
{
    if (!r->layer->nearest) {
        bilinear(r);
        return;
    }
    const int width = r->out->width, n = r->in->width;
    const float *from = halo_net_row(r->in, r->plane, r->y * r->in->height / r->out->height);
    for (int x = 0, a = 0, rest = 0; x < width; x++, a += n / width, rest += n % width) {
        if (rest >= width) { /* a is x * n / width */
            rest -= width;
            a++;
        }
        r->to[x] = from[a];
    }
}

static void depth_to_space(const struct row *r)
{
    const int block = r->layer->block, planes = r->out->planes;
    const int group = r->y % block * block;
    for (int x = 0; x < r->out->width; x++)
        r->to[x] =
            halo_net_row(r->in, (group + x % block) * planes + r->plane, r->y / block)[x / block];
}

static void same(const struct row *r)
{
    memcpy(r->to, halo_net_row(r->in, r->plane, r->y), (size_t)r->out->width * sizeof *r->to);
}

static void (*const functions[HALO_NET_KINDS])(const struct row *r) = {
    [HALO_NET_CONV] = conv,
    [HALO_NET_DEPTHWISE] = depthwise,
    [HALO_NET_TRANSPOSED] = transposed,
    [HALO_NET_ADD] = add_or_mul,
    [HALO_NET_MUL] = add_or_mul,
    [HALO_NET_CONCAT] = concat,
    [HALO_NET_PAD] = pad,
    [HALO_NET_MAXPOOL] = maxpool,
    [HALO_NET_MEAN] = mean,
    [HALO_NET_RESIZE] = resize,
    [HALO_NET_DEPTH_TO_SPACE] = depth_to_space,
    [HALO_NET_ACT] = same,
};

void HALO_NET_NAME(plain,
                   HALO_ISA)(const struct halo_net_layer *l, const struct halo_net_planes *in,
                             const struct halo_net_planes *out, const struct halo_net_part *part)
{
    for (int p = part->plane0; p < part->plane1; p++)
        for (int y = part->row0; y < part->row1; y++) {
            float *to = halo_net_row(out, p, y);
            functions[l->kind](&(struct row){l, in, out, p, y, to});
            activate(&l->act, to, out->width);
        }
    if (l->act.kind == HALO_NET_SOFTMAX2)
        softmax2(out, part);
}
