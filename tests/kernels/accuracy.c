/* SPDX-License-Identifier: BSD-2-Clause
 * The reference against real numbers: a float64 witness that shares no code with it, and cases
 * small enough to work out by hand. No sample may be off by more than 1, nor by more than
 * error_bound. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/cells.h"

enum { WIDTH = 61, HEIGHT = 47, TAPS = 127 * 127 };

static const char *const border_names[] = {
    "constant", "replicate", "reflect", "reflect101", "wrap",
};

static struct halo_backend *backend;
static long passed, failed;

static void verdict(bool ok, const char *format, const char *name, int depth, double got,
                    double limit)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL ");
    printf(format, name, depth, got, limit);
    printf("\n");
}

static void filter(const struct halo_conv *c, const uint16_t *in, uint16_t *out, int width,
                   int height)
{
    static uint8_t src[WIDTH * HEIGHT], dst[WIDTH * HEIGHT];
    struct halo_job job = {
        .conv = c,
        .strategy = halo_strategy_find(halo_backends[0], "reference"),
        .src = {(void *)in, 2 * width, width, height, 1, c->depth, 0},
        .dst = {out, 2 * width, width, height, 1, c->depth, 0},
    };
    if (c->depth == 8) {
        for (int i = 0; i < width * height; i++)
            src[i] = (uint8_t)in[i];
        job.src.data = src, job.dst.data = dst;
        job.src.stride = job.dst.stride = width;
    }
    if (halo_backend_convolve(backend, &job, 1)) {
        printf("FAIL convolve\n");
        exit(1);
    }
    for (int i = 0; i < width * height && c->depth == 8; i++)
        out[i] = dst[i];
}

/* ---- the witness: a mask of real weights, one tap after another */

struct witness {
    int rx, ry;
    double bias;
    double weights[TAPS]; /* rows of 2 rx + 1 */
};

static struct witness witness;

/* The border rules as walks: step over the edge and see where each leads. */
static int walk(int i, int size, enum halo_border border)
{
    int at = i < 0 ? 0 : i < size ? i : size - 1, left = i - at, step = left > 0 ? 1 : -1;
    if (left == 0)
        return at;
    if (border == HALO_BORDER_CONSTANT)
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

static double expected(const struct halo_conv *c, const uint16_t *in, int x, int y)
{
    double sum = witness.bias;
    for (int j = -witness.ry; j <= witness.ry; j++) {
        const int sy = walk(y + j, HEIGHT, c->border);
        for (int i = -witness.rx; i <= witness.rx; i++) {
            const int sx = walk(x + i, WIDTH, c->border);
            const double p = sx < 0 || sy < 0 ? c->border_value : in[sy * WIDTH + sx];
            sum += p * witness.weights[(j + witness.ry) * (2 * witness.rx + 1) + i + witness.rx];
        }
    }
    return fmin(fmax(sum, 0), (1 << c->depth) - 1);
}

/* Random samples, a checker, and what the quantised mask gets most wrong: white where a weight came
 * out too large. */
static void fill(uint16_t *in, int pattern, const struct halo_conv *c)
{
    const int max = (1 << c->depth) - 1;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            const int i = x - WIDTH / 2 + witness.rx, j = y - HEIGHT / 2 + witness.ry;
            bool white = (x / 3 + y / 3) % 2;
            if (pattern == 2 && i >= 0 && j >= 0 && i <= 2 * witness.rx && j <= 2 * witness.ry) {
                double w = 1;
                const int k = j * (2 * witness.rx + 1) + i;
                if (c->kind == HALO_CONV_SEPARABLE && c->radius_x == witness.rx &&
                    c->radius_y == witness.ry)
                    w = ldexp(c->row[i], -c->row_bits) * ldexp(c->col[j], -c->col_bits);
                if (c->kind == HALO_CONV_DENSE)
                    w = ldexp(c->mask[k], -c->mask_bits);
                white = w > witness.weights[k];
            }
            in[y * WIDTH + x] = (uint16_t)(pattern == 0 ? rand() % (max + 1) : white ? max : 0);
        }
    }
}

