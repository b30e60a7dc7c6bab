/* SPDX-License-Identifier: BSD-2-Clause
 * Times of networks, in CPU time of one thread: single layers, beside what the processor could do
 * at most, and a network as large as CenterFace.
 *
 *     kernels-net-bench [STRATEGY ...] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/kernels/made_net.h"
#include "tests/kernels/picture.h"

enum { ROUNDS = 15 };

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what is possible at most ---- */

/* Twelve chains of multiply-adds, which hide each other's latency: so many for each instruction. */
#define FMA(v)                                                                                     \
    "vfmadd231ps %%" v "14, %%" v "15, %%" v "0\n vfmadd231ps %%" v "14, %%" v "15, %%" v          \
    "1\n vfmadd231ps %%" v "14, %%" v "15, %%" v "2\n vfmadd231ps %%" v "14, %%" v "15, %%" v      \
    "3\n vfmadd231ps %%" v "14, %%" v "15, %%" v "4\n vfmadd231ps %%" v "14, %%" v "15, %%" v      \
    "5\n vfmadd231ps %%" v "14, %%" v "15, %%" v "6\n vfmadd231ps %%" v "14, %%" v "15, %%" v      \
    "7\n vfmadd231ps %%" v "14, %%" v "15, %%" v "8\n vfmadd231ps %%" v "14, %%" v "15, %%" v      \
    "9\n vfmadd231ps %%" v "14, %%" v "15, %%" v "10\n vfmadd231ps %%" v "14, %%" v "15, %%" v     \
    "11\n"
