/* SPDX-License-Identifier: BSD-2-Clause
 * Masks: converts real weights to the integers of conv.h, with a proven bound on the error. This
 * file has the kinds that need no rounding; the others are in conv_gauss.c, conv_dense.c and
 * conv_gradient.c. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kernels/cells.h"
#include "kernels/conv_private.h"

int halo_conv_copy(struct halo_conv *ret, const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target))
        return -EINVAL;
    *ret = halo_conv_begin(HALO_CONV_COPY, target);
    return 0;
}

int halo_conv_box(struct halo_conv *ret, int radius_x, int radius_y,
                  const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target) || radius_x < 0 || radius_x > HALO_MAX_BOX_RADIUS ||
        radius_y < 0 || radius_y > HALO_MAX_BOX_RADIUS)
        return -EINVAL;

    const int64_t area = (int64_t)(2 * radius_x + 1) * (2 * radius_y + 1);
    const int64_t largest = area * halo_sample_max(target->depth) + area / 2;
    *ret = halo_conv_begin(HALO_CONV_BOX, target);
    ret->radius_x = radius_x;
    ret->radius_y = radius_y;
    ret->accum = largest < 1 << 24    ? HALO_ACCUM_F24
                 : largest <= INT_MAX ? HALO_ACCUM_I32
                                      : HALO_ACCUM_I64;
    ret->error_bound = 0.5; /* the sum is exact; the only rounding is to nearest */
    return 0;
}

int halo_conv_pixelize(struct halo_conv *ret, int block_w, int block_h, enum halo_pixelize mode,
                       const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target) || block_w < 1 || block_w > HALO_MAX_BLOCK || block_h < 1 ||
        block_h > HALO_MAX_BLOCK || (int)mode < 0 || mode > HALO_PIXELIZE_MAX)
        return -EINVAL;
    if (block_w == 1 && block_h == 1)
        return halo_conv_copy(ret, target);

    const int64_t area = (int64_t)block_w * block_h;
    const int64_t largest = area * halo_sample_max(target->depth) + area / 2;
    *ret = halo_conv_begin(HALO_CONV_PIXELIZE, target);
    ret->accum = largest < 1 << 24    ? HALO_ACCUM_F24
                 : largest <= INT_MAX ? HALO_ACCUM_I32
                                      : HALO_ACCUM_I64;
    ret->error_bound = mode == HALO_PIXELIZE_MEAN ? 0.5 : 0;
    ret->block_w = block_w;
    ret->block_h = block_h;
    ret->mode = mode;
    return 0;
}

int halo_conv_solid(struct halo_conv *ret, const int values[2],
                    const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target))
        return -EINVAL;
    for (int c = 0; c < 2; c++)
        if (values[c] < 0 || values[c] > halo_sample_max(target->depth))
            return -EINVAL;
    *ret = halo_conv_begin(HALO_CONV_SOLID, target);
    ret->mask[0] = values[0];
    ret->mask[1] = values[1];
    return 0;
}

static bool values_ok(const uint16_t *values, int count, int most)
{
    bool ok = true;
    for (int i = 0; i < count; i++)
        ok &= values[i] <= most;
    return ok;
}

int halo_conv_table(struct halo_conv *ret, const uint16_t *table,
                    const struct halo_conv_target *target)
{
    if (!halo_conv_target_ok(target))
        return -EINVAL;
    const int most = halo_sample_max(target->depth);
    if (most >= HALO_MAX_TABLE)
        return -ERANGE;
    if (!values_ok(table, most + 1, most))
        return -EINVAL;
    bool same = true;
    for (int i = 0; i <= most; i++)
        same &= table[i] == i;
    if (same)
        return halo_conv_copy(ret, target);
    *ret = halo_conv_begin(HALO_CONV_TABLE, target);
    memcpy(ret->table, table, ((size_t)most + 1) * sizeof table[0]);
    return 0;
}

int halo_conv_cells(struct halo_conv *ret, const struct halo_cells_layout *layout,
                    const int values[2], const struct halo_conv_target *target)
{
    const struct halo_cells_layout *l = layout;
    if (l->cells < 1 || l->cells > HALO_MAX_CELLS || l->reach < 0 ||
        l->reach > HALO_MAX_CELLS_REACH || l->step_x < 1 || l->step_x > HALO_MAX_STEP ||
        l->step_y < 1 || l->step_y > HALO_MAX_STEP)
        return -EINVAL;
    struct halo_conv solid;
    const int code = halo_conv_solid(&solid, values, target);
    if (code < 0)
        return code;
    *ret = solid;
    ret->kind = HALO_CONV_CELLS;
    ret->cells = l->cells;
    ret->reach = l->reach;
    ret->step_x = l->step_x;
    ret->step_y = l->step_y;
    return 0;
}

int halo_conv_add_cells(struct halo_conv *conv, const struct halo_rect *box, const uint16_t *values)
{
    const int cells = conv->cells * conv->cells;
    if (box->x0 >= box->x1 || box->y0 >= box->y1 || box->x0 < 0 || box->y0 < 0 ||
        box->x1 > HALO_MAX_CELLS_BOX || box->y1 > HALO_MAX_CELLS_BOX ||
        !values_ok(values, 2 * cells, halo_sample_max(conv->depth)))
        return -EINVAL;
    if (conv->boxes == halo_cells_room(conv->cells))
        return -ENOSPC;
    int32_t *to = conv->mask + 2 + conv->boxes++ * (HALO_CELLS_HEAD + cells);
    const int32_t head[HALO_CELLS_HEAD] = {box->x0, box->y0, box->x1, box->y1};
    memcpy(to, head, sizeof head);
    for (int i = 0; i < cells; i++)
        to[HALO_CELLS_HEAD + i] = (int32_t)(values[2 * i] | (uint32_t)values[2 * i + 1] << 16);
    return 0;
}
