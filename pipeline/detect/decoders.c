/* SPDX-License-Identifier: BSD-2-Clause
 * What the outputs of networks mean (decoders.h). */
#include "pipeline/detect/decoders.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MAX_LOG 8 /* of a size as a multiple of its anchor's */
#define MIN_LOG -40

/* e^x as 2^n e^r, with r in +-ln(2) / 2 and ten terms of the series. libm's functions do not have
 * the same results on every machine. */
static float exponential(float x)
{
    static const double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;
    const double v = x > MIN_LOG ? x < MAX_LOG ? x : MAX_LOG : MIN_LOG;
    const double scaled = v * log2e;
    const int n = (int)(scaled + (scaled < 0 ? -0.5 : 0.5));
    const double r = v - n * ln2;
    double sum = 1;
    for (int k = 10; k > 0; k--)
        sum = 1 + sum * r / k;
    return (float)ldexp(sum, n);
}

static struct halo_detect_box centred(float x, float y, float width, float height)
{
    return (struct halo_detect_box){
        .x = x - width / 2, .y = y - height / 2, .width = width, .height = height};
}

/* ---- what the values of an anchor mean ---- */

/* Logarithms of height and width in cells, and offsets down and right. */
static struct halo_detect_box from_cells(const struct halo_decoder *d,
                                         const struct halo_anchor *anchor, const float at[2],
                                         const float pitch[2], const float *value)
{
    (void)d, (void)anchor;
    return centred((at[0] + value[3] + 0.5F) * pitch[0], (at[1] + value[2] + 0.5F) * pitch[1],
                   exponential(value[1]) * pitch[0], exponential(value[0]) * pitch[1]);
}

/* The offset of the centre to the right and down, and width and height, all in pixels. */
static struct halo_detect_box from_pixels(const struct halo_decoder *d,
                                          const struct halo_anchor *anchor, const float at[2],
                                          const float pitch[2], const float *value)
{
    (void)d, (void)anchor;
    return centred((at[0] + 0.5F) * pitch[0] + value[0], (at[1] + 0.5F) * pitch[1] + value[1],
                   value[2], value[3]);
}

static struct halo_detect_box from_anchor(const struct halo_decoder *d,
                                          const struct halo_anchor *anchor, const float centre[2],
                                          const float offset[2], const float log_size[2])
{
    return centred(centre[0] + offset[0] * d->centre * anchor->width,
                   centre[1] + offset[1] * d->centre * anchor->height,
                   anchor->width * exponential(log_size[0] * d->size),
                   anchor->height * exponential(log_size[1] * d->size));
}

/* The offset of the centre and logarithms of the size, relative to the anchor: x before y. */
static struct halo_detect_box across_first(const struct halo_decoder *d,
                                           const struct halo_anchor *anchor, const float at[2],
                                           const float pitch[2], const float *value)
{
    const float centre[2] = {(at[0] + 0.5F) * pitch[0], (at[1] + 0.5F) * pitch[1]};
    return from_anchor(d, anchor, centre, value, value + 2);
}

/* The same, y before x. */
static struct halo_detect_box down_first(const struct halo_decoder *d,
                                         const struct halo_anchor *anchor, const float at[2],
                                         const float pitch[2], const float *value)
{
    const float centre[2] = {(at[0] + 0.5F) * pitch[0], (at[1] + 0.5F) * pitch[1]};
    return from_anchor(d, anchor, centre, (const float[]){value[1], value[0]},
                       (const float[]){value[3], value[2]});
}

/* The face's box is followed by points, in pixels relative to the anchor: the middle of the hips,
 * and one on a circle around it that contains the body. The box is the square around a circle that
 * is larger by d->size. */
static struct halo_detect_box around_body(const struct halo_decoder *d,
                                          const struct halo_anchor *anchor, const float at[2],
                                          const float pitch[2], const float *value)
{
    (void)anchor;
    const float x = (at[0] + 0.5F) * pitch[0] + value[4], y = (at[1] + 0.5F) * pitch[1] + value[5];
    const float across = value[6] - value[4], down = value[7] - value[5];
    const float side = 2 * d->size * sqrtf(across * across + down * down);
    return centred(x, y, side, side);
}

/* ---- the table ---- */

#define ONE_ANCHOR                                                                                 \
    {                                                                                              \
        .anchors = 1                                                                               \
    }
#define TWO_ANCHORS                                                                                \
    {                                                                                              \
        .anchors = 2                                                                               \
    }
#define SIX_ANCHORS                                                                                \
    {                                                                                              \
        .anchors = 6                                                                               \
    }
