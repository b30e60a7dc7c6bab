/* SPDX-License-Identifier: BSD-2-Clause
 * Networks on the CPU: the strategies, which differ in the code that they call, and how the work of
 * a step is divided among threads. Threads divide outputs, never the sum of one. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/pool.h"
#include "kernels/cpu/rows.h"
#include "kernels/cuda/net_cuda.h"
#include "kernels/net/layers.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum {
    PIECES_PER_THREAD = 3, /* compensates for late workers */
    /* Floats of a depthwise layer's result from which on it is not stored as a whole, and of the
     * rows of it, and of what it reads, that are there at the same time. Both are about a quarter
     * of a second-level cache of 2 MiB. */
    FUSE_FROM = 1 << 17,
    STRIP = 1 << 17,
};

struct step {
    const struct halo_net_layer *first;
    const struct halo_net_layer *depthwise; /* of several layers; or NULL */
    int add;                                /* the tensor that the last layer adds; -1: none */
    struct halo_net_dense *expand;          /* before the depthwise layer; or NULL */
    struct halo_net_dense *dense;           /* the last convolution: several if it is transposed */
    int dense_count;
    int out; /* tensor */
};

struct cpu {
    struct halo_net_runner base;
    const struct halo_net_code *code; /* NULL: the reference */
    halo_net_plain_fn *plain;
    struct halo_pool *pool;
    int threads;
    struct halo_cpu_scratch *scratch; /* of each thread */
    struct step *steps;
    float *work;  /* plan->floats */
    float *kept;  /* plan->kept_floats for each frame */
    float *frame; /* of these, the frame that is being computed */
};

/* ---- the state of the processor ---- */

#ifdef __x86_64__

enum { CONTROL = 0x1f80 }; /* rounding to nearest, denormal numbers kept, no exceptions */

static unsigned enter(void)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(CONTROL);
    assert(_mm_getcsr() == CONTROL);
    return before;
}

static void leave(unsigned before)
{
    _mm_setcsr(before);
}

#elif defined(__aarch64__)

static uint64_t get_control(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static void leave(uint64_t before)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
}

static uint64_t enter(void)
{
    const uint64_t before = get_control();
    leave(0);
    assert(get_control() == 0);
    return before;
}

#else

static int enter(void)
{
    return 0;
}

static void leave(int before)
{
    (void)before;
}

#endif

/* ---- tensors ---- */

static struct halo_net_planes planes_of(const struct cpu *cpu, int tensor)
{
    const struct halo_net_tensor *t = &cpu->base.plan->tensors[tensor];
    return (struct halo_net_planes){
        .data = (t->kept ? cpu->frame : cpu->work) + t->offset,
        .stride = t->stride,
        .planes = t->planes,
        .width = t->width,
        .height = t->height,
    };
}

/* ---- convolutions as products ---- */

static void pack(const struct halo_net_dense *d, const struct halo_net_layer *l, int rows,
                 const int *taps)
{
    float *to = d->weights;
    const size_t size = (size_t)(l->kernel_x * l->kernel_y);
    for (int p0 = 0; p0 < d->planes; p0 += rows)
        for (int c = 0; c < d->channels; c++)
            for (int t = 0; t < d->taps; t++)
                for (int p = p0; p < p0 + rows && p < d->planes; p++)
                    *to++ = l->weights[((size_t)p * (size_t)d->channels + (size_t)c) * size +
                                       (size_t)taps[t]];
}

static int alloc_weights(struct halo_net_dense *d)
{
    const size_t floats = (size_t)d->planes * (size_t)d->channels * (size_t)d->taps;
    d->weights = malloc(floats * sizeof *d->weights);
    return d->weights ? 0 : -ENOMEM;
}

static int make_conv(struct halo_net_dense *d, const struct halo_net_layer *l, int rows)
{
    int taps[HALO_NET_MAX_KERNEL * HALO_NET_MAX_KERNEL];
    d->stride_x = l->stride_x;
    d->stride_y = l->stride_y;
    d->step_x = d->step_y = 1;
    for (int i = 0; i < l->kernel_y; i++)
        for (int j = 0; j < l->kernel_x; j++, d->taps++) {
            taps[d->taps] = d->taps;
            d->tap[d->taps].y = i - l->top;
            d->tap[d->taps].x = j - l->left;
        }
    if (alloc_weights(d))
        return -ENOMEM;
    pack(d, l, rows, taps);
    return 0;
}