/* Every fifth sample and the middle, which is where the third pattern aims; all of a small mask. */
static double largest_error(const struct halo_conv *c)
{
    static uint16_t in[WIDTH * HEIGHT], out[WIDTH * HEIGHT];
    double worst = 0;
    const int step = witness.rx * witness.ry > 30 ? 5 : 1;
    for (int pattern = 0; pattern < 3; pattern++) {
        fill(in, pattern, c);
        filter(c, in, out, WIDTH, HEIGHT);
        const int middle = HEIGHT / 2 * WIDTH + WIDTH / 2;
        worst = fmax(worst, fabs(out[middle] - expected(c, in, WIDTH / 2, HEIGHT / 2)));
        for (int i = 0; i < WIDTH * HEIGHT; i += step)
            worst = fmax(worst, fabs(out[i] - expected(c, in, i % WIDTH, i / WIDTH)));
    }
    return worst;
}

static void check(const char *name, const struct halo_conv *c, double *worst)
{
    const double error = largest_error(c);
    *worst = fmax(*worst, error);
    verdict(error <= 1 && error <= c->error_bound + 1e-6 && c->error_bound <= 1,
            "%s depth %d: off by %.4f, bound %.4f", name, c->depth, error, c->error_bound);
    if (error > c->error_bound + 1e-6)
        printf("     border %s\n", border_names[c->border]);
}

/* ---- Gaussians */

static int gauss_line(double *w, double sigma)
{
    const int r = (int)ceil(3 * sigma);
    double sum = 0;
    for (int i = -r; i <= r; i++)
        sum += w[i + r] = sigma > 0 ? exp(-0.5 * (i / sigma) * (i / sigma)) : 1;
    for (int i = 0; i <= 2 * r; i++)
        w[i] /= sum;
    return r;
}

static void check_gauss(double sigma_x, double sigma_y, int depth)
{
    double x[127], y[127], worst = 0, bound = 0;
    char name[64];
    snprintf(name, sizeof name, "gauss %g x %g", sigma_x, sigma_y);
    witness.bias = 0;
    witness.rx = gauss_line(x, sigma_x);
    witness.ry = gauss_line(y, sigma_y);
    const int n = 2 * witness.rx + 1;
    for (int j = 0; j <= 2 * witness.ry; j++) {
        for (int i = 0; i < n; i++)
            witness.weights[j * n + i] = x[i] * y[j];
    }
    for (int b = 0; b < HALO_BORDER_COUNT; b++) {
        const struct halo_conv_target target = {depth, (enum halo_border)b, 77};
        struct halo_conv c;
        if (halo_conv_gauss(&c, sigma_x, sigma_y, &target)) {
            verdict(false, "%s depth %d is refused%.0f%.0f", name, depth, 0, 0);
            return;
        }
        check(name, &c, &worst);
        bound = c.error_bound;
    }
    printf("%-20s depth %2d: max error %.4f, bound %.4f\n", name, depth, worst, bound);
}

static bool line_ok(const struct halo_conv *c, const int32_t *w, int radius, int bits)
{
    int64_t sum = 0;
    for (int i = 0; i <= 2 * radius; i++) {
        int32_t digits = w[i];
        while (digits && digits % 2 == 0)
            digits /= 2;
        if (w[i] < 0 || w[i] != w[2 * radius - i] || (c->depth == 8 && digits >= 2048) ||
            (radius > 0 && c->accum != HALO_ACCUM_I64 && w[i] > INT16_MAX))
            return false;
        sum += w[i];
    }
    return sum == INT64_C(1) << bits;
}

