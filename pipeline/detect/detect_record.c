/* SPDX-License-Identifier: BSD-2-Clause
 * Recording what detectors answer (detections.h), in the order of frames. */
#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "pipeline/detect/detect_private.h"
#include "pipeline/frame/raw_frame.h"

static void fail(struct halo_detect *d)
{
    if (!d->error.code)
        halo_fail(&d->error, -ENOMEM, "out of memory");
}

void halo_detect_keep(struct halo_detect *d, enum halo_find find,
                      const struct halo_detect_answer *answer)
{
    struct halo_held *held = halo_held_find(d, answer->n);
    if (!held)
        return;
    if (!held->boxes && !(held->boxes = av_mallocz(sizeof *held->boxes))) {
        fail(d);
        return;
    }
    held->boxes->answered |= halo_find_bit(find);
    held->boxes->count[find] = answer->count;
    memcpy(held->boxes->box[find], answer->box, (size_t)answer->count * sizeof answer->box[0]);
}

void halo_detect_keep_thumbnail(struct halo_detect *d, const uint8_t thumbnail[HALO_CUT_BYTES])
{
    struct halo_detections *to = d->settings->record;
    if (!to->seen)
        memcpy(to->first, thumbnail, sizeof to->first);
    memcpy(to->last, thumbnail, sizeof to->last);
    to->seen = true;
}

void halo_detect_record(struct halo_detect *d, const struct halo_held *held)
{
    const struct halo_detect_box *boxes[HALO_FINDS] = {NULL};
    struct halo_detections_frame frame = {.pts = halo_raw_frame_pts(held->item.raw),
                                          .time_us = held->time_us,
                                          .looked = held->looked,
                                          .cut = held->cut};
    for (int find = 0; held->boxes && find < HALO_FINDS; find++) {
        frame.count[find] = held->boxes->count[find];
        boxes[find] = held->boxes->box[find];
    }
    if (held->boxes)
        frame.answered = held->boxes->answered;
    if (halo_detections_add(d->settings->record, &frame, boxes) < 0)
        fail(d);
}
