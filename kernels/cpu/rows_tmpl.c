/* SPDX-License-Identifier: BSD-2-Clause
 * Separable and dense masks, gradients and blocks of one colour, vectorised along the row; compiled
 * once for each HALO_ISA.
 *
 * Samples become 16-bit words in rows with filled ghost cells, one segment for each channel. The
 * unit of work is a pair of 16-bit values in a 32-bit lane times a pair of weights, the products
 * added (pmaddwd). conv.h gives weights and T below 2^15, and sums below 2^31; masks that need more
 * are in rows_wide_tmpl.h.
 *
 *   row pass     a load at p + x + 2k holds sample pairs for the outputs x, x + 2, ... ("even"),
 *                and, with the weights shifted by one tap, for x + 1, x + 3, ... ("odd")
 *   column pass  two output rows read the same pairs of rows, with the weights shifted by one row
 *   dense        four output rows at a time, each as in a row pass
 *
 * A band is processed in strips of columns, so that its intermediate rows stay in the second-level
 * cache. */
#include <errno.h>

#include "kernels/cells.h"

enum { LINE = 64 /* bytes */, AHEAD = 8 /* rows */ };

#include "kernels/cpu/rows_vector_tmpl.h"
#include "kernels/cpu/rows_planes_tmpl.h"

enum {
    CACHE = 3 << 19, /* largest size of a strip's rings, in bytes */
    /* Pixels of a strip, multiples of STEP; narrower strips cause TLB misses. */
    STRIP = 4096,
    LEAST_STRIP = 512,
    WIDE_STRIP = 1024, /* its ring contains doubles */
    FAST_COLUMN = 8,   /* row pairs, and rows, from which on differences pay off */
    FAST_DENSE = 5,
    MAX_PAIRS = HALO_MAX_TAPS / 2 + 1,
};

struct taps {
    int pairs;               /* radius + 1 */
    int32_t even[MAX_PAIRS]; /* (w0, w1) (w2, w3) ... (w2r, 0) */
    int32_t odd[MAX_PAIRS];  /* (0, w0) (w1, w2) ... (w2r-1, w2r) */
};

static void set_taps(struct taps *t, const int32_t *w, int radius)
{
    t->pairs = radius + 1;
    for (int k = 0; k <= radius; k++) {
        t->even[k] = pair(w[2 * k], k < radius ? w[2 * k + 1] : 0);
        t->odd[k] = pair(k > 0 ? w[2 * k - 1] : 0, w[2 * k]);
    }
}

#include "kernels/cpu/rows_fir_tmpl.h"
#include "kernels/cpu/rows_steps_tmpl.h"
#include "kernels/cpu/rows_separable_tmpl.h"
#include "kernels/cpu/rows_wide_tmpl.h"
#include "kernels/cpu/rows_dense_tmpl.h"
#include "kernels/cpu/rows_gradient_tmpl.h"
#include "kernels/cpu/rows_pixelize_tmpl.h"

/* ---- a band */

static int copy(const struct halo_job *job, int y0, int y1)
{
    const struct halo_plane *src = &job->src, *dst = &job->dst;
    const int n = src->width * src->channels;
    for (int y = y0; y < y1; y++) {
        if (src->depth == 8) {
            memcpy(halo_plane_row(dst, y), halo_plane_row(src, y), (size_t)n);
            continue;
        }
        const uint16_t *restrict from = halo_plane_row(src, y);
        uint16_t *restrict to = halo_plane_row(dst, y);
        const int shift = src->shift;
        const uint16_t max = (uint16_t)halo_sample_max(src->depth);
        for (int i = 0; i < n; i++)
            to[i] = (uint16_t)(clip(from[i], shift, max) << shift);
    }
    return 0;
}

