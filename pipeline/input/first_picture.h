/* SPDX-License-Identifier: BSD-2-Clause
 * Decodes the first frame of a stream before all others, to learn the properties of the stream that
 * it declares. Nothing reads the samples of this frame. */
#ifndef HALO_FIRST_PICTURE_H
#define HALO_FIRST_PICTURE_H

#include <libavformat/avformat.h>

#include "config/error.h"
#include "pipeline/input/source_file.h"

/* Decodes the first frame into ret_frame, which stays empty if no frame can be decoded. The
 * function reads packets ahead from the source. Returns 0, or -errno with err filled. */
int halo_first_picture(AVFrame *ret_frame, struct halo_source *source, const AVStream *stream,
                       struct halo_error *err);

/* Sets the field order of a stream from its first frame, because many containers do not store it,
 * and others give the same value different meanings. A stream that is declared progressive stays
 * so. */
void halo_first_fields(const AVFrame *first, AVStream *stream);

#endif
