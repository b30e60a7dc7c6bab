/* SPDX-License-Identifier: BSD-2-Clause
 * Feathers: the exact distance of each sample to the nearest hidden one, by the algorithm of P.
 * Felzenszwalb and D. Huttenlocher: first along columns, then along rows, as the lower envelope of
 * the parabolas that the columns yield. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/region/shapes_private.h"

/* A part of the mask in which weights may change. */
struct field {
    uint8_t *mask; /* its upper left sample */
    ptrdiff_t stride;
    int width, height;
    int step_x, step_y; /* luma pixels between samples */
    double reach;       /* luma pixels */
    int16_t *rows;      /* for each sample, rows down to the nearest hidden one in its column */
    int16_t *bottom;    /* for a row, rows down to the nearest hidden sample below, or FAR */
    int *at;            /* the envelope: its columns, */
    double *from;       /* and the x from which each of them is the lowest */
};

enum { FAR = INT16_MAX };

void *halo_shapes_room(void **memory, size_t *size, size_t bytes)
{
    if (*size < bytes) {
        free(*memory);
        *memory = malloc(bytes);
        *size = *memory ? bytes : 0;
    }
    return *memory;
}

/* Rows down to the nearest hidden sample in column x of row y where those above and below are
 * equally near: to that with the larger weight. */
static int16_t stronger(const struct field *f, int x, int y, int distance)
{
    const uint8_t *mask = f->mask + x;
    if (distance == 0 || distance == FAR)
        return (int16_t)-distance;
    const bool below = mask[(y - distance) * f->stride] < mask[(y + distance) * f->stride];
    return (int16_t)(below ? distance : -distance);
}

/* Ends the scan of row y: its distances to the samples above are known, and all rows below are
 * done. */
static void scan_up(struct field *f, int y)
{
    const int width = f->width;
    const uint8_t *restrict row = f->mask + y * f->stride;
    int16_t *restrict to = f->rows + (ptrdiff_t)y * width;
    int16_t *restrict bottom = f->bottom;
    int ties = 0;
    for (int x = 0; x < width; x++) {
        const int16_t up = to[x], below = (int16_t)(bottom[x] < FAR ? bottom[x] + 1 : FAR);
        const int16_t down = row[x] ? 0 : below;
        bottom[x] = down;
        to[x] = (int16_t)(up <= down ? -up : down);
        ties |= (up == down) & (up > 0) & (up < FAR);
    }
    for (int x = 0; ties && x < width; x++)
        if (to[x] == -bottom[x])
            to[x] = stronger(f, x, y, bottom[x]);
}

/* Finds the nearest hidden sample of each column: first above each sample, then below. Outside of
 * the field all distances are FAR. */
static void scan_columns(struct field *f)
{
    const int width = f->width;
    for (int x = 0; x < width; x++)
        f->bottom[x] = FAR;
    for (int y = 0; y < f->height; y++) {
        const uint8_t *restrict row = f->mask + y * f->stride;
        int16_t *restrict to = f->rows + (ptrdiff_t)y * width;
        const int16_t *restrict above = y ? to - width : f->bottom;
        for (int x = 0; x < width; x++) {
            const int up = above[x] + 1 > FAR ? FAR : above[x] + 1;
            to[x] = (int16_t)(row[x] ? 0 : up);
        }
    }
    for (int y = f->height - 1; y >= 0; y--)
        scan_up(f, y);
}

static double squared(double v)
{
    return v * v;
}

/* Finds the columns with the hidden samples nearest to this row's samples, from left to right.
 * Returns their number. */
static int build_envelope(struct field *f, const int16_t *row)
{
    int count = 0;
    const double scale = squared(f->step_x);
    for (int x = 0; x < f->width; x++) {
        if (abs(row[x]) * f->step_y >= f->reach)
            continue;
        if (!row[x] && x > 0 && x + 1 < f->width && !row[x - 1] && !row[x + 1])
            continue; /* within a run of hidden samples: its ends are nearer to all others */
        const double height = squared(row[x] * f->step_y);
        double from = -HUGE_VAL;
        while (count > 0) {
            const int q = f->at[count - 1];
            const double other = squared(row[q] * f->step_y);
            from = ((height + scale * x * x) - (other + scale * q * q)) / (2 * scale * (x - q));
            if (from >= f->from[count - 1])
                break;
            count--;
        }
        f->at[count] = x;
        f->from[count] = count ? from : -HUGE_VAL;
        count++;
    }
    return count;
}

