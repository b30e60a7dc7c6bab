/* SPDX-License-Identifier: BSD-2-Clause
 * Copies of an encoding's parameters and cards. */
#include "daemon/view/begin.h"

#include <stdlib.h>

#include "pipeline/output/begin_wire.h"

struct copy {
    struct halo_live_begin begin; /* must be first: the copy is found by its address */
    struct halo_begin_copy own;   /* what the const pointers of begin point to */
};

struct halo_live_begin *halo_begin_copy(const struct halo_live_begin *begin)
{
    struct copy *copy = calloc(1, sizeof *copy);
    if (!copy || halo_begin_copy_init(&copy->own, begin) < 0) {
        free(copy);
        return NULL;
    }
    copy->begin = halo_begin_view(&copy->own);
    return &copy->begin;
}

void halo_begin_destroy(struct halo_live_begin *begin)
{
    struct copy *copy = (struct copy *)begin;
    if (copy)
        halo_begin_copy_finish(&copy->own);
    free(copy);
}
