/* SPDX-License-Identifier: BSD-2-Clause
 * The first frame of a stream, decoded before all others to learn what it declares about the
 * stream. Nothing reads its samples. */
#ifndef HALO_FIRST_PICTURE_H
#define HALO_FIRST_PICTURE_H

#include <libavformat/avformat.h>

#include "config/error.h"
#include "pipeline/input/source_file.h"

/* Decodes it into ret_frame, which stays empty if no frame can be decoded. The source is read
 * ahead. 0, or -errno with err filled. */
int halo_first_picture(AVFrame *ret_frame, struct halo_source *source, const AVStream *stream,
                       struct halo_error *err);

/* Sets the field order of an interlaced stream from its first frame, because containers give the
 * same value different meanings. 0, or -errno with err filled. */
int halo_first_fields(struct halo_source *source, AVStream *stream, struct halo_error *err);

#endif
