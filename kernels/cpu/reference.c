/* SPDX-License-Identifier: BSD-2-Clause
 * The reference: conv.h written as plainly as possible in C. Every other strategy of every backend
 * is compared with it, so it uses no tricks; only its row sums are kept from row to row. */
#include "kernels/cells.h"
#include "kernels/cpu/cpu.h"

#include <errno.h>

static int64_t sample(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_plane *src = &job->src;
    const int sx = halo_border_index(x, src->width, job->conv->border);
    const int sy = halo_border_index(y, src->height, job->conv->border);
    if (sx == HALO_GHOST || sy == HALO_GHOST)
        return job->conv->border_value;
    return halo_row_get(src, halo_plane_row(src, sy), sx * src->channels + channel);
}

static void put(const struct halo_job *job, int x, int y, int channel, int64_t v)
{
    const int64_t max = halo_sample_max(job->dst.depth);
    const int64_t clamped = v < 0 ? 0 : v > max ? max : v;
    halo_row_put(&job->dst, halo_plane_row(&job->dst, y), x * job->dst.channels + channel,
                 (int)clamped);
}

/* The sample that was written before. */
static int64_t result(const struct halo_job *job, int x, int y, int channel)
{
    return halo_row_get(&job->dst, halo_plane_row(&job->dst, y), x * job->dst.channels + channel);
}

static int64_t dense(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    const int rx = c->radius_x, ry = c->radius_y;
    int64_t sum = c->bias;
    for (int j = 0; j <= 2 * ry; j++) {
        for (int i = 0; i <= 2 * rx; i++)
            sum += c->mask[j * (2 * rx + 1) + i] * sample(job, x + i - rx, y + j - ry, channel);
    }
    return sum >> c->mask_bits;
}

/* The result of the row pass: T of a Gaussian, or the sum of a box. */
static int64_t row_sum(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    const int rx = c->radius_x;
    int64_t sum = 0;
    for (int i = 0; i <= 2 * rx; i++) {
        const int64_t weight = c->kind == HALO_CONV_BOX ? 1 : c->row[i];
        sum += weight * sample(job, x + i - rx, y, channel);
    }
    if (c->kind == HALO_CONV_BOX)
        return sum;
    const int shift = c->row_bits - c->frac;
    return (sum + (INT64_C(1) << (shift - 1))) >> shift;
}

/* sums points at row y - radius_y of this column. */
static int64_t column_sum(const struct halo_conv *c, const int64_t *sums, size_t stride)
{
    const int ry = c->radius_y;
    int64_t sum = 0;
    for (int j = 0; j <= 2 * ry; j++)
        sum += (c->kind == HALO_CONV_BOX ? 1 : c->col[j]) * sums[(size_t)j * stride];
    if (c->kind == HALO_CONV_BOX) {
        const int64_t area = (int64_t)(2 * c->radius_x + 1) * (2 * ry + 1);
        return (sum + area / 2) / area;
    }
    const int shift = c->col_bits + c->frac;
    return (sum + (INT64_C(1) << (shift - 1))) >> shift;
}

static int two_passes(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    const int ry = job->conv->radius_y, width = job->src.width, channels = job->src.channels;
    const size_t stride = (size_t)width * (size_t)channels;
    int64_t *sums =
        halo_cpu_scratch_get(scratch, stride * (size_t)(y1 - y0 + 2 * ry) * sizeof *sums);
    if (!sums)
        return -ENOMEM;

    int64_t *next = sums;
    for (int y = y0 - ry; y < y1 + ry; y++) {
        for (int i = 0; i < width * channels; i++)
            *next++ = row_sum(job, i / channels, y, i % channels);
    }
    for (int y = y0; y < y1; y++) {
        for (int i = 0; i < width * channels; i++) {
            const int64_t *column = sums + (size_t)(y - y0) * stride + (size_t)i;
            put(job, i / channels, y, i % channels, column_sum(job->conv, column, stride));
        }
    }
    return 0;
}

/* The integer square root, rounded down, one binary digit at a time from the highest. */
static uint64_t root(uint64_t v)
{
    uint64_t r = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1) {
        if ((r | bit) * (r | bit) <= v)
            r |= bit;
    }
    return r;
}

static int64_t gradient(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    int64_t a = 0, b = 0;
    for (int k = 0; k < 9; k++) {
        const int64_t p = sample(job, x + k % 3 - 1, y + k / 3 - 1, channel);
        a += c->mask[k] * p;
        b += c->mask[9 + k] * p;
    }
    const uint64_t square = (uint64_t)(a * a + b * b);
    const uint64_t t = (square < c->limit ? square : c->limit) * c->scale >> c->scale_bits;
    return ((int64_t)root(t) + c->bias) >> c->mask_bits;
}

