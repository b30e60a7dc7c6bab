/* SPDX-License-Identifier: BSD-2-Clause
 * Chains that destroy the canary in whole frames. */
#ifndef HALO_PROOF_CHAINS_H
#define HALO_PROOF_CHAINS_H

enum { PROOF_MAX_CHAINS = 64 };

/* Collects them: some of its own, and the example of every kind of filter that hides enough. Once,
 * before any other thread is there. */
void proof_chains_begin(void);

/* *ret_count of them. Any thread. */
const char *const *proof_chains(int *ret_count);

#endif