#define SQUARES(a, b)                                                                              \
    {                                                                                              \
        .anchors = 2, .anchor = { {a, a}, {b, b} }                                                 \
    }
/* Of a scale, which is a share of 300 pixels, with the aspect ratios 1, 2, 1/2, 3 and 1/3; and a
 * square between this level's scale and the next one's. 0.3333, of which TensorFlow takes the root,
 * makes two of the sides 1.7321508 and 0.5773214 times as long. */
#define RATIOS(scale, between)                                                                     \
    {                                                                                              \
        .anchors = 6, .anchor = {                                                                  \
            {300 * scale, 300 * scale},                                                            \
            {300 * scale * 1.41421356F, 300 * scale * 0.70710678F},                                \
            {300 * scale * 0.70710678F, 300 * scale * 1.41421356F},                                \
            {300 * scale * 1.73205081F, 300 * scale * 0.57735027F},                                \
            {300 * scale * 0.57732140F, 300 * scale * 1.73213742F},                                \
            {300 * between, 300 * between}                                                         \
        }                                                                                          \
    }

const struct halo_decoder halo_decoders[] = {
    {.name = "centerface",
     .output = {"heat", "size", "offset"},
     .outputs = 3,
     .box = from_cells,
     .levels = 1,
     .tensors = 3,
     .scores = 1,
     .values = 4,
     .level = {ONE_ANCHOR}},
    {.name = "retinaface",
     .output = {"scores_8", "boxes_8", "scores_16", "boxes_16", "scores_32", "boxes_32"},
     .outputs = 6,
     .box = across_first,
     .levels = 3,
     .tensors = 2,
     .scores = 2,
     .values = 4,
     .centre = 0.1F,
     .size = 0.2F,
     .level = {SQUARES(16, 32), SQUARES(64, 128), SQUARES(256, 512)}},
    {.name = "blazeface",
     .output = {"scores_4", "boxes_4"},
     .outputs = 2,
     .box = from_pixels,
     .levels = 1,
     .tensors = 2,
     .scores = 1,
     .values = 16,
     .level = {ONE_ANCHOR}},
    {.name = "blazeface_short",
     .output = {"scores_8", "boxes_8", "scores_16", "boxes_16"},
     .outputs = 4,
     .box = from_pixels,
     .levels = 2,
     .tensors = 2,
     .scores = 1,
     .values = 16,
     .level = {TWO_ANCHORS, SIX_ANCHORS}},
    {.name = "ssdlite",
     .output = {"scores_16", "boxes_16", "scores_32", "boxes_32", "scores_64", "boxes_64",
                "scores_128", "boxes_128", "scores_256", "boxes_256", "scores_512", "boxes_512"},
     .outputs = 12,
     .box = down_first,
     .levels = 6,
     .tensors = 2,
     .scores = 2,
     .values = 4,
     .centre = 0.1F,
     .size = 0.2F,
     .level = {{.anchors = 3,
                .anchor = {{30, 30}, {84.852814F, 42.426407F}, {42.426407F, 84.852814F}}},
               RATIOS(0.35F, 0.41833001F),
               RATIOS(0.5F, 0.57008771F),
               RATIOS(0.65F, 0.72111026F),
               RATIOS(0.8F, 0.87177979F),
               RATIOS(0.95F, 0.97467943F)}},
    {.name = "pose",
     .output = {"scores_8", "boxes_8", "scores_16", "boxes_16", "scores_32", "boxes_32"},
     .outputs = 6,
     .box = around_body,
     .levels = 3,
     .tensors = 2,
     .scores = 1,
     .values = 12,
     .size = 1.25F,
     .level = {TWO_ANCHORS, TWO_ANCHORS, SIX_ANCHORS}},
    {.name = "selfie", .output = {"people"}, .outputs = 1},
    {.name = "selfie_landscape", .output = {"people"}, .outputs = 1},
    {.name = "pose_mask", .output = {"people"}, .outputs = 1},
};
const int halo_decoder_count = sizeof halo_decoders / sizeof *halo_decoders;

const struct halo_decoder *halo_decoder_find(const char *name)
{
    for (int i = 0; i < halo_decoder_count; i++)
        if (!strcmp(halo_decoders[i].name, name))
            return &halo_decoders[i];
    return NULL;
}

/* ---- boxes ---- */

/* The outputs of one level. */
struct grid {
    const struct halo_decoder *decoder;
    const struct halo_decoder_level *level;
    const struct halo_decoder_tensor *scores, *values; /* values: one tensor or more */
    float pitch[2];                                    /* pixels from cell to cell */
    float least;
};