/* The outputs y with (y + top) % stride_y == row, and x likewise: cell Y is y = Y stride_y + row -
 * top, and tap i = row + n stride_y of it reads Y - n. */
static int make_transposed(struct halo_net_dense *d, const struct halo_net_layer *l, int rows,
                           int row, int column)
{
    int taps[HALO_NET_MAX_KERNEL * HALO_NET_MAX_KERNEL];
    /* The first cell of the grid is the first one that is in the picture. */
    const int y0 = row < l->top ? (l->top - row + l->stride_y - 1) / l->stride_y : 0;
    const int x0 = column < l->left ? (l->left - column + l->stride_x - 1) / l->stride_x : 0;
    d->stride_x = d->stride_y = 1;
    d->step_x = l->stride_x;
    d->step_y = l->stride_y;
    d->top = y0 * l->stride_y + row - l->top;
    d->left = x0 * l->stride_x + column - l->left;
    d->height = d->height > d->top ? (d->height - d->top + d->step_y - 1) / d->step_y : 0;
    d->width = d->width > d->left ? (d->width - d->left + d->step_x - 1) / d->step_x : 0;
    for (int i = row; i < l->kernel_y; i += l->stride_y)
        for (int j = column; j < l->kernel_x; j += l->stride_x, d->taps++) {
            taps[d->taps] = i * l->kernel_x + j;
            d->tap[d->taps].y = y0 - i / l->stride_y;
            d->tap[d->taps].x = x0 - j / l->stride_x;
        }
    if (alloc_weights(d))
        return -ENOMEM;
    pack(d, l, rows, taps);
    return 0;
}

/* The products of layer t, to whose results `act` is applied. */
static int make_dense(const struct cpu *cpu, int t, const struct halo_net_act *act,
                      struct halo_net_dense **ret, int *ret_count)
{
    const struct halo_net_layer *l = &cpu->base.net->layers[t];
    const bool is_transposed = l->kind == HALO_NET_TRANSPOSED;
    const int count = is_transposed ? l->stride_x * l->stride_y : 1;
    const int rows = cpu->code->rows;
    struct halo_net_dense *all = calloc((size_t)count, sizeof *all);
    if (!all)
        return -ENOMEM;
    *ret = all; /* freed with the runner, even if half made */
    *ret_count = count;
    for (int i = 0; i < count; i++) {
        struct halo_net_dense *d = &all[i];
        d->bias = l->bias;
        d->planes = l->planes;
        d->channels = cpu->base.net->layers[l->inputs[0]].planes;
        d->width = cpu->base.plan->tensors[t].width;
        d->height = cpu->base.plan->tensors[t].height;
        d->act = *act;
        if (d->act.kind == HALO_NET_SOFTMAX2) /* later, in place */
            d->act.kind = HALO_NET_NONE;
        const int rc = is_transposed ? make_transposed(d, l, rows, i / l->stride_x, i % l->stride_x)
                                     : make_conv(d, l, rows);
        if (rc)
            return rc;
    }
    return 0;
}

static int make_step(const struct cpu *cpu, struct step *s, const struct halo_net_step *plan)
{
    const struct halo_net_layer *layers = cpu->base.net->layers;
    int conv = -1, expand = -1;
    s->first = &layers[plan->layers[0]];
    s->add = -1;
    s->out = plan->layers[plan->count - 1];
    for (int i = 0; i < plan->count; i++) {
        const int t = plan->layers[i];
        if (layers[t].kind == HALO_NET_DEPTHWISE && plan->count > 1) {
            s->depthwise = &layers[t];
            expand = conv;
        } else if (layers[t].kind == HALO_NET_ADD && plan->count > 1) {
            s->add = layers[t].inputs[layers[t].inputs[0] == conv];
        } else if (layers[t].kind == HALO_NET_CONV || layers[t].kind == HALO_NET_TRANSPOSED) {
            conv = t;
        }
    }
    if (!cpu->code || conv < 0)
        return 0;
    int rc = 0, count;
    if (expand >= 0)
        rc = make_dense(cpu, expand, &layers[expand].act, &s->expand, &count);
    return rc ? rc : make_dense(cpu, conv, &layers[s->out].act, &s->dense, &s->dense_count);
}

/* ---- running a step ---- */

