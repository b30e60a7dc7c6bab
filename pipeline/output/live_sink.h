/* SPDX-License-Identifier: BSD-2-Clause
 * Writes the packets of a live stream's encoding to the sink of halod run (sink_file.h), as one
 * video track whose times begin at 0 with the first packet. A file appears when it is finished; a
 * pipe or a URL receives the bytes as they are produced.
 *
 * begin and packet are called by the encoding's thread, wake by any thread, and all other functions
 * before or after that thread runs. After the first error nothing more is written, and that error
 * is returned from then on. */
#ifndef HALO_LIVE_SINK_H
#define HALO_LIVE_SINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/output/begin_wire.h"

struct halo_live_sink;

/* Works like halo_sink_create(), but also returns a usage error if the encoder is unknown. */
int halo_live_sink_create(struct halo_live_sink **ret, const struct halo_run_settings *settings,
                          const atomic_int *stop, struct halo_error *err);
void halo_live_sink_destroy(struct halo_live_sink *sink); /* accepts NULL */

/* Returns the encoder's name, or NULL if nothing is encoded because OUT is `null:`. */
const char *halo_live_sink_codec(const struct halo_live_sink *sink);
/* Returns whether the output is a file, rather than a stream that is read while it is written. */
bool halo_live_sink_is_file(const struct halo_live_sink *sink);

/* halo_live_sink_begin() and halo_live_sink_packet() return 0, or -errno with err filled. After an
 * error, every later call fails with the same error. */
int halo_live_sink_begin(struct halo_live_sink *sink, const struct halo_live_begin *begin,
                         struct halo_error *err);
int halo_live_sink_packet(struct halo_live_sink *sink, const AVPacket *pkt, struct halo_error *err);
/* Call this after a stop request. It wakes the writing thread if a slow reader blocks that
 * thread. */
void halo_live_sink_wake(struct halo_live_sink *sink);

int64_t halo_live_sink_bytes(const struct halo_live_sink *sink); /* any thread */

/* Completes the file and gives it its final name. If no frame arrived, or if an error occurred (err
 * is then filled), no file remains. */
int halo_live_sink_finish(struct halo_live_sink *sink, struct halo_error *err);
/* Calls halo_sink_abandon(). */
void halo_live_sink_abandon(struct halo_live_sink *sink);

#endif
