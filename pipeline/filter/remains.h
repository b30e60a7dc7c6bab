/* SPDX-License-Identifier: BSD-2-Clause
 * What convolutions leave of a plane, whatever it shows: a measure of the detail that is left, from
 * the planned integers. docs/filters.md says it in words for users.
 *
 * Detail is the mean of the squared frequency response, all frequencies alike, divided by that of a
 * flat picture: 1 for a plane as it is, moved or negated, more where it is sharpened, 0.11 after a
 * mean of 3x3, 1 / (4 pi sigma^2) after a Gaussian. The responses of a chain are multiplied, so two
 * filters that undo one another leave 1. Each kind of conv.h declares what it is here:
 *
 *   COPY                     leaves all
 *   SEPARABLE, BOX, DENSE,   linear: its response; a dense mask that cancels out (all but 1/64 of
 *   DECIMATED                its weights) shows edges, and counts as if it left all
 *   GRADIENT                 edges, as above
 *   PIXELIZE                 one sample of each block is left, and nothing brings the others back
 *   SOLID                    leaves nothing, as does what makes every sample the same: a mask whose
 *                            products all round to one value
 *
 * All functions are pure; any thread. */
#ifndef HALO_REMAINS_H
#define HALO_REMAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/filter/filter.h"

enum { HALO_REMAINS_GRID = 128, HALO_REMAINS_HALF = HALO_REMAINS_GRID / 2 + 1 };

/* Squared responses at 2 pi x / 128 across and 2 pi y / 128 down, flat pictures 1. */
struct halo_response {
    double at[HALO_REMAINS_HALF][HALO_REMAINS_GRID];
};

struct halo_remains {
    bool changed;        /* some step was no copy */
    bool edges;          /* some step shows edges */
    bool flat;           /* nothing is left */
    int64_t least, most; /* what a sample can be */
    double blocks;       /* samples of the largest block of which one is left */
    struct halo_response response;
};

/* Of a plane that nothing was done to. Large: about 66 KB. */
void halo_remains_begin(struct halo_remains *ret, int depth);

/* What plan does to flat and other pictures; for halo_remains_add(). */
void halo_response_plan(struct halo_response *ret, const struct halo_plane_plan *plan);

/* plan comes next; response is what halo_response_plan() says of it. */
void halo_remains_add(struct halo_remains *remains, const struct halo_plane_plan *plan,
                      const struct halo_response *response);

/* 0: nothing is left; 1: as much as there was. */
double halo_remains_detail(const struct halo_remains *remains);

/* What all that was added did together; it hides where at most `most` of the detail is left. */
enum halo_effect halo_remains_effect(const struct halo_remains *remains, double most);

#endif
