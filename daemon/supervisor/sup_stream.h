/* SPDX-License-Identifier: BSD-2-Clause
 * Moves a stream from where it is to where it should be (sup_place.h).
 *
 *          enter            leave          gone
 *   OUT ----------> IN ------------> LEAVING ----> OUT
 *    ^               |                  |
 *    +---------------+------------------+  its engine died
 *
 * sv_stream_step() takes one step. It is called whenever the stream's place or its goal has
 * changed, and by the timer, so nothing is forgotten if an engine dies between two steps. Loop
 * thread only. */
#ifndef HALO_SUP_STREAM_H
#define HALO_SUP_STREAM_H

#include <jansson.h>

#include "config/daemon.h"

struct sv_stream;

/* Takes one step. May free this stream if it is being removed, but never frees another stream. */
void sv_stream_step(struct sv_stream *stream);
/* sv_stream_failed() is called when the stream itself has failed in its engine, and
 * sv_stream_ended() when it has ended there. The stream's setting `restart` decides what happens
 * next. */
void sv_stream_failed(struct sv_stream *stream, const char *why);
void sv_stream_ended(struct sv_stream *stream);
/* Called when the engine has reported `gone`: it has released the stream. */
void sv_stream_gone(struct sv_stream *stream);
/* Called when the stream's engine has died; the caller must then call sv_stream_step(). */
void sv_stream_lost(struct sv_stream *stream, const char *why);
/* Starts the stream at a user's request; earlier failures are forgotten. */
void sv_stream_start(struct sv_stream *stream);
void sv_stream_stop(struct sv_stream *stream);
void sv_stream_again(struct sv_stream *stream);
void sv_stream_remove(struct sv_stream *stream); /* may free it */
/* Takes ownership of settings, which will replace the current settings. */
void sv_stream_replace(struct sv_stream *stream, struct halo_stream_settings *settings);
void sv_stream_report_recording(struct sv_stream *stream);
/* Returns whether one of the outputs is a recording. */
bool sv_stream_can_record(const struct sv_stream *stream);
void sv_stream_stats(struct sv_stream *stream, const json_t *from);

#endif
