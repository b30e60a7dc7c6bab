/* SPDX-License-Identifier: BSD-2-Clause
 * box_tmpl.c: the sums of the window's columns, of type COLUMN. OF(name) is a function's name for
 * this type. */

static void OF(add_row)(const struct box *b, const void *row)
{
    const struct halo_plane *src = &b->job->src;
    const int length = b->length, shift = src->shift;
    const uint16_t max = (uint16_t)halo_sample_max(src->depth);
    const uint8_t *restrict bytes = row;
    const uint16_t *restrict words = row;
    COLUMN *restrict sums = b->inner;
    if (src->depth == 8) {
        for (int i = 0; i < length; i++)
            sums[i] = (COLUMN)(sums[i] + bytes[i]);
    } else {
        for (int i = 0; i < length; i++)
            sums[i] = (COLUMN)(sums[i] + clip(words[i], shift, max));
    }
}

/* One row enters the window and one leaves it. */
static void OF(move_window)(const struct box *b, const void *enters, const void *leaves)
{
    const struct halo_plane *src = &b->job->src;
    const int length = b->length, shift = src->shift;
    const uint16_t max = (uint16_t)halo_sample_max(src->depth);
    const uint8_t *restrict bytes = enters, *restrict old_bytes = leaves;
    const uint16_t *restrict words = enters, *restrict old_words = leaves;
    COLUMN *restrict sums = b->inner;
    if (src->depth == 8) {
        for (int i = 0; i < length; i++)
            sums[i] = (COLUMN)(sums[i] + bytes[i] - old_bytes[i]);
    } else {
        for (int i = 0; i < length; i++)
            sums[i] =
                (COLUMN)(sums[i] + clip(words[i], shift, max) - clip(old_words[i], shift, max));
    }
}

/* Fills the ghost columns, which are sums, too: of the columns that they repeat, or of the
 * constant, which is kept before them. */
static void OF(fill_ghosts)(const struct box *b)
{
    const struct halo_conv *c = b->job->conv;
    const int ghosts = b->ghosts;
    COLUMN *left = (COLUMN *)b->inner - ghosts, *right = (COLUMN *)b->inner + b->length;
    left[-1] = (COLUMN)(c->border_value * (2 * c->radius_y + 1));
    for (int i = 0; i < ghosts; i++) {
        left[i] = left[b->repeated[i]];
        right[i] = left[b->repeated[ghosts + i]];
    }
}

/* Computes the rows [y0, y1). write_row computes one of them from its columns. */
static void OF(slide)(const struct box *b, int y0, int y1, write_row_fn *write_row)
{
    const int radius = b->job->conv->radius_y;
    for (int y = y0 - radius; y <= y0 + radius; y++)
        OF(add_row)(b, source_row(b, y));
    for (int y = y0; y < y1; y++) {
        OF(fill_ghosts)(b);
        write_row(b, y);
        OF(move_window)(b, source_row(b, y + 1 + radius), source_row(b, y - radius));
    }
}
