/* SPDX-License-Identifier: BSD-2-Clause
 * What becomes of each stream of the input, and of what the file says about itself.
 *
 * The privacy contract for everything that is not decoded here: video is filtered or dropped,
 * pictures in attachments are dropped, data tracks nobody knows are dropped unless
 * -copy_unfiltered. */
#ifndef HALO_COPY_STREAMS_H
#define HALO_COPY_STREAMS_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/run.h"

enum halo_role {
    HALO_ROLE_DROP,
    HALO_ROLE_COPY,
    HALO_ROLE_FILTER,
};

/* Decides, and says in one line what is dropped and why (not for null outputs). -EINVAL with err
 * filled where the container cannot hold what should be kept. Any thread; does not block. */
int halo_role_of(const struct halo_run_settings *settings, const AVStream *in,
                 const AVOutputFormat *container, enum halo_role *ret, struct halo_error *err);

/* -c:a names an encoder. */
bool halo_audio_is_coded(const struct halo_run_settings *settings);

/* Language, title, disposition and side data of the stream; for copied ones the codec parameters
 * too. */
int halo_copy_stream(const struct halo_run_settings *settings, const AVStream *in, AVStream *out,
                     enum halo_role role);

/* Metadata and chapters; offset (AV_TIME_BASE) is subtracted from chapter times, and chapters that
 * end before 0 or begin after end are left out. */
int halo_copy_descriptions(const struct halo_run_settings *settings, const AVFormatContext *in,
                           AVFormatContext *out, int64_t offset, int64_t end);

#endif