static int table(const struct halo_job *job, int y0, int y1)
{
    const struct halo_plane *src = &job->src, *dst = &job->dst;
    const int n = src->width * src->channels, shift = src->shift;
    const uint16_t max = (uint16_t)halo_sample_max(src->depth);
    const uint16_t *restrict table = job->conv->table;
    uint8_t bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)table[i];
    for (int y = y0; y < y1; y++) {
        const void *row = halo_plane_row(src, y);
        if (src->depth == 8) {
            const uint8_t *restrict from = row;
            uint8_t *restrict to = halo_plane_row(dst, y);
            for (int i = 0; i < n; i++)
                to[i] = bytes[from[i]];
        } else {
            const uint16_t *restrict from = row;
            uint16_t *restrict to = halo_plane_row(dst, y);
            for (int i = 0; i < n; i++)
                to[i] = (uint16_t)(table[clip(from[i], shift, max)] << shift);
        }
    }
    return 0;
}

static int solid(const struct halo_job *job, int y0, int y1)
{
    const struct halo_plane *dst = &job->dst;
    const int n = dst->width * dst->channels;
    for (int i = 0; y0 < y1 && i < n; i++)
        halo_row_put(dst, halo_plane_row(dst, y0), i, job->conv->mask[i % dst->channels]);
    for (int y = y0 + 1; y < y1; y++)
        memcpy(halo_plane_row(dst, y), halo_plane_row(dst, y0), halo_plane_row_bytes(dst));
    return 0;
}

/* The columns of samples that a box reaches, or its rows: from the first on, before the end. */
struct reach {
    int first, end;
};

static struct reach find_reach(const struct halo_conv *c, int x0, int x1, int step, int size)
{
    const int end = halo_cell_sample(x1 + c->reach, step);
    return (struct reach){halo_cell_sample(x0 - c->reach, step), end < size ? end : size};
}

/* One row of a box: a run of samples for each of its cells. */
static void put_cells(const struct halo_job *job, const int32_t *box, int y)
{
    const struct halo_conv *c = job->conv;
    const struct halo_plane *dst = &job->dst;
    const int n = c->cells, width = box[2] - box[0];
    const int32_t *cell =
        box + HALO_CELLS_HEAD + n * halo_cell_of(y * c->step_y, box[1], box[3], n);
    const int last = halo_cell_of(box[2], box[0], box[2], n); /* not n - 1 in a narrow box */
    const struct reach across = find_reach(c, box[0], box[2], c->step_x, dst->width);
    int x = across.first;
    for (int i = 0; i <= last; i++) {
        /* t n / width is i + 1 from the first t on that is at least (i + 1) width / n */
        const int next = box[0] + (int)(((int64_t)(i + 1) * width + n - 1) / n);
        int end = i < last ? halo_cell_sample(next, c->step_x) : across.end;
        end = end < across.end ? end : across.end;
        for (; x < end; x++)
            for (int ch = 0; ch < dst->channels; ch++)
                halo_row_put(dst, halo_plane_row(dst, y), x * dst->channels + ch,
                             (int)((uint32_t)cell[i] >> 16 * ch & 0xffff));
    }
}

static int cells(const struct halo_job *job, int y0, int y1)
{
    const struct halo_conv *c = job->conv;
    solid(job, y0, y1);
    for (int i = 0; i < c->boxes; i++) {
        const int32_t *box = halo_cells_box(c, i);
        const struct reach down = find_reach(c, box[1], box[3], c->step_y, job->dst.height);
        for (int y = down.first > y0 ? down.first : y0; y < down.end && y < y1; y++)
            put_cells(job, box, y);
    }
    return 0;
}

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static bool is_wide(const struct halo_conv *c)
{
    return c->kind == HALO_CONV_SEPARABLE && c->accum == HALO_ACCUM_I64;
}