/* The sums of the largest samples, and T, in the class that accum names. */
static bool format_ok(const struct halo_conv *c)
{
    const int limit_bits = c->accum == HALO_ACCUM_F24 ? 24 : c->accum == HALO_ACCUM_I32 ? 31 : 46;
    const double max = (1 << c->depth) - 1, t = ldexp(max, c->frac);
    const double row = ldexp(max, c->row_bits) + ldexp(1, c->row_bits - c->frac - 1);
    const double col = ldexp(t, c->col_bits) + ldexp(1, c->col_bits + c->frac - 1);
    return fmax(row, col) < ldexp(1, limit_bits) && (c->accum == HALO_ACCUM_I64 || t < 1 << 15);
}

/* What conv.h promises of the integers, for every sigma on a fine grid. */
static void check_gauss_formats(int depth)
{
    const struct halo_conv_target target = {.depth = depth};
    double worst = 0, at = 0, wide = 0;
    for (int i = 0; i <= 10500; i++) {
        const double sigma = i * 0.002;
        struct halo_conv c;
        const int error = halo_conv_gauss(&c, sigma, sigma, &target);
        const bool ok = !error && (c.kind == HALO_CONV_COPY ||
                                   (format_ok(&c) && line_ok(&c, c.row, c.radius_x, c.row_bits) &&
                                    line_ok(&c, c.col, c.radius_y, c.col_bits)));
        if (!ok)
            verdict(false, "%s, depth %d: sigma %.3f gives wrong integers%.0f", "gauss", depth,
                    sigma, 0);
        else if (c.error_bound > worst)
            worst = c.error_bound, at = sigma;
        if (ok && c.accum == HALO_ACCUM_I64 && wide == 0)
            wide = sigma;
        passed += ok;
    }
    printf("gauss, every sigma   depth %2d: largest bound %.4f at sigma %.3f", depth, worst, at);
    printf(wide > 0 ? ", I64 from sigma %.3f on\n" : "\n", wide);
}

/* ---- dense masks and boxes */

static const struct dense_case {
    const char *name;
    int width, height;
    double scale, spread, bias;
    int deepest; /* beyond, larger integers would be needed: refused */
} dense_cases[] = {
    {"3x3 mean", 3, 3, 1, 0, 0, 16},
    {"9x9 noise, bias", 9, 9, 2, 4, -17.3, 16},
    {"1x127 noise", 1, 127, 3, 6, 0, 16},
    {"31x31 noise", 31, 31, 1, 2, 0, 16},
    {"63x63 mean", 63, 63, 1, 0, 0, 16},
    {"63x63 noise", 63, 63, 1, 5, 0, 16},
    {"5x5 huge weights", 5, 5, 3e5, 6, 0.5, 12},
};

static void check_dense(const struct dense_case *m, int depth)
{
    const int width = m->width, height = m->height;
    double worst = 0, bound = 0;
    int accum = 0;
    witness.rx = width / 2, witness.ry = height / 2, witness.bias = m->bias;
    for (int i = 0; i < width * height; i++)
        witness.weights[i] =
            m->scale / (width * height) * (1 + m->spread * (rand() / (double)RAND_MAX - 0.5));
    for (int b = 0; b < HALO_BORDER_COUNT; b++) {
        const struct halo_conv_target target = {depth, (enum halo_border)b, 200};
        struct halo_conv c;
        if (halo_conv_dense(&c, witness.weights, width, height, m->bias, &target)) {
            verdict(false, "%s depth %d is refused%.0f%.0f", m->name, depth, 0, 0);
            return;
        }
        check(m->name, &c, &worst);
        bound = c.error_bound, accum = c.accum;
    }
    printf("%-20s depth %2d: max error %.4f, bound %.4f, %s\n", m->name, depth, worst, bound,
           accum == HALO_ACCUM_F24   ? "F24"
           : accum == HALO_ACCUM_I32 ? "I32"
                                     : "I64");
}