/* The value of the block whose upper left pixel is x, y. */
static int64_t block(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    const int end_x = x + c->block_w < job->src.width ? x + c->block_w : job->src.width;
    const int end_y = y + c->block_h < job->src.height ? y + c->block_h : job->src.height;
    int64_t sum = 0, least = INT64_MAX, most = 0;
    for (int j = y; j < end_y; j++) {
        for (int i = x; i < end_x; i++) {
            const int64_t p = sample(job, i, j, channel);
            sum += p;
            least = p < least ? p : least;
            most = p > most ? p : most;
        }
    }
    const int64_t n = (int64_t)(end_x - x) * (end_y - y);
    return c->mode == HALO_PIXELIZE_MIN   ? least
           : c->mode == HALO_PIXELIZE_MAX ? most
                                          : (sum + n / 2) / n;
}

/* y0 is the first row of a block. */
static int blocks(const struct halo_job *job, int y0, int y1)
{
    const struct halo_conv *c = job->conv;
    for (int y = y0; y < y1; y++) {
        const int first = y - (y - y0) % c->block_h;
        for (int x = 0; x < job->src.width; x++) {
            for (int ch = 0; ch < job->src.channels; ch++) {
                if (y > first)
                    put(job, x, y, ch, result(job, x, first, ch));
                else if (x % c->block_w)
                    put(job, x, y, ch, result(job, x - 1, y, ch));
                else
                    put(job, x, y, ch, block(job, x, y, ch));
            }
        }
    }
    return 0;
}

/* ---- DECIMATED, in one direction; stride: distance of the cells in this direction. */

/* The numbers of the nodes between which the pixels [from, to) are. */
static int first_node(int from, int step)
{
    return from / step;
}

static int end_node(int to, int step)
{
    return step == 1 ? to : (to - 1) / step + 2;
}

/* cells points to pixel k * step of node k. */
static int64_t to_node(const int64_t *cells, ptrdiff_t stride, int step)
{
    if (step == 1)
        return *cells;
    int64_t sum = 0;
    for (int j = 0; j < 2 * step; j++)
        sum += (j < step ? 2 * j + 1 : 4 * step - 1 - 2 * j) * cells[(j - step) * stride];
    return sum;
}

static int64_t blur(const int64_t *nodes, ptrdiff_t stride, const int32_t *side, int reach,
                    int bits)
{
    int64_t sum = INT64_C(1) << (bits - 1);
    for (int i = -reach; i <= reach; i++)
        sum += side[i < 0 ? -i : i] * nodes[i * stride];
    return sum >> bits;
}

/* nodes points to the node at or before the pixel. */
static int64_t from_nodes(const int64_t *nodes, ptrdiff_t stride, int pixel, int step)
{
    if (step == 1)
        return *nodes;
    const int i = pixel % step;
    return (2 * step - 1 - 2 * i) * nodes[0] + (2 * i + 1) * nodes[stride];
}

/* v times 2^frac / 2^bits, rounded to nearest. */
static int64_t scale(int64_t v, int frac, int bits)
{
    return ((v << frac) + ((INT64_C(1) << bits) >> 1)) >> bits;
}

/* log2 of the sum of the weights of R, or of out, in one direction. */
static int node_bits(int step)
{
    return step == 1 ? 0 : 2 * __builtin_ctz((unsigned)step) + 1;
}

static int pixel_bits(int step)
{
    return step == 1 ? 0 : __builtin_ctz((unsigned)step) + 1;
}

/* Computes one channel. `rows` holds the sums of R along the rows, for all pixel rows that the
 * nodes need; `nodes` holds R and later U, `smooth` holds T. */
static void decimated(const struct halo_job *job, int y0, int y1, int channel, int64_t *data)
{
    const struct halo_conv *c = job->conv;
    const int sx = c->step_x, sy = c->step_y, rx = c->reach_x, ry = c->reach_y;
    const int k0 = -rx, k1 = end_node(job->src.width, sx) + rx;
    const int l0 = first_node(y0, sy) - ry, l1 = end_node(y1, sy) + ry;
    const int x0 = (k0 - 1) * sx, x1 = (k1 + 1) * sx, top = (l0 - 1) * sy, end = (l1 + 1) * sy;
    const ptrdiff_t stride = k1 - k0;
    int64_t *line = data, *rows = line + (x1 - x0), *nodes = rows + stride * (end - top);
    int64_t *smooth = nodes + stride * (l1 - l0);
    const int bits = node_bits(sx) + node_bits(sy);

    for (int y = top; y < end; y++) {
        for (int x = x0; x < x1; x++)
            line[x - x0] = sample(job, x, y, channel);
        for (int k = k0; k < k1; k++)
            rows[(y - top) * stride + k - k0] = to_node(line + k * sx - x0, 1, sx);
    }
    for (int l = l0; l < l1; l++) {
        int64_t *r = nodes + (l - l0) * stride;
        for (int k = 0; k < stride; k++)
            r[k] = scale(to_node(rows + (l * sy - top) * stride + k, stride, sy), c->frac, bits);
        for (int k = rx; k < stride - rx; k++)
            smooth[(l - l0) * stride + k] = blur(r + k, 1, c->mask, rx, c->row_bits);
    }
    for (int l = l0 + ry; l < l1 - ry; l++) {
        for (int k = rx; k < stride - rx; k++) {
            const ptrdiff_t at = (l - l0) * stride + k;
            nodes[at] = blur(smooth + at, stride, c->mask + rx + 1, ry, c->col_bits);
        }
    }
    for (int y = y0; y < y1; y++) {
        for (int x = 0; x < job->dst.width; x++) {
            const int64_t *u = nodes + (y / sy - l0) * stride + x / sx - k0;
            const int64_t above = from_nodes(u, 1, x, sx);
            const int64_t below = sy == 1 ? 0 : from_nodes(u + stride, 1, x, sx);
            const int64_t two[2] = {above, below};
            put(job, x, y, channel,
                scale(from_nodes(two, 1, y, sy), 0, c->frac + pixel_bits(sx) + pixel_bits(sy)));
        }
    }
}