static struct grid grid_of(const struct halo_decoder *d, int level,
                           const struct halo_decoder_tensor *output, const int size[2], float least)
{
    const struct halo_decoder_tensor *scores = output + (ptrdiff_t)level * d->tensors;
    return (struct grid){
        .decoder = d,
        .level = &d->level[level],
        .scores = scores,
        .values = scores + 1,
        .pitch = {(float)size[0] / (float)scores->width, (float)size[1] / (float)scores->height},
        .least = least,
    };
}

static bool is_possible(const struct grid *g)
{
    const struct halo_decoder_tensor *scores = g->scores;
    int values = 0;
    for (int i = 0; i < g->decoder->tensors - 1; i++) {
        if (g->values[i].width != scores->width || g->values[i].height != scores->height ||
            g->values[i].planes < 1)
            return false;
        values += g->values[i].planes;
    }
    return scores->width >= 1 && scores->height >= 1 &&
           scores->planes == g->level->anchors * g->decoder->scores &&
           values == g->level->anchors * g->decoder->values;
}

/* The values of one anchor in one cell, which are in planes one after the other. */
static void gather(const struct grid *g, int anchor, size_t cell, float *ret)
{
    const struct halo_decoder_tensor *t = g->values;
    int plane = anchor * g->decoder->values;
    for (int k = 0; k < g->decoder->values; k++, plane++) {
        while (plane >= t->planes)
            plane -= t++->planes;
        ret[k] = t->data[(size_t)plane * t->stride + cell];
    }
}

static void decode_cell(const struct grid *g, size_t cell, struct halo_boxes *boxes)
{
    const struct halo_decoder *d = g->decoder;
    const size_t columns = (size_t)g->scores->width;
    const float at[2] = {(float)(cell % columns), (float)(cell / columns)};
    for (int a = 0; a < g->level->anchors; a++) {
        const size_t plane = (size_t)((a + 1) * d->scores - 1);
        const float score = g->scores->data[plane * g->scores->stride + cell];
        float value[HALO_DECODER_VALUES];
        if (!(score >= g->least))
            continue;
        gather(g, a, cell, value);
        struct halo_detect_box box = d->box(d, &g->level->anchor[a], at, g->pitch, value);
        box.score = score;
        halo_boxes_add(boxes, &box);
    }
}

int halo_decode_boxes(const struct halo_decoder *d, const struct halo_decoder_tensor *output,
                      const int size[2], float least, struct halo_boxes *boxes)
{
    struct grid grid[HALO_DECODER_LEVELS];
    if (!d->box)
        return -EINVAL;
    for (int i = 0; i < d->levels; i++) {
        grid[i] = grid_of(d, i, output, size, least);
        if (!is_possible(&grid[i]))
            return -EINVAL;
    }
    for (int i = 0; i < d->levels; i++) {
        const size_t cells = (size_t)grid[i].scores->width * (size_t)grid[i].scores->height;
        for (size_t cell = 0; cell < cells; cell++)
            decode_cell(&grid[i], cell, boxes);
    }
    return 0;
}

/* ---- masks ---- */

static bool is_rectangle(const int r[4])
{
    for (int i = 0; i < 4; i++)
        if (r[i] < (i < 2 ? -HALO_BOXES_MAX : 1) || r[i] > HALO_BOXES_MAX)
            return false;
    return true;
}

/* Whatever is no number belongs to a person. */
static uint8_t weight_of(float value)
{
    const float v = value < 1 ? value > 0 ? value : 0 : 1;
    return (uint8_t)(v * 255 + 0.5F);
}

int halo_decode_mask(const struct halo_decoder_tensor *t, const int from[4],
                     const struct halo_decoded_mask *mask, const int to[4])
{
    if (t->planes != 1 || !is_rectangle(from) || !is_rectangle(to) || from[0] < 0 || from[1] < 0 ||
        from[0] + from[2] > t->width || from[1] + from[3] > t->height)
        return -EINVAL;
    for (int y = 0; y < mask->height; y++)
        for (int x = 0; x < mask->width; x++) {
            const int64_t i = x - to[0], k = y - to[1];
            if (i < 0 || i >= to[2] || k < 0 || k >= to[3])
                continue;
            const ptrdiff_t column = from[0] + i * from[2] / to[2];
            const ptrdiff_t row = from[1] + k * from[3] / to[3];
            const uint8_t weight = weight_of(t->data[row * t->width + column]);
            uint8_t *place = &mask->weight[(ptrdiff_t)y * mask->width + x];
            *place = weight > *place ? weight : *place;
        }
    return 0;
}
