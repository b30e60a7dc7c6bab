/* SPDX-License-Identifier: BSD-2-Clause
 * Sink: one container, written by one of FFmpeg's muxers to a file, a URL or standard output.
 *
 * A file appears complete or not at all: it is written under a temporary name in the same folder,
 * synced, then renamed. URLs, pipes and devices get the bytes as they are produced. The sink
 * handles packets, never frames. Use it from one thread at a time; calls block on disk or network.
 * After a stop request the sink gives up a URL, pipe or device that accepts nothing for two
 * seconds, provided that something wakes the thread in a blocking write. */
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
    HALO_SINK_PARTIAL, /* trailer, sync, NAME.partial.EXT: everything written before an
                          interruption */
    HALO_SINK_DISCARD, /* no file remains */
};

/* Checks settings->output and chooses the container; opens no file yet. 0, a usage error (the
 * container writes several files, OUT exists without -y or is IN, no such muxer) or -errno, with
 * err filled. *stop, which any thread may set, is the stop request. settings and stop must outlive
 * the sink. */
int halo_sink_create(struct halo_sink **ret, const struct halo_run_settings *settings,
                     const atomic_int *stop, struct halo_error *err);
/* Closes the sink and removes an unfinished file. Accepts NULL. */
void halo_sink_destroy(struct halo_sink *sink);

/* OUT is null: and no encoder is set: nothing is encoded or copied. */
bool halo_sink_discards(const struct halo_sink *sink);

/* A file appears at the end. If false, the output may be read while it is written. */
bool halo_sink_is_file(const struct halo_sink *sink);

/* The muxer's context, to which streams, chapters and metadata are added before halo_sink_start. */
AVFormatContext *halo_sink_format(const struct halo_sink *sink);

/* Opens the file and writes the header; from then on streams have their final time bases. */
int halo_sink_start(struct halo_sink *sink, struct halo_error *err);

/* Takes over the packet's reference, on failure too; its times are in tb. -ENOSPC and others with
 * err filled; -EINTR if the sink gave up after a stop request, which start and finish return as
 * well. */
int halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb, struct halo_error *err);

int64_t halo_sink_bytes(const struct halo_sink *sink); /* written so far */

/* Ends the output; *ret_path is the path of the finished file (owned by the sink; NULL if there is
 * no file). */
int halo_sink_finish(struct halo_sink *sink, enum halo_sink_end how, const char **ret_path,
                     struct halo_error *err);

/* Removes the unfinished file, from any thread, if the process exits without calling finish. */
void halo_sink_abandon(struct halo_sink *sink);

#endif
