/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: filter chains, parsed and planned. To fuzz, leave replay.c out and build with
 * clang -fsanitize=fuzzer,address,undefined; run it on a copy of corpus/chain. */
#include <stdlib.h>
#include <string.h>

#include "config/log.h"
#include "pipeline/filter/filter.h"
#include "tests/fuzz/fuzz.h"

enum { PLANNED = 4 }; /* filters of a chain; more would only be slow */

static void plan(const struct halo_chain *chain)
{
    static const struct halo_plane_info planes[] = {
        {.width = 16, .height = 9, .target.depth = 8},
        {.index = 1,
         .chroma = true,
         .log2_sub_x = 1,
         .log2_sub_y = 1,
         .width = 8,
         .height = 5,
         .target.depth = 10},
        {.index = 3, .width = 16, .height = 9, .target.depth = 12},
    };
    for (int f = 0; f < chain->count && f < PLANNED; f++) {
        for (size_t p = 0; p < sizeof(planes) / sizeof(planes[0]); p++) {
            struct halo_plane_plan result;
            struct halo_error err = {0};
            const int code = halo_filter_plan(&chain->filter[f], planes[p], &result, &err);
            if (code ? !err.text[0] : result.passes < 1)
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    halo_log_set_level(HALO_LOG_QUIET);
    char *text = fuzz_text(data, size);
    if (!text)
        return 0;

    struct halo_chain *chain = NULL;
    struct halo_error err = {0};
    if (halo_chain_parse(&chain, text, &err)) {
        if (!err.text[0] || strpbrk(err.text, "\n\r\033") || chain)
            abort();
    } else {
        plan(chain);
        halo_chain_destroy(chain);
    }
    free(text);
    return 0;
}
