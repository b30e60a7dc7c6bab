/* SPDX-License-Identifier: BSD-2-Clause
 * Gaussians too wide to be separable masks, against real numbers: a float64 witness that shares no
 * code with the reference. No sample may be off by more than 2, nor by more than error_bound, also
 * where the picture is made for the error to be largest. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"

enum { LIMIT = 1300, MAX_REACH = 3 * (int)HALO_MAX_SIGMA + 3 * HALO_MAX_STEP };

static struct halo_backend *backend;
static long passed, failed;

static void verdict(bool ok, const char *what, double got, double limit)
{
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("FAIL %s: %.4f, not %.4f\n", what, got, limit);
}

/* ---- the witness, one direction at a time */

/* The border rules as walks: step over the edge and see where each leads; -1 for the constant. */
static int walk(int i, int size, enum halo_border border)
{
    int at = i < 0 ? 0 : i < size ? i : size - 1, left = i - at, step = left > 0 ? 1 : -1;
    if (left != 0 && border == HALO_BORDER_CONSTANT)
        return -1;
    while (left != 0 && border != HALO_BORDER_REPLICATE) {
        const bool edge = step > 0 ? at == size - 1 : at == 0;
        if (!edge)
            at += step;
        else if (border == HALO_BORDER_WRAP)
            at = step > 0 ? 0 : size - 1;
        else if (border == HALO_BORDER_REFLECT)
            step = -step; /* the edge counts twice: this step stays */
        else if (size > 1)
            step = -step, at += step;
        left += left > 0 ? -1 : 1;
    }
    return at;
}

static double bell(int i, double sigma)
{
    return sigma > 0 ? exp(-0.5 * (i / sigma) * (i / sigma)) : 1;
}

/* How much cell i of a line of size cells counts at cell x; [size] is the ghost constant. */
static void line_weights(double *ret, int x, int size, double sigma, enum halo_border border)
{
    const int r = (int)ceil(3 * sigma);
    double sum = 0;
    memset(ret, 0, sizeof *ret * (size_t)(size + 1));
    for (int i = -r; i <= r; i++) {
        const int at = walk(x + i, size, border);
        ret[at < 0 ? size : at] += bell(i, sigma);
        sum += bell(i, sigma);
    }
    for (int i = 0; i <= size; i++)
        ret[i] /= sum;
}

struct trial {
    struct halo_conv conv;
    double sigma_x, sigma_y;
    int width, height;
    uint16_t *in, *out;
    double wx[LIMIT + 1], wy[LIMIT + 1];
};

static double expected(struct trial *t, int x, int y)
{
    const enum halo_border border = t->conv.border;
    line_weights(t->wx, x, t->width, t->sigma_x, border);
    line_weights(t->wy, y, t->height, t->sigma_y, border);
    double sum = t->wy[t->height] * t->conv.border_value;
    for (int j = 0; j < t->height; j++) {
        double row = t->wx[t->width] * t->conv.border_value;
        for (int i = 0; i < t->width; i++)
            row += t->wx[i] * t->in[j * t->width + i];
        sum += row * t->wy[j];
    }
    return sum;
}

/* ---- pictures */

/* The weight of cell i at cell x that the integers come to, borders left out. */
static double integer_weight(const struct halo_conv *c, bool down, int x, int i)
{
    const int step = down ? c->step_y : c->step_x, reach = down ? c->reach_y : c->reach_x;
    const int32_t *side = c->mask + (down ? c->reach_x + 1 : 0);
    const double unit = ldexp(1, down ? -c->col_bits : -c->row_bits);
    if (step == 1)
        return abs(i - x) <= reach ? side[abs(i - x)] * unit : 0;

    double sum = 0;
    for (int n = i / step - 1; n <= i / step + 2; n++) {
        const double gather = 1 - fabs(i + 0.5 - n * step) / step;
        for (int m = x / step; m <= x / step + 1; m++) {
            const double spread = 1 - fabs(x + 0.5 - m * step) / step;
            if (gather > 0 && abs(n - m) <= reach)
                sum += gather / step * spread * side[abs(n - m)] * unit;
        }
    }
    return sum;
}

/* Random; patches of 3x3; white where the weights at x, y came out too large, and the reverse. */
static void fill(struct trial *t, int pattern, int x, int y)
{
    static double ix[LIMIT], iy[LIMIT];
    const int max = (1 << t->conv.depth) - 1;
    for (int i = 0; i < t->width; i++)
        ix[i] = integer_weight(&t->conv, false, x, i);
    for (int j = 0; j < t->height; j++)
        iy[j] = integer_weight(&t->conv, true, y, j);
    line_weights(t->wx, x, t->width, t->sigma_x, HALO_BORDER_CONSTANT);
    line_weights(t->wy, y, t->height, t->sigma_y, HALO_BORDER_CONSTANT);
    for (int j = 0; j < t->height; j++) {
        for (int i = 0; i < t->width; i++) {
            const bool over = ix[i] * iy[j] > t->wx[i] * t->wy[j];
            const bool white = pattern == 1 ? (i / 3 + j / 3) % 2 : over == (pattern == 2);
            t->in[j * t->width + i] = (uint16_t)(pattern == 0 ? rand() % (max + 1) : white * max);
        }
    }
}

