/* SPDX-License-Identifier: BSD-2-Clause
 * The first picture of a stream, decoded ahead of all others for what it says of itself alone: its
 * samples are looked at by nobody. */
#ifndef HALO_FIRST_PICTURE_H
#define HALO_FIRST_PICTURE_H

#include <libavformat/avformat.h>

#include "config/error.h"
#include "pipeline/input/source_file.h"

/* Into ret_frame, which stays empty where none can be decoded. The source is read ahead. 0, or
 * -errno with err filled. */
int halo_first_picture(AVFrame *ret_frame, struct halo_source *source, const AVStream *stream,
                       struct halo_error *err);

/* Of interlaced streams: which field comes first is what the first picture says, for containers
 * mean different things by the same value. Sets the stream's field order. 0, or -errno. */
int halo_first_fields(struct halo_source *source, AVStream *stream, struct halo_error *err);

#endif
