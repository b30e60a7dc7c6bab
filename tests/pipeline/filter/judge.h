/* SPDX-License-Identifier: BSD-2-Clause
 * What a gate on the CPU says to a chain, for tests. Failures before that end the test. */
#ifndef HALO_TEST_JUDGE_H
#define HALO_TEST_JUDGE_H

#include "pipeline/filter/coverage.h"
#include "pipeline/gate/gate.h"

/* What halo_gate_create returns for text and these frames, with err filled where it refuses.
 * Where it does not, ret_coverage (NULL: not wanted) is what it hides. */
int judge(const char *text, const struct halo_gate_input *input, struct halo_coverage *ret_coverage,
          struct halo_error *err);

#endif
