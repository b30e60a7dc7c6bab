/* SPDX-License-Identifier: BSD-2-Clause
 * Networks on a GPU: the tensors of all layers against the reference's, bit by bit, and times.
 *
 *     kernels-net-cuda [--seed N] [--count N]    networks of random layers
 *     kernels-net-cuda --face WIDTHxHEIGHT       one as large as CenterFace, all layers
 *     kernels-net-cuda [--layers] --bench WIDTHxHEIGHT ...
 *         its frames in a second, and the times of its kinds of layers, or of each one */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "kernels/cuda/net_cuda.h"
#include "tests/kernels/made_net.h"
#include "tests/kernels/picture.h"

enum { SKIPPED = 77, LAYERS_AT_ONCE = 24 };

static long compared, failed;
static bool each_layer;

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* m with the tensors first to end - 1 as outputs, too. */
static struct halo_net *load(const struct made_net *m, int first, int end)
{
    struct made_net whole = *m;
    struct halo_net *net = NULL;
    struct halo_net_fault fault;
    size_t size;
    whole.head = malloc(m->head_size);
    if (!whole.head)
        abort();
    memcpy(whole.head, m->head, m->head_size);
    for (int t = first; t < end; t++)
        made_net_line(&whole, "output tensor%d %d", t, t);
    char *bytes = made_net_bytes(&whole, &size);
    if (halo_net_load(&net, bytes, size, &fault))
        die(fault.text);
    free(whole.head);
    free(bytes);
    return net;
}

static struct halo_net_runner *open_net(const struct halo_net *net,
                                        const struct halo_net_strategy *strategy, int width,
                                        int height, int batch, size_t fuse_from)
{
    struct halo_net_runner *r = NULL;
    struct halo_net_fault fault;
    const struct halo_net_settings settings = {strategy, width, height, batch, 0, fuse_from};
    if (halo_net_open(&r, net, &settings, &fault))
        die(fault.text);
    return r;
}

/* Values in the declared range, many at its ends; zeros of both signs and denormal numbers. */
static void fill(struct halo_net_runner *r, int frame, uint64_t state)
{
    const struct halo_net_tensor *t = halo_net_input_shape(r);
    const float low = r->net->low, high = r->net->high;
    for (size_t i = 0; i < (size_t)t->planes * t->stride; i++) {
        const uint64_t random = next_random(&state);
        const float specials[] = {low, high, -0.0f, 1e-42f};
        float value = (random & 15) < 4 ? specials[random & 15]
                                        : low + (high - low) * (float)(random >> 40) * 0x1p-24f;
        value = value < low ? low : value > high ? high : value;
        halo_net_input(r, frame)[i] = value;
    }
}

static void compare(const struct halo_net_runner *want, const struct halo_net_runner *got,
                    int count, const char *what)
{
    for (int f = 0; f < count; f++)
        for (int o = 0; o < want->net->outputs; o++) {
            const struct halo_net_tensor *t = halo_net_output_shape(want, o);
            for (int p = 0; p < t->planes; p++) {
                const size_t n = (size_t)t->width * (size_t)t->height, at = (size_t)p * t->stride;
                const float *x = halo_net_output(want, f, o) + at;
                const float *y = halo_net_output(got, f, o) + at;
                compared++;
                if (!memcmp(x, y, n * sizeof *x))
                    continue;
                size_t i = 0;
                while (!memcmp(&x[i], &y[i], sizeof *x))
                    i++;
                const int tensor = want->net->output[o].tensor;
                printf("FAIL %s: frame %d of %d, tensor %d (kind %d), plane %d of %d, pixel %zu of "
                       "%dx%d: %a instead of %a\n",
                       what, f, count, tensor, (int)want->net->layers[tensor].kind, p, t->planes, i,
                       t->width, t->height, (double)y[i], (double)x[i]);
                failed++;
                break;
            }
        }
}

