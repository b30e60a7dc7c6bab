/* SPDX-License-Identifier: BSD-2-Clause
 * Whether the checker itself can be trusted: no false alarm in filtered frames, and every leak
 * found that is made on purpose, in every way, encoded and decoded again too. */
#ifndef HALO_PROOF_CHECKER_H
#define HALO_PROOF_CHECKER_H

#include <stdbool.h>

/* frames: filtered ones to be looked at; leaks: to be made in each way. Prints its figures.
 * False: the checker is not to be trusted, which has been said. */
bool proof_checker_run(const char *backend, long frames, long leaks);

#endif