struct call {
    struct cpu *cpu;
    const struct step *step;
    const struct halo_net_dense *dense; /* run_dense: which of the step's */
    struct halo_net_planes in[HALO_NET_MAX_INPUTS], out, add;
    int across, down; /* pieces: parts of the planes, and of the rows or cells */
};

static int part_of(int n, int piece, int pieces)
{
    return (int)((int64_t)n * piece / pieces);
}

/* Divides n things into about as many parts as `most`. */
static int parts(int n, int most)
{
    return n < most ? n : most;
}

static int run_plain(void *arg, int piece, int worker)
{
    const struct call *c = arg;
    const int planes = piece % c->across, rows = piece / c->across;
    const int pairs = (c->out.planes + 1) / 2;
    struct halo_net_part part = {
        2 * part_of(pairs, planes, c->across), 2 * part_of(pairs, planes + 1, c->across),
        part_of(c->out.height, rows, c->down), part_of(c->out.height, rows + 1, c->down)};
    part.plane1 = part.plane1 < c->out.planes ? part.plane1 : c->out.planes;
    const __typeof__(enter()) before = enter();
    (void)worker;
    c->cpu->plain(c->step->first, c->in, &c->out, &part);
    leave(before);
    return 0;
}

static int run_depthwise(void *arg, int piece, int worker)
{
    const struct call *c = arg;
    const struct halo_net_layer *l = c->step->first;
    const int planes = piece % c->across, rows = piece / c->across;
    const struct halo_net_part part = {
        part_of(c->out.planes, planes, c->across), part_of(c->out.planes, planes + 1, c->across),
        part_of(c->out.height, rows, c->down), part_of(c->out.height, rows + 1, c->down)};
    float *lines = halo_cpu_scratch_get(&c->cpu->scratch[worker],
                                        halo_net_lines_floats(l, c->out.width) * sizeof *lines);
    if (!lines)
        return -ENOMEM;
    const __typeof__(enter()) before = enter();
    c->cpu->code->depthwise(l, c->in, &c->out, &part, lines);
    leave(before);
    return 0;
}

static int run_dense(void *arg, int piece, int worker)
{
    const struct call *c = arg;
    const struct halo_net_dense *d = c->dense;
    const struct halo_net_code *code = c->cpu->code;
    const int tiles = (d->width * d->height + code->pixels - 1) / code->pixels;
    const int groups = (d->planes + code->rows - 1) / code->rows;
    const int planes = piece % c->across, cells = piece / c->across;
    struct halo_net_cells part = {part_of(tiles, cells, c->down) * code->pixels,
                                  part_of(tiles, cells + 1, c->down) * code->pixels,
                                  part_of(groups, planes, c->across) * code->rows,
                                  part_of(groups, planes + 1, c->across) * code->rows};
    part.end = part.end < d->width * d->height ? part.end : d->width * d->height;
    part.plane1 = part.plane1 < d->planes ? part.plane1 : d->planes;
    float *panel = halo_cpu_scratch_get(&c->cpu->scratch[worker],
                                        halo_net_panel_floats(d, code->pixels) * sizeof *panel);
    if (!panel)
        return -ENOMEM;
    const __typeof__(enter()) before = enter();
    code->dense(d, c->in, &c->out, c->step->add >= 0 ? &c->add : NULL, &part, panel);
    leave(before);
    return 0;
}

/* ---- a depthwise layer and its neighbours, in strips of rows ---- */

/* How many rows of outputs a strip has. */
static int strip_rows(const struct call *c, const struct halo_net_planes *wide)
{
    const struct halo_net_layer *l = c->step->depthwise;
    const int64_t out_row = (int64_t)l->planes * c->out.width;
    const int64_t in_row = c->step->expand ? (int64_t)l->planes * wide->width : 0;
    int rows = HALO_NET_LINES;
    while (2 * rows * (out_row + in_row * l->stride_y) <= STRIP && rows < c->out.height)
        rows *= 2;
    return rows;
}

/* The rows of a strip, as a tensor in the worker's memory. */
static struct halo_net_planes strip_planes(float *data, int planes, int width, int rows)
{
    const size_t lines =
        ((size_t)width * (size_t)rows + HALO_NET_ALIGNMENT - 1) / HALO_NET_ALIGNMENT;
    return (struct halo_net_planes){
        .data = data,
        .stride = (lines | 1) * HALO_NET_ALIGNMENT,
        .planes = planes,
        .width = width,
    };
}

