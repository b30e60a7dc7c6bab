/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: filter chains, parsed and planned; the beginnings of every kind's example first. To
 * fuzz, leave replay.c out and build with clang -fsanitize=fuzzer,address,undefined; run it on a
 * copy of corpus/chain. */
#include <libavutil/log.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
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
        for (size_t p = 0; p < sizeof planes / sizeof planes[0]; p++) {
            struct halo_plane_plan result;
            struct halo_error err = {0};
            const int code = halo_filter_plan(&chain->filter[f], planes[p], &result, &err);
            if (code ? !err.text[0] : result.passes < 1)
                abort();
        }
    }
}

static void try(const char *text)
{
    struct halo_chain *chain = NULL;
    struct halo_error err = {0};
    if (halo_chain_parse(&chain, text, &err)) {
        if (!err.text[0] || strpbrk(err.text, "\n\r\033") || chain)
            abort();
    } else {
        plan(chain);
        halo_chain_destroy(chain);
    }
}

/* An example must be taken whole, and may be cut off anywhere. */
static void try_examples(void)
{
    for (int i = 0; halo_filter_kinds[i]; i++) {
        char *text = strdup(halo_filter_kinds[i]->example);
        struct halo_chain *chain = NULL;
        if (!text || halo_chain_parse(&chain, text, NULL))
            abort();
        halo_chain_destroy(chain);
        for (size_t length = strlen(text) + 1; length-- > 0;) {
            text[length] = '\0';
            try(text);
        }
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    halo_log_set_level(HALO_LOG_QUIET);
    av_log_set_level(AV_LOG_QUIET);
    if (!begun)
        try_examples();
    begun = true;
    char *text = fuzz_text(data, size);
    if (text)
        try(text);
    free(text);
    return 0;
}
