/* SPDX-License-Identifier: BSD-2-Clause
 * The feeds of a stream and their viewers, which outlive engines. Loop thread only. */
#ifndef HALO_SUP_FEED_H
#define HALO_SUP_FEED_H

#include "config/error.h"

struct sv_stream;

int sv_feed_open(struct sv_stream *stream, struct halo_error *err);
void sv_feed_close(struct sv_stream *stream, const char *why);
/* Forgets the frames that the feeds keep, so that no frame made with the old filters is shown
 * again. */
void sv_feed_forget(struct sv_stream *stream);
/* Reports to a new engine which of the stream's encodings have viewers. */
void sv_feed_watch_all(struct sv_stream *stream);

#endif
