/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: between planes and rows of 16-bit words, one segment for each channel. */

/* One strip of one band of one job. */
struct strip {
    const struct halo_job *job;
    int x, n;    /* pixels [x, x + n) */
    int width;   /* n rounded up to whole steps: one segment of a ring row or an output row */
    int segment; /* of a source row: width, halo and what the last load reads beyond */
    int y0, y1;
    uint16_t *rows; /* source rows */
    v32 *ring;      /* row pairs, or what rows_wide_tmpl.h keeps */
    uint16_t *out[2];
};

static inline uint16_t clip(uint16_t word, int shift, uint16_t max)
{
    const uint16_t v = (uint16_t)(word >> shift);
    return v > max ? max : v;
}

/* n samples of one channel, first counting all channels. */
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

/* Pixels [x, end), which lie outside the picture. */
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

/* One channel of row sy, pixels [x - radius_x, x + n + radius_x). */
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

static void read_row(const struct strip *s, uint16_t *to, int y)
{
    const int sy = halo_border_index(y, s->job->src.height, s->job->conv->border);
    for (int ch = 0; ch < s->job->src.channels; ch++)
        read_segment(s, to + ch * s->segment, sy, ch);
}

static void write_row(const struct strip *s, const uint16_t *restrict from, int y)
{
    const struct halo_plane *p = &s->job->dst;
    const int n = s->n;
    const uint16_t *restrict second = from + s->width;
    if (p->depth == 8) {
        uint8_t *restrict to = (uint8_t *)halo_plane_row(p, y) + s->x * p->channels;
        if (p->channels == 1) {
            for (int i = 0; i < n; i++)
                to[i] = (uint8_t)from[i];
        } else {
            for (int i = 0; i < n; i++) {
                to[2 * i] = (uint8_t)from[i];
                to[2 * i + 1] = (uint8_t)second[i];
            }
        }
        return;
    }
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
