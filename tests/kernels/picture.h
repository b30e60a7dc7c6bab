/* SPDX-License-Identifier: BSD-2-Clause
 * Test pictures: planes with guard bytes before, between and after their rows. */
#ifndef HALO_TEST_FRAME_H
#define HALO_TEST_FRAME_H

#include <stdbool.h>

#include "kernels/conv.h"
#include "kernels/plane.h"

struct format {
    int depth, channels, shift;
};

/* Where samples lie among guard bytes, all counted in samples. */
struct layout {
    int before;  /* in front of the first row, and behind the last */
    int between; /* rows */
    bool upside_down;
};

struct picture {
    unsigned char *memory;
    size_t size;
    int before; /* samples */
    struct halo_plane plane;
};

enum pattern {
    RANDOM, /* and so are the bits below a sample */
    STRAY,  /* the bits above it too, which makes most of them the largest one */
    COINS,  /* the least or the largest sample */
    ALL_MIN,
    ALL_MAX,
    CHECKER,
    IMPULSE,
    ADVERSARIAL, /* the largest sample where the mask, centred in the picture, is positive */
    NEGATIVE,    /* and where it is not */
    PATTERN_COUNT,
};

extern const char *const pattern_names[PATTERN_COUNT];

/* xorshift; the state must not be 0. */
uint64_t next_random(uint64_t *state);

/* All bytes are guard bytes, the samples too; the first one is aligned to 64. Exits where memory
 * runs out. */
struct picture picture_create(int width, int height, struct format f, struct layout layout);
void picture_destroy(struct picture *p);

void picture_fill(struct picture *p, enum pattern pattern, const struct halo_conv *conv,
                  uint64_t *state);

/* True where every byte outside the samples still is what frame_create() wrote. */
bool picture_guards_whole(const struct picture *p);

/* Sample x (channels counted) of row y as it lies in memory. */
int picture_word(const struct picture *p, int x, int y);
void picture_set_word(struct picture *p, int x, int y, int word);

#endif
