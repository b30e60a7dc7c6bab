/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: updates of a region feed, and frames that ask it. Built and run as chain.c is.
 *
 * Each step takes one byte that says what, and numbers of two bytes each. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/region/region_feed.h"
#include "tests/fuzz/fuzz.h"

struct bytes {
    const uint8_t *at, *end;
};

static int next(struct bytes *bytes)
{
    return bytes->at < bytes->end ? *bytes->at++ : 0;
}

/* Mostly lengths in a frame, and now and then what is none. */
static double number(struct bytes *bytes)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e5, -1e5, 1e300, 1e-300, 0};
    const int high = next(bytes), low = next(bytes);
    return high >= 248 ? odd[high - 248] : (high * 256 + low) / 16.0 - 200;
}

static struct halo_length corner[HALO_MAX_SHAPES][HALO_MAX_CORNERS][2];
static struct halo_region_update updates[HALO_MAX_SHAPES + 1];
static struct halo_region_now now_;

static void fill(struct bytes *bytes, struct halo_region_update *ret, int index)
{
    const int what = next(bytes);
    memset(ret, 0, sizeof *ret);
    memset(ret->id, what & 4 ? 'a' + next(bytes) % 9 : 0, 1);
    ret->ttl = what & 8 ? number(bytes) : 0;
    ret->shape.kind = (enum halo_shape_kind)(what & 3);
    struct halo_length *all[] = {&ret->shape.x, &ret->shape.y, &ret->shape.width,
                                 &ret->shape.height};
    for (int i = 0; i < 4; i++)
        *all[i] = (struct halo_length){number(bytes), what & 16};
    if (ret->shape.kind != HALO_SHAPE_POLYGON || index >= HALO_MAX_SHAPES)
        return;
    ret->shape.corner = corner[index];
    ret->shape.corners = next(bytes) % (HALO_MAX_CORNERS + 2);
    for (int i = 0; i < ret->shape.corners && i < HALO_MAX_CORNERS; i++)
        for (int axis = 0; axis < 2; axis++)
            corner[index][i][axis] = (struct halo_length){number(bytes), what & 16};
}

static void check_length(struct halo_length length)
{
    if (!isfinite(length.value))
        abort();
}

static void check_frame(void)
{
    if (now_.count < 0 || now_.count > HALO_MAX_SHAPES || now_.corners > HALO_REGION_CORNERS)
        abort();
    for (int i = 0; i < now_.count; i++) {
        const struct halo_shape *s = &now_.shape[i];
        if (s->kind == HALO_SHAPE_POLYGON) {
            if (s->corners < 3 || s->corners > HALO_MAX_CORNERS)
                abort();
            for (int k = 0; k < s->corners; k++)
                for (int axis = 0; axis < 2; axis++)
                    check_length(s->corner[k][axis]);
            continue;
        }
        check_length(s->x);
        check_length(s->y);
        check_length(s->width);
        check_length(s->height);
        if (s->mask || s->width.value < 0 || s->height.value < 0)
            abort();
    }
}

/* Whether the middle of what was named is hidden. */
static bool is_hidden(const struct halo_shape *s)
{
    const double x = s->x.value + s->width.value / 2, y = s->y.value + s->height.value / 2;
    for (int i = 0; i < now_.count; i++) {
        const struct halo_shape *n = &now_.shape[i];
        if (n->kind != HALO_SHAPE_POLYGON && n->x.relative == s->x.relative &&
            x >= n->x.value - 1e-6 && x <= n->x.value + n->width.value + 1e-6 &&
            y >= n->y.value - 1e-6 && y <= n->y.value + n->height.value + 1e-6)
            return true;
    }
    return false;
}

static void update(struct bytes *bytes, struct halo_region_feed *feed, int64_t now)
{
    const int what = next(bytes), count = next(bytes) % (HALO_MAX_SHAPES + 2);
    const int64_t at = now / 1000 - what * 1000 + 20000;
    const char *why;
    for (int i = 0; i < count && i <= HALO_MAX_SHAPES; i++)
        fill(bytes, &updates[i], i);
    const int code = halo_region_feed_update(feed, at, updates, count, now, NULL);
    if (code != 0 && code != -EINVAL && code != -ESTALE && code != -ERANGE)
        abort();
    if (code != 0 || !halo_region_feed_at(feed, at, now, &now_, NULL, &why))
        return;
    check_frame();
    for (int i = 0; i < count; i++)
        if (updates[i].shape.kind != HALO_SHAPE_POLYGON && !is_hidden(&updates[i].shape))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, data + size};
    struct halo_region_feed_settings settings = {
        .on = true, .margin = next(&bytes) / 255.0, .hold = next(&bytes) / 50.0, .limit = 1};
    struct halo_region_feed *feed;
    int64_t now = INT64_C(5000000000000);
    if (halo_region_feed_create(&feed, &settings) < 0)
        return 0;
    while (bytes.at < bytes.end) {
        const int what = next(&bytes);
        const char *why = NULL;
        now += (what >> 3) * INT64_C(10000000);
        if (what & 8)
            halo_region_feed_pass(feed, now / 1000);
        if ((what & 7) < 4)
            update(&bytes, feed, now);
        else if ((what & 7) == 7)
            halo_region_feed_begin(feed, now / 1000);
        else if (halo_region_feed_at(feed, now / 1000 - next(&bytes) * 1000, now, &now_, NULL,
                                     &why))
            check_frame();
        else if (!why)
            abort();
    }
    halo_region_feed_destroy(feed);
    return 0;
}
