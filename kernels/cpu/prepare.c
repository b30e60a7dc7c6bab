/* SPDX-License-Identifier: BSD-2-Clause
 * Inputs of networks (prepare.h), a row at a time. */
#include "kernels/cpu/prepare.h"

#include <errno.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/rows.h"

static const struct halo_prepare_steps *steps_of(int level)
{
    if ((level >= 1 && !halo_has_v3()) || (level >= 2 && !halo_has_v4()))
        return NULL;
#ifdef __x86_64__
    if (level >= 1)
        return level >= 2 ? &halo_prepare_steps_v4 : &halo_prepare_steps_v3;
#endif
    return &halo_prepare_steps_base;
}

static int best_level(void)
{
    return halo_has_v4() ? 2 : halo_has_v3() ? 1 : 0;
}

/* ---- a row of values ---- */

/* Where rows are computed, in the scratch memory of a plan. */
struct work {
    const struct halo_prepare_steps *steps;
    uint32_t *sums;
    int16_t *values;
    uint16_t *scaled[3];
    uint8_t *rgb[3];
};

static void place(struct work *work, void *scratch, int samples, int channels)
{
    const size_t row = (size_t)samples + HALO_PREPARE_TAPS;
    work->sums = scratch;
    work->values = (int16_t *)(work->sums + row * (size_t)channels);
    work->scaled[0] = (uint16_t *)(work->values + row);
    for (int c = 1; c < 3; c++)
        work->scaled[c] = work->scaled[c - 1] + HALO_PREPARE_MAX_SIDE;
    work->rgb[0] = (uint8_t *)(work->scaled[2] + HALO_PREPARE_MAX_SIDE);
    for (int c = 1; c < 3; c++)
        work->rgb[c] = work->rgb[c - 1] + HALO_PREPARE_MAX_SIDE;
}

/* Sums the rows of value y, with all channels. */
static void sum_down(const struct work *work, const struct halo_plane *p,
                     const struct halo_prepare_axis *down, int y)
{
    const int first = down->first[y], start = down->start[y];
    int count = down->start[y + 1] - start;
    struct halo_prepare_rows rows = {
        .samples = p->width * p->channels, .depth = p->depth, .shift = p->shift};
    while (count > 1 && down->weight[start + count - 1] == 0)
        count--;
    for (int k = 0; k < count; k += 2) {
        const int more = k + 1 < count;
        rows.row[0] = halo_plane_row(p, first + k);
        rows.row[1] = halo_plane_row(p, first + k + more);
        rows.weight[0] = down->weight[start + k];
        rows.weight[1] = more ? down->weight[start + k + 1] : 0;
        work->steps->add(&rows, work->sums, k == 0);
    }
}

/* ---- COPY ---- */

/* Whether the sums of one component are those of the other one. */
static bool is_same_plane(const struct halo_plane *a, const struct halo_plane *b)
{
    return a->data == b->data && a->stride == b->stride && a->channels == b->channels &&
           a->width == b->width && a->height == b->height;
}

static void scale_row(const struct work *work, const struct halo_prepare_copy *copy,
                      const struct halo_prepare_component *component, int y)
{
    for (int c = 0; c < (copy->format.kind == HALO_PREPARE_GRAY ? 1 : 3); c++) {
        const bool chroma = copy->format.kind == HALO_PREPARE_YUV && c > 0;
        const struct halo_plane *p = &component[c].plane;
        if (c == 0 || !is_same_plane(p, &component[c - 1].plane))
            sum_down(work, p, &copy->down[chroma], y);
        work->steps->narrow(work->sums + component[c].channel, p->channels, p->width, p->depth,
                            work->values);
        work->steps->across(&copy->across[chroma], work->values, work->scaled[c]);
    }
}

/* Writes row y, as stored, to its place in the upright copy. */
static void put_row(const struct work *work, const struct halo_prepare_copy *copy, int y,
                    const struct halo_prepare_small *ret)
{
    const struct halo_prepare_format *f = &copy->format;
    const int columns = copy->across[0].count, row = f->flip_y ? copy->down[0].count - 1 - y : y;
    const ptrdiff_t right = f->sideways ? ret->stride : 1, down = f->sideways ? 1 : ret->stride;
    for (int c = 0; c < 3; c++) {
        const uint8_t *from = work->rgb[c];
        uint8_t *to = ret->plane[c] + row * down;
        if (!f->sideways && !f->flip_x)
            memcpy(to, from, (size_t)columns);
        else if (f->flip_x)
            for (int i = columns - 1; i >= 0; i--, to += right)
                *to = from[i];
        else
            for (int i = 0; i < columns; i++, to += right)
                *to = from[i];
    }
}

