/* SPDX-License-Identifier: BSD-2-Clause
 * Verdicts (verdict.h). */
#include "pipeline/region/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct halo_verdict {
    bool known[HALO_FINDS], shared[HALO_FINDS];       /* shared: both sets own the same things */
    struct halo_verdict_shapes shapes[HALO_FINDS][2]; /* without and with invert */
};

struct halo_verdict *halo_verdict_create(void)
{
    return calloc(1, sizeof(struct halo_verdict));
}

static void finish_shapes(const struct halo_verdict_shapes *shapes)
{
    for (int i = 0; shapes && i < shapes->count; i++)
        halo_shape_finish(&shapes->shape[i]);
}

void halo_verdict_destroy(struct halo_verdict *verdict)
{
    for (int f = 0; verdict && f < HALO_FINDS; f++) {
        finish_shapes(&verdict->shapes[f][0]);
        if (!verdict->shared[f])
            finish_shapes(&verdict->shapes[f][1]);
        free(verdict->shapes[f][0].shape);
        free(verdict->shapes[f][1].shape);
    }
    free(verdict);
}

static bool copy_shapes(struct halo_verdict_shapes *ret, const struct halo_verdict_shapes *from)
{
    ret->shape = calloc((size_t)from->count + 1, sizeof *ret->shape);
    if (!ret->shape)
        return false;
    if (from->count > 0)
        memcpy(ret->shape, from->shape, (size_t)from->count * sizeof *ret->shape);
    ret->count = from->count;
    return true;
}

int halo_verdict_set(struct halo_verdict *verdict, enum halo_find find,
                     const struct halo_verdict_shapes *hidden,
                     const struct halo_verdict_shapes *shown)
{
    struct halo_verdict_shapes copy[2] = {{0}};
    if (!copy_shapes(&copy[0], hidden) || !copy_shapes(&copy[1], shown ? shown : hidden)) {
        free(copy[0].shape);
        finish_shapes(hidden);
        finish_shapes(shown);
        return -ENOMEM;
    }
    memcpy(verdict->shapes[find], copy, sizeof copy);
    verdict->known[find] = true;
    verdict->shared[find] = !shown;
    return 0;
}

const struct halo_verdict_shapes *halo_verdict_get(const struct halo_verdict *verdict,
                                                   enum halo_find find, bool invert)
{
    return verdict && verdict->known[find] ? &verdict->shapes[find][invert] : NULL;
}
