/* SPDX-License-Identifier: BSD-2-Clause
 * Sink: one container through FFmpeg's muxers, into a file, a URL or standard output.
 *
 * A file appears whole or not at all: it is written beside its final name, synced, then renamed.
 * URLs, pipes and devices get the bytes as they come. The sink takes packets and knows no pictures.
 * One thread at a time; calls block on disk or network. After a stop request the sink gives an URL,
 * pipe or device up that takes nothing for two seconds, provided that something wakes the thread in
 * a blocking write. */
#ifndef HALO_SINK_FILE_H
#define HALO_SINK_FILE_H

#include <libavformat/avformat.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/error.h"
#include "config/run.h"

struct halo_sink;

/* How a sink ends. */
enum halo_sink_end {
    HALO_SINK_WHOLE,   /* trailer, sync, final name */
    HALO_SINK_PARTIAL, /* trailer, sync, NAME.partial.EXT: what there was until an interruption */
    HALO_SINK_DISCARD, /* nothing is left */
};

/* Checks settings->output and chooses the container; opens no file yet. 0, a usage error (the
 * container writes several files, OUT exists without -y or is IN, no such muxer) or -errno, with
 * err filled. *stop, set by any thread, is the stop request. settings and stop must outlive the
 * sink. */
int halo_sink_create(struct halo_sink **ret, const struct halo_run_settings *settings,
                     const atomic_int *stop, struct halo_error *err);
/* Closes and removes what was not finished. NULL is nothing to do. */
void halo_sink_destroy(struct halo_sink *sink);

/* OUT is null: and no encoder was asked for: nothing is encoded or copied. */
bool halo_sink_discards(const struct halo_sink *sink);

/* A file appears at the end; else somebody may read what comes when it comes. */
bool halo_sink_is_file(const struct halo_sink *sink);

/* Where streams, chapters and metadata are added before halo_sink_start. */
AVFormatContext *halo_sink_format(const struct halo_sink *sink);

/* Opens the file and writes the header; from then on streams have their final time bases. */
int halo_sink_start(struct halo_sink *sink, struct halo_error *err);

/* Takes the packet's reference over, on failure too; times in tb. -ENOSPC and others with err
 * filled; -EINTR where it gave up after a stop request, as from start and finish. */
int halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb, struct halo_error *err);

int64_t halo_sink_bytes(const struct halo_sink *sink); /* written so far */

/* Ends it; *ret_path is where the file is now (owned by the sink; NULL where there is none). */
int halo_sink_finish(struct halo_sink *sink, enum halo_sink_end how, const char **ret_path,
                     struct halo_error *err);

/* Removes the unfinished file's name, from any thread, before the process exits without a
 * finish. */
void halo_sink_abandon(struct halo_sink *sink);

#endif
