/* SPDX-License-Identifier: BSD-2-Clause
 * The masks the kernel check walks through: every kind, every number format, both extremes of
 * size. */
#include "tests/kernels/masks.h"

#include "kernels/cells.h"
#include "tests/kernels/picture.h"

const struct mask masks[] = {
    {"copy", COPY},
    {"gauss 0", GAUSS, 0, 0},
    {"gauss 0.3", GAUSS, 0.3, 0.3},
    {"gauss 0.5", GAUSS, 0.5, 0.5},
    {"gauss 1 x 0", GAUSS, 1, 0},
    {"gauss 0 x 2", GAUSS, 0, 2},
    {"gauss 0.1 x 5", GAUSS, 0.1, 5},
    {"gauss 1.3", GAUSS, 1.3, 1.3},
    {"gauss 5", GAUSS, 5, 5},
    {"gauss 10 x 3", GAUSS, 10, 3},
    {"gauss 7.5", GAUSS, 7.5, 7.5},
    {"gauss 10.3", GAUSS, 10.3, 10.3},
    {"gauss 13", GAUSS, 13, 13},
    {"gauss 15.5", GAUSS, 15.5, 15.5},
    {"gauss 18", GAUSS, 18, 18},
    {"gauss 21", GAUSS, 21, 21},
    {"gauss 22", GAUSS, 22, 22},
    {"gauss 29", GAUSS, 29, 29},
    {"gauss 50", GAUSS, 50, 50},
    {"gauss 60 x 5", GAUSS, 60, 5},
    {"gauss 0 x 100", GAUSS, 0, 100},
    {"gauss 7 x 33", GAUSS, 7, 33},
    {"gauss 200", GAUSS, 200, 200},
    {"dense 1x1", DENSE, 1, 1, SHARPEN, 0},
    {"dense 3x3 mean", DENSE, 3, 3, MEAN, 0},
    {"dense 3x3 edges, bias", DENSE, 3, 3, EDGES, 127.25},
    {"dense 3x3 spike", DENSE, 3, 3, SPIKE, 0},
    {"dense 5x5 sharpen", DENSE, 5, 5, SHARPEN, -3.5},
    {"dense 7x3 noise", DENSE, 7, 3, NOISE, 0},
    {"dense 1x7 noise", DENSE, 1, 7, NOISE, 20},
    {"dense 127x1 noise", DENSE, 127, 1, NOISE, 0},
    {"dense 1x127 mean", DENSE, 1, 127, MEAN, 0},
    {"dense 15x15 noise", DENSE, 15, 15, NOISE, 64},
    {"dense 31x31 spike", DENSE, 31, 31, SPIKE, 0},
    {"dense 63x63 mean", DENSE, 63, 63, MEAN, 0},
    {"dense 63x63 noise", DENSE, 63, 63, NOISE, 1},
    {"dense 3x5 large weights", DENSE, 3, 5, LARGE, 100},
    {"dense 5x3 huge sums", DENSE, 5, 3, HUGE_SUMS, -1000},
    {"box 0", BOX, 0, 0},
    {"box 1", BOX, 1, 1},
    {"box 2x5", BOX, 2, 5},
    {"box 0x3", BOX, 0, 3},
    {"box 31x0", BOX, 31, 0},
    {"box 63", BOX, 63, 63},
    {"box 9x20", BOX, 9, 20}, /* steps and rests of box-slide: radii of every remainder */
    {"box 30x128", BOX, 30, 128},
    {"box 64x41", BOX, 64, 41},
    {"box 127", BOX, 127, 127},
    {"box 1024", BOX, 1024, 1024},
    {"box 244x9", BOX, 244, 9}, /* one pixel and its halo fill the threads of running-sums */
    {"box 122x1", BOX, 122, 1}, /* likewise, of two channels */
    {"gradient sobel", GRADIENT, 1, 0, SOBEL},
    {"gradient sobel 0.3", GRADIENT, 0.3, -7, SOBEL},
    {"gradient sobel 1/8 + 2.7", GRADIENT, 0.125, 2.7, SOBEL},
    {"gradient sobel 1000", GRADIENT, 1000, -200.3, SOBEL},
    {"gradient sobel 65535", GRADIENT, 65535, -65535, SOBEL},
    {"gradient scharr", GRADIENT, 1.0 / 256, 0, SCHARR},
    {"gradient scharr 0.77", GRADIENT, 0.77 / 256, 1, SCHARR},
    {"gradient scharr 1/3", GRADIENT, 1.0 / 3, -255.5, SCHARR},
    {"gradient noise", GRADIENT, 0.1, 0, NOISE},
    {"gradient huge sums", GRADIENT, 0.01, 0, HUGE_SUMS},
    {"gradient 0", GRADIENT, 0, 100, SOBEL},
    {"gradient white", GRADIENT, 1, 65535, SOBEL},
    {"pixelize 1x1", PIXELIZE, 1, 1},
    {"pixelize 16", PIXELIZE, 16, 16},
    {"pixelize 2x3", PIXELIZE, 2, 3},
    {"pixelize 5x1 min", PIXELIZE, 5, 1, .mode = HALO_PIXELIZE_MIN},
    {"pixelize 1x7 max", PIXELIZE, 1, 7, .mode = HALO_PIXELIZE_MAX},
    {"pixelize 37x61", PIXELIZE, 37, 61},
    {"pixelize 130x40 max", PIXELIZE, 130, 40, .mode = HALO_PIXELIZE_MAX},
    {"pixelize 1024", PIXELIZE, 1024, 1024},
    {"solid 0 and 200", SOLID, 0, 200},
    {"solid 255 and 3", SOLID, 255, 3},
    {"cells without boxes", CELLS, 6, 0},
    {"cells 1, one box", CELLS, 1, 1},
    {"cells 6, two boxes", CELLS, 6, 2},
    {"cells 16, as many boxes as there is room for", CELLS, 16, 15},
    {"cells 3, many boxes", CELLS, 3, 60},
    {"table, any values", TABLE, 65536},
    {"table, two values", TABLE, 2},
    {"table, negated", TABLE, 0},
    {"pixelize 1000x700 min", PIXELIZE, 1000, 700, .mode = HALO_PIXELIZE_MIN},
};