static int decimated_band(const struct halo_job *job, int y0, int y1,
                          struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = job->conv;
    const size_t across = (size_t)(end_node(job->src.width, c->step_x) + 2 * c->reach_x);
    const size_t down =
        (size_t)(end_node(y1, c->step_y) - first_node(y0, c->step_y) + 2 * c->reach_y);
    const size_t step_x = (size_t)c->step_x, step_y = (size_t)c->step_y;
    const size_t cells = (across + 2) * step_x + across * ((down + 2) * step_y + 2 * down);
    int64_t *data = halo_cpu_scratch_get(scratch, cells * sizeof *data);
    if (!data)
        return -ENOMEM;
    for (int channel = 0; channel < job->src.channels; channel++)
        decimated(job, y0, y1, channel, data);
    return 0;
}

/* The value of the last box that reaches the sample. */
static int64_t cell(const struct halo_job *job, int x, int y, int channel)
{
    const struct halo_conv *c = job->conv;
    const int px = x * c->step_x, py = y * c->step_y;
    int value = c->mask[channel];
    for (int i = 0; i < c->boxes; i++) {
        const int32_t *box = halo_cells_box(c, i);
        const int x0 = box[0], y0 = box[1], x1 = box[2], y1 = box[3];
        if (px < x0 - c->reach || px >= x1 + c->reach || py < y0 - c->reach || py >= y1 + c->reach)
            continue;
        const int at =
            halo_cell_of(py, y0, y1, c->cells) * c->cells + halo_cell_of(px, x0, x1, c->cells);
        value = (int)((uint32_t)box[HALO_CELLS_HEAD + at] >> 16 * channel & 0xffff);
    }
    return value;
}

static int64_t look_up(const struct halo_job *job, int x, int y, int channel)
{
    return job->conv->table[sample(job, x, y, channel)];
}

static int64_t solid(const struct halo_job *job, int x, int y, int channel)
{
    (void)x;
    (void)y;
    return job->conv->mask[channel];
}

static int samples(const struct halo_job *job, int y0, int y1,
                   int64_t (*compute)(const struct halo_job *job, int x, int y, int channel))
{
    for (int y = y0; y < y1; y++)
        for (int x = 0; x < job->src.width; x++)
            for (int ch = 0; ch < job->src.channels; ch++)
                put(job, x, y, ch, compute(job, x, y, ch));
    return 0;
}

static int band(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    switch (job->conv->kind) {
    case HALO_CONV_COPY:
        return samples(job, y0, y1, sample);
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_BOX:
        return two_passes(job, y0, y1, scratch);
    case HALO_CONV_DENSE:
        return samples(job, y0, y1, dense);
    case HALO_CONV_GRADIENT:
        return samples(job, y0, y1, gradient);
    case HALO_CONV_PIXELIZE:
        return blocks(job, y0, y1);
    case HALO_CONV_DECIMATED:
        return decimated_band(job, y0, y1, scratch);
    case HALO_CONV_SOLID:
        return samples(job, y0, y1, solid);
    case HALO_CONV_CELLS:
        return samples(job, y0, y1, cell);
    case HALO_CONV_TABLE:
        return samples(job, y0, y1, look_up);
    }
    return -EINVAL;
}

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    switch (conv->kind) {
    case HALO_CONV_COPY:
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_DENSE:
    case HALO_CONV_BOX:
    case HALO_CONV_GRADIENT:
    case HALO_CONV_PIXELIZE:
    case HALO_CONV_DECIMATED:
    case HALO_CONV_SOLID:
    case HALO_CONV_CELLS:
    case HALO_CONV_TABLE:
        return true;
    }
    return false;
}

const struct halo_cpu_strategy halo_cpu_reference = {
    .base = {.name = "reference",
             .about = "the reference: plain C that computes one sample at a time",
             .can = can},
    .band = band,
};
