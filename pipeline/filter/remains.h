/* SPDX-License-Identifier: BSD-2-Clause
 * How much detail convolutions leave of a plane, whatever it shows, computed from the planned
 * integers. docs/filters.md explains this for users.
 *
 * Detail is the chain's squared frequency response, averaged over all frequencies with equal
 * weight, relative to its squared response at frequency zero (a flat frame). It is 1 for a plane
 * that is unchanged, moved or negated; more than 1 after sharpening; 0.11 after a 3x3 mean; and 1 /
 * (4 pi sigma^2) after a Gaussian. The responses of a chain's filters are multiplied, so two
 * filters that undo one another leave 1. Each kind of convolution in conv.h counts as follows:
 *
 *   COPY                     leaves everything
 *   SEPARABLE, BOX, DENSE,   is linear and counts by its frequency response; but a dense mask whose
 *   DECIMATED                weights cancel out (except for 1/64 of them) shows edges, and counts
 *                            as if it left everything
 *   GRADIENT                 shows edges, and counts as if it left everything
 *   PIXELIZE                 leaves one sample of each block, and nothing brings back the others
 *   SOLID                    leaves nothing; so does a mask that makes all samples equal because
 *                            all of its products round to the same value
 *
 * All functions are pure, so any thread may call them. */
#ifndef HALO_REMAINS_H
#define HALO_REMAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/filter/filter.h"

enum { HALO_REMAINS_GRID = 128, HALO_REMAINS_HALF = HALO_REMAINS_GRID / 2 + 1 };

/* at[x][y] is the squared response at the frequencies 2 pi x / 128 horizontally and 2 pi y / 128
 * vertically, relative to the squared response at frequency zero. */
struct halo_response {
    double at[HALO_REMAINS_HALF][HALO_REMAINS_GRID];
};

struct halo_remains {
    bool changed;        /* at least one step was not a copy */
    bool edges;          /* at least one step shows edges */
    bool flat;           /* nothing is left */
    int64_t least, most; /* range of sample values */
    double blocks;       /* size, in samples, of the largest block of which only one sample is
                            kept */
    struct halo_response response;
};

/* Initialises *ret for an unfiltered plane. The struct is large, about 66 KB. */
void halo_remains_begin(struct halo_remains *ret, int depth);

/* Computes the response of a plan, for halo_remains_add(). */
void halo_response_plan(struct halo_response *ret, const struct halo_plane_plan *plan);

/* Adds the next plan of the chain. `response` is this plan's response from halo_response_plan(). */
void halo_remains_add(struct halo_remains *remains, const struct halo_plane_plan *plan,
                      const struct halo_response *response);

/* Returns the detail that is left: 0 (none) to 1 (all), or more if detail was increased. */
double halo_remains_detail(const struct halo_remains *remains);

/* Returns the combined effect of all plans added so far: HIDES if the fraction of the detail that
 * is left does not exceed `most`. */
enum halo_effect halo_remains_effect(const struct halo_remains *remains, double most);

#endif
