/* SPDX-License-Identifier: BSD-2-Clause
 * Painting the canary and searching frames for it (canary.h). */
#include "pipeline/base/canary.h"

#include <libavutil/common.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    CELL = HALO_CANARY_CELL,
    ACROSS = 6,
    DOWN = 4,             /* a place has ACROSS x DOWN cells */
    BITS = ACROSS * DOWN, /* bits of a word */
    CHECK = 8,            /* check bits, of these */
    SWING = 24,           /* amplitude of the smooth ground around gray */
    EDGE_ROWS = 3,
    FLAT = 10, /* largest difference between samples of one colour, even after encoding */
    MAX_COLUMNS = 2048,
};

/* The amplitudes of the patterns on one plane. */
struct strength {
    int mark, bit;
};
static const struct strength of_plane[HALO_CANARY_PLANES] = {{34, 26}, {26, 18}, {26, 18}};

/* The sign of a cell's mark: pseudo-random, unlike any order in ordinary frames. */
static int sign_of(int plane, int column, int row)
{
    uint32_t h = (uint32_t)column * 0x9e3779b1u ^ (uint32_t)row * 0x85ebca77u ^
                 (uint32_t)(plane + 1) * 0xc2b2ae3du;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 13;
    return h & 1 ? -1 : 1;
}

static unsigned check_of(unsigned number)
{
    unsigned crc = 0x5a;
    for (int i = 0; i < 16; i++) {
        const unsigned top = (crc >> 7 ^ number >> (15 - i)) & 1;
        crc = (crc << 1 & 0xff) ^ (top ? 0x2f : 0);
    }
    return crc;
}

static unsigned word_of(unsigned number)
{
    return (number & 0xffff) << CHECK | check_of(number & 0xffff);
}

static int bit_of(unsigned word, int column, int row)
{
    return word >> (row % DOWN * ACROSS + column % ACROSS) & 1 ? 1 : -1;
}

/* A triangle wave: no steps. */
static int wave(int at)
{
    const int period = 8 * SWING;
    const int place = (at % period + period) % period / 2;
    return place < 2 * SWING ? place - SWING : 3 * SWING - place;
}

/* The amplitudes and the ground's phase in one cell of a component. */
struct cell {
    int mark, bit, wave;
};

/* All planes of RGB are painted like luma, so that their brightness has the marks, too. */
static int role_of(const AVPixFmtDescriptor *d, int component)
{
    return d->flags & AV_PIX_FMT_FLAG_RGB ? 0 : component;
}

static bool is_chroma(const AVPixFmtDescriptor *d, int component)
{
    return role_of(d, component) > 0;
}

static int cell_width(const AVPixFmtDescriptor *d, int component)
{
    return is_chroma(d, component) ? CELL >> d->log2_chroma_w : CELL;
}

static int cell_height(const AVPixFmtDescriptor *d, int component)
{
    return is_chroma(d, component) ? CELL >> d->log2_chroma_h : CELL;
}

static struct cell cell_at(const AVPixFmtDescriptor *d, int component, int x, int y,
                           unsigned number)
{
    const int role = role_of(d, component);
    const int column = x / cell_width(d, component), row = y / cell_height(d, component);
    return (struct cell){of_plane[role].mark * sign_of(role, column, row),
                         of_plane[role].bit * bit_of(word_of(number), column, row),
                         (int)(number % 4096) * (3 + component)};
}

/* The value is always odd, because filters can be chosen whose samples are all even. The bits below
 * the upper 8 are pseudo-random. */
static unsigned sample_of(const AVPixFmtDescriptor *d, struct cell cell, int x, int y)
{
    const int depth = d->comp[0].depth;
    const unsigned value =
        (unsigned)(128 + wave(x * 2 + y + cell.wave) + cell.mark * ((x + y) & 1 ? -1 : 1) +
                   cell.bit * ((x ^ (y >> 1)) & 1 ? -1 : 1));
    const unsigned low = (unsigned)(x * 37 + y * 101 + cell.wave) * 2654435761u >> 16;
    return (value << (depth - 8)) | (low & ((1u << (depth - 8)) - 1)) | 1;
}

unsigned halo_canary_sample(enum AVPixelFormat format, int component, int x, int y, unsigned number)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    return sample_of(d, cell_at(d, component, x, y, number), x, y);
}

static void paint_component(AVFrame *f, const AVPixFmtDescriptor *d, int component, unsigned number)
{
    const AVComponentDescriptor *c = &d->comp[component];
    const int right = is_chroma(d, component) ? d->log2_chroma_w : 0;
    const int down = is_chroma(d, component) ? d->log2_chroma_h : 0;
    const int width = AV_CEIL_RSHIFT(f->width, right), cell = cell_width(d, component);
    for (int y = 0; y < AV_CEIL_RSHIFT(f->height, down); y++) {
        uint8_t *at = f->data[c->plane] + (ptrdiff_t)y * f->linesize[c->plane] + c->offset;
        struct cell now = {0};
        for (int x = 0; x < width; x++, at += c->step) {
            if (x % cell == 0)
                now = cell_at(d, component, x, y, number);
            const unsigned value = sample_of(d, now, x, y);
            if (c->depth > 8)
                AV_WL16(at, value << c->shift);
            else
                *at = (uint8_t)value;
        }
    }
}

void halo_canary_paint(AVFrame *frame, unsigned number)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    for (int c = 0; c < d->nb_components; c++)
        paint_component(frame, d, c, number);
}

/* ---- searching ---- */