/* The first run, and then the graph, twice, with other numbers of frames in between. */
static void check_net(const struct halo_net *net, int width, int height, int batch,
                      size_t fuse_from, uint64_t seed)
{
    char what[100];
    struct halo_net_runner *want =
        open_net(net, halo_net_strategy_find("reference"), width, height, batch, SIZE_MAX);
    struct halo_net_runner *got = open_net(net, &halo_net_cuda, width, height, batch, fuse_from);
    snprintf(what, sizeof what, "seed %llu, %dx%d", (unsigned long long)seed, width, height);
    for (int round = 0; round < 3; round++) {
        const int count = round == 1 ? (batch + 1) / 2 : batch;
        for (int f = 0; f < count; f++) {
            fill(want, f, seed + (uint64_t)f + 100 * (uint64_t)round);
            fill(got, f, seed + (uint64_t)f + 100 * (uint64_t)round);
        }
        if (halo_net_run(want, count) || halo_net_run(got, count))
            die("a run failed");
        compare(want, got, count, what);
    }
    halo_net_close(want);
    halo_net_close(got);
}

static void check_random(uint64_t seed)
{
    static const int batches[] = {1, 3, 8, 1, 2};
    struct made_net m;
    int width, height;
    made_net_random(&m, seed, &width, &height);
    for (int all = 0; all < 2; all++) {
        struct halo_net *net = load(&m, 1, all ? m.layers + 1 : 1);
        check_net(net, width, height, batches[seed % 5], all ? SIZE_MAX : 0, seed);
        halo_net_destroy(net);
    }
    made_net_finish(&m);
}

static void check_face(int width, int height)
{
    struct made_net m;
    made_net_face(&m, 1);
    for (int t = 1; t <= m.layers; t += LAYERS_AT_ONCE) {
        const int end = t + LAYERS_AT_ONCE <= m.layers ? t + LAYERS_AT_ONCE : m.layers + 1;
        struct halo_net *net = load(&m, t, end);
        check_net(net, width, height, 1 + t / LAYERS_AT_ONCE % 3, 0, (uint64_t)t);
        halo_net_destroy(net);
    }
    made_net_finish(&m);
}

/* ---- times ---- */

static const char *kind_of(const struct halo_net_layer *l)
{
    static const char *const names[HALO_NET_KINDS] = {
        "input",   "conv", "depthwise", "transposed",     "add", "mul", "concat", "pad",
        "maxpool", "mean", "resize",    "depth_to_space", "act"};
    return l->kind != HALO_NET_CONV               ? names[l->kind]
           : l->kernel_x == 1 && l->kernel_y == 1 ? "conv 1x1"
                                                  : "conv 3x3";
}

struct kind {
    const char *name;
    int steps;
    double us, work, floats; /* floats: read and written, each tensor once */
};

static double floats_of(const struct halo_net_tensor *t)
{
    return (double)t->planes * t->width * t->height;
}

/* Multiply-adds, and floats moved, of a step for one frame. */
static void add_step(struct kind *k, const struct halo_net_plan *plan, int step, double us)
{
    const struct halo_net_step *s = &plan->steps[step];
    const struct halo_net_layer *l = &plan->net->layers[s->layers[0]];
    const struct halo_net_tensor *in = &plan->tensors[l->inputs[0]];
    const struct halo_net_tensor *out = &plan->tensors[s->layers[s->count - 1]];
    const double taps = (double)l->kernel_x * l->kernel_y;
    k->steps++;
    k->us += us;
    k->floats += floats_of(out) * s->count + floats_of(in) * (l->kind == HALO_NET_ADD ? 2 : 1);
    if (l->kind == HALO_NET_CONV)
        k->work += floats_of(out) * in->planes * taps;
    else if (l->kind == HALO_NET_DEPTHWISE)
        k->work += floats_of(out) * taps;
    else if (l->kind == HALO_NET_TRANSPOSED)
        k->work += floats_of(in) * out->planes * taps;
}