#define PEAK(name, v)                                                                              \
    static void name(long rounds)                                                                  \
    {                                                                                              \
        __asm__ volatile("vzeroall\n 1:\n" FMA(v) "dec %0\n jnz 1b\n vzeroall"                     \
                         : "+r"(rounds)                                                            \
                         :                                                                         \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");          \
    }
#ifdef __x86_64__
PEAK(peak_avx512, "zmm")
PEAK(peak_avx2, "ymm")
#endif

static double measure_peak(const char *strategy)
{
    double best = 0;
    for (int i = 0; i < 10; i++) {
        const double start = now(CLOCK_THREAD_CPUTIME_ID);
        double work = 0;
#ifdef __x86_64__
        if (!strcmp(strategy, "avx512"))
            peak_avx512(500000), work = 12 * 16 * 5e5;
        else if (!strcmp(strategy, "avx2"))
            peak_avx2(500000), work = 12 * 8 * 5e5;
#else
        (void)strategy;
#endif
        const double rate = work / (now(CLOCK_THREAD_CPUTIME_ID) - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* Copies of this many floats: read and written, per second. */
static double measure_copy(size_t floats)
{
    float *from = malloc(2 * floats * sizeof *from), *to = from + floats;
    double best = 0;
    if (!from)
        abort();
    memset(from, 0, 2 * floats * sizeof *from);
    for (int i = 0; i < 30; i++) {
        const double start = now(CLOCK_THREAD_CPUTIME_ID);
        memcpy(to, from, floats * sizeof *to);
        __asm__ volatile("" : : "r"(to) : "memory");
        const double rate = 2.0 * (double)floats / (now(CLOCK_THREAD_CPUTIME_ID) - start);
        best = rate > best ? rate : best;
    }
    free(from);
    return best;
}

/* ---- layers ---- */

static const struct layer {
    int planes, width, height; /* of the input */
    const char *line;
    int out, each; /* planes of the result, and weights for each */
} layers[] = {
    {3, 384, 224, "conv 0 planes 32 kernel 3x3 stride 2x2 pad 0,0,1,1 act relu", 32, 27},
    {32, 192, 112, "conv 0 planes 16 kernel 1x1", 16, 32},
    {16, 192, 112, "conv 0 planes 96 kernel 1x1 act relu", 96, 16},
    {24, 96, 56, "conv 0 planes 144 kernel 1x1 act relu", 144, 24},
    {144, 96, 56, "conv 0 planes 24 kernel 1x1", 24, 144},
    {64, 24, 14, "conv 0 planes 384 kernel 1x1 act relu", 384, 64},
    {576, 24, 14, "conv 0 planes 96 kernel 1x1", 96, 576},
    {160, 12, 7, "conv 0 planes 960 kernel 1x1 act relu", 960, 160},
    {960, 12, 7, "conv 0 planes 320 kernel 1x1", 320, 960},
    {24, 96, 56, "conv 0 planes 24 kernel 3x3 pad 1,1,1,1 act relu", 24, 216},
    {96, 192, 112, "depthwise 0 kernel 3x3 stride 2x2 pad 0,0,1,1 act relu", 96, 9},
    {144, 96, 56, "depthwise 0 kernel 3x3 pad 1,1,1,1 act relu", 144, 9},
    {576, 24, 14, "depthwise 0 kernel 3x3 pad 1,1,1,1 act relu", 576, 9},
    {32, 128, 72, "depthwise 0 kernel 5x5 pad 2,2,2,2 act hswish", 32, 25},
    {24, 48, 28, "transposed 0 planes 24 kernel 2x2 stride 2x2 act relu", 24, 96},
    {24, 48, 28, "transposed 0 planes 24 kernel 4x4 stride 2x2 pad 1,1,1,1", 24, 384},
    {24, 96, 56, "add 0 0", 0, 0},
    {24, 96, 56, "act 0 sigmoid", 0, 0},
    {24, 96, 56, "act 0 hswish", 0, 0},
    {24, 96, 56, "maxpool 0 kernel 2x2 stride 2x2", 0, 0},
    {24, 96, 56, "mean 0", 0, 0},
    {24, 96, 56, "resize 0 mode bilinear by 2x2", 0, 0},
    {24, 96, 56, "resize 0 mode nearest by 2x2", 0, 0},
};

static struct halo_net_runner *open_net(struct made_net *m,
                                        const struct halo_net_settings *settings)
{
    struct halo_net *net;
    struct halo_net_runner *r;
    struct halo_net_fault fault;
    size_t size;
    char *bytes = made_net_bytes(m, &size);
    if (halo_net_load(&net, bytes, size, &fault) || halo_net_open(&r, net, settings, &fault)) {
        fprintf(stderr, "%s\n", fault.text);
        exit(EXIT_FAILURE);
    }
    free(bytes);
    made_net_finish(m);
    const struct halo_net_tensor *t = halo_net_input_shape(r);
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)t->planes * t->stride; i++)
        halo_net_input(r, 0)[i] = (float)(next_random(&state) >> 56);
    return r;
}

static void close_net(struct halo_net_runner *r)
{
    struct halo_net *net = (struct halo_net *)r->net;
    halo_net_close(r);
    halo_net_destroy(net);
}

static double time_net(struct halo_net_runner *r, clockid_t clock, double least)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS || (i < 10 * ROUNDS && best * i < least); i++) {
        const double start = now(clock);
        if (halo_net_run(r, 1))
            exit(EXIT_FAILURE);
        const double time = now(clock) - start;
        best = i > 0 && time < best ? time : best;
    }
    return best;
}

static void bench_layers(const struct halo_net_strategy *strategy)
{
    const double peak = measure_peak(strategy->name);
    printf("%s: at most %.1f GMAC/s\n", strategy->name, peak / 1e9);
    printf("%-78s %8s %7s %5s %6s %5s\n", "layer", "us", "GMAC/s", "peak", "Gfl/s", "copy");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const struct layer *l = &layers[i];
        const struct halo_net_settings settings = {strategy, l->width, l->height, 1, 1, 0};
        struct made_net m;
        char input[80];
        snprintf(input, sizeof input, "input %d planes other range 0 255 multiple 1", l->planes);
        made_net_init(&m, 1, input);
        m.tame = true;
        made_net_line(&m, "%s", l->line);
        if (l->each)
            made_net_weights(&m, l->out, l->each);
        made_net_line(&m, "output out 1");
        struct halo_net_runner *r = open_net(&m, &settings);
        const struct halo_net_tensor *in = &r->plan->tensors[0], *out = &r->plan->tensors[1];
        const double time = time_net(r, CLOCK_THREAD_CPUTIME_ID, 0.01);
        const double moved = (double)in->planes * in->width * in->height +
                             (double)out->planes * out->width * out->height;
        const double copy = measure_copy((size_t)moved / 2 + 1);
        printf("%3dx%3dx%3d %-66s %8.1f %7.1f %4.0f%% %6.2f %4.0f%%\n", l->planes, l->width,
               l->height, l->line, time * 1e6, r->plan->work / time / 1e9,
               peak > 0 ? 100 * r->plan->work / time / peak : 0, moved / time / 1e9,
               100 * moved / time / copy);
        close_net(r);
    }
}

static void bench_face(const struct halo_net_strategy *strategy)
{
    static const size_t fuse[] = {0, 1, SIZE_MAX};
    for (int threads = 1; threads <= 2; threads++)
        for (int f = 0; f < 3; f++) {
            const struct halo_net_settings settings = {strategy, 384, 224, 1, threads, fuse[f]};
            struct made_net m;
            made_net_face(&m, 1);
            struct halo_net_runner *r = open_net(&m, &settings);
            const double time =
                time_net(r, threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, 0.5);
            printf("face 384x224, %d thread%s, fuse_from %zu: %.2f ms, %.1f GMAC/s, %zu steps, "
                   "%.1f MB\n",
                   threads, threads > 1 ? "s" : "", settings.fuse_from, time * 1e3,
                   r->plan->work / time / 1e9, (size_t)r->plan->step_count,
                   (double)r->plan->floats * 4e-6);
            close_net(r);
        }
}

int main(int argc, char **argv)
{
    for (int s = 0; halo_net_strategies[s]; s++) {
        bool wanted = argc == 1 && strcmp(halo_net_strategies[s]->name, "reference") != 0;
        for (int i = 1; i < argc; i++)
            wanted |= !strcmp(argv[i], halo_net_strategies[s]->name);
        if (!wanted || !halo_net_strategies[s]->can())
            continue;
        bench_layers(halo_net_strategies[s]);
        bench_face(halo_net_strategies[s]);
    }
    return 0;
}