/* Plans the memory of a strip of this width, and returns its size. */
static size_t plan(struct strip *s, int width)
{
    const struct halo_conv *c = s->job->conv;
    const size_t channels = (size_t)s->job->src.channels;
    s->width = width;
    s->segment = (int)round_up((size_t)(width + 2 * c->radius_x + 2), BLOCK);

    const bool separable = c->kind == HALO_CONV_SEPARABLE;
    const size_t words =
        channels * (separable ? 2 * (size_t)width : (size_t)s->segment) * sizeof(uint16_t);
    s->ring.length = (round_up(words, 2 * LINE) + LINE) / sizeof(uint16_t);
    s->ring.slots = separable ? c->radius_y + 1 + 3 : 2 * c->radius_y + 1 + 3;
    if (is_wide(c))
        s->ring.slots = 0;
    return 2 * (size_t)s->ring.slots * s->ring.length * sizeof(uint16_t);
}

/* Chooses the width of the strips for this many columns, and places their buffers in the worker's
 * scratch. */
static int prepare(struct strip *s, int columns, struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = s->job->conv;
    const size_t channels = (size_t)s->job->src.channels;
    int width = is_wide(c) ? WIDE_STRIP : STRIP;
    while (width > LEAST_STRIP && plan(s, width) > CACHE)
        width /= 2;
    /* Equal strips: each is computed as if it were as wide as the first. */
    const int strips = (columns + width - 1) / width;
    width = (int)round_up((size_t)((columns + strips - 1) / strips), STEP);

    const size_t ring_bytes = plan(s, width);
    const size_t wide = is_wide(c) ? round_up(wide_bytes(s), LINE) : 0;
    const size_t out_bytes = (size_t)width * channels * sizeof(uint16_t);
    const size_t segment_bytes = (size_t)s->segment * sizeof(uint16_t);
    const size_t row_bytes = 2 * segment_bytes * channels;
    char *data = halo_cpu_scratch_get(scratch, ring_bytes + wide + MAX_OUT * out_bytes + row_bytes +
                                                   2 * segment_bytes);
    if (!data)
        return -ENOMEM;
    s->ring.rows = (uint16_t *)data;
    s->ring.diffs = (uint16_t *)(data + ring_bytes / 2);
    s->wide = (double *)(data + ring_bytes);
    data += ring_bytes + wide;
    for (int i = 0; i < MAX_OUT; i++, data += out_bytes)
        s->buffers[i] = data;
    s->rows = (uint16_t *)data;
    s->bytes = (uint8_t *)data + row_bytes;
    return 0;
}

#define PASTE(name, isa) name##isa
#define BAND(isa)        PASTE(halo_rows_band_, isa)

/* The kinds that are computed in strips. */
static int strips(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    struct strip s = {.job = job, .y0 = y0, .y1 = y1};
    int x0, x1;
    halo_region_columns(job->region, y0, y1, job->src.width, &x0, &x1);
    if (prepare(&s, x1 - x0, scratch) < 0)
        return -ENOMEM;
    for (s.x = x0; s.x < x1; s.x += s.width) {
        s.n = x1 - s.x < s.width ? x1 - s.x : s.width;
        if (is_wide(job->conv))
            separable_wide(&s);
        else if (job->conv->kind == HALO_CONV_SEPARABLE)
            separable(&s);
        else if (job->conv->kind == HALO_CONV_GRADIENT)
            gradient(&s);
        else
            dense(&s);
    }
    return 0;
}

int BAND(HALO_ISA)(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    switch (job->conv->kind) {
    case HALO_CONV_COPY:
        return copy(job, y0, y1);
    case HALO_CONV_SOLID:
        return solid(job, y0, y1);
    case HALO_CONV_CELLS:
        return cells(job, y0, y1);
    case HALO_CONV_TABLE:
        return table(job, y0, y1);
    case HALO_CONV_PIXELIZE:
        return pixelize(job, y0, y1, scratch);
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_DENSE:
    case HALO_CONV_GRADIENT:
        return strips(job, y0, y1, scratch);
    case HALO_CONV_BOX:
    case HALO_CONV_DECIMATED:
        break;
    }
    return -EINVAL;
}
