/* SPDX-License-Identifier: BSD-2-Clause
 * The real numbers given to the constructors of conv.h. The formats they choose fill their
 * accumulators to the last bit where the sum of magnitudes, times the largest sample, is just below
 * a power of two: half of the dense masks are made so. */
#include "tests/kernels/random_mask.h"

#include <math.h>
#include <stdio.h>

#include "kernels/cells.h"
#include "tests/kernels/masks.h"
#include "tests/kernels/picture.h"

int random_below(uint64_t *state, int n)
{
    return (int)(next_random(state) % (unsigned)n);
}

static double unit(uint64_t *state) /* [0, 1) */
{
    return ldexp((double)(next_random(state) & 0xfffffff), -28);
}

/* Small ones are as likely as large ones: below 2^bits, of each length as many. */
static int any_length(uint64_t *state, int bits)
{
    return random_below(state, 1 << (1 + random_below(state, bits)));
}

static int gauss(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                 char *text, size_t size)
{
    double sigma[2];
    for (int i = 0; i < 2; i++)
        sigma[i] = random_below(state, 8) ? HALO_MAX_SIGMA * pow(unit(state), 2) : 0;
    if (random_below(state, 2))
        sigma[1] = sigma[0];
    snprintf(text, size, "gauss %.9g x %.9g", sigma[0], sigma[1]);
    return halo_conv_gauss(ret, sigma[0], sigma[1], target);
}

static void dense_size(uint64_t *state, int *width, int *height)
{
    const int lot = random_below(state, 8), most = lot < 4 ? 5 : HALO_MAX_DENSE / 2 + 1;
    *width = 2 * random_below(state, most) + 1;
    *height = 2 * random_below(state, most) + 1;
    if (lot == 7) {
        *(random_below(state, 2) ? width : height) = 2 * random_below(state, 64) + 1;
        *(*width > *height ? height : width) = 1;
    } else if (lot == 6) {
        *width = HALO_MAX_DENSE - 2 * random_below(state, 2);
    }
}

enum style { REAL, ALTERNATING, ONE_LARGE, EQUAL, FEW, STYLES };
static const char *const style_names[STYLES] = {
    "any", "alternating", "one large", "equal", "few",
};

static void dense_weights(double *w, int count, enum style style, uint64_t *state)
{
    const int large = random_below(state, count), sign = random_below(state, 2) ? 1 : -1;
    for (int i = 0; i < count; i++) {
        const double r = 2 * unit(state) - 1;
        switch (style) {
        case ALTERNATING:
            w[i] = (i % 2 ? -sign : sign) * (1 - fabs(r) / 64);
            break;
        case ONE_LARGE:
            w[i] = i == large ? sign : r / 16 / count;
            break;
        case EQUAL:
            w[i] = sign;
            break;
        case FEW:
            w[i] = i == large || random_below(state, 8) == 0 ? r : 0;
            break;
        default:
            w[i] = r;
        }
    }
}

static int dense(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                 char *text, size_t size)
{
    double w[HALO_MAX_DENSE * HALO_MAX_DENSE], sum = 0;
    int width, height;
    dense_size(state, &width, &height);
    const enum style style = (enum style)random_below(state, STYLES);
    dense_weights(w, width * height, style, state);
    for (int i = 0; i < width * height; i++)
        sum += fabs(w[i]);

    const int max = halo_sample_max(target->depth);
    const bool brim = random_below(state, 2);
    const double wanted = brim ? ldexp(0.995, random_below(state, 46)) / max
                               : ldexp(0.5 + unit(state), random_below(state, 4));
    for (int i = 0; i < width * height; i++)
        w[i] *= sum > 0 ? wanted / sum : 1;
    const double bias = random_below(state, 2) ? 0 : (2 * unit(state) - 1) * max;
    snprintf(text, size, "dense %dx%d, %s, magnitudes %.9g in all, bias %.9g", width, height,
             style_names[style], wanted, bias);
    return halo_conv_dense(ret, w, width, height, bias, target);
}

static int box(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
               char *text, size_t size)
{
    const int rx = any_length(state, 10) + random_below(state, 2);
    const int ry = random_below(state, 2) ? rx : any_length(state, 10);
    snprintf(text, size, "box %dx%d", rx, ry);
    return halo_conv_box(ret, rx, ry, target);
}

static int gradient(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                    char *text, size_t size)
{
    static const int largest[] = {1, 2, 28, 162, 3640};
    const int limit = largest[random_below(state, 5)];
    const bool extreme = random_below(state, 2);
    int m[2][9];
    for (int i = 0; i < 18; i++) {
        const int v = random_below(state, 2 * limit + 1) - limit;
        m[i / 9][i % 9] = !extreme ? v : v > 0 ? limit : -limit;
    }
    const int power = random_below(state, 25) - 8;
    const double scale = random_below(state, 2) ? ldexp(unit(state), power) : ldexp(1, power - 1);
    const int max = random_below(state, 2) ? halo_sample_max(target->depth) : UINT16_MAX;
    const double delta = random_below(state, 2) ? 0 : (2 * unit(state) - 1) * max;
    snprintf(text, size, "gradient to %d%s, scale %.9g, delta %.9g", limit,
             extreme ? " (all extreme)" : "", scale, delta);
    return halo_conv_gradient(ret, m[0], m[1], scale, delta, target);
}

static int pixelize(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                    char *text, size_t size)
{
    static const char *const names[] = {"mean", "min", "max"};
    const int width = any_length(state, 10) + 1, height = any_length(state, 10) + 1;
    const enum halo_pixelize mode = (enum halo_pixelize)random_below(state, 3);
    snprintf(text, size, "pixelize %dx%d %s", width, height, names[mode]);
    return halo_conv_pixelize(ret, width, height, mode, target);
}

static int solid(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                 char *text, size_t size)
{
    const int most = halo_sample_max(target->depth) + 1;
    const int values[2] = {random_below(state, most), random_below(state, most)};
    snprintf(text, size, "solid %d %d", values[0], values[1]);
    return halo_conv_solid(ret, values, target);
}

static int cells(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                 char *text, size_t size)
{
    const int across = random_below(state, HALO_MAX_CELLS) + 1;
    const int boxes = random_below(state, 16);
    snprintf(text, size, "%d boxes of %dx%d cells", boxes, across, across);
    return random_cells(ret, across, boxes, target, state);
}

static int table(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                 char *text, size_t size)
{
    const int values = random_below(state, 4);
    snprintf(text, size, "table, %d", values);
    return random_table(ret, values, target, state);
}

static int copy(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "copy");
    return halo_conv_copy(ret, target);
}

void random_mask(struct halo_conv *ret, const struct halo_conv_target *target, uint64_t *state,
                 char *text, size_t size)
{
    /* Dense masks twice: they have the most to vary. */
    static int (*const kinds[])(struct halo_conv *, const struct halo_conv_target *, uint64_t *,
                                char *, size_t) = {
        dense, dense, dense, gauss, gauss, box, gradient, pixelize, table,
    };
    const int count = sizeof kinds / sizeof kinds[0];
    const int rare = random_below(state, 64);
    if (rare < 4) {
        (rare > 1 ? cells : rare ? solid : copy)(ret, target, state, text, size);
        return;
    }
    while (kinds[random_below(state, count)](ret, target, state, text, size))
        ; /* no format holds that one: the next */
}