int halo_prepare_copy_as(int level, struct halo_prepare_copy *copy,
                         const struct halo_prepare_component *component,
                         const struct halo_prepare_small *ret)
{
    struct work work = {.steps = steps_of(level)};
    if (!work.steps)
        return -ENOTSUP;
    if (halo_prepare_copy_check(copy, component, ret) < 0)
        return -EINVAL;
    place(&work, copy->scratch, copy->format.width, 4);
    for (int y = 0; y < copy->down[0].count; y++) {
        scale_row(&work, copy, component, y);
        work.steps->colour(copy, work.scaled, copy->across[0].count, work.rgb);
        put_row(&work, copy, y, ret);
    }
    return 0;
}

int halo_prepare_copy_run(struct halo_prepare_copy *copy,
                          const struct halo_prepare_component *component,
                          const struct halo_prepare_small *ret)
{
    return halo_prepare_copy_as(best_level(), copy, component, ret);
}

/* ---- INPUT ---- */

/* Row y of `inside`, which has the values t. */
static void look_row(const struct work *work, const struct halo_prepare_input *input,
                     const struct halo_plane *part, int y)
{
    const struct halo_prepare_look *l = &input->look;
    if (l->part_width == l->inside[2] && l->part_height == l->inside[3]) {
        const uint8_t *row = halo_plane_row(part, y);
        for (int i = 0; i < part->width; i++)
            work->scaled[0][i] = (uint16_t)(row[i] << 8);
        return;
    }
    sum_down(work, part, &input->down, y);
    work->steps->narrow(work->sums, 1, part->width, 8, work->values);
    work->steps->across(&input->across, work->values, work->scaled[0]);
}

/* Fills the elements first to end - 1 of a row, which are not in `inside`. */
static void put_margin(const struct halo_prepare_input *input, int plane, int first, int end,
                       float *row)
{
    const float *inside = row + input->look.inside[0];
    for (int i = first; i < end; i++)
        row[i] = input->column[i] == HALO_GHOST ? input->fill[plane] : inside[input->column[i]];
}

static void fill_plane(const struct work *work, const struct halo_prepare_input *input,
                       const struct halo_plane *part, int plane, float *tensor)
{
    const struct halo_prepare_look *l = &input->look;
    const int begin = l->inside[0];
    for (int j = 0; j < l->height; j++) {
        float *row = tensor + (ptrdiff_t)j * l->width;
        if (input->row[j] == HALO_GHOST) {
            for (int i = 0; i < l->width; i++)
                row[i] = input->fill[plane];
            continue;
        }
        look_row(work, input, part, input->row[j]);
        work->steps->element(work->scaled[0], l->inside[2], input->gain[plane], l->offset[plane],
                             row + begin);
        put_margin(input, plane, 0, begin, row);
        put_margin(input, plane, begin + l->inside[2], l->width, row);
    }
}

int halo_prepare_input_as(int level, struct halo_prepare_input *input,
                          const struct halo_prepare_small *small, const int at[2], float *tensor,
                          size_t stride)
{
    const struct halo_prepare_look *l = &input->look;
    struct work work = {.steps = steps_of(level)};
    if (!work.steps)
        return -ENOTSUP;
    if (halo_prepare_input_check(input, small, at) < 0)
        return -EINVAL;
    place(&work, input->scratch, l->part_width, 1);
    for (int c = 0; c < 3; c++) {
        const struct halo_plane part = {.data = small->plane[l->bgr ? 2 - c : c] +
                                                at[1] * small->stride + at[0],
                                        .stride = small->stride,
                                        .width = l->part_width,
                                        .height = l->part_height,
                                        .channels = 1,
                                        .depth = 8};
        fill_plane(&work, input, &part, c, tensor + (size_t)c * stride);
    }
    return 0;
}

int halo_prepare_input_run(struct halo_prepare_input *input, const struct halo_prepare_small *small,
                           const int at[2], float *tensor, size_t stride)
{
    return halo_prepare_input_as(best_level(), input, small, at, tensor, stride);
}