/* Keeps the rows from y on of each plane, which the next strip reads, too. */
static void keep_rows(struct halo_net_planes *t, int y, int end)
{
    for (int p = 0; p < t->planes && y < end; p++) {
        float *row = t->data + (size_t)p * t->stride;
        memmove(row, halo_net_row(t, p, y), (size_t)(end - y) * (size_t)t->width * sizeof *row);
    }
    t->first = y;
}

static int run_strips(void *arg, int piece, int worker)
{
    const struct call *c = arg;
    const struct step *s = c->step;
    const struct halo_net_code *code = c->cpu->code;
    const struct halo_net_layer *l = s->depthwise;
    struct halo_net_planes wide = c->in[0], deep;
    const int rows = strip_rows(c, &wide), span = (rows - 1) * l->stride_y + l->kernel_y;
    const int row0 = part_of(c->out.height, piece, c->down);
    const int row1 = part_of(c->out.height, piece + 1, c->down);

    /* The memory: wide rows, deep rows, and what the code needs. */
    if (s->expand)
        wide = strip_planes(NULL, l->planes, wide.width, span);
    deep = strip_planes(NULL, l->planes, c->out.width, rows);
    const size_t wide_floats = s->expand ? wide.stride * (size_t)wide.planes : 0;
    const size_t deep_floats = deep.stride * (size_t)deep.planes;
    size_t own = halo_net_lines_floats(l, c->out.width);
    for (int i = 0; i < 2; i++) {
        const struct halo_net_dense *d = i ? s->dense : s->expand;
        const size_t panel = d ? halo_net_panel_floats(d, code->pixels) : 0;
        own = panel > own ? panel : own;
    }
    float *memory = halo_cpu_scratch_get(&c->cpu->scratch[worker],
                                         (wide_floats + deep_floats + own) * sizeof *memory);
    if (!memory)
        return -ENOMEM;
    if (s->expand)
        wide.data = memory;
    deep.data = memory + wide_floats;
    wide.height = c->in[0].height;
    deep.height = c->out.height;
    float *const panel = deep.data + deep_floats;

    const __typeof__(enter()) before = enter();
    int done = row0 * l->stride_y - l->top; /* rows of `wide` before this one are there */
    done = done < 0 ? 0 : done;
    wide.first = s->expand ? done : 0;
    for (int y = row0, end; y < row1; y = end) {
        end = y + rows < row1 ? y + rows : row1;
        int last = (end - 1) * l->stride_y - l->top + l->kernel_y;
        last = last < wide.height ? last : wide.height;
        if (s->expand && last > done) {
            const int first = y * l->stride_y - l->top;
            keep_rows(&wide, first > wide.first ? first < done ? first : done : wide.first, done);
            const struct halo_net_cells cells = {done * wide.width, last * wide.width, 0,
                                                 wide.planes};
            code->dense(s->expand, c->in, &wide, NULL, &cells, panel);
            done = last;
        }
        deep.first = y;
        code->depthwise(l, &wide, &deep, &(struct halo_net_part){0, l->planes, y, end}, panel);
        const struct halo_net_cells cells = {y * c->out.width, end * c->out.width, 0,
                                             s->dense->planes};
        code->dense(s->dense, &deep, &c->out, s->add >= 0 ? &c->add : NULL, &cells, panel);
    }
    leave(before);
    return 0;
}

/* ---- the runner ---- */

static void divide(struct call *c, int planes, int rows)
{
    const int threads = c->cpu->threads, most = threads > 1 ? threads * PIECES_PER_THREAD : 1;
    c->down = parts(rows, most);
    c->across = parts(planes, (most + c->down - 1) / c->down);
}

