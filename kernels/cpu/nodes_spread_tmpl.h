/* SPDX-License-Identifier: BSD-2-Clause
 * nodes_tmpl.c: from U to the output plane. */

INLINE void spread_bytes(uint8_t *restrict out, const uint32_t *restrict v, int cells, int step,
                         int shift)
{
    for (int k = 0; k < cells; k++) {
        const uint32_t rise = v[k + 1] - v[k], growth = 2 * rise; /* modulo 2^32 */
        const uint32_t sum = 2 * (uint32_t)step * v[k] + rise + (1u << (shift - 1));
        for (int i = 0; i < step; i++)
            out[k * step + i] = (uint8_t)((sum + (uint32_t)i * growth) >> shift);
    }
}

INLINE void spread_words(uint16_t *restrict out, const uint32_t *restrict v, int cells, int step,
                         int shift)
{
    for (int k = 0; k < cells; k++) {
        const uint32_t rise = v[k + 1] - v[k], growth = 2 * rise; /* modulo 2^32 */
        const uint32_t sum = 2 * (uint32_t)step * v[k] + rise + (1u << (shift - 1));
        for (int i = 0; i < step; i++)
            out[k * step + i] = (uint16_t)((sum + (uint32_t)i * growth) >> shift);
    }
}

/* Computes one channel of an output row from V, a line of node values that was interpolated
 * vertically for that row. Only complete cells are computed, so up to step - 1 pixels are written
 * past the end of the row. */
static void spread(const struct band *b, const uint32_t *v)
{
    const struct halo_conv *c = b->job->conv;
    const int step = c->step_x, width = b->job->dst.width, cells = (width + step - 1) / step;
    const int shift =
        c->frac + (step > 1 ? log2_of(step) + 1 : 0) + (c->step_y > 1 ? log2_of(c->step_y) + 1 : 0);
    const uint32_t round = 1u << (shift - 1);
    uint8_t *bytes = (uint8_t *)b->out;
    if (step == 1 && b->job->dst.depth == 8) {
        for (int k = 0; k < width; k++)
            bytes[k] = (uint8_t)((v[k] + round) >> shift);
    } else if (step == 1) {
        for (int k = 0; k < width; k++)
            b->out[k] = (uint16_t)((v[k] + round) >> shift);
    } else if (b->job->dst.depth == 8) {
        if (step == 2)
            spread_bytes(bytes, v, cells, 2, shift);
        else if (step == 4)
            spread_bytes(bytes, v, cells, 4, shift);
        else if (step == 8)
            spread_bytes(bytes, v, cells, 8, shift);
        else
            spread_bytes(bytes, v, cells, HALO_MAX_STEP, shift);
    } else {
        if (step == 2)
            spread_words(b->out, v, cells, 2, shift);
        else if (step == 4)
            spread_words(b->out, v, cells, 4, shift);
        else if (step == 8)
            spread_words(b->out, v, cells, 8, shift);
        else
            spread_words(b->out, v, cells, HALO_MAX_STEP, shift);
    }
}

static void write_row(const struct band *b, int y)
{
    const struct halo_plane *dst = &b->job->dst;
    const int step = b->job->conv->step_y, channels = dst->channels, width = dst->width;
    const int shift = dst->shift, row = b->width * channels, j = y % step;
    const uint32_t up = (uint32_t)(2 * (step - j) - 1), down = 2 * (uint32_t)j + 1;
    const uint32_t *restrict above =
        b->u + (ptrdiff_t)(y / step - b->first - b->job->conv->reach_y) * row;
    const uint32_t *restrict below = above + row;
    uint32_t *restrict v = b->v;
    if (step == 1)
        memcpy(v, above, (size_t)row * sizeof *v);
    else
        for (int k = 0; k < row; k++)
            v[k] = up * above[k] + down * below[k];

    uint8_t *bytes = halo_plane_row(dst, y);
    uint16_t *words = halo_plane_row(dst, y);
    for (int channel = 0; channel < channels; channel++) {
        spread(b, v + channel * b->width);
        const uint8_t *out = (const uint8_t *)b->out;
        if (dst->depth == 8 && channels == 1)
            memcpy(bytes, out, (size_t)width);
        else if (dst->depth == 8)
            for (int x = 0; x < width; x++)
                bytes[2 * x + channel] = out[x];
        else if (channels == 1)
            for (int x = 0; x < width; x++)
                words[x] = (uint16_t)(b->out[x] << shift);
        else
            for (int x = 0; x < width; x++)
                words[2 * x + channel] = (uint16_t)(b->out[x] << shift);
    }
}
