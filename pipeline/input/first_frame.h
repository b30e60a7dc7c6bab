/* SPDX-License-Identifier: BSD-2-Clause
 * Decodes the first frame of a stream before all others, to learn the properties of the stream that
 * it declares. The frame does not leave the function, and nothing reads its samples. */
#ifndef HALO_FIRST_FRAME_H
#define HALO_FIRST_FRAME_H

#include <libavformat/avformat.h>

#include "config/base/error.h"
#include "pipeline/input/hdr.h"
#include "pipeline/input/source_file.h"

/* What the first frame declares; zeros if no frame could be decoded. */
struct halo_first_frame {
    int fields;          /* halo_av_frame_fields() */
    int stereo;          /* enum AVStereo3DType: how two views lie in it */
    bool profile;        /* it has an ICC profile */
    bool dynamic;        /* it has HDR10+ metadata */
    struct halo_hdr hdr; /* of the frame, whether the stream is HDR or not */
};

/* Reads packets ahead from the source. Returns 0, or -errno with err filled. */
int halo_first_frame(struct halo_first_frame *ret, struct halo_source *source,
                     const AVStream *stream, struct halo_error *err);

/* Sets the field order of a stream whose first frame is interlaced, because many containers do not
 * store it, or wrongly, and others give the same value different meanings. */
void halo_first_frame_fields(const struct halo_first_frame *first, AVStream *stream);

#endif
