/* SPDX-License-Identifier: BSD-2-Clause
 * nodes_tmpl.c: from the plane to R.
 *
 * A cell is the step pixels between two nodes. S is the sum of its pixels p(j), and F the sum of
 * the partial sums S(j) of the first j pixels. The falling weights, 2 (step - j) - 1, add 2 F - S
 * to the node before the cell, and the rising ones, 2 j + 1, add 2 step S - (2 F - S) to the node
 * after it. */

enum { MAX_ROWS = 4 }; /* the number of rows that are summed together */

INLINE void add_bytes(uint16_t *restrict s, uint16_t *restrict f, const uint8_t *const *rows,
                      int count, int n)
{
    for (int i = 0; i < n; i++) {
        uint16_t sum = s[i], sums = f[i];
        for (int r = 0; r < count; r++) {
            sum = (uint16_t)(sum + rows[r][i]);
            sums = (uint16_t)(sums + sum);
        }
        s[i] = sum;
        f[i] = sums;
    }
}

INLINE void add_words(uint32_t *restrict s, uint32_t *restrict f, const uint16_t *const *rows,
                      int count, int n, const struct halo_plane *of)
{
    const int shift = of->shift;
    const uint16_t max = (uint16_t)halo_sample_max(of->depth);
    for (int i = 0; i < n; i++) {
        uint32_t sum = s[i], sums = f[i];
        for (int r = 0; r < count; r++) {
            const uint16_t v = (uint16_t)(rows[r][i] >> shift);
            sum += v < max ? v : max;
            sums += sum;
        }
        s[i] = sum;
        f[i] = sums;
    }
}

static const void *source_row(const struct band *b, int y)
{
    const struct halo_plane *src = &b->job->src;
    const int sy = halo_border_index(y, src->height, b->job->conv->border);
    return sy == HALO_GHOST ? b->ghosts : halo_plane_row(src, sy);
}

/* For each cell in the row of cells below node line l, computes S (the sum of the pixels) and F
 * (the sum of their partial sums). */
static void sum_cells(const struct band *b, int l)
{
    const struct halo_plane *src = &b->job->src;
    const int step = b->job->conv->step_y, n = b->samples;
    const int at_once = step < MAX_ROWS ? step : MAX_ROWS;
    if (src->depth == 8) {
        memset(b->s8, 0, (size_t)n * sizeof *b->s8);
        memset(b->f8, 0, (size_t)n * sizeof *b->f8);
    } else {
        memset(b->s16, 0, (size_t)n * sizeof *b->s16);
        memset(b->f16, 0, (size_t)n * sizeof *b->f16);
    }
    for (int j = 0; j < step; j += at_once) {
        const void *rows[MAX_ROWS] = {NULL};
        for (int r = 0; r < at_once; r++)
            rows[r] = source_row(b, l * step + j + r);
        const uint8_t *const *bytes = (const uint8_t *const *)rows;
        const uint16_t *const *words = (const uint16_t *const *)rows;
        if (src->depth == 8 && at_once == MAX_ROWS)
            add_bytes(b->s8, b->f8, bytes, MAX_ROWS, n);
        else if (src->depth == 8)
            add_bytes(b->s8, b->f8, bytes, at_once, n);
        else if (at_once == MAX_ROWS)
            add_words(b->s16, b->f16, words, MAX_ROWS, n, src);
        else
            add_words(b->s16, b->f16, words, at_once, n, src);
    }
}

/* Computes two things from S and F of a row of cells: the columns of the line of nodes above it,
 * and b->rising, which will be added to the line of nodes below it. */
static void line_of_columns(const struct band *b)
{
    const uint32_t step = (uint32_t)b->job->conv->step_y;
    uint32_t *restrict columns = b->columns, *restrict rising = b->rising;
    for (int i = 0; i < b->samples; i++) {
        const uint32_t s = b->job->src.depth == 8 ? b->s8[i] : b->s16[i];
        const uint32_t f = b->job->src.depth == 8 ? b->f8[i] : b->f16[i];
        const uint32_t falling = 2 * f - s;
        columns[i] = falling + (step > 1 ? rising[i] : 0);
        rising[i] = 2 * step * s - falling;
    }
}

/* Copies one channel of b->columns to b->pixels, and adds the ghost cells to the left and to the
 * right of it. R is the line of nodes including its margins. The copy begins one step (the distance
 * between two nodes) before the first node of R. */
static void fill_pixels(const struct band *b, int channel)
{
    const struct halo_conv *c = b->job->conv;
    const int width = b->job->src.width, channels = b->job->src.channels;
    const int first = -(c->reach_x + 1) * c->step_x;
    const int end = (b->count + c->reach_x) * c->step_x;
    const uint32_t area = c->step_y > 1 ? 2 * (uint32_t)(c->step_y * c->step_y) : 1;
    uint32_t *restrict to = b->pixels - first;
    for (int x = 0; x < width && x < end; x++)
        to[x] = b->columns[x * channels + channel];
    for (int x = first; x < end; x++) {
        if (x == 0)
            x = width;
        if (x >= end)
            break;
        const int sx = halo_border_index(x, width, c->border);
        to[x] = sx == HALO_GHOST ? area * (uint32_t)c->border_value
                                 : b->columns[sx * channels + channel];
    }
}

INLINE void sum_pixels(uint32_t *restrict r, const uint32_t *restrict pixels, int n, int step)
{
    for (int k = 0; k < n; k++, pixels += step) {
        uint32_t sum = 0;
        for (int j = 0; j < step; j++) {
            const uint32_t w = 2 * (uint32_t)j + 1;
            sum += w * pixels[j] + (2 * (uint32_t)step - w) * pixels[step + j];
        }
        r[k] = sum;
    }
}

/* Computes all nodes of one line of a channel, including the margins of the line. */
static void line_of_nodes(const struct band *b)
{
    const struct halo_conv *c = b->job->conv;
    const int n = b->count + 2 * c->reach_x;
    if (c->step_x == 1)
        memcpy(b->r, b->pixels + 1, (size_t)n * sizeof *b->r);
    else if (c->step_x == 2)
        sum_pixels(b->r, b->pixels, n, 2);
    else if (c->step_x == 4)
        sum_pixels(b->r, b->pixels, n, 4);
    else if (c->step_x == 8)
        sum_pixels(b->r, b->pixels, n, 8);
    else
        sum_pixels(b->r, b->pixels, n, HALO_MAX_STEP);

    const int along = c->step_x > 1 ? 2 * log2_of(c->step_x) + 1 : 0;
    const int down = c->step_y > 1 ? 2 * log2_of(c->step_y) + 1 : 0;
    const int shift = along + down - c->frac;
    for (int k = 0; k < n; k++)
        b->r[k] = shift > 0 ? (b->r[k] + (1u << (shift - 1))) >> shift : b->r[k] << -shift;
}
