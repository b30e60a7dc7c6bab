/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: conversion between planes and rows of 16-bit words, with one segment for each
 * channel. */

enum { MAX_OUT = 8 };

/* A ring buffer of the last few rows of 16-bit words. Each row is kept in two forms: the row itself
 * in `rows`, and its difference from the row below it in `diffs`. */
struct ring {
    int slots;
    size_t length; /* words per row: an odd number of cache lines, to avoid conflicts */
    uint16_t *rows, *diffs;
};

/* One strip of one band of one job. */
struct strip {
    const struct halo_job *job;
    int x, n;    /* pixels [x, x + n) */
    int width;   /* length of a segment of an output row: n, rounded up to whole steps */
    int segment; /* length of a segment of a source row: width, halo, and the words beyond them that
                  * the last load reads */
    int y0, y1;
    uint16_t *rows; /* two source rows */
    uint8_t *bytes; /* two segments of source rows, as bytes */
    struct ring ring;
    double *wide; /* memory for rows_wide_tmpl.h */
    void *buffers[MAX_OUT];
    void *out[MAX_OUT]; /* finished rows: bytes at depth 8, otherwise words that have not been
                         * shifted up yet */
};

/* Unpacks n samples of one channel, beginning at sample `first`, an index that counts the samples
 * of all channels. */
static void unpack(uint16_t *restrict to, const struct halo_plane *p, const void *row, int first,
                   int n)
{
    const int step = p->channels;
    if (p->depth == 8) {
        const uint8_t *restrict s = (const uint8_t *)row + first;
        if (step == 1) {
            for (int i = 0; i < n; i++)
                to[i] = s[i];
        } else {
            for (int i = 0; i < n; i++)
                to[i] = s[2 * i];
        }
        return;
    }
    const uint16_t *restrict s = (const uint16_t *)row + first;
    const int shift = p->shift;
    const uint16_t max = (uint16_t)halo_sample_max(p->depth);
    if (step == 1) {
        for (int i = 0; i < n; i++)
            to[i] = clip(s[i], shift, max);
    } else {
        for (int i = 0; i < n; i++)
            to[i] = clip(s[2 * i], shift, max);
    }
}

static void fill(uint16_t *to, int v, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint16_t)v;
}

/* Fills pixels [x, end), which are outside the plane. */
static void ghosts(const struct strip *s, uint16_t *to, const void *row, int channel, int x,
                   int end)
{
    const struct halo_conv *c = s->job->conv;
    const struct halo_plane *p = &s->job->src;
    for (; x < end; x++) {
        const int sx = halo_border_index(x, p->width, c->border);
        *to++ = (uint16_t)(sx == HALO_GHOST ? c->border_value
                                            : halo_row_get(p, row, sx * p->channels + channel));
    }
}

/* Reads one channel of the pixels [x - radius_x, x + n + radius_x) of row sy. */
static void read_segment(const struct strip *s, uint16_t *to, int sy, int channel)
{
    const struct halo_conv *c = s->job->conv;
    const struct halo_plane *p = &s->job->src;
    const int first = s->x - c->radius_x, end = s->x + s->n + c->radius_x;
    if (sy == HALO_GHOST) {
        fill(to, c->border_value, s->segment);
        return;
    }
    const void *row = halo_plane_row(p, sy);
    const int from = first < 0 ? 0 : first, until = end > p->width ? p->width : end;
    ghosts(s, to, row, channel, first, from);
    unpack(to + (from - first), p, row, from * p->channels + channel, until - from);
    ghosts(s, to + (until - first), row, channel, until, end);
    fill(to + (end - first), 0, s->segment - (end - first));
}

/* Prefetches data that will be read soon: in a strip, every row begins on a different page, which
 * the hardware does not predict. */
static inline __attribute__((always_inline)) void prefetch_row(const struct strip *s, int y)
{
    const struct halo_plane *p = &s->job->src;
    if (y < 0 || y >= p->height)
        return;
    const int sample = halo_plane_sample_bytes(p) * p->channels;
    const char *from = (const char *)halo_plane_row(p, y) + s->x * sample;
    for (int i = 0; i < s->n * sample; i += LINE)
        __builtin_prefetch(from + i, 0, 2);
}

static void read_row(const struct strip *s, uint16_t *to, int y)
{
    prefetch_row(s, y + AHEAD);
    const int sy = halo_border_index(y, s->job->src.height, s->job->conv->border);
    for (int ch = 0; ch < s->job->src.channels; ch++)
        read_segment(s, to + ch * s->segment, sy, ch);
}

/* Converts 8-bit samples from words to bytes. */
static void to_bytes(uint8_t *restrict to, const uint16_t *restrict from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)from[i];
}

static void write_row(const struct strip *s, const void *row, int y)
{
    const struct halo_plane *p = &s->job->dst;
    const int n = s->n;
    if (p->depth == 8) {
        const uint8_t *restrict from = row, *restrict second = from + s->width;
        uint8_t *restrict to = (uint8_t *)halo_plane_row(p, y) + s->x * p->channels;
        if (p->channels == 1) {
            memcpy(to, from, (size_t)n);
        } else {
            for (int i = 0; i < n; i++) {
                to[2 * i] = from[i];
                to[2 * i + 1] = second[i];
            }
        }
        return;
    }
    const uint16_t *restrict from = row, *restrict second = from + s->width;
    uint16_t *restrict to = (uint16_t *)halo_plane_row(p, y) + s->x * p->channels;
    const int shift = p->shift;
    if (p->channels == 1) {
        for (int i = 0; i < n; i++)
            to[i] = (uint16_t)(from[i] << shift);
    } else {
        for (int i = 0; i < n; i++) {
            to[2 * i] = (uint16_t)(from[i] << shift);
            to[2 * i + 1] = (uint16_t)(second[i] << shift);
        }
    }
}

/* Sets s->out[0 .. count) to the memory for the rows from y on, which is in the plane itself if
 * possible. */
static void begin_rows(struct strip *s, int y, int count)
{
    const struct halo_plane *p = &s->job->dst;
    const bool direct = p->channels == 1 && p->shift == 0 && s->n == s->width;
    for (int i = 0; i < count; i++) {
        s->out[i] = s->buffers[i];
        if (direct && y + i < s->y1)
            s->out[i] = (char *)halo_plane_row(p, y + i) + s->x * halo_plane_sample_bytes(p);
    }
}

static void end_rows(const struct strip *s, int y, int count)
{
    for (int i = 0; i < count && y + i < s->y1; i++) {
        if (s->out[i] == s->buffers[i])
            write_row(s, s->out[i], y + i);
    }
}
