/* SPDX-License-Identifier: BSD-2-Clause
 * The gate alone, with every native format, depth and subsampling, sizes odd and even, down to one
 * pixel, and chains by chance (spec.h), whose regions are written or told by a feed (moves.h):
 * every sample of every frame is judged (judge.h). And whether the judge can be trusted. */
#ifndef HALO_PROOF_EXACT_H
#define HALO_PROOF_EXACT_H

#include <stdbool.h>

/* cases: a format, a size and a chain each, some frames of it, and frames of another size in
 * between. Prints figures, and each case that is wrong with its number. False: one is. */
bool proof_exact_run(const char *backend, unsigned seed, long cases, const char *folder);

/* The judge finds nothing in what it asks for itself, and each of many leaks that are made in that,
 * down to a single sample. cases: of each way. False: it is not to be trusted. */
bool proof_exact_check(unsigned seed, long cases, const char *folder);

#endif
