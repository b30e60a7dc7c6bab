/* SPDX-License-Identifier: BSD-2-Clause
 * Kept frozen cells (frozen.h). */
#include "pipeline/gate/frozen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void halo_frozen_finish(struct halo_frozen *frozen)
{
    free(frozen->object);
    free(frozen->value);
    *frozen = (struct halo_frozen){.object = NULL};
}

int halo_frozen_add(struct halo_frozen *frozen, int filter, uint64_t track, int count, bool written)
{
    const size_t objects = (size_t)frozen->objects + 1, values = (size_t)(frozen->values + count);
    struct halo_frozen_object *object = realloc(frozen->object, objects * sizeof *object);
    if (!object)
        return -ENOMEM;
    frozen->object = object;
    uint16_t *value = realloc(frozen->value, values * sizeof *value);
    if (!value)
        return -ENOMEM;
    frozen->value = value;
    memset(value + frozen->values, 0, (size_t)count * sizeof *value);
    object[frozen->objects++] = (struct halo_frozen_object){.frame = frozen->frame,
                                                            .track = track,
                                                            .value = frozen->values,
                                                            .filter = filter,
                                                            .count = count,
                                                            .written = written};
    frozen->values += count;
    return 0;
}

/* Index of the first object that appears in this frame or later. */
static int64_t first_from(const struct halo_frozen *frozen, int64_t frame)
{
    int64_t low = 0, high = frozen->objects;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (frozen->object[middle].frame < frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct halo_frozen_object *halo_frozen_find(const struct halo_frozen *frozen, int filter,
                                            uint64_t track)
{
    for (int64_t i = first_from(frozen, frozen->frame + 1) - 1; i >= 0; i--)
        if (frozen->object[i].filter == filter && frozen->object[i].track == track)
            return &frozen->object[i];
    return NULL;
}

int64_t halo_frozen_count(const struct halo_frozen *frozen, int64_t from, int64_t to)
{
    return first_from(frozen, to) - first_from(frozen, from);
}

bool halo_frozen_enter(struct halo_frozen *f, int64_t frame)
{
    const bool takes = halo_frozen_takes(f);
    f->missing = false;
    f->frame = frame >= 0 ? frame : takes ? f->entered : INT32_MAX;
    f->entered += takes;
    return !takes || halo_frozen_count(f, f->frame, f->frame + 1) > 0;
}

int halo_frozen_check(const struct halo_frozen *f, struct halo_error *err)
{
    return f->mode == HALO_FROZEN_SHOW && f->missing
               ? halo_fail(
                     err, -ESTALE,
                     "an object appears in frame %lld, for which halod job merge recorded no cells",
                     (long long)f->frame)
               : 0;
}

bool halo_frozen_is_complete(const struct halo_frozen *frozen)
{
    bool ret = true;
    for (int64_t i = 0; i < frozen->objects; i++)
        ret &= frozen->object[i].taken || frozen->object[i].written;
    return ret;
}
