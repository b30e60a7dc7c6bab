/* SPDX-License-Identifier: BSD-2-Clause
 * Regions drawn by lot. Their effect is written down here once more, pixel by pixel. */
#include "tests/kernels/regions.h"

#include <limits.h>

/* first .. last */
static int between(uint64_t *state, int first, int last)
{
    return first + (int)(next_random(state) % (unsigned)(last - first + 1));
}

static struct halo_rect draw_rect(int width, int height, uint64_t *state)
{
    const int x = between(state, 0, width - 1), y = between(state, 0, height - 1);
    switch (between(state, 0, 9)) {
    case 0: /* one pixel */
        return (struct halo_rect){x, y, x + 1, y + 1};
    case 1: /* the whole plane */
        return (struct halo_rect){0, 0, width, height};
    case 2: /* more than the plane */
        return (struct halo_rect){INT_MIN, INT_MIN, INT_MAX, INT_MAX};
    case 3: /* outside */
        return (struct halo_rect){width, 0, width + 5, height};
    case 4: /* empty, and the wrong way round */
        return (struct halo_rect){x, y, x, INT_MAX};
    case 5:
        return (struct halo_rect){x + 3, y, x, y + 3};
    case 6: /* partly outside */
        return (struct halo_rect){x - width, y - height, x, y};
    case 7: /* all rows, or all columns */
        return x % 2 ? (struct halo_rect){x, -1, x + 9, INT_MAX}
                     : (struct halo_rect){INT_MIN, y, width, y + 9};
    default: /* often far smaller than the plane */
        return (struct halo_rect){x, y, x + between(state, 1, 1 + width / 3),
                                  y + between(state, 1, 1 + height / 3)};
    }
}

/* With an edge where patches of the device's map meet, of 64 samples by 32 rows: what lies behind
 * it is outside, and yet read by the pixels before it. */
static struct halo_rect draw_patch(int width, int height, uint64_t *state)
{
    const int x = between(state, 0, width - 1) & -64, y = between(state, 0, height - 1) & -32;
    const int columns = between(state, 1, 64), rows = between(state, 1, 32);
    if (between(state, 0, 1))
        return (struct halo_rect){x, y, x + columns, y + rows};
    return (struct halo_rect){x + 64 - columns, y + 32 - rows, x + 64, y + 32};
}

enum mask_kind { MASK_RANDOM, MASK_EXTREME, MASK_0, MASK_255, MASK_SPOT, MASK_KINDS };

static const char *const mask_names[MASK_KINDS] = {
    "random mask", "extreme mask", "mask of 0", "mask of 255", "mask with a feathered spot",
};

static int mask_value(enum mask_kind kind, int x, int y, struct halo_rect spot, uint64_t *state)
{
    const int random = (int)(next_random(state) & 255);
    const int inner = 9; /* pixels from the spot's edge on */
    switch (kind) {
    case MASK_RANDOM:
        return random;
    case MASK_EXTREME:
        return random % 2 ? 255 : 0;
    case MASK_SPOT:
        if (x < spot.x0 || x >= spot.x1 || y < spot.y0 || y >= spot.y1)
            return 0;
        return x >= spot.x0 + inner && x + inner < spot.x1 && y >= spot.y0 + inner &&
                       y + inner < spot.y1
                   ? 255
                   : random;
    default:
        return kind == MASK_255 ? 255 : 0;
    }
}

static struct layout any_layout(uint64_t *state)
{
    return (struct layout){between(state, 1, 99), between(state, 0, 40), between(state, 0, 1)};
}

static void draw_mask(struct test_region *r, int width, int height, uint64_t *state)
{
    const enum mask_kind kind = (enum mask_kind)between(state, 0, MASK_KINDS - 1);
    const struct halo_rect spot = draw_rect(width, height, state);
    r->name = mask_names[kind];
    r->mask = picture_create(width, height, (struct format){8, 1, 0}, any_layout(state));
    for (int y = 0; y < height; y++) {
        uint8_t *row = (uint8_t *)r->mask.plane.data + r->mask.plane.stride * y;
        for (int x = 0; x < width; x++)
            row[x] = (uint8_t)mask_value(kind, x, y, spot, state);
    }
    r->region.mask = r->mask.plane;
}

void test_region_draw(struct test_region *ret, int width, int height, uint64_t *state)
{
    *ret = (struct test_region){.region.invert = next_random(state) & 1, .name = "rectangles"};
    ret->region.rects = ret->rects;
    if (between(state, 0, 2) == 0) {
        ret->region.invert = false;
        ret->region.rect_count = 1;
        ret->rects[0] = draw_patch(width, height, state);
        return;
    }
    if (next_random(state) & 1) {
        draw_mask(ret, width, height, state);
        return;
    }
    const int most = between(state, 0, 7) ? 4 : MAX_RECTS;
    ret->region.rect_count = between(state, 0, most);
    for (int i = 0; i < ret->region.rect_count; i++)
        ret->rects[i] = draw_rect(width, height, state);
}

void test_region_finish(struct test_region *r)
{
    picture_destroy(&r->mask);
}

static int weight(const struct halo_region *r, int x, int y)
{
    int m = 0;
    if (r->mask.data)
        m = ((const uint8_t *)r->mask.data)[r->mask.stride * y + x];
    for (int i = 0; i < r->rect_count; i++) {
        const struct halo_rect *rect = &r->rects[i];
        if (x >= rect->x0 && x < rect->x1 && y >= rect->y0 && y < rect->y1)
            m = 255;
    }
    return r->invert ? 255 - m : m;
}

void test_region_apply(const struct test_region *r, const struct picture *src,
                       struct picture *filtered)
{
    const struct halo_plane *p = &filtered->plane;
    for (int y = 0; y < p->height; y++) {
        for (int x = 0; x < p->width; x++) {
            const int m = weight(&r->region, x, y);
            for (int i = x * p->channels; i < (x + 1) * p->channels; i++) {
                const int f = picture_word(filtered, i, y) >> p->shift;
                const int word = picture_word(src, i, y);
                const int v =
                    p->depth > 8 ? halo_sample_value((uint16_t)word, p->depth, p->shift) : word;
                picture_set_word(filtered, i, y, (m * f + (255 - m) * v + 127) / 255 << p->shift);
            }
        }
    }
}
