/* SPDX-License-Identifier: BSD-2-Clause
 * The feeds of a stream and their viewers, which outlive engines. Loop thread only. */
#ifndef HALO_SUP_FEED_H
#define HALO_SUP_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "config/base/error.h"

struct sv_stream;

/* Opens the feeds and outputs, unless they are open. An output that cannot be opened is logged and
 * tried again by sv_feed_step(); the others do not depend on it. Returns 0, or -errno with err
 * filled if there is too little memory. */
int sv_feed_open(struct sv_stream *stream, struct halo_error *err);
/* Must be called often: tries outputs again that could not be opened. */
void sv_feed_step(struct sv_stream *stream);
/* Returns why this output of the supervisor gives its viewers nothing; NULL: it does, as far as is
 * known. */
const char *sv_feed_why(const struct sv_stream *stream, int output);
/* Returns whether an output gives its viewers nothing; ret is then the reason of the first one and
 * the number of others. */
bool sv_feed_failed(const struct sv_stream *stream, char *ret, size_t size);
void sv_feed_close(struct sv_stream *stream, const char *why);
/* Forgets the frames that the feeds keep, so that no frame made with the old filters is shown
 * again. */
void sv_feed_forget(struct sv_stream *stream);
/* Reports to a new engine which of the stream's encodings have viewers. */
void sv_feed_watch_all(struct sv_stream *stream);

#endif