/* The cells of a plane of a frame. */
struct grid {
    const AVFrame *frame;
    int plane, width, height; /* of a cell, in samples */
    int columns, rows;
    const struct halo_canary_area *area;
};

static bool is_meant(const struct grid *g, int column, int row)
{
    const struct halo_canary_area *a = g->area;
    return !a || (column < a->columns && row < a->rows && a->meant[row * a->columns + column]);
}

static void correlate(const struct grid *g, int column, int row, float *ret_mark, float *ret_bit)
{
    const ptrdiff_t step = g->frame->linesize[g->plane];
    const uint8_t *at =
        g->frame->data[g->plane] + (ptrdiff_t)row * g->height * step + column * g->width;
    int mark = 0, bit = 0;
    for (int y = 0; y < g->height; y++, at += step) {
        int even = 0, odd = 0;
        for (int x = 0; x < g->width; x += 2) {
            even += at[x];
            odd += at[x + 1];
        }
        mark += y & 1 ? odd - even : even - odd;
        bit += y & 2 ? odd - even : even - odd;
    }
    const float samples = (float)(g->width * g->height);
    *ret_mark = (float)mark / samples / (float)of_plane[g->plane].mark;
    *ret_bit = (float)bit / samples / (float)of_plane[g->plane].bit;
}

static void check_cell(const struct grid *g, int column, int row, float mark,
                       struct halo_canary_finding *ret)
{
    if (fabsf(mark) <= ret->cell)
        return;
    ret->cell = fabsf(mark);
    ret->plane = g->plane;
    ret->x = column * g->width;
    ret->y = row * g->height;
}

/* Checks each cell, and each block of 2x2 cells. */
static void check_cells(const struct grid *g, struct halo_canary_finding *ret)
{
    float signs[2][MAX_COLUMNS];
    for (int row = 0; row < g->rows; row++) {
        float *now = signs[row & 1], *before = signs[!(row & 1)];
        for (int column = 0; column < g->columns; column++) {
            float mark, bit;
            now[column] = 0;
            if (!is_meant(g, column, row))
                continue;
            correlate(g, column, row, &mark, &bit);
            check_cell(g, column, row, mark, ret);
            now[column] = mark * (float)sign_of(g->plane, column, row);
            if (row > 0 && column > 0)
                ret->block = FFMAX(
                    ret->block,
                    (now[column] + now[column - 1] + before[column] + before[column - 1]) / 4);
        }
    }
}

static void check_place(const struct grid *g, int column, int row, struct halo_canary_finding *ret)
{
    float bits = 0;
    unsigned word = 0;
    for (int r = row; r < row + DOWN; r++)
        for (int c = column; c < column + ACROSS; c++) {
            float mark, bit;
            correlate(g, c, r, &mark, &bit);
            bits += fabsf(bit);
            word |= (unsigned)(bit > 0) << (r % DOWN * ACROSS + c % ACROSS);
        }
    if (bits / BITS < HALO_CANARY_LEAK || word_of(word >> CHECK) != word)
        return;
    if (!ret->words++)
        ret->number = (int)(word >> CHECK);
}

static void check_places(const struct grid *g, struct halo_canary_finding *ret)
{
    const int right = g->columns - ACROSS, low = g->rows - DOWN;
    if (right < 0 || low < 0 || g->area)
        return;
    const int at[HALO_CANARY_PLACES][2] = {
        {0, 0}, {right, 0}, {0, low}, {right, low}, {right / 2, low / 2}};
    for (int i = 0; i < HALO_CANARY_PLACES; i++)
        check_place(g, at[i][0], at[i][1], ret);
}

static bool is_flat(const AVFrame *f, int plane, int from, int to)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
    const int width = AV_CEIL_RSHIFT(f->width, plane ? d->log2_chroma_w : 0);
    int least = 255, most = 0;
    for (int y = from; y < to; y++) {
        const uint8_t *row = f->data[plane] + (ptrdiff_t)y * f->linesize[plane];
        for (int x = 0; x < width; x++) {
            least = FFMIN(least, row[x]);
            most = FFMAX(most, row[x]);
        }
    }
    return most - least <= FLAT;
}

/* Cards are plain: their text is white on gray or black, and does not reach the edges. */
static bool is_plain(const AVFrame *f)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
    const int height = f->height;
    bool ret = height >= 2 * EDGE_ROWS && is_flat(f, 0, 0, EDGE_ROWS) &&
               is_flat(f, 0, height - EDGE_ROWS, height);
    for (int p = 1; ret && p < d->nb_components; p++)
        ret = is_flat(f, p, 0, AV_CEIL_RSHIFT(height, d->log2_chroma_h));
    return ret;
}

void halo_canary_check(const AVFrame *frame, const struct halo_canary_area *area,
                       struct halo_canary_finding *ret)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    *ret = (struct halo_canary_finding){.number = -1};
    ret->plain = is_plain(frame);
    for (int p = 0; p < d->nb_components; p++) {
        const struct grid grid = {.frame = frame,
                                  .plane = p,
                                  .width = cell_width(d, p),
                                  .height = cell_height(d, p),
                                  .columns = FFMIN(frame->width / CELL, MAX_COLUMNS),
                                  .rows = frame->height / CELL,
                                  .area = area};
        check_cells(&grid, ret);
        check_places(&grid, ret);
    }
    ret->leaks =
        ret->block >= HALO_CANARY_LEAKING_BLOCK || (!ret->plain && ret->cell >= HALO_CANARY_LEAK);
}
