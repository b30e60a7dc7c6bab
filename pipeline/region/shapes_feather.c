/* SPDX-License-Identifier: BSD-2-Clause
 * Feathers: the exact distance of each sample to the nearest hidden one, as P. Felzenszwalb and
 * D. Huttenlocher compute it: along columns first, then along rows the lower envelope of the
 * parabolas that the columns give. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/region/shapes_private.h"

/* Where the feather may fall, and the weights there. */
struct field {
    uint8_t *mask; /* of its upper left sample */
    ptrdiff_t stride;
    int width, height;
    int step_x, step_y; /* luma pixels between samples */
    double reach;       /* luma pixels */
    int16_t *rows;      /* for each sample how far down the nearest hidden one of its column is */
    int16_t *bottom;    /* FAR, or how far below one is, for a row */
    int *at;            /* the envelope: columns, */
    double *from;       /* and where each begins to be the lowest */
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

/* Of a row, how far up the nearest is, and in *bottom how far down: the less of both; of two that
 * are as near the stronger one. */
static int16_t nearer(const struct field *f, int x, int y, int up)
{
    const int down = f->bottom[x];
    const uint8_t *mask = f->mask + x;
    if (up == down && up < FAR && up > 0)
        return (int16_t)(mask[(y - up) * f->stride] < mask[(y + down) * f->stride] ? down : -up);
    return (int16_t)(up <= down ? -up : down);
}

/* How far up the nearest is, then how far down where that is less. Rows of FAR stand outside. */
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
    for (int y = f->height - 1; y >= 0; y--) {
        const uint8_t *restrict row = f->mask + y * f->stride;
        int16_t *restrict to = f->rows + (ptrdiff_t)y * width;
        int16_t *restrict bottom = f->bottom;
        for (int x = 0; x < width; x++) {
            const int below = bottom[x] + 1 > FAR ? FAR : bottom[x] + 1;
            const int down = row[x] ? 0 : below;
            bottom[x] = (int16_t)down;
            to[x] = nearer(f, x, y, to[x]);
        }
    }
}

static double squared(double v)
{
    return v * v;
}

/* The columns whose hidden samples are the nearest of this row's, from left to right; how many. */
static int build_envelope(struct field *f, const int16_t *row)
{
    int count = 0;
    const double scale = squared(f->step_x);
    for (int x = 0; x < f->width; x++) {
        if (abs(row[x]) * f->step_y >= f->reach)
            continue;
        if (!row[x] && x > 0 && x + 1 < f->width && !row[x - 1] && !row[x + 1])
            continue; /* of a run the ends are the nearest, to all that is not in it */
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

/* How strong the nearest to sample x is, column k of the envelope; of those as near the strongest.
 */
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

/* Writes what lies outside of all that was hidden before, so that it never counts as hidden. */
static void shade_row(struct field *f, int y, const uint8_t *mask)
{
    const int16_t *row = f->rows + (ptrdiff_t)y * f->width;
    uint8_t *to = f->mask + y * f->stride;
    const int count = build_envelope(f, row);
    for (int x = 0, k = 0; count > 0 && x < f->width; x++) {
        while (k + 1 < count && f->from[k + 1] < x)
            k++;
        if (row[x] == 0)
            continue;
        const int q = f->at[k], down = row[q];
        const double d = sqrt(squared((x - q) * f->step_x) + squared(down * f->step_y));
        if (d < f->reach) {
            const uint8_t *here = mask + y * f->stride;
            const uint8_t most = strongest(f, row, here, x, k, count);
            const double weight = most * (f->reach - d) / f->reach;
            to[x] = (uint8_t)weight;
            to[x] = (uint8_t)(to[x] + (to[x] < weight)); /* up */
        }
    }
}

/* Memory for the field's work, one piece after the other. */
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

/* Those that meet become one; how many are left. */
static int join(struct halo_rect *boxes, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (meet(boxes[i], boxes[k])) {
                boxes[i] = halo_rect_join(boxes[i], boxes[k]);
                boxes[k] = boxes[--count];
                k = i; /* it may meet others now */
            }
    return count;
}

int halo_shapes_feather(const struct halo_shape_canvas *canvas, struct halo_drawn_region *region,
                        struct halo_rect *boxes, int count)
{
    const bool all = region->around != 0; /* hidden is what lies around */
    const int reach_x = all ? 1 : (int)ceil(ldexp(canvas->feather, -canvas->log2_sub_x));
    const int reach_y = all ? 1 : (int)ceil(ldexp(canvas->feather, -canvas->log2_sub_y));
    for (int i = 0; i < count; i++)
        boxes[i] = halo_rect_grow(boxes[i], reach_x, reach_y, canvas->width, canvas->height);
    /* What is done in one box may not be what is hidden in another. */
    for (int left = join(boxes, count); left < count; left = join(boxes, count))
        count = left;
    for (int i = 0; i < count; i++) {
        if (feather_box(canvas, region, boxes[i]) < 0)
            return -ENOMEM;
        region->touched = halo_rect_join(region->touched, boxes[i]);
    }
    return 0;
}
