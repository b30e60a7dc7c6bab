/* SPDX-License-Identifier: BSD-2-Clause
 * How much detail convolutions leave of a plane, whatever it shows, computed from the planned
 * integers. docs/filters.md explains this for users.
 *
 * What counts is what an inverse filter could bring back. Only rounding stands in its way: each
 * convolution rounds its samples, and what comes after it amplifies or weakens that noise together
 * with the frame. At each frequency, an inverse filter that minimises its error (Wiener) brings
 * back the share K g / (K g + n) of a frame of noise with full contrast, where g is the chain's
 * squared response and n its noise, in units of one rounding, and K = (2^depth - 1)^2 is that
 * frame's. The share of a plane is the mean of these over all frequencies with equal weight. It
 * is 1 for a plane that is unchanged, moved or negated, or keeps a part of each sample, however
 * small; 0.97 after a 3x3 mean; and 0.88 / sigma^2 after a Gaussian at 8 bits. A chain that leaves
 * such a frame less than four levels of contrast counts as if it left it four. The responses of a
 * chain's filters are multiplied, so two filters that undo one another leave what the rounding
 * between them leaves. Each kind of convolution in conv.h counts as follows:
 *
 *   COPY                     leaves everything
 *   SEPARABLE, BOX, DENSE,   is linear and counts by its frequency response; a dense mask whose
 *   DECIMATED                weights cancel out (except for 1/64 of them) also shows edges
 *   GRADIENT                 shows edges, and counts as if it amplified all frequencies as much as
 *                            the one that it amplifies most
 *   PIXELIZE                 leaves one sample of each block, and nothing brings back the others
 *   TABLE                    leaves everything, even if all of its values are the same, and rounds
 *                            nothing; roundings after it count as less, as if the whole frame had
 *                            been amplified by the table's steepest step
 *   SOLID                    leaves nothing; so does a mask that makes all samples equal because
 *                            all of its products round to the same value
 *
 * All functions are pure, so any thread may call them. */
#ifndef HALO_RESIDUAL_H
#define HALO_RESIDUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/filter/filter.h"

enum { HALO_RESIDUAL_GRID = 128, HALO_RESIDUAL_HALF = HALO_RESIDUAL_GRID / 2 + 1 };

/* at[x][y] is the squared response at the frequencies 2 pi x / 128 horizontally and 2 pi y / 128
 * vertically. */
struct halo_response {
    double at[HALO_RESIDUAL_HALF][HALO_RESIDUAL_GRID];
};

struct halo_residual {
    bool changed;        /* at least one step was not a copy */
    bool edges;          /* at least one step shows edges */
    bool flat;           /* nothing is left */
    int64_t least, most; /* range of sample values */
    double blocks;       /* size, in samples, of the largest block of which only one sample is
                            kept */
    double contrast;     /* K */
    double rounding;     /* what the next convolution adds to n */
    struct halo_response response, noise;
};

/* Initialises *ret for an unfiltered plane. The struct is large, about 133 KB. */
void halo_residual_begin(struct halo_residual *ret, int depth);

/* Computes the response of one pass of a plan, for the functions below. */
void halo_response_plan(struct halo_response *ret, const struct halo_plane_plan *plan);

/* Adds the next plan of the chain. `response` is this plan's response from halo_response_plan(). */
void halo_residual_add(struct halo_residual *residual, const struct halo_plane_plan *plan,
                       const struct halo_response *response);

/* Returns the share of the plane that could be brought back: 0 (nothing) to 1. */
double halo_residual_share(const struct halo_residual *residual);

/* Returns the detail that is visible as it is, the mean squared response: 0 (none) to 1 (all), or
 * more if detail was increased. */
double halo_residual_detail(const struct halo_residual *residual);

/* Returns the combined effect of all plans added so far: HIDES if the share that is left does not
 * exceed `most`. */
enum halo_effect halo_residual_effect(const struct halo_residual *residual, double most);

#endif
