/* SPDX-License-Identifier: BSD-2-Clause
 * What all code may do with an unfiltered frame (raw_picture.h). */
#include "pipeline/picture/raw_picture_private.h"

#include <libavutil/mathematics.h>
#include <libavutil/mem.h>

#include "pipeline/base/av_version.h"
#include "pipeline/region/verdict.h"

int64_t halo_raw_picture_pts(const struct halo_raw_picture *raw)
{
    return raw->frame->pts;
}

void halo_raw_picture_set_pts(struct halo_raw_picture *raw, int64_t pts)
{
    raw->frame->pts = pts;
}

void halo_raw_picture_move(struct halo_raw_picture *raw, int64_t pts, AVRational from,
                           AVRational to)
{
    raw->frame->pts = pts;
    halo_av_frame_set_duration(raw->frame,
                               av_rescale_q(halo_av_frame_duration(raw->frame), from, to));
}

void halo_raw_picture_judge(struct halo_raw_picture *raw, struct halo_verdict *verdict)
{
    halo_verdict_destroy(raw->verdict);
    raw->verdict = verdict;
}

void halo_raw_picture_destroy(struct halo_raw_picture *raw)
{
    if (!raw)
        return;
    av_frame_free(&raw->frame);
    halo_verdict_destroy(raw->verdict);
    av_free(raw);
}