static void bench_kinds(struct halo_net_runner *r, int count, double peak, double copy)
{
    const struct halo_net_plan *plan = r->plan;
    double *us = calloc((size_t)plan->step_count, sizeof *us);
    struct kind kinds[16] = {{NULL, 0, 0, 0, 0}};
    if (!us || halo_net_cuda_time(r, count, us))
        die("the layers were not timed");
    for (int s = 0; s < plan->step_count; s++) {
        const struct halo_net_layer *l = &plan->net->layers[plan->steps[s].layers[0]];
        const struct halo_net_tensor *in = &plan->tensors[l->inputs[0]];
        struct kind *k = kinds, one = {NULL, 0, 0, 0, 0};
        while (k->name && strcmp(k->name, kind_of(l)) != 0)
            k++;
        k->name = kind_of(l);
        add_step(k, plan, s, us[s]);
        add_step(&one, plan, s, us[s]);
        if (each_layer)
            printf("    %-10s %4d -> %4d planes, from %dx%d stride %d%s: %7.1f us, %4.1f %% of the "
                   "peak, %4.1f %% of a copy\n",
                   k->name, in->planes, l->planes, in->width, in->height, l->stride_x,
                   plan->steps[s].count > 1 ? ", add" : "", us[s],
                   100 * one.work * count / us[s] / 1e6 / peak,
                   100 * one.floats * count * 4 / us[s] / 1e6 / copy);
    }
    for (const struct kind *k = kinds; k->name; k++)
        printf("  %-10s %2d steps: %8.1f us, %5.2f TMAC/s (%4.1f %% of the peak), %4.2f TB/s "
               "(%4.1f %% of a copy)\n",
               k->name, k->steps, k->us, k->work * count / k->us / 1e6,
               100 * k->work * count / k->us / 1e6 / peak, k->floats * count * 4 / k->us / 1e6,
               100 * k->floats * count * 4 / k->us / 1e6 / copy);
    free(us);
}

/* Milliseconds of one of `times` runs. */
static double time_runs(struct halo_net_runner *r, int count, int times, cudaStream_t stream)
{
    cudaEvent_t events[2];
    float ms = 0;
    if (cudaEventCreate(&events[0]) || cudaEventCreate(&events[1]))
        die("no events");
    for (int i = -5; i < times; i++) {
        if (i == 0 && cudaEventRecord(events[0], stream))
            die("no event");
        if (halo_net_cuda_enqueue(r, count, stream))
            die("not enqueued");
    }
    if (cudaEventRecord(events[1], stream) || cudaEventSynchronize(events[1]) ||
        cudaEventElapsedTime(&ms, events[0], events[1]))
        die("not timed");
    (void)cudaEventDestroy(events[0]);
    (void)cudaEventDestroy(events[1]);
    return (double)ms / times;
}

static void bench(int width, int height)
{
    static const int batches[] = {1, 8, 32};
    const double peak = 33.4, copy = 4.3; /* TMAC/s and TB/s of an H200 */
    cudaStream_t stream;
    struct made_net m;
    made_net_face(&m, 1);
    struct halo_net *net = load(&m, 0, 0);
    if (cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0))
        die("no stream");
    for (int i = 0; i < 3; i++) {
        const int count = batches[i];
        struct halo_net_runner *r = open_net(net, &halo_net_cuda, width, height, count, 0);
        for (int f = 0; f < count; f++)
            fill(r, f, (uint64_t)f);
        if (halo_net_run(r, count))
            die("a run failed");
        const double ms = time_runs(r, count, count == 1 ? 200 : 30, stream);
        printf("face %dx%d, batch %2d: %8.3f ms, %6.0f frames/s, %5.2f TMAC/s, %d steps\n", width,
               height, count, ms, count / ms * 1e3, r->plan->work * count / ms / 1e9,
               r->plan->step_count);
        bench_kinds(r, count, peak, copy);
        halo_net_close(r);
    }
    (void)cudaStreamDestroy(stream);
    halo_net_destroy(net);
    made_net_finish(&m);
}

int main(int argc, char **argv)
{
    uint64_t seed = 1;
    int count = argc > 1 ? 0 : 100, width, height;
    void (*sized)(int width, int height) = NULL;
    if (!halo_net_cuda.can()) {
        printf("skipped: no GPU\n");
        return SKIPPED;
    }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--face"))
            sized = check_face;
        else if (!strcmp(argv[i], "--bench"))
            sized = bench;
        else if (!strcmp(argv[i], "--layers"))
            each_layer = true;
        else if (sized && sscanf(argv[i], "%dx%d", &width, &height) == 2)
            sized(width, height);
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else if (!strcmp(argv[i], "--count") && i + 1 < argc)
            count = atoi(argv[++i]);
    }
    for (int i = 0; i < count; i++)
        check_random(seed + (uint64_t)i);
    printf("%ld planes compared, %ld failed\n", compared, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