const int mask_count = sizeof masks / sizeof masks[0];

static double weight(const struct mask *m, int i, int count, uint64_t *state)
{
    const double noise = (double)(next_random(state) % 2001) / 1000 - 1;
    const bool centre = i == count / 2;
    switch (m->weights) {
    case MEAN:
        return 1.0 / count;
    case EDGES:
        return centre ? count - 1 : -1;
    case SHARPEN:
        return centre ? 2 - 0.3 : -0.7 / count;
    case NOISE:
        return 2 * noise / count;
    case LARGE: /* beyond 16 bits, the sums beyond 24 */
        return 40000 * noise;
    case HUGE_SUMS: /* beyond 31 bits */
        return 9e6 * noise;
    case SPIKE: /* a wide tail of small weights and one that no 16 bits hold beside them */
        return centre ? 0.9 : 0.1 / count;
    case SOBEL:
    case SCHARR:
        break;
    }
    return 0;
}

/* Two masks of at most 32767 in all. */
static int make_gradient(struct halo_conv *ret, const struct mask *m,
                         const struct halo_conv_target *target)
{
    static const int sobel[9] = {-1, -2, -1, 0, 0, 0, 1, 2, 1};
    static const int scharr[9] = {-47, -162, -47, 0, 0, 0, 47, 162, 47};
    int mx[9], my[9];
    uint64_t state = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 9; i++) {
        const int noise = (int)(next_random(&state) % 101) - 50;
        mx[i] = m->weights == SOBEL       ? sobel[i]
                : m->weights == SCHARR    ? scharr[i]
                : m->weights == HUGE_SUMS ? (i % 2 ? 2900 : -2900)
                                          : noise;
        my[i % 3 * 3 + i / 3] = m->weights == NOISE ? noise / 2 + i : mx[i];
    }
    return halo_conv_gradient(ret, mx, my, m->a, m->b, target);
}