static void filter(struct trial *t)
{
    static uint8_t src[LIMIT * LIMIT], dst[LIMIT * LIMIT];
    const int w = t->width, h = t->height, depth = t->conv.depth;
    struct halo_job job = {
        .conv = &t->conv,
        .src = {t->in, 2 * w, w, h, 1, depth, 0},
        .dst = {t->out, 2 * w, w, h, 1, depth, 0},
    };
    if (depth == 8) {
        for (int i = 0; i < w * h; i++)
            src[i] = (uint8_t)t->in[i];
        job.src.data = src, job.dst.data = dst;
        job.src.stride = job.dst.stride = w;
    }
    if (halo_backend_convolve(backend, &job, 1)) {
        printf("FAIL convolve\n");
        exit(1);
    }
    for (int i = 0; i < w * h && depth == 8; i++)
        t->out[i] = dst[i];
}

/* At x, y and at some fifty others, corners among them. */
static double largest_error(struct trial *t, int x, int y)
{
    const int cells = t->width * t->height, apart = cells > 50 ? (cells - 1) / 49 : 1;
    double worst = fabs(t->out[y * t->width + x] - expected(t, x, y));
    for (int i = 0; i < cells; i += apart) {
        const double error = t->out[i] - expected(t, i % t->width, i / t->width);
        worst = fmax(worst, fabs(error));
    }
    return worst;
}

static void check(double sigma_x, double sigma_y, int depth, int width, int height)
{
    static uint16_t in[LIMIT * LIMIT], out[LIMIT * LIMIT];
    static struct trial t;
    char name[100];
    double worst = 0;
    snprintf(name, sizeof name, "gauss %g x %g, depth %d, %dx%d", sigma_x, sigma_y, depth, width,
             height);
    for (int b = 0; b < HALO_BORDER_COUNT; b++) {
        const struct halo_conv_target target = {depth, (enum halo_border)b, 77};
        t = (struct trial){.sigma_x = sigma_x,
                           .sigma_y = sigma_y,
                           .width = width,
                           .height = height,
                           .in = in,
                           .out = out};
        const int code = halo_conv_gauss(&t.conv, sigma_x, sigma_y, &target);
        verdict(code == 0 && t.conv.kind == HALO_CONV_DECIMATED, name, code, 0);
        if (code)
            return;
        /* The largest error is at the first pixel of a step, or in its middle. */
        for (int pattern = 0; pattern < 4; pattern++) {
            const int x = width / 2 / t.conv.step_x * t.conv.step_x;
            const int y = height / 2 / t.conv.step_y * t.conv.step_y;
            const int phase_x = b % 2 ? t.conv.step_x / 2 : 0;
            const int phase_y = b % 2 ? t.conv.step_y / 2 : 0;
            fill(&t, pattern, x + phase_x < width ? x + phase_x : x,
                 y + phase_y < height ? y + phase_y : y);
            filter(&t);
            worst = fmax(worst, largest_error(&t, x + phase_x < width ? x + phase_x : x,
                                              y + phase_y < height ? y + phase_y : y));
        }
    }
    const double bound = t.conv.error_bound;
    verdict(bound <= 2, name, bound, 2);
    verdict(worst <= bound + 1e-6, name, worst, bound);
    printf("%-40s steps %2d, %2d: max error %.4f, bound %.4f\n", name, t.conv.step_x, t.conv.step_y,
           worst, bound);
}

/* Every sigma is held with the bound, at every depth, and the integers sum to 1. */
static void check_formats(int depth)
{
    const struct halo_conv_target target = {.depth = depth};
    for (double x = 21.01; x <= HALO_MAX_SIGMA; x *= 1.0211) {
        const double others[] = {x, 0, 0.2, 3, 40, 200};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            struct halo_conv c;
            const int code = halo_conv_gauss(&c, x, others[i], &target);
            verdict(code == 0 && c.error_bound <= 2, "format", code, 0);
            if (code)
                continue;
            int64_t row = c.mask[0], column = c.mask[c.reach_x + 1];
            for (int k = 1; k <= c.reach_x; k++)
                row += 2 * (int64_t)c.mask[k];
            for (int k = 1; k <= c.reach_y; k++)
                column += 2 * (int64_t)c.mask[c.reach_x + 1 + k];
            verdict(row == INT64_C(1) << c.row_bits && column == INT64_C(1) << c.col_bits,
                    "sums of the weights", (double)row, ldexp(1, c.row_bits));
        }
    }
    struct halo_conv c = {.depth = 77};
    const int wide = halo_conv_gauss(&c, 200.01, 1, &target);
    const int high = halo_conv_gauss(&c, 1, 200.01, &target);
    verdict(wide == -EINVAL && high == -EINVAL && c.depth == 77, "above the limit", wide, -EINVAL);
    const int narrow = halo_conv_gauss(&c, HALO_MAX_SEPARABLE_SIGMA, 21, &target);
    verdict(narrow == 0 && c.kind == HALO_CONV_SEPARABLE, "at the limit", c.kind, 0);
}

int main(void)
{
    static const int depths[] = {8, 10, 12, 16};
    const struct halo_backend_settings settings = {.threads = 0};
    if (halo_backend_open(halo_backends[0], &settings, &backend))
        return 1;
    for (int depth = 8; depth <= 16; depth++)
        check_formats(depth);
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
        const int depth = depths[d];
        check(22, 22, depth, 151, 147);
        check(28, 28, depth, 200, 181);
        check(60, 60, depth, 61, 47);
        check(200, 200, depth, 3, 5);
        check(60, 5, depth, 411, 37);
        check(0, 100, depth, 7, 640);
        check(21, 22, depth, 151, 147);
    }
    check(60, 60, 8, 411, 409);
    check(100, 100, 12, 640, 11);
    check(200, 60, 10, 1250, 400);
    check(200, 200, 8, 1291, 1283);
    halo_backend_close(backend);
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed ? 1 : 0;
}
