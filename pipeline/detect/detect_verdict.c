/* SPDX-License-Identifier: BSD-2-Clause
 * A frame's verdict, from what the judge says and from masks. */
#include <errno.h>

#include "config/log.h"
#include "pipeline/detect/detect_private.h"
#include "pipeline/picture/raw_picture.h"

/* The whole frame. */
static const struct halo_shape everything = {.kind = HALO_SHAPE_RECT,
                                             .x = {0, true},
                                             .y = {0, true},
                                             .width = {1, true},
                                             .height = {1, true}};

/* Makes the mattes that the filters need. A matte that they do not need hides everything. */
static int add_mattes(struct halo_detect *d, struct halo_verdict *verdict, enum halo_find find,
                      const struct halo_held *held, const struct halo_held_mask *mask,
                      struct halo_error *err)
{
    struct halo_finder *finder = &d->finder[find];
    const halo_find_set bit = halo_find_bit(find);
    const struct halo_matte_mask small = {mask->weight->data, mask->width, mask->height,
                                          held->cut || finder->cut};
    struct halo_mask_image *hidden = NULL, *shown = NULL;
    if (!finder->matte && !(finder->matte = halo_matte_create(d->memory)))
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = halo_matte_make(finder->matte, &small, held->item.raw,
                                     d->needs.hidden & bit ? &hidden : NULL,
                                     d->needs.shown & bit ? &shown : NULL, err);
    if (code < 0)
        return code;
    finder->cut = false;
    struct halo_shape hide = everything, show = {.kind = HALO_SHAPE_MASK, .mask = shown};
    if (hidden)
        hide = (struct halo_shape){.kind = HALO_SHAPE_MASK, .mask = hidden};
    const struct halo_verdict_shapes hidden_shapes = {&hide, 1},
                                     shown_shapes = {&show, shown != NULL};
    return halo_verdict_set(verdict, find, &hidden_shapes, &shown_shapes);
}

/* NULL: none. With `wait: 0`, mask_n is an older frame's number. */
static const struct halo_held_mask *find_mask(const struct halo_detect *d, enum halo_find find,
                                              const struct halo_held *held, int64_t mask_n)
{
    const struct halo_held_mask *mask =
        mask_n == held->n ? &held->mask[find] : &d->finder[find].newest;
    return mask->weight ? mask : NULL;
}

static int add_find(struct halo_detect *d, struct halo_verdict *verdict, enum halo_find find,
                    const struct halo_held *held, const struct halo_judge_step *step,
                    struct halo_error *err)
{
    if (!(step->masked & halo_find_bit(find)))
        return halo_verdict_set(verdict, find, &step->hidden[find], &step->shown[find]);
    const struct halo_held_mask *mask = find_mask(d, find, held, step->mask_n[find]);
    return mask ? add_mattes(d, verdict, find, held, mask, err) : 0;
}

void halo_detect_attach(struct halo_detect *d, struct halo_held *held,
                        const struct halo_judge_step *step)
{
    struct halo_verdict *verdict = halo_verdict_create();
    for (int find = 0; verdict && find < HALO_FINDS; find++) {
        struct halo_error err = {0};
        if (step->known & halo_find_bit(find) && add_find(d, verdict, find, held, step, &err) < 0)
            halo_log(HALO_LOG_WARNING,
                     "the %s in a frame remain unknown, so all of it is hidden: %s",
                     halo_find_names[find], err.text[0] ? err.text : "out of memory");
    }
    halo_raw_picture_judge(held->item.raw, verdict);
}
