/* SPDX-License-Identifier: BSD-2-Clause
 * Masks by name. */
#include "tools/halo-bench/mask.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/base/number.h"
#include "config/option.h"

static const char *const kind_names[] = {
    [HALO_BENCH_GAUSS] = "gauss",
    [HALO_BENCH_DENSE] = "dense",
    [HALO_BENCH_BOX] = "box",
    [HALO_BENCH_GRADIENT] = "gradient",
};

static const int widest[] = {
    [HALO_BENCH_GAUSS] = 2 * 3 * (int)HALO_MAX_SIGMA + 1,
    [HALO_BENCH_DENSE] = HALO_MAX_DENSE,
    [HALO_BENCH_BOX] = 2 * HALO_MAX_BOX_RADIUS + 1,
    [HALO_BENCH_GRADIENT] = 3,
};

const char *halo_bench_kind_name(enum halo_bench_kind kind)
{
    return kind_names[kind];
}

/* The kind named by the length characters at text, or -EINVAL. */
static int parse_kind(const char *text, size_t length, struct halo_error *err)
{
    for (int i = 0; i < HALO_BENCH_KIND_COUNT; i++)
        if (strlen(kind_names[i]) == length && !memcmp(kind_names[i], text, length))
            return i;
    const char *near = halo_nearest(text, length, kind_names, HALO_BENCH_KIND_COUNT);
    if (near)
        return halo_fail_usage(err, "--masks: unknown kind '%.*s' (nearest: %s)", (int)length, text,
                               near);
    return halo_fail_usage(err,
                           "--masks: unknown kind '%.*s': must be gauss, dense, box or gradient",
                           (int)length, text);
}

/* One item of the list; *kind is that of the one before it, or -1. */
static int parse_one(struct halo_bench_mask *ret, int *kind, const char *item,
                     struct halo_error *err)
{
    const char *colon = strchr(item, ':');
    if (colon)
        *kind = parse_kind(item, (size_t)(colon - item), err);
    if (*kind < 0 && !colon && !err->code)
        return halo_fail_usage(err, "--masks: '%s' has no kind: specify one, as in gauss:15", item);
    if (*kind < 0)
        return -EINVAL;

    double width;
    const char *number = colon ? colon + 1 : item;
    if (halo_parse_integer(number, &width) < 0)
        return halo_fail_usage(err, "--masks: '%s': the width must be a whole number", item);
    if (width < 3 || width > widest[*kind] || (int)width % 2 == 0)
        return halo_fail_usage(
            err, "--masks: '%s': the width of a %s mask must be an odd number from 3 to %d", item,
            kind_names[*kind], widest[*kind]);
    *ret = (struct halo_bench_mask){(enum halo_bench_kind) * kind, (int)width};
    return 0;
}

int halo_bench_masks_parse(struct halo_bench_mask *ret, const char *text, struct halo_error *err)
{
    struct halo_bench_mask masks[HALO_BENCH_MAX_MASKS];
    int count = 0, kind = -1;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        char item[64];
        if (length == 0 || length >= sizeof item)
            return halo_fail_usage(err, "--masks: '%.40s' is not a list such as gauss:7,dense:3",
                                   text);
        if (count == HALO_BENCH_MAX_MASKS)
            return halo_fail_usage(err, "--masks: the list has more than %d masks",
                                   HALO_BENCH_MAX_MASKS);
        memcpy(item, at, length);
        item[length] = '\0';
        const int code = parse_one(&masks[count++], &kind, item, err);
        if (code < 0)
            return code;
        at += length;
        if (!*at)
            break;
    }
    memcpy(ret, masks, (size_t)count * sizeof *ret);
    return count;
}

/* Just under radius / 3, so that rounding never makes the mask one tap wider on each side. */
static double sigma_of(const struct halo_bench_mask *mask)
{
    return (mask->width / 2 - 1e-6) / 3;
}

void halo_bench_mask_weights(double *ret, const struct halo_bench_mask *mask)
{
    double sum = 0;
    if (mask->kind == HALO_BENCH_GAUSS) {
        const double sigma = sigma_of(mask);
        for (int i = 0; i < mask->width; i++) {
            const double x = i - mask->width / 2;
            sum += ret[i] = exp(-x * x / (2 * sigma * sigma));
        }
        for (int i = 0; i < mask->width; i++)
            ret[i] /= sum;
    } else if (mask->kind == HALO_BENCH_DENSE) {
        const int count = mask->width * mask->width;
        uint64_t state = 1;
        for (int i = 0; i < count; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            ret[i] = (double)(state >> 40) / (1 << 23) - 1;
            sum += fabs(ret[i]);
        }
        for (int i = 0; i < count; i++)
            ret[i] /= sum;
    }
}

static const int sobel_x[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
static const int sobel_y[9] = {-1, -2, -1, 0, 0, 0, 1, 2, 1};

int halo_bench_mask_make(struct halo_conv *ret, const struct halo_bench_mask *mask, int depth)
{
    const struct halo_conv_target target = {.depth = depth, .border = HALO_BORDER_REPLICATE};
    const int radius = mask->width / 2;
    if (mask->kind == HALO_BENCH_BOX)
        return halo_conv_box(ret, radius, radius, &target);
    if (mask->kind == HALO_BENCH_GRADIENT)
        return halo_conv_gradient(ret, sobel_x, sobel_y, 1, 0, &target);
    if (mask->kind == HALO_BENCH_GAUSS)
        return halo_conv_gauss(ret, sigma_of(mask), sigma_of(mask), &target);
    double weights[HALO_MAX_DENSE * HALO_MAX_DENSE];
    halo_bench_mask_weights(weights, mask);
    /* Half of the range as bias: negative sums are not all clamped to one value. */
    return halo_conv_dense(ret, weights, mask->width, mask->width, 1 << (depth - 1), &target);
}
