/* SPDX-License-Identifier: BSD-2-Clause
 * Inputs of networks (prepare.h): the plans, and the definition, one value at a time. */
#include "kernels/net/prepare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/prepare.h"

enum {
    ONE = 1 << HALO_PREPARE_BITS,
    HALF = ONE / 2,
    MAX_TAPS = HALO_PREPARE_MAX_FRAME + 1,
    TEN_THOUSAND = 10000, /* what kr and kb are shares of */
    MAX_SHARE = 5000,     /* of red and blue: more would overflow the sums of COPY */
    MAX_SHARES = 7500,
};

/* ---- TAPS ---- */

struct taps {
    int first, count;
    int16_t weight[MAX_TAPS];
};

static int limited(int v, int most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* The pixels of value i are the sum of their shares in the samples first to last. */
static void reduce(struct taps *ret, int i, int pixels, int step, int count)
{
    const int each = step * count, begin = i * pixels;
    int before = 0;
    ret->first = begin / each;
    ret->count = 0;
    for (int k = ret->first; before < ONE; k++) {
        const int end = limited((k + 1) * each - begin, pixels);
        const int share = (int)(((int64_t)ONE * end + pixels / 2) / pixels);
        ret->weight[ret->count++] = (int16_t)(share - before);
        before = share;
    }
}

static void enlarge(struct taps *ret, int i, int pixels, int step, int count, int samples)
{
    const int each = 2 * step * count, at = (2 * i + 1) * pixels - step * count;
    const int from = at < 0 ? 0 : at;
    const int share = (int)(((int64_t)ONE * (from % each) + each / 2) / each);
    ret->first = from / each;
    ret->count = ret->first + 1 < samples ? 2 : 1;
    ret->weight[0] = (int16_t)(ret->count == 2 ? ONE - share : ONE);
    ret->weight[1] = (int16_t)share;
}

static void find_taps(struct taps *ret, int i, int pixels, int step, int count, int samples)
{
    if (step * count <= pixels)
        reduce(ret, i, pixels, step, count);
    else
        enlarge(ret, i, pixels, step, count, samples);
}

static void axis_finish(struct halo_prepare_axis *axis)
{
    free(axis->first);
    free(axis->start);
    free(axis->weight);
}

static int axis_init(struct halo_prepare_axis *axis, int pixels, int step, int count)
{
    const size_t values = (size_t)count;
    struct taps *taps = malloc(sizeof *taps);
    size_t used = 0;
    *axis = (struct halo_prepare_axis){.count = count, .samples = (pixels + step - 1) / step};
    axis->first = malloc(values * sizeof *axis->first);
    axis->start = malloc((values + 1) * sizeof *axis->start);
    if (!taps || !axis->first || !axis->start)
        goto fail;
    for (int i = 0; i < count; i++) {
        find_taps(taps, i, pixels, step, count, axis->samples);
        axis->first[i] = taps->first;
        axis->start[i] = (int32_t)used;
        used +=
            ((size_t)taps->count + HALO_PREPARE_TAPS - 1) / HALO_PREPARE_TAPS * HALO_PREPARE_TAPS;
    }
    axis->start[count] = (int32_t)used;
    axis->weight = calloc(used, sizeof *axis->weight);
    if (!axis->weight)
        goto fail;
    for (int i = 0; i < count; i++) {
        find_taps(taps, i, pixels, step, count, axis->samples);
        memcpy(axis->weight + axis->start[i], taps->weight,
               (size_t)taps->count * sizeof *axis->weight);
    }
    free(taps);
    return 0;

fail:
    free(taps);
    return -ENOMEM;
}

/* The number of taps of value i that have a sample. */
static int taps_of(const struct halo_prepare_axis *axis, int i)
{
    const int most = axis->samples - axis->first[i], count = axis->start[i + 1] - axis->start[i];
    return count < most ? count : most;
}

/* ---- COPY: the plan ---- */

static bool is_side(int v, int most)
{
    return v >= 1 && v <= most;
}

static bool is_step(int v)
{
    return v == 1 || v == 2 || v == 4;
}

static bool is_possible(const struct halo_prepare_format *f, int width, int height)
{
    const bool yuv = f->kind == HALO_PREPARE_YUV;
    return is_side(f->width, HALO_PREPARE_MAX_FRAME) &&
           is_side(f->height, HALO_PREPARE_MAX_FRAME) && is_side(width, HALO_PREPARE_MAX_SIDE) &&
           is_side(height, HALO_PREPARE_MAX_SIDE) && f->depth >= 8 && f->depth <= 16 &&
           f->kind >= HALO_PREPARE_GRAY && f->kind <= HALO_PREPARE_RGB &&
           (yuv ? is_step(f->step_x) && is_step(f->step_y) : f->step_x == 1 && f->step_y == 1) &&
           (!yuv || (f->kr >= 0 && f->kb >= 0 && f->kr <= MAX_SHARE && f->kb <= MAX_SHARE &&
                     f->kr + f->kb <= MAX_SHARES));
}

static int32_t rounded(int64_t numerator, int64_t denominator)
{
    const int64_t half = numerator < 0 ? -denominator / 2 : denominator / 2;
    return (int32_t)((numerator + half) / denominator);
}

static struct halo_prepare_colours find_colours(const struct halo_prepare_format *f)
{
    const bool full = f->full || f->kind == HALO_PREPARE_RGB;
    const int64_t most = (int64_t)halo_sample_max(f->depth) << (16 - f->depth);
    const int64_t white = INT64_C(255) << HALO_PREPARE_COLOUR_BITS;
    const int64_t chroma = full ? most : 224 << 8, of = TEN_THOUSAND;
    const int64_t kr = f->kr, kb = f->kb, kg = of - kr - kb;
    struct halo_prepare_colours ret = {
        .y_zero = full ? 0 : 16 << 8,
        .y_gain = rounded(white, full ? most : 219 << 8),
    };
    if (f->kind == HALO_PREPARE_YUV) {
        ret.red_v = rounded(white * 2 * (of - kr), chroma * of);
        ret.blue_u = rounded(white * 2 * (of - kb), chroma * of);
        ret.green_v = rounded(-white * 2 * (of - kr) * kr / kg, chroma * of);
        ret.green_u = rounded(-white * 2 * (of - kb) * kb / kg, chroma * of);
    }
    return ret;
}

void halo_prepare_copy_destroy(struct halo_prepare_copy *copy)
{
    if (!copy)
        return;
    for (int i = 0; i < 2; i++) {
        axis_finish(&copy->across[i]);
        axis_finish(&copy->down[i]);
    }
    free(copy->scratch);
    free(copy);
}

int halo_prepare_copy_create(struct halo_prepare_copy **ret,
                             const struct halo_prepare_format *format, int width, int height)
{
    if (!is_possible(format, width, height))
        return -EINVAL;
    struct halo_prepare_copy *copy = calloc(1, sizeof *copy);
    if (!copy)
        return -ENOMEM;
    const int columns = format->sideways ? height : width, rows = format->sideways ? width : height;
    copy->format = *format;
    copy->colours = find_colours(format);
    copy->width = width;
    copy->height = height;
    copy->scratch = malloc(halo_prepare_scratch(format->width, 4));
    bool failed = !copy->scratch;
    for (int i = 0; i < (format->kind == HALO_PREPARE_YUV ? 2 : 1); i++) {
        const int step_x = i ? format->step_x : 1, step_y = i ? format->step_y : 1;
        failed |= axis_init(&copy->across[i], format->width, step_x, columns) < 0;
        failed |= axis_init(&copy->down[i], format->height, step_y, rows) < 0;
    }
    if (failed) {
        halo_prepare_copy_destroy(copy);
        return -ENOMEM;
    }
    *ret = copy;
    return 0;
}

int halo_prepare_copy_check(const struct halo_prepare_copy *copy,
                            const struct halo_prepare_component *component,
                            const struct halo_prepare_small *small)
{
    const struct halo_prepare_format *f = &copy->format;
    if (small->width != copy->width || small->height != copy->height)
        return -EINVAL;
    for (int c = 0; c < (f->kind == HALO_PREPARE_GRAY ? 1 : 3); c++) {
        const struct halo_plane *p = &component[c].plane;
        const bool chroma = f->kind == HALO_PREPARE_YUV && c > 0;
        if (p->width != copy->across[chroma].samples || p->height != copy->down[chroma].samples ||
            p->depth != f->depth || p->channels < 1 || p->channels > 4 ||
            component[c].channel < 0 || component[c].channel >= p->channels)
            return -EINVAL;
    }
    return 0;
}

/* ---- COPY: the definition ---- */

/* Value y of a column, in 16 bits. */
static int column_value(const struct halo_prepare_component *c,
                        const struct halo_prepare_axis *down, int x, int y)
{
    const struct halo_plane *p = &c->plane;
    uint32_t sum = UINT32_C(1) << (p->depth - 3);
    for (int k = 0; k < taps_of(down, y); k++)
        sum += (uint32_t)(down->weight[down->start[y] + k] *
                          halo_sample_at(p, x * p->channels + c->channel, down->first[y] + k));
    return (int)(sum >> (p->depth - 2));
}

static int scaled(const struct halo_prepare_component *c, const struct halo_prepare_axis *across,
                  const struct halo_prepare_axis *down, int x, int y)
{
    uint32_t sum = HALF;
    for (int k = 0; k < taps_of(across, x); k++)
        sum += (uint32_t)across->weight[across->start[x] + k] *
               (uint32_t)column_value(c, down, across->first[x] + k, y);
    return (int)(sum >> HALO_PREPARE_BITS);
}

static void find_pixel(const struct halo_prepare_copy *copy,
                       const struct halo_prepare_component *component, int x, int y, uint8_t rgb[3])
{
    const enum halo_prepare_kind kind = copy->format.kind;
    const struct halo_prepare_colours *colours = &copy->colours;
    int value[3] = {0, HALO_PREPARE_CHROMA_ZERO, HALO_PREPARE_CHROMA_ZERO};
    for (int c = 0; c < (kind == HALO_PREPARE_GRAY ? 1 : 3); c++) {
        const bool chroma = kind == HALO_PREPARE_YUV && c > 0;
        value[c] = scaled(&component[c], &copy->across[chroma], &copy->down[chroma], x, y);
    }
    if (kind == HALO_PREPARE_RGB)
        for (int c = 0; c < 3; c++)
            rgb[c] = (uint8_t)halo_prepare_limited(colours->y_gain * value[c]);
    else
        halo_prepare_rgb(colours, value[0], value[1], value[2], rgb);
}

int halo_prepare_copy_plainly(struct halo_prepare_copy *copy,
                              const struct halo_prepare_component *component,
                              const struct halo_prepare_small *ret)
{
    const struct halo_prepare_format *f = &copy->format;
    if (halo_prepare_copy_check(copy, component, ret) < 0)
        return -EINVAL;
    for (int y = 0; y < ret->height; y++)
        for (int x = 0; x < ret->width; x++) {
            uint8_t rgb[3];
            const int i = f->sideways ? y : x, k = f->sideways ? x : y; /* as stored */
            const int columns = copy->across[0].count, rows = copy->down[0].count;
            find_pixel(copy, component, f->flip_x ? columns - 1 - i : i,
                       f->flip_y ? rows - 1 - k : k, rgb);
            for (int c = 0; c < 3; c++)
                ret->plane[c][y * ret->stride + x] = rgb[c];
        }
    return 0;
}

/* ---- INPUT: the plan ---- */

static bool is_look(const struct halo_prepare_look *l)
{
    const int *in = l->inside;
    bool ret = is_side(l->width, HALO_PREPARE_MAX_SIDE) &&
               is_side(l->height, HALO_PREPARE_MAX_SIDE) &&
               is_side(l->part_width, HALO_PREPARE_MAX_SIDE) &&
               is_side(l->part_height, HALO_PREPARE_MAX_SIDE) && in[0] >= 0 && in[1] >= 0 &&
               in[0] < l->width && in[1] < l->height && is_side(in[2], l->width - in[0]) &&
               is_side(in[3], l->height - in[1]) && l->mirror >= 0 &&
               l->mirror <= HALO_PREPARE_MAX_SIDE && l->fill >= 0 && l->fill <= 255;
    for (int c = 0; c < 3; c++)
        ret = ret && isfinite(l->scale[c]) && isfinite(l->offset[c]);
    return ret;
}

/* For each of `count` elements the value of `inside` that it shows. */
static int32_t *find_places(int count, int begin, int inside, int mirror)
{
    int32_t *ret = malloc((size_t)count * sizeof *ret);
    for (int i = 0; ret && i < count; i++) {
        const int at = i - begin;
        ret[i] = at < -mirror || at >= inside + mirror
                     ? HALO_GHOST
                     : halo_border_index(at, inside, HALO_BORDER_REFLECT);
    }
    return ret;
}

void halo_prepare_input_destroy(struct halo_prepare_input *input)
{
    if (!input)
        return;
    axis_finish(&input->across);
    axis_finish(&input->down);
    free(input->column);
    free(input->row);
    free(input->scratch);
    free(input);
}

static float element(float gain, float offset, int value)
{
    const float product = (float)value * gain;
    return product + offset;
}

int halo_prepare_input_create(struct halo_prepare_input **ret, const struct halo_prepare_look *look)
{
    if (!is_look(look))
        return -EINVAL;
    struct halo_prepare_input *input = calloc(1, sizeof *input);
    if (!input)
        return -ENOMEM;
    const int *in = look->inside;
    input->look = *look;
    input->column = find_places(look->width, in[0], in[2], look->mirror);
    input->row = find_places(look->height, in[1], in[3], look->mirror);
    input->scratch = malloc(halo_prepare_scratch(look->part_width, 1));
    for (int c = 0; c < 3; c++) {
        input->gain[c] = look->scale[c] / 256;
        input->fill[c] = element(input->gain[c], look->offset[c], look->fill * 256);
    }
    const bool failed = axis_init(&input->across, look->part_width, 1, in[2]) < 0 ||
                        axis_init(&input->down, look->part_height, 1, in[3]) < 0 ||
                        !input->column || !input->row || !input->scratch;
    if (failed) {
        halo_prepare_input_destroy(input);
        return -ENOMEM;
    }
    *ret = input;
    return 0;
}

int halo_prepare_input_check(const struct halo_prepare_input *input,
                             const struct halo_prepare_small *small, const int at[2])
{
    const struct halo_prepare_look *l = &input->look;
    return at[0] < 0 || at[1] < 0 || at[0] > small->width - l->part_width ||
                   at[1] > small->height - l->part_height
               ? -EINVAL
               : 0;
}

/* ---- INPUT: the definition ---- */

int halo_prepare_input_plainly(struct halo_prepare_input *input,
                               const struct halo_prepare_small *small, const int at[2],
                               float *tensor, size_t stride)
{
    const struct halo_prepare_look *l = &input->look;
    if (halo_prepare_input_check(input, small, at) < 0)
        return -EINVAL;
    for (int c = 0; c < 3; c++) {
        const struct halo_prepare_component from = {
            .plane = {.data = small->plane[l->bgr ? 2 - c : c] + at[1] * small->stride + at[0],
                      .stride = small->stride,
                      .width = l->part_width,
                      .height = l->part_height,
                      .channels = 1,
                      .depth = 8}};
        float *to = tensor + (size_t)c * stride;
        for (int j = 0; j < l->height; j++)
            for (int i = 0; i < l->width; i++) {
                const int column = input->column[i], row = input->row[j];
                *to++ = column == HALO_GHOST || row == HALO_GHOST
                            ? input->fill[c]
                            : element(input->gain[c], l->offset[c],
                                      scaled(&from, &input->across, &input->down, column, row));
            }
    }
    return 0;
}
