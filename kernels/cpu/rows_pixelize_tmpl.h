/* SPDX-License-Identifier: BSD-2-Clause
 * rows_tmpl.c: blocks of one colour. The rows of a row of blocks are reduced to one row, sample by
 * sample, and then each block's part of that row to one value; a finished row is copied down. */

/* Adds one row to `into`, which holds one value for each column: depending on mode, the sum of its
 * samples (at most 1024 * 65535), the smallest sample or the largest sample. */
static inline __attribute__((always_inline)) void gather_row(uint32_t *restrict into,
                                                             const struct halo_plane *p,
                                                             const void *row, bool first,
                                                             enum halo_pixelize mode, bool bytes)
{
    const uint8_t *restrict s8 = row;
    const uint16_t *restrict s16 = row;
    const int n = p->width * p->channels, shift = p->shift;
    const uint16_t max = (uint16_t)halo_sample_max(p->depth);
    for (int i = 0; i < n; i++) {
        const uint32_t v = bytes ? s8[i] : clip(s16[i], shift, max), old = first ? v : into[i];
        into[i] = first                        ? v
                  : mode == HALO_PIXELIZE_MEAN ? old + v
                  : mode == HALO_PIXELIZE_MIN  ? (v < old ? v : old)
                                               : (v > old ? v : old);
    }
}

/* Callers pass bytes and mode as constants, so that each loop is compiled separately. */
static inline __attribute__((always_inline)) void gather_rows(uint32_t *into,
                                                              const struct halo_plane *p, int y,
                                                              int end, enum halo_pixelize mode)
{
    const bool bytes = p->depth == 8;
    if (bytes)
        gather_row(into, p, halo_plane_row(p, y), true, mode, true);
    else
        gather_row(into, p, halo_plane_row(p, y), true, mode, false);
    while (++y < end) {
        if (bytes)
            gather_row(into, p, halo_plane_row(p, y), false, mode, true);
        else
            gather_row(into, p, halo_plane_row(p, y), false, mode, false);
    }
}

/* Reduces the values of n columns to a single value. The values are in every `step`-th entry of
 * `from`. */
static int gather_columns(const uint32_t *from, int n, int step, int rows, enum halo_pixelize mode)
{
    uint64_t sum = 0;
    uint32_t least = UINT32_MAX, most = 0;
    switch (mode) {
    case HALO_PIXELIZE_MEAN:
        for (int i = 0; i < n; i++)
            sum += from[i * step];
        return (int)((sum + (uint64_t)n * (uint64_t)rows / 2) / ((uint64_t)n * (uint64_t)rows));
    case HALO_PIXELIZE_MIN:
        for (int i = 0; i < n; i++)
            least = from[i * step] < least ? from[i * step] : least;
        return (int)least;
    case HALO_PIXELIZE_MAX:
        break;
    }
    for (int i = 0; i < n; i++)
        most = from[i * step] > most ? from[i * step] : most;
    return (int)most;
}

static void put_blocks(const struct halo_job *job, const uint32_t *from, int y, int rows)
{
    const struct halo_conv *c = job->conv;
    const struct halo_plane *p = &job->dst;
    void *to = halo_plane_row(p, y);
    for (int x = 0; x < p->width; x += c->block_w) {
        const int n = p->width - x < c->block_w ? p->width - x : c->block_w;
        for (int ch = 0; ch < p->channels; ch++) {
            const int first = x * p->channels + ch;
            const int v = gather_columns(from + first, n, p->channels, rows, c->mode);
            if (p->depth == 8 && p->channels == 1) {
                memset((uint8_t *)to + first, v, (size_t)n);
                continue;
            }
            for (int i = 0; i < n; i++)
                halo_row_put(p, to, first + i * p->channels, v);
        }
    }
}

static int pixelize(const struct halo_job *job, int y0, int y1, struct halo_cpu_scratch *scratch)
{
    const struct halo_conv *c = job->conv;
    const struct halo_plane *dst = &job->dst;
    const size_t samples = (size_t)dst->width * (size_t)dst->channels;
    const size_t row_bytes = halo_plane_row_bytes(dst);
    uint32_t *into = halo_cpu_scratch_get(scratch, samples * sizeof *into);
    if (!into)
        return -ENOMEM;
    for (int y = y0, end; y < y1; y = end) {
        end = y1 - y < c->block_h ? y1 : y + c->block_h;
        if (c->mode == HALO_PIXELIZE_MEAN)
            gather_rows(into, &job->src, y, end, HALO_PIXELIZE_MEAN);
        else if (c->mode == HALO_PIXELIZE_MIN)
            gather_rows(into, &job->src, y, end, HALO_PIXELIZE_MIN);
        else
            gather_rows(into, &job->src, y, end, HALO_PIXELIZE_MAX);
        put_blocks(job, into, y, end - y);
        for (int copy = y + 1; copy < end; copy++)
            memcpy(halo_plane_row(dst, copy), halo_plane_row(dst, y), row_bytes);
    }
    return 0;
}
