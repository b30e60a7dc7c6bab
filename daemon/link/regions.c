/* SPDX-License-Identifier: BSD-2-Clause
 * Parses a list of regions from JSON. Each key is in a table and may occur once; others are
 * errors. */
#include "daemon/link/regions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/daemon.h"
#include "config/option.h"

enum key { ID, KIND, X, Y, W, H, CORNERS, UNIT, TTL, KEYS };

static const char *const keys[KEYS] = {"id", "kind", "x", "y", "w", "h", "corners", "unit", "ttl"};
static const char *const kinds[] = {
    [HALO_SHAPE_RECT] = "rect",
    [HALO_SHAPE_ELLIPSE] = "ellipse",
    [HALO_SHAPE_POLYGON] = "polygon",
};
static const char *const units[] = {"pixels", "relative"};

/* One element of the list, with its values by key; NULL: the key is absent. */
struct element {
    int index;
    const json_t *value[KEYS];
};

static int refuse(const struct element *e, enum key key, const char *what, struct halo_error *err)
{
    return halo_fail(err, -EINVAL, "regions[%d].%s: %s", e->index, keys[key], what);
}

static int sort_keys(struct element *ret, json_t *region, int index, struct halo_error *err)
{
    const char *key;
    json_t *value;
    *ret = (struct element){.index = index};
    if (!json_is_object(region))
        return halo_fail(err, -EINVAL, "regions[%d] must be an object", index);
    json_object_foreach (region, key, value) {
        int k = 0;
        while (k < KEYS && strcmp(keys[k], key) != 0)
            k++;
        if (k == KEYS) {
            char near[HALO_NEAREST_WORDS];
            return halo_fail(err, -EINVAL, "regions[%d] has an unknown field '%.40s'%s", index, key,
                             halo_nearest_words(near, key, keys, KEYS));
        }
        ret->value[k] = json_is_null(value) ? NULL : value;
    }
    return 0;
}

/* The index of a word in the list; -1: it is not in the list. */
static int word_of(const json_t *value, const char *const *words, int count)
{
    const char *text = json_string_value(value);
    for (int i = 0; text && i < count; i++)
        if (!strcmp(words[i], text))
            return i;
    return -1;
}

static int read_id(struct halo_region_update *ret, const struct element *e, struct halo_error *err)
{
    const json_t *value = e->value[ID];
    const char *id = json_string_value(value);
    ret->id[0] = '\0';
    if (!value || (id && !*id))
        return 0;
    if (!id || !halo_is_name(id, strlen(id)) || strlen(id) >= HALO_REGION_ID)
        return refuse(e, ID, "must consist of at most 31 letters, digits, _ or -", err);
    snprintf(ret->id, sizeof ret->id, "%s", id);
    return 0;
}

static int read_box(struct halo_shape *ret, const struct element *e, bool relative,
                    struct halo_error *err)
{
    struct halo_length *const to[] = {&ret->x, &ret->y, &ret->width, &ret->height};
    if (e->value[CORNERS])
        return refuse(e, CORNERS, "only polygons have corners", err);
    for (int i = 0; i < 4; i++) {
        const enum key key = (enum key)(X + i);
        if (!json_is_number(e->value[key]))
            return refuse(e, key, e->value[key] ? "must be a number" : "is missing", err);
        *to[i] = (struct halo_length){json_number_value(e->value[key]), relative};
    }
    return 0;
}

static int read_corners(struct halo_regions *ret, struct halo_shape *shape, const struct element *e,
                        bool relative, struct halo_error *err)
{
    const json_t *list = e->value[CORNERS];
    const size_t count = json_array_size(list);
    for (enum key key = X; key <= H; key++)
        if (e->value[key])
            return refuse(e, key,
                          "is not allowed for a polygon, which is specified by its corners only",
                          err);
    if (count < 3 || count > HALO_MAX_CORNERS)
        return refuse(e, CORNERS, "must be a list of 3 to 64 corners, each [x, y]", err);
    if (ret->corners + (int)count > HALO_REGION_CORNERS)
        return refuse(e, CORNERS, "all regions together have more than 1024 corners", err);
    shape->corner = &ret->corner[ret->corners];
    shape->corners = (int)count;
    ret->corners += (int)count;
    for (size_t i = 0; i < count; i++)
        for (size_t axis = 0; axis < 2; axis++) {
            const json_t *corner = json_array_get(list, i), *value = json_array_get(corner, axis);
            if (json_array_size(corner) != 2 || !json_is_number(value))
                return refuse(e, CORNERS, "each corner must be a list of two numbers, [x, y]", err);
            shape->corner[i][axis] = (struct halo_length){json_number_value(value), relative};
        }
    return 0;
}

static int read_region(struct halo_regions *ret, const struct element *e, struct halo_error *err)
{
    struct halo_region_update *update = &ret->update[e->index];
    const int kind = word_of(e->value[KIND], kinds, HALO_SHAPE_POLYGON + 1);
    const int unit = e->value[UNIT] ? word_of(e->value[UNIT], units, 2) : 0;
    const json_t *ttl = e->value[TTL];
    memset(update, 0, sizeof *update);
    if (kind < 0)
        return refuse(e, KIND, "must be rect, ellipse or polygon", err);
    if (unit < 0)
        return refuse(e, UNIT, "must be pixels or relative", err);
    if (ttl && !json_is_number(ttl))
        return refuse(e, TTL, "must be a number", err);
    update->shape.kind = (enum halo_shape_kind)kind;
    update->ttl = json_number_value(ttl);
    const int named = read_id(update, e, err);
    if (named < 0)
        return named;
    return kind == HALO_SHAPE_POLYGON ? read_corners(ret, &update->shape, e, unit == 1, err)
                                      : read_box(&update->shape, e, unit == 1, err);
}

int halo_regions_read(struct halo_regions *ret, const json_t *list, struct halo_error *err)
{
    const size_t count = json_array_size(list);
    ret->count = ret->corners = 0;
    if (!json_is_array(list))
        return halo_fail(err, -EINVAL, "regions must be a list");
    if (count > HALO_MAX_SHAPES)
        return halo_fail(err, -EINVAL, "%zu regions, but at most %d are allowed", count,
                         HALO_MAX_SHAPES);
    for (size_t i = 0; i < count; i++) {
        struct element e;
        int read = sort_keys(&e, json_array_get(list, i), (int)i, err);
        if (read == 0)
            read = read_region(ret, &e, err);
        if (read < 0)
            return read;
    }
    ret->count = (int)count;
    return 0;
}
