/* SPDX-License-Identifier: BSD-2-Clause
 * Test pictures. */
#include "tests/kernels/picture.h"

#include <stdio.h>
#include <stdlib.h>

const char *const pattern_names[PATTERN_COUNT] = {
    "random",  "stray",   "coins",       "all-min",  "all-max",
    "checker", "impulse", "adversarial", "negative",
};

uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545F4914F6CDD1D) >> 16;
}

static unsigned char guard_byte(size_t i)
{
    return (unsigned char)(i * 37 + 11 + (i >> 8));
}

struct picture picture_create(int width, int height, struct format f, struct layout layout)
{
    const size_t bytes = f.depth > 8 ? 2 : 1;
    const size_t row = (size_t)(width * f.channels + layout.between) * bytes;
    const size_t before = (size_t)layout.before * bytes;
    struct picture p = {.size = row * (size_t)height + 2 * before, .before = layout.before};
    if (posix_memalign((void **)&p.memory, 64, p.size)) {
        fprintf(stderr, "no memory for a picture of %zu bytes\n", p.size);
        exit(1);
    }
    for (size_t i = 0; i < p.size; i++)
        p.memory[i] = guard_byte(i);
    unsigned char *first = p.memory + before;
    p.plane = (struct halo_plane){
        .data = layout.upside_down ? first + row * (size_t)(height - 1) : first,
        .stride = layout.upside_down ? -(ptrdiff_t)row : (ptrdiff_t)row,
        .width = width,
        .height = height,
        .channels = f.channels,
        .depth = f.depth,
        .shift = f.shift,
    };
    return p;
}

void picture_destroy(struct picture *p)
{
    free(p->memory);
}

static unsigned char *sample_at(const struct picture *p, int x, int y)
{
    return (unsigned char *)p->plane.data + p->plane.stride * y +
           x * halo_plane_sample_bytes(&p->plane);
}

int picture_word(const struct picture *p, int x, int y)
{
    const unsigned char *s = sample_at(p, x, y);
    return p->plane.depth > 8 ? *(const uint16_t *)(const void *)s : *s;
}

void picture_set_word(struct picture *p, int x, int y, int word)
{
    unsigned char *s = sample_at(p, x, y);
    if (p->plane.depth > 8)
        *(uint16_t *)(void *)s = (uint16_t)word;
    else
        *s = (unsigned char)word;
}

/* Whether the mask, its centre on the middle of the picture, is positive at x, y. Where it has
 * signs it is laid beside itself, so that more than one sum comes near its limit. */
static bool positive(const struct halo_conv *c, const struct halo_plane *p, int x, int y)
{
    const int taps_x = 2 * c->radius_x + 1, taps_y = 2 * c->radius_y + 1;
    const int i = x - p->width / 2 + c->radius_x, j = y - p->height / 2 + c->radius_y;
    if (c->kind != HALO_CONV_DENSE && c->kind != HALO_CONV_GRADIENT)
        return i >= 0 && j >= 0 && i < taps_x && j < taps_y;
    return c->mask[(j % taps_y + taps_y) % taps_y * taps_x + (i % taps_x + taps_x) % taps_x] > 0;
}

/* A word as it lies in memory. */
static unsigned pattern_word(const struct picture *p, enum pattern pattern,
                             const struct halo_conv *conv, int x, int y, uint64_t *state)
{
    const struct halo_plane *plane = &p->plane;
    const unsigned max = (unsigned)halo_sample_max(plane->depth) << plane->shift;
    switch (pattern) {
    case RANDOM:
        return next_random(state) & ((1u << (plane->depth + plane->shift)) - 1);
    case STRAY:
        return next_random(state) & UINT16_MAX;
    case COINS:
        return next_random(state) & 1 ? max : 0;
    case ALL_MAX:
        return max;
    case CHECKER:
        return (x + y) % 2 ? max : 0;
    case IMPULSE:
        return x == plane->width / 2 && y == plane->height / 3 ? max : 0;
    case ADVERSARIAL:
        return positive(conv, plane, x, y) ? max : 0;
    case NEGATIVE:
        return positive(conv, plane, x, y) ? 0 : max;
    default:
        return 0;
    }
}

void picture_fill(struct picture *p, enum pattern pattern, const struct halo_conv *conv,
                  uint64_t *state)
{
    const struct halo_plane *plane = &p->plane;
    for (int y = 0; y < plane->height; y++) {
        for (int i = 0; i < plane->width * plane->channels; i++) {
            const unsigned v = pattern_word(p, pattern, conv, i / plane->channels, y, state);
            picture_set_word(p, i, y, (int)v);
        }
    }
}

bool picture_guards_whole(const struct picture *p)
{
    const struct halo_plane *plane = &p->plane;
    const size_t row = halo_plane_row_bytes(plane);
    const size_t stride = (size_t)(plane->stride < 0 ? -plane->stride : plane->stride);
    const size_t first = (size_t)p->before * (size_t)halo_plane_sample_bytes(plane);
    for (size_t i = 0; i < p->size; i++) {
        const bool sample = i >= first && (i - first) / stride < (size_t)plane->height &&
                            (i - first) % stride < row;
        if (sample)
            i += row - 1 - (i - first) % stride;
        else if (p->memory[i] != guard_byte(i))
            return false;
    }
    return true;
}