static void check_box(int rx, int ry, int depth)
{
    double worst = 0;
    char name[64];
    snprintf(name, sizeof name, "box %d x %d", rx, ry);
    witness.rx = rx, witness.ry = ry, witness.bias = 0;
    for (int i = 0; i < (2 * rx + 1) * (2 * ry + 1); i++)
        witness.weights[i] = 1.0 / ((2 * rx + 1) * (2 * ry + 1));
    for (int b = 0; b < HALO_BORDER_COUNT; b++) {
        const struct halo_conv_target target = {depth, (enum halo_border)b, 3};
        struct halo_conv c;
        if (halo_conv_box(&c, rx, ry, &target) == 0)
            check(name, &c, &worst);
        else
            verdict(false, "%s depth %d is refused%.0f%.0f", name, depth, 0, 0);
    }
    printf("%-20s depth %2d: max error %.4f, bound 0.5000\n", name, depth, worst);
}

/* ---- gradients */

struct edges {
    const char *name;
    int mx[9], my[9];
    double scale, delta;
    bool exact; /* scale^2 is a binary fraction, delta whole: only the last rounding is left */
};

static double expected_gradient(const struct edges *m, const struct halo_conv *c,
                                const uint16_t *in, int x, int y)
{
    double a = 0, b = 0;
    for (int k = 0; k < 9; k++) {
        const int sx = walk(x + k % 3 - 1, WIDTH, c->border);
        const int sy = walk(y + k / 3 - 1, HEIGHT, c->border);
        const double p = sx < 0 || sy < 0 ? c->border_value : in[sy * WIDTH + sx];
        a += m->mx[k] * p;
        b += m->my[k] * p;
    }
    return fmin(fmax(m->scale * sqrt(a * a + b * b) + m->delta, 0), (1 << c->depth) - 1);
}

static void check_gradient(const struct edges *m, int depth)
{
    static uint16_t in[WIDTH * HEIGHT], out[WIDTH * HEIGHT];
    double worst = 0;
    bool floors = true;
    for (int b = 0; b < HALO_BORDER_COUNT; b++) {
        const struct halo_conv_target target = {depth, (enum halo_border)b, 99};
        struct halo_conv c;
        const int error = halo_conv_gradient(&c, m->mx, m->my, m->scale, m->delta, &target);
        if (error == -ERANGE && depth > 15 && !m->exact) /* conv.h: no format holds it */
            return;
        if (error) {
            verdict(false, "%s depth %d is refused%.0f%.0f", m->name, depth, 0, 0);
            return;
        }
        /* Random samples, a checker, and slopes so gentle that small roots occur. */
        for (int pattern = 0; pattern < 3; pattern++) {
            for (int i = 0; i < WIDTH * HEIGHT; i++) {
                const int max = (1 << depth) - 1, x = i % WIDTH, y = i / WIDTH;
                in[i] = (uint16_t)(pattern == 0   ? rand() % (max + 1)
                                   : pattern == 1 ? (x / 3 + y / 3) % 2 * max
                                                  : 100 + x * x / 40 + rand() % 3);
            }
            filter(&c, in, out, WIDTH, HEIGHT);
            for (int i = 0; i < WIDTH * HEIGHT; i++) {
                const double want = expected_gradient(m, &c, in, i % WIDTH, i / WIDTH);
                worst = fmax(worst, fabs(out[i] - want));
                floors = floors && out[i] == floor(want);
            }
        }
        verdict(c.error_bound <= 1 && worst <= c.error_bound,
                "%s depth %d: off by %.4f, bound %.4f", m->name, depth, worst, c.error_bound);
    }
    verdict(floors || !m->exact, "%s depth %d: not rounded down%.0f%.0f", m->name, depth, 0, 0);
    printf("%-20s depth %2d: max error %.4f, bound 1.0000\n", m->name, depth, worst);
}

