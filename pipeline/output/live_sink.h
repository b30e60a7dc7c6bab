/* SPDX-License-Identifier: BSD-2-Clause
 * Packets of a live stream's encoding into the sink of halod run (sink_file.h): one picture, whose
 * times begin at 0 with the first packet. A file appears when it is finished; a pipe and an URL get
 * the bytes as they come.
 *
 * begin and packet are the encoding's thread's, wake any thread's, the rest is for before and after
 * it. The first error is kept: nothing is written after it. */
#ifndef HALO_LIVE_SINK_H
#define HALO_LIVE_SINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"
#include "config/run.h"
#include "pipeline/output/begin_wire.h"

struct halo_live_sink;

/* As halo_sink_create(); besides a usage error where there is no such encoder. */
int halo_live_sink_create(struct halo_live_sink **ret, const struct halo_run_settings *settings,
                          const atomic_int *stop, struct halo_error *err);
void halo_live_sink_destroy(struct halo_live_sink *sink); /* NULL is nothing to do */

/* The encoder's name; NULL: nothing is encoded (null:). */
const char *halo_live_sink_codec(const struct halo_live_sink *sink);
/* Whether there is a file at the end, and not a reader who sees what comes when it comes. */
bool halo_live_sink_is_file(const struct halo_live_sink *sink);

/* 0 or -errno with err filled, and so again for all that follows. */
int halo_live_sink_begin(struct halo_live_sink *sink, const struct halo_live_begin *begin,
                         struct halo_error *err);
int halo_live_sink_packet(struct halo_live_sink *sink, const AVPacket *pkt, struct halo_error *err);
/* Wakes a writer that a reader keeps waiting, after a stop request. */
void halo_live_sink_wake(struct halo_live_sink *sink);

int64_t halo_live_sink_bytes(const struct halo_live_sink *sink); /* any thread */

/* Whole, under its final name; nothing where no picture came, or an error did (err filled). */
int halo_live_sink_finish(struct halo_live_sink *sink, struct halo_error *err);
/* As halo_sink_abandon(). */
void halo_live_sink_abandon(struct halo_live_sink *sink);

#endif
