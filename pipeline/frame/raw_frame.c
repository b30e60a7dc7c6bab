/* SPDX-License-Identifier: BSD-2-Clause
 * What all code may do with an unfiltered frame (raw_frame.h). */
#include "pipeline/frame/raw_frame_private.h"

#include <libavutil/mathematics.h>
#include <libavutil/mem.h>

#include "pipeline/base/av_version.h"
#include "pipeline/region/verdict.h"

int64_t halo_raw_frame_pts(const struct halo_raw_frame *raw)
{
    return raw->frame->pts;
}

void halo_raw_frame_set_pts(struct halo_raw_frame *raw, int64_t pts)
{
    raw->frame->pts = pts;
}

void halo_raw_frame_move(struct halo_raw_frame *raw, int64_t pts, AVRational from, AVRational to)
{
    raw->frame->pts = pts;
    halo_av_frame_set_duration(raw->frame,
                               av_rescale_q(halo_av_frame_duration(raw->frame), from, to));
}

void halo_raw_frame_judge(struct halo_raw_frame *raw, struct halo_verdict *verdict)
{
    halo_verdict_destroy(raw->verdict);
    raw->verdict = verdict;
}

void halo_raw_frame_destroy(struct halo_raw_frame *raw)
{
    if (!raw)
        return;
    av_frame_free(&raw->frame);
    halo_verdict_destroy(raw->verdict);
    av_free(raw);
}