static void check_gradients(int depth)
{
    static const struct edges edges[] = {
        {"sobel", {-1, -2, -1, 0, 0, 0, 1, 2, 1}, {-1, 0, 1, -2, 0, 2, -1, 0, 1}, 1, 0, true},
        {"sobel / 4 - 20",
         {-1, -2, -1, 0, 0, 0, 1, 2, 1},
         {1, 0, -1, 2, 0, -2, 1},
         0.25,
         -20,
         true},
        {"prewitt 0.3 + 1.7",
         {-1, -1, -1, 0, 0, 0, 1, 1, 1},
         {-1, 0, 1, -1, 0, 1, -1, 0, 1},
         0.3,
         1.7},
        {"scharr",
         {-47, -162, -47, 0, 0, 0, 47, 162, 47},
         {-47, 0, 47, -162, 0, 162, -47, 0, 47},
         1 / 256.0,
         0,
         true},
        {"scharr 0.7",
         {-47, -162, -47, 0, 0, 0, 47, 162, 47},
         {-47, 0, 47, -162, 0, 162, -47, 0, 47},
         0.7 / 256,
         -3.3},
        {"roberts 65535", {0, 0, 0, 0, 1, 0, 0, 0, -1}, {0, 0, 0, 0, 0, 1, 0, -1}, 65535, -65534.5},
        {"one weight", {0, 0, 0, 0, 300}, {0}, 0.001, 0},
        {"nothing", {0}, {0}, 1, 17.5},
    };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        check_gradient(&edges[i], depth);
}

/* Weights of 16 bits are chosen where that is nearly as exact, and not where it is not. */
static void check_light_weights(void)
{
    double smooth[81], spike[961];
    for (int i = 0; i < 81; i++)
        smooth[i] = exp(-((i % 9 - 4) * (i % 9 - 4) + (i / 9 - 4) * (i / 9 - 4)) / 4.5) / 14.2;
    for (int i = 0; i < 961; i++)
        spike[i] = i == 480 ? 0.9 : 0.1 / 960;

    struct halo_conv c;
    const struct halo_conv_target ten = {.depth = 10}, eight = {.depth = 8};
    const int error = halo_conv_dense(&c, smooth, 9, 9, 0, &ten);
    verdict(!error && c.mask[40] <= 32639 && c.error_bound <= 0.75,
            "%s depth %d: weight %.0f, bound %.2f", "smooth 9x9", 10, c.mask[40], c.error_bound);
    const int other = halo_conv_dense(&c, spike, 31, 31, 0, &eight);
    verdict(!other && c.mask[480] > 32639 && c.error_bound <= 1,
            "%s depth %d: weight %.0f, bound %.2f", "31x31 spike", 8, c.mask[480], c.error_bound);
}

/* What is refused, and that nothing is written then. */
static void check_refusals(void)
{
    static const int none[9] = {0}, heavy[9] = {30000, -2768}, heaviest[9] = {30000, -2767};
    const struct halo_conv_target target = {.depth = 8}, deep = {.depth = 10};
    struct halo_conv c = {.depth = 77};
    const int got[] = {
        halo_conv_gradient(&c, heavy, none, 1, 0, &target),
        halo_conv_gradient(&c, none, heavy, 1, 0, &target),
        halo_conv_gradient(&c, none, none, -1, 0, &target),
        halo_conv_gradient(&c, none, none, 65536, 0, &target),
        halo_conv_gradient(&c, none, none, NAN, 0, &target),
        halo_conv_gradient(&c, none, none, 1, -65536, &target),
        halo_conv_gradient(&c, none, none, 1, NAN, &target),
        halo_conv_pixelize(&c, 0, 1, HALO_PIXELIZE_MEAN, &target),
        halo_conv_pixelize(&c, 1, 1025, HALO_PIXELIZE_MEAN, &target),
        halo_conv_pixelize(&c, 4, 4, (enum halo_pixelize)3, &target),
        halo_conv_solid(&c, (const int[2]){0, 256}, &target),
        halo_conv_solid(&c, (const int[2]){-1, 0}, &target),
        halo_conv_cells(&c, &(struct halo_cells_layout){0, 0, 1, 1}, (const int[2]){1, 1}, &target),
        halo_conv_cells(&c, &(struct halo_cells_layout){17, 0, 1, 1}, (const int[2]){1, 1},
                        &target),
        halo_conv_cells(&c, &(struct halo_cells_layout){6, -1, 1, 1}, (const int[2]){1, 1},
                        &target),
    };
    for (size_t i = 0; i < sizeof got / sizeof got[0]; i++)
        verdict(got[i] == -EINVAL && c.depth == 77, "%s %d: %.0f, not refused%.0f", "refusal",
                (int)i, got[i], 0);
    const int fits = halo_conv_gradient(&c, heaviest, heaviest, 1e-3, 0, &target);
    verdict(fits == 0, "%s depth %d: %.0f%.0f", "heaviest masks", 8, fits, 0);
    const int squares = halo_conv_gradient(&c, heaviest, heaviest, 1e-3, 0, &deep);
    verdict(squares == -ERANGE, "%s depth %d: %.0f%.0f", "heaviest masks", 10, squares, 0);
}

