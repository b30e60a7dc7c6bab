/* SPDX-License-Identifier: BSD-2-Clause
 * The detail that convolutions leave of a plane, whatever it shows, measured from the planned
 * integers. docs/filters.md explains it for users.
 *
 * Detail is the mean of the squared frequency response, with all frequencies weighted equally,
 * divided by that of a flat frame: 1 for a plane that is unchanged, moved or negated; more if it is
 * sharpened; 0.11 after a mean of 3x3; 1 / (4 pi sigma^2) after a Gaussian. The responses of a
 * chain are multiplied, so two filters that undo one another leave 1. Each kind of convolution in
 * conv.h counts as follows:
 *
 *   COPY                     leaves everything
 *   SEPARABLE, BOX, DENSE,   linear: by its response; a dense mask whose weights cancel out (except
 *   DECIMATED                for 1/64 of them) shows edges, and counts as if it left everything
 *   GRADIENT                 shows edges: the same
 *   PIXELIZE                 leaves one sample of each block, and nothing brings back the others
 *   SOLID                    leaves nothing; so does a mask that makes all samples equal because
 *                            its products all round to one value
 *
 * All functions are pure; any thread. */
#ifndef HALO_REMAINS_H
#define HALO_REMAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/filter/filter.h"

enum { HALO_REMAINS_GRID = 128, HALO_REMAINS_HALF = HALO_REMAINS_GRID / 2 + 1 };

/* Squared responses at the frequencies 2 pi x / 128 horizontally and 2 pi y / 128 vertically,
 * relative to that of a flat frame. */
struct halo_response {
    double at[HALO_REMAINS_HALF][HALO_REMAINS_GRID];
};

struct halo_remains {
    bool changed;        /* some step was not a copy */
    bool edges;          /* some step shows edges */
    bool flat;           /* nothing is left */
    int64_t least, most; /* range of sample values */
    double blocks;       /* number of samples in the largest block that keeps only one */
    struct halo_response response;
};

/* Initialises *ret for an unfiltered plane. The struct is large: about 66 KB. */
void halo_remains_begin(struct halo_remains *ret, int depth);

/* Computes the response of a plan, for halo_remains_add(). */
void halo_response_plan(struct halo_response *ret, const struct halo_plane_plan *plan);

/* Adds the next plan of the chain, with its response from halo_response_plan(). */
void halo_remains_add(struct halo_remains *remains, const struct halo_plane_plan *plan,
                      const struct halo_response *response);

/* The detail that is left, from 0 (nothing) to 1 (all of it), or more if it was increased. */
double halo_remains_detail(const struct halo_remains *remains);

/* The combined effect of all plans added so far; HIDES if at most `most` of the detail is left. */
enum halo_effect halo_remains_effect(const struct halo_remains *remains, double most);

#endif