static int run_step(struct cpu *cpu, const struct step *s)
{
    const struct halo_net_layer *l = s->first;
    struct call c = {.cpu = cpu, .step = s, .out = planes_of(cpu, s->out)};
    for (int i = 0; i < l->input_count; i++)
        c.in[i] = planes_of(cpu, l->inputs[i]);
    if (s->add >= 0)
        c.add = planes_of(cpu, s->add);
    if (s->depthwise) {
        divide(&c, 1, (c.out.height + HALO_NET_LINES - 1) / HALO_NET_LINES);
        return halo_pool_run(cpu->pool, run_strips, &c, c.down);
    }
    for (int i = 0; i < s->dense_count; i++) {
        c.dense = &s->dense[i];
        const int cells = c.dense->width * c.dense->height;
        if (cells == 0) /* a remainder that no output has */
            continue;
        divide(&c, (c.dense->planes + cpu->code->rows - 1) / cpu->code->rows,
               (cells + cpu->code->pixels - 1) / cpu->code->pixels);
        const int rc = halo_pool_run(cpu->pool, run_dense, &c, c.down * c.across);
        if (rc)
            return rc;
    }
    if (s->dense_count > 0 && l->act.kind != HALO_NET_SOFTMAX2)
        return 0;
    if (cpu->code && l->kind == HALO_NET_DEPTHWISE && l->act.kind != HALO_NET_SOFTMAX2) {
        divide(&c, c.out.planes, 1);
        return halo_pool_run(cpu->pool, run_depthwise, &c, c.down * c.across);
    }
    struct step in_place = *s;
    struct halo_net_layer act = {.kind = HALO_NET_ACT, .act = l->act};
    if (s->dense_count > 0) {
        in_place.first = &act;
        c.step = &in_place;
        c.in[0] = c.out;
    }
    divide(&c, (c.out.planes + 1) / 2, c.out.height);
    return halo_pool_run(cpu->pool, run_plain, &c, c.down * c.across);
}