/* ---- by hand */

static const uint16_t tens[9] = {10, 20, 30, 40, 50, 60, 70, 80, 90};
static const uint16_t impulse[9] = {0, 0, 0, 0, 255, 0, 0, 0, 0};

static void golden(const char *name, const struct halo_conv *c, int error, const uint16_t *in,
                   const uint16_t *want)
{
    uint16_t out[9] = {0};
    if (!error)
        filter(c, in, out, 3, 3);
    const bool ok = !error && !memcmp(out, want, sizeof out);
    verdict(ok, "%s depth %d: by hand, it differs%.0f%.0f", name, 8, 0, 0);
    for (int i = 0; i < 9 && !ok; i++)
        printf("     %d: got %d, want %d\n", i, out[i], want[i]);
}

static void check_by_hand(void)
{
    static const double upper_left[9] = {1}, slope[3] = {-1, 0, 1};
    /* Corner of the box: 120 / 9, 210 / 9, 210 / 9, 330 / 9 and all nine samples. */
    static const uint16_t boxes[HALO_BORDER_COUNT][9] = {
        {13, 23, 18, 30, 50, 37, 27, 43, 31}, {23, 30, 37, 43, 50, 57, 63, 70, 77},
        {23, 30, 37, 43, 50, 57, 63, 70, 77}, {37, 40, 43, 47, 50, 53, 57, 60, 63},
        {50, 50, 50, 50, 50, 50, 50, 50, 50},
    };
    static const uint16_t moved[9] = {7, 7, 7, 7, 10, 20, 7, 40, 50};
    static const uint16_t slopes[9] = {138, 148, 138, 138, 148, 138, 138, 148, 138};
    /* 255 * 0.786571^2 = 157.8, 255 * 0.786571 * 0.106451 = 21.4, 255 * 0.106451^2 = 2.9 */
    static const uint16_t bell[9] = {3, 21, 3, 21, 158, 21, 3, 21, 3};
    struct halo_conv c;
    struct halo_conv_target target = {.depth = 8};
    for (int b = 0; b < HALO_BORDER_COUNT; b++) {
        target.border = (enum halo_border)b;
        const int error = halo_conv_box(&c, 1, 1, &target);
        golden(border_names[b], &c, error, tens, boxes[b]);
    }
    target = (struct halo_conv_target){8, HALO_BORDER_CONSTANT, 7};
    int error = halo_conv_dense(&c, upper_left, 3, 3, 0, &target);
    golden("not mirrored", &c, error, tens, moved);
    target.border = HALO_BORDER_REPLICATE;
    error = halo_conv_dense(&c, slope, 3, 1, 128, &target);
    golden("slope", &c, error, tens, slopes);
    target = (struct halo_conv_target){8, HALO_BORDER_CONSTANT, 0};
    error = halo_conv_gauss(&c, 0.5, 0.5, &target);
    golden("bell", &c, error, impulse, bell);

    /* Three columns 10, 20, 30 and so on: across 80 inside, 40 at the edges; down 240 and 120.
     * sqrt(40^2 + 120^2) = 126.49, sqrt(80^2 + 120^2) = 144.22, sqrt(40^2 + 240^2) = 243.31,
     * sqrt(80^2 + 240^2) = 252.98. */
    static const int down[9] = {-1, -2, -1, 0, 0, 0, 1, 2, 1};
    static const int across[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
    static const uint16_t sobel[9] = {126, 144, 126, 243, 252, 243, 126, 144, 126};
    /* 10 20 | 30, 40 50 | 60; 70 80 | 90 */
    static const uint16_t blocks[9] = {30, 30, 45, 30, 30, 45, 75, 75, 90};
    static const uint16_t least[9] = {10, 10, 30, 10, 10, 30, 70, 70, 90};
    target.border = HALO_BORDER_REPLICATE;
    error = halo_conv_gradient(&c, down, across, 1, 0, &target);
    golden("sobel", &c, error, tens, sobel);
    error = halo_conv_pixelize(&c, 2, 2, HALO_PIXELIZE_MEAN, &target);
    golden("blocks", &c, error, tens, blocks);
    error = halo_conv_pixelize(&c, 2, 2, HALO_PIXELIZE_MIN, &target);
    golden("blocks, least", &c, error, tens, least);
    static const uint16_t sevens[9] = {7, 7, 7, 7, 7, 7, 7, 7, 7};
    error = halo_conv_solid(&c, (const int[2]){7, 8}, &target);
    golden("solid", &c, error, tens, sevens);

    uint16_t plus_one[256] = {0};
    static const uint16_t elevens[9] = {11, 21, 31, 41, 51, 61, 71, 81, 91};
    for (int i = 0; i < 255; i++)
        plus_one[i] = (uint16_t)(i + 1);
    error = halo_conv_table(&c, plus_one, &target);
    golden("table", &c, error, tens, elevens);

    /* A box of four cells on the first two columns and rows, and a later one on the middle. */
    static const uint16_t drawn[9] = {1, 2, 7, 3, 9, 7, 7, 7, 7};
    const uint16_t four[8] = {1, 0, 2, 0, 3, 0, 4, 0};
    const uint16_t nine[8] = {9, 0, 9, 0, 9, 0, 9, 0};
    const struct halo_cells_layout layout = {2, 0, 1, 1};
    error = halo_conv_cells(&c, &layout, (const int[2]){7, 8}, &target);
    error = error ? error : halo_conv_add_cells(&c, &(struct halo_rect){0, 0, 2, 2}, four);
    error = error ? error : halo_conv_add_cells(&c, &(struct halo_rect){1, 1, 2, 2}, nine);
    golden("cells", &c, error, tens, drawn);
}

/* --thin: the shallowest and the deepest samples. */
int main(int argc, char **argv)
{
    static const double sigmas[] = {0.3, 0.5, 1, 2, 5, 10, 21};
    static const int depths[] = {8, 16, 10, 12};
    const bool thin = argc > 1 && !strcmp(argv[1], "--thin");
    const struct halo_backend_settings settings = {.threads = 0};
    if (halo_backend_open(halo_backends[0], &settings, &backend))
        return 1;
    check_by_hand();
    check_refusals();
    check_light_weights();
    for (int depth = 8; depth <= 16; depth++)
        check_gauss_formats(depth);
    for (int d = 0; d < (thin ? 2 : (int)(sizeof depths / sizeof depths[0])); d++) {
        const int depth = depths[d];
        for (size_t i = 0; i < sizeof sigmas / sizeof sigmas[0]; i++)
            check_gauss(sigmas[i], sigmas[i], depth);
        check_gauss(0, 3, depth);
        check_gauss(3, 0.2, depth);
        for (size_t i = 0; i < sizeof dense_cases / sizeof dense_cases[0]; i++)
            if (depth <= dense_cases[i].deepest)
                check_dense(&dense_cases[i], depth);
        check_box(1, 1, depth);
        check_box(7, 2, depth);
        check_box(40, 40, depth);
        check_gradients(depth);
    }
    halo_backend_close(backend);
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed ? 1 : 0;
}
