/* SPDX-License-Identifier: BSD-2-Clause
 * A sink writes one container to a file, a URL or standard output, with one of FFmpeg's muxers.
 *
 * A file appears complete or not at all: it is written under a temporary name in the same folder,
 * synced, and then renamed. URLs, pipes and devices receive the bytes as they are produced. The
 * sink handles packets, never frames. Use it from one thread at a time; calls block on disk or
 * network. After a stop request, the sink gives up on a URL, pipe or device that accepts no data
 * for two seconds, provided that halo_sink_wake() is called until then. */
#ifndef HALO_SINK_FILE_H
#define HALO_SINK_FILE_H

#include <libavformat/avformat.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/run.h"

struct halo_sink;

/* Returns 0, or -errno with err filled. */
typedef int halo_sink_check(void *arg, const char *path, struct halo_error *err);

/* What happens to the output when a sink ends. */
enum halo_sink_end {
    HALO_SINK_WHOLE,   /* complete: the trailer is written, and the file is synced and gets its
                          final name */
    HALO_SINK_PARTIAL, /* interrupted: the trailer is written, and the file is synced, but it is
                          named NAME.partial.EXT and contains only what was written before the
                          interruption */
    HALO_SINK_DISCARD, /* failed: no file remains */
};

/* Checks settings->output and chooses the container, but does not open a file yet. *stop is the
 * stop request, which any thread may set. settings and stop must outlive the sink. Returns 0, a
 * usage error or -errno; on failure err is filled. A usage error occurs if the container writes
 * several files, if OUT is the same file as IN, if OUT exists and -y is not given, or if the muxer
 * does not exist. */
int halo_sink_create(struct halo_sink **ret, const struct halo_run_settings *settings,
                     const atomic_int *stop, struct halo_error *err);
/* Closes the sink and removes an unfinished file. Accepts NULL. */
void halo_sink_destroy(struct halo_sink *sink);

/* Returns whether everything is discarded without being encoded or copied, because OUT is `null:`
 * and no encoder is set. */
bool halo_sink_discards(const struct halo_sink *sink);

/* Returns whether the output is a file, which appears only when it is finished. Any other output
 * may be read while it is written. */
bool halo_sink_is_file(const struct halo_sink *sink);

/* Returns the muxer's context, to which streams, chapters and metadata are added before the call to
 * halo_sink_start(). */
AVFormatContext *halo_sink_format(const struct halo_sink *sink);

/* Makes the temporary name of a file begin with `path`, which must be on the same file system as
 * OUT and outlive the sink. Call this before halo_sink_start(). */
void halo_sink_write_in(struct halo_sink *sink, const char *path);
/* Calls check(arg, name) when a file is complete and synced, under its temporary name, before it is
 * renamed; if the result is not 0, the file is removed. */
void halo_sink_set_check(struct halo_sink *sink, halo_sink_check *check, void *arg);
/* Returns the inode of a file that was started; 0: none. */
int64_t halo_sink_inode(const struct halo_sink *sink);

/* Opens the file and writes the header. From then on, streams have their final time bases. */
int halo_sink_start(struct halo_sink *sink, struct halo_error *err);

/* Writes the packet, whose times are in units of tb, and takes ownership of its reference, even on
 * failure. Returns 0, or -errno, such as -ENOSPC, with err filled. If the sink has given up after a
 * stop request, halo_sink_start(), halo_sink_write() and halo_sink_finish() return -EINTR. */
int halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb, struct halo_error *err);

int64_t halo_sink_bytes(const struct halo_sink *sink); /* written so far. Any thread */

/* Makes a thread that is blocked in halo_sink_start() or halo_sink_write() look for a stop request.
 * A call has no effect if the thread begins to wait only after it. Any thread. */
void halo_sink_wake(struct halo_sink *sink);

/* Ends the output. Sets *ret_path to the path of the finished file, or to NULL if there is no file.
 * The sink owns the path. */
int halo_sink_finish(struct halo_sink *sink, enum halo_sink_end how, const char **ret_path,
                     struct halo_error *err);

/* Removes the name of the unfinished file. Call this if the process exits without calling
 * halo_sink_finish(). Any thread may call it. */
void halo_sink_abandon(struct halo_sink *sink);

#endif
