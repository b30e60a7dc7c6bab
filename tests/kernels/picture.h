/* SPDX-License-Identifier: BSD-2-Clause
 * Test pictures: planes with guard bytes before, between and after their rows. */
#ifndef HALO_TEST_PICTURE_H
#define HALO_TEST_PICTURE_H

#include <stdbool.h>

#include "kernels/conv.h"
#include "kernels/plane.h"

struct format {
    int depth, channels, shift;
};

struct picture {
    unsigned char *memory;
    size_t size;
    struct halo_plane plane;
};

enum pattern {
    RANDOM, /* whole words where a sample is 16 bits wide: stray bits too */
    ALL_MIN,
    ALL_MAX,
    CHECKER,
    IMPULSE,
    ADVERSARIAL, /* the largest sample where the mask, centred in the picture, is positive */
    PATTERN_COUNT,
};

extern const char *const pattern_names[PATTERN_COUNT];

/* xorshift; the state must not be 0. */
uint64_t next_random(uint64_t *state);

/* Exits where memory runs out. Rows lie an odd number of samples apart; all bytes are guard
 * bytes. */
struct picture picture_create(int width, int height, struct format f, bool upside_down);
void picture_destroy(struct picture *p);

void picture_fill(struct picture *p, enum pattern pattern, const struct halo_conv *conv,
                  uint64_t *state);

/* True where every byte outside the samples still is what picture_create() wrote. */
bool picture_guards_whole(const struct picture *p);

/* Sample x (channels counted) of row y as it lies in memory. */
int picture_word(const struct picture *p, int x, int y);
void picture_set_word(struct picture *p, int x, int y, int word);

#endif