static int cpu_run(struct halo_net_runner *r, int count)
{
    struct cpu *cpu = (struct cpu *)r;
    for (int f = 0; f < count; f++) {
        cpu->frame = cpu->kept + (size_t)f * r->plan->kept_floats;
        for (int s = 0; s < r->plan->step_count; s++) {
            const int rc = run_step(cpu, &cpu->steps[s]);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static float *cpu_input(struct halo_net_runner *r, int frame)
{
    return ((struct cpu *)r)->kept + (size_t)frame * r->plan->kept_floats +
           r->plan->tensors[0].offset;
}

static const float *cpu_output(const struct halo_net_runner *r, int frame, int output)
{
    const struct cpu *cpu = (const struct cpu *)r;
    return cpu->kept + (size_t)frame * r->plan->kept_floats +
           halo_net_output_shape(r, output)->offset;
}

static void cpu_close(struct halo_net_runner *r)
{
    struct cpu *cpu = (struct cpu *)r;
    halo_pool_destroy(cpu->pool);
    for (int i = 0; cpu->scratch && i < cpu->threads; i++)
        free(cpu->scratch[i].data);
    for (int s = 0; cpu->steps && s < r->plan->step_count; s++) {
        const struct step *step = &cpu->steps[s];
        if (step->expand)
            free(step->expand->weights);
        for (int i = 0; i < step->dense_count; i++)
            free(step->dense[i].weights);
        free(step->expand);
        free(step->dense);
    }
    halo_net_plan_destroy(r->plan);
    free(cpu->scratch);
    free(cpu->steps);
    free(cpu->work);
    free(cpu->kept);
    free(cpu);
}

/* Memory that begins with zeros, aligned to vectors, with room for a vector after the end. */
static float *floats(size_t count)
{
    const size_t bytes =
        (count + 2 * HALO_NET_ALIGNMENT) / HALO_NET_ALIGNMENT * HALO_NET_ALIGNMENT * sizeof(float);
    float *ret = aligned_alloc(HALO_NET_ALIGNMENT * sizeof(float), bytes);
    if (ret)
        memset(ret, 0, bytes);
    return ret;
}

static int make_runner(struct cpu *cpu, const struct halo_net_settings *settings)
{
    const struct halo_net_plan *plan = cpu->base.plan;
    cpu->scratch = calloc((size_t)cpu->threads, sizeof *cpu->scratch);
    cpu->steps = calloc((size_t)plan->step_count + 1, sizeof *cpu->steps);
    cpu->work = floats(plan->floats);
    cpu->kept = floats(plan->kept_floats * (size_t)settings->batch);
    cpu->pool = halo_pool_create(cpu->threads);
    if (!cpu->scratch || !cpu->steps || !cpu->work || !cpu->kept || !cpu->pool)
        return -ENOMEM;
    for (int s = 0; s < plan->step_count; s++)
        if (make_step(cpu, &cpu->steps[s], &plan->steps[s]))
            return -ENOMEM;
    return 0;
}

/* A row of the table, and its code: NULL for the reference. */
struct cpu_strategy {
    struct halo_net_strategy base;
    const struct halo_net_code *code;
};

static int cpu_open(struct halo_net_runner **ret, const struct halo_net *net,
                    const struct halo_net_settings *settings, struct halo_net_fault *fault)
{
    const struct cpu_strategy *strategy = (const struct cpu_strategy *)settings->strategy;
    const size_t fuse_from = !strategy->code       ? SIZE_MAX
                             : settings->fuse_from ? settings->fuse_from
                                                   : FUSE_FROM;
    struct halo_net_plan *plan;
    int rc = halo_net_plan_create(&plan, net, settings->width, settings->height, fuse_from, fault);
    if (rc)
        return rc;
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu) {
        halo_net_plan_destroy(plan);
        return -ENOMEM;
    }
    cpu->base = (struct halo_net_runner){&strategy->base, net, plan, settings->batch};
    cpu->code = strategy->code;
    cpu->plain = cpu->code ? cpu->code->plain : halo_net_plain_base;
    cpu->threads = settings->threads ? settings->threads : halo_cpu_count();
    rc = make_runner(cpu, settings);
    if (rc) {
        cpu_close(&cpu->base);
        return rc;
    }
    *ret = &cpu->base;
    return 0;
}

static bool can_always(void)
{
    return true;
}

#define STRATEGY(name_, about_, can_, code_)                                                       \
    {                                                                                              \
        .base = {.name = name_,                                                                    \
                 .about = about_,                                                                  \
                 .can = can_,                                                                      \
                 .open = cpu_open,                                                                 \
                 .close = cpu_close,                                                               \
                 .input = cpu_input,                                                               \
                 .run = cpu_run,                                                                   \
                 .output = cpu_output},                                                            \
        .code = code_,                                                                             \
    }

static const struct cpu_strategy reference = STRATEGY(
    "reference", "plain C: the definition; slow, and slower without FMA", can_always, NULL);
#if defined(__x86_64__)
static const struct cpu_strategy avx512 =
    STRATEGY("avx512", "vectors of 16 outputs", halo_has_v4, &halo_net_code_v4);
static const struct cpu_strategy avx2 =
    STRATEGY("avx2", "vectors of 8 outputs", halo_has_v3, &halo_net_code_v3);
#elif defined(__aarch64__)
static const struct cpu_strategy neon =
    STRATEGY("neon", "vectors of 4 outputs", can_always, &halo_net_code_base);
#endif

/* ---- the table ---- */

const struct halo_net_strategy *const halo_net_strategies[] = {
#if defined(__x86_64__)
    &avx512.base,
    &avx2.base,
#elif defined(__aarch64__)
    &neon.base,
#endif
    &reference.base,
    &halo_net_cuda, /* only for those who ask for it */
    NULL,
};

const struct halo_net_strategy *halo_net_strategy_find(const char *name)
{
    const struct halo_net_strategy *const *s = halo_net_strategies;
    while (*s && strcmp((*s)->name, name) != 0)
        s++;
    return *s;
}

int halo_net_open(struct halo_net_runner **ret, const struct halo_net *net,
                  const struct halo_net_settings *settings, struct halo_net_fault *fault)
{
    struct halo_net_settings checked = *settings;
    const struct halo_net_strategy *const *s = halo_net_strategies;
    while (!checked.strategy) { /* the last row can always run */
        checked.strategy = (*s)->can() ? *s : NULL;
        s++;
    }
    if (!checked.strategy->can()) {
        snprintf(fault->text, sizeof fault->text, "this machine cannot run the strategy %s",
                 checked.strategy->name);
        return -ENOTSUP;
    }
    if (checked.batch < 1 || checked.batch > HALO_NET_MAX_BATCH || checked.threads < 0) {
        snprintf(fault->text, sizeof fault->text, "a batch must be 1 to %d frames, not %d",
                 HALO_NET_MAX_BATCH, checked.batch);
        return -EINVAL;
    }
    snprintf(fault->text, sizeof fault->text, "out of memory");
    return checked.strategy->open(ret, net, &checked, fault);
}

void halo_net_close(struct halo_net_runner *r)
{
    if (r)
        r->strategy->close(r);
}

float *halo_net_input(struct halo_net_runner *r, int frame)
{
    return r->strategy->input(r, frame);
}

int halo_net_run(struct halo_net_runner *r, int count)
{
    return count < 0 || count > r->batch ? -EINVAL : r->strategy->run(r, count);
}

const float *halo_net_output(const struct halo_net_runner *r, int frame, int output)
{
    return r->strategy->output(r, frame, output);
}
