/* SPDX-License-Identifier: BSD-2-Clause
 * Decides what happens to each stream of the input, and copies the file's metadata, chapters and
 * side data.
 *
 * Privacy rules for everything that is not decoded here: video is filtered or dropped; cover
 * frames are dropped; attachments other than fonts, and data tracks whose content is unknown, are
 * dropped unless -copy_unfiltered is given. */
#ifndef HALO_COPY_STREAMS_H
#define HALO_COPY_STREAMS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/run.h"

enum halo_role {
    HALO_ROLE_DROP,
    HALO_ROLE_COPY,
    HALO_ROLE_FILTER,
    HALO_ROLE_JOIN, /* filtered and encoded by other streams, whose packets take its place */
};

/* Decides whether a stream is dropped, copied or filtered. If the stream is dropped, one log line
 * gives the reason (except for null outputs). Returns 0, or -EINVAL with err filled if the
 * container does not support something that should be kept. Any thread; does not block. */
int halo_role_of(const struct halo_run_settings *settings, const AVStream *in,
                 const AVOutputFormat *container, enum halo_role *ret, struct halo_error *err);

/* Returns whether -c:a names an encoder. */
bool halo_audio_is_coded(const struct halo_run_settings *settings);

/* Copies the stream's language, title, disposition and side data. For streams that are copied, also
 * copies the codec parameters. */
int halo_copy_stream(const struct halo_run_settings *settings, const AVStream *in, AVStream *out,
                     enum halo_role role);

/* Copies metadata and chapters. offset (in units of AV_TIME_BASE) is subtracted from the times of
 * chapters; chapters that end before 0 or begin after end are left out. */
int halo_copy_descriptions(const struct halo_run_settings *settings, const AVFormatContext *in,
                           AVFormatContext *out, int64_t offset, int64_t end);

#endif