static struct halo_rect random_box(uint64_t *state)
{
    const int most = next_random(state) % 2 ? 40 : 2000;
    const int x = (int)(next_random(state) % (unsigned)most), y = (int)(next_random(state) % 40);
    return (struct halo_rect){x, y, x + 1 + (int)(next_random(state) % (unsigned)most),
                              y + 1 + (int)(next_random(state) % (unsigned)most)};
}

int random_cells(struct halo_conv *ret, int cells, int boxes, const struct halo_conv_target *target,
                 uint64_t *state)
{
    const unsigned values = (unsigned)halo_sample_max(target->depth) + 1;
    const struct halo_cells_layout layout = {.cells = cells,
                                             .reach = (int)(next_random(state) % 9),
                                             .step_x = 1 + (int)(next_random(state) % 2),
                                             .step_y = 1 + (int)(next_random(state) % 2)};
    uint16_t value[2 * HALO_MAX_CELLS * HALO_MAX_CELLS];
    int code = halo_conv_cells(ret, &layout, (const int[2]){7, 200}, target);
    for (int i = 0; i < boxes && code == 0; i++) {
        const struct halo_rect box = random_box(state);
        for (int k = 0; k < 2 * cells * cells; k++)
            value[k] = (uint16_t)(next_random(state) % values);
        code = halo_conv_add_cells(ret, &box, value);
    }
    return code;
}

int random_table(struct halo_conv *ret, int values, const struct halo_conv_target *target,
                 uint64_t *state)
{
    uint16_t table[1 << 16], value[2];
    const int size = halo_sample_max(target->depth) + 1;
    for (int i = 0; i < 2; i++)
        value[i] = (uint16_t)(next_random(state) % (unsigned)size);
    for (int i = 0; i < size; i++) {
        const unsigned drawn = (unsigned)(next_random(state) % (unsigned)size);
        table[i] = values == 0   ? (uint16_t)(size - 1 - i)
                   : values == 2 ? value[drawn % 2]
                                 : (uint16_t)drawn;
    }
    return halo_conv_table(ret, table, target);
}

int mask_make(struct halo_conv *ret, const struct mask *m, const struct halo_conv_target *target)
{
    if (m->kind == COPY)
        return halo_conv_copy(ret, target);
    if (m->kind == GAUSS)
        return halo_conv_gauss(ret, m->a, m->b, target);
    if (m->kind == BOX)
        return halo_conv_box(ret, (int)m->a, (int)m->b, target);
    if (m->kind == GRADIENT)
        return make_gradient(ret, m, target);
    if (m->kind == SOLID) {
        const int values[2] = {(int)m->a << (target->depth - 8), (int)m->b << (target->depth - 8)};
        return halo_conv_solid(ret, values, target);
    }
    if (m->kind == CELLS) {
        uint64_t draw = 0x9e3779b97f4a7c15 + (uint64_t)m->b;
        return random_cells(ret, (int)m->a, (int)m->b, target, &draw);
    }
    if (m->kind == TABLE) {
        uint64_t draw = 0x9e3779b97f4a7c15;
        return random_table(ret, (int)m->a, target, &draw);
    }
    if (m->kind == PIXELIZE)
        return halo_conv_pixelize(ret, (int)m->a, (int)m->b, m->mode, target);

    double weights[HALO_MAX_DENSE * HALO_MAX_DENSE];
    const int width = (int)m->a, height = (int)m->b;
    uint64_t state = 0x9e3779b97f4a7c15;
    for (int i = 0; i < width * height; i++)
        weights[i] = weight(m, i, width * height, &state);
    return halo_conv_dense(ret, weights, width, height, m->bias, target);
}
