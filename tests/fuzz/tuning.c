/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: tables of measured times, parsed and asked. Built and run as chain.c is. */
#include <stdlib.h>
#include <string.h>

#include "kernels/tuning.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct halo_backend_ops *ops = halo_backend_find("cpu");
    struct halo_tuning *tuning = NULL;
    struct halo_tuning_fault fault = {0};
    const int rc = halo_tuning_parse(&tuning, (const char *)data, size, ops, "thing", &fault);
    if (rc ? tuning || fault.line < 1 || !fault.what : !tuning)
        abort();
    const struct halo_tuning_key key = {
        HALO_CONV_DENSE, HALO_ACCUM_F24, 8, 1, 3, 3, 640, 480,
    };
    const struct halo_strategy *found = tuning ? halo_tuning_find(tuning, &key) : NULL;
    if (found && halo_strategy_find(ops, found->name) != found)
        abort();
    halo_tuning_destroy(tuning);
    return 0;
}