/* The weight of the hidden sample nearest to sample x, which is in column k of the envelope; of
 * several equally near ones, the largest weight. */
static uint8_t strongest(const struct field *f, const int16_t *row, const uint8_t *mask, int x,
                         int k, int count)
{
    uint8_t most = mask[row[f->at[k]] * f->stride + f->at[k]];
    for (k++; k < count && f->from[k] <= x; k++) {
        const uint8_t other = mask[row[f->at[k]] * f->stride + f->at[k]];
        most = other > most ? other : most;
    }
    return most;
}

/* Writes only samples that were not hidden before; mask is read only at samples that were, so a
 * feathered sample never counts as hidden. */
static void shade_row(struct field *f, int y, const uint8_t *mask)
{
    const int16_t *row = f->rows + (ptrdiff_t)y * f->width;
    uint8_t *to = f->mask + y * f->stride;
    if (!memchr(to, 0, (size_t)f->width))
        return;
    const int count = build_envelope(f, row);
    const double almost = f->reach * f->reach * (1 + 1e-9);
    for (int x = 0, k = 0; count > 0 && x < f->width; x++) {
        while (k + 1 < count && f->from[k + 1] < x)
            k++;
        if (row[x] == 0)
            continue;
        const int q = f->at[k], down = row[q];
        const double both = squared((x - q) * f->step_x) + squared(down * f->step_y);
        const double d = both < almost ? sqrt(both) : f->reach;
        if (d < f->reach) {
            const uint8_t *here = mask + y * f->stride;
            const uint8_t most = strongest(f, row, here, x, k, count);
            const double weight = most * (f->reach - d) / f->reach;
            to[x] = (uint8_t)weight;
            to[x] = (uint8_t)(to[x] + (to[x] < weight)); /* rounded up */
        }
    }
}

/* Divides the scratch memory among the field's arrays. */
static int place(struct field *f, struct halo_drawn_region *region)
{
    const size_t width = (size_t)f->width;
    const size_t samples = width * (size_t)f->height;
    const size_t bytes = (width + 1) * (sizeof(double) + sizeof(int)) + 2 * (samples + width);
    char *at = halo_shapes_room(&region->scratch, &region->scratch_bytes, bytes);
    if (!at)
        return -ENOMEM;
    f->from = (double *)at;
    f->at = (int *)(at + (width + 1) * sizeof(double));
    f->bottom = (int16_t *)(f->at + width + 1);
    f->rows = f->bottom + width;
    return 0;
}

static int feather_box(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                       struct halo_rect box)
{
    struct field f = {.stride = canvas->width,
                      .width = box.x1 - box.x0,
                      .height = box.y1 - box.y0,
                      .step_x = 1 << canvas->log2_sub_x,
                      .step_y = 1 << canvas->log2_sub_y,
                      .reach = canvas->feather};
    f.mask = region->mask + (ptrdiff_t)box.y0 * f.stride + box.x0;
    if (place(&f, region) < 0)
        return -ENOMEM;
    scan_columns(&f);
    for (int y = 0; y < f.height; y++)
        shade_row(&f, y, f.mask);
    return 0;
}

static bool meet(struct halo_rect a, struct halo_rect b)
{
    return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

/* Joins boxes that overlap. Returns the number of boxes left. */
static int join(struct halo_rect *boxes, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (meet(boxes[i], boxes[k])) {
                boxes[i] = halo_rect_join(boxes[i], boxes[k]);
                boxes[k] = boxes[--count];
                k = i; /* the larger box may overlap others */
            }
    return count;
}

int halo_shapes_feather(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                        struct halo_rect *boxes, int count)
{
    const bool all = region->around != 0; /* everything around the boxes is hidden */
    const int reach_x = all ? 1 : (int)ceil(ldexp(canvas->feather, -canvas->log2_sub_x));
    const int reach_y = all ? 1 : (int)ceil(ldexp(canvas->feather, -canvas->log2_sub_y));
    for (int i = 0; i < count; i++)
        boxes[i] = halo_rect_grow(boxes[i], reach_x, reach_y, canvas->width, canvas->height);
    /* Boxes must not overlap: a sample feathered in one would count as hidden in another. */
    for (int left = join(boxes, count); left < count; left = join(boxes, count))
        count = left;
    for (int i = 0; i < count; i++) {
        if (feather_box(canvas, region, boxes[i]) < 0)
            return -ENOMEM;
        region->touched = halo_rect_join(region->touched, boxes[i]);
    }
    return 0;
}
