/* SPDX-License-Identifier: BSD-2-Clause
 * A stream has one source, one chain of filters and one sink. A frame passes through it as follows:
 *
 *   source thread           filter thread    collect thread           encode thread
 *   demux -> decode -> raw ==q==> gate: lane | lane | lane -> output ==q==> encode -> mux -> file
 *          \-- audio, subtitles ==q=============q==================q==>---------/
 *
 * The source thread opens everything (files and devices may block), then demuxes. It decodes the
 * packets of video streams into unfiltered frames (the decoder has its own threads). Packets of
 * audio and subtitles pass through the same queues but bypass the filters, so that one mechanism
 * ensures both order and backpressure. The filter thread enters each unfiltered frame into the gate
 * (gate.h), in the next lane of the ring (ring.h), and does not wait for it. The collect thread
 * waits for the lanes in the same order and takes the output frames out of the gate; no other code
 * creates output frames. The encode thread encodes, muxes and writes. Because queues are short,
 * memory is bounded, and a slow disk slows down the decoder.
 *
 * The first error stops all threads, and the output is discarded. A stop request ends the source
 * early: frames that were already decoded are processed to the end, and the file is completed under
 * another name.
 *
 * Threads: create, start, stop, stats and join are called by one thread, that of the event loop;
 * only join and destroy block it. Threads of the stream call `notify`, which must only wake the
 * loop. */
#ifndef HALO_STREAM_H
#define HALO_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/detect/detect_calls.h"
#include "pipeline/filter/filter.h"
#include "pipeline/segment/segments.h"

struct halo_stream;

struct halo_stream_stats {
    int64_t frames;  /* number of frames written (if the output is `null:`, discarded); 0 for the
                        stream of a segment whose part is stored: halo_segments_count() has them */
    int64_t total;   /* expected number of frames; 0 if unknown */
    double time;     /* length of the output so far, in seconds */
    double duration; /* expected length, in seconds; negative if unknown */
    int64_t bytes;   /* bytes written */
    int64_t damaged; /* damaged places in the input that -keep-going skipped */
    bool running;    /* everything is open, and frames are being processed */
};

struct halo_stream_result {
    struct halo_error error; /* error.code is 0 if the stream ended without an error */
    const char *path;        /* path of the finished file, or NULL; owned by the stream */
    bool interrupted;        /* whether halo_stream_stop() ended the stream */
};

/* Checks everything that can be checked without reading the input. settings and chain must outlive
 * the stream; the caller owns *ret. After each call to notify(arg), the event loop should call
 * halo_stream_done(). Returns 0, or -errno (mostly a usage error) with err filled. */
int halo_stream_create(struct halo_stream **ret, const struct halo_run_settings *settings,
                       const struct halo_chain *chain, void (*notify)(void *arg), void *arg,
                       struct halo_error *err);
/* Joins the threads, closes everything and removes unfinished files. Accepts NULL. */
void halo_stream_destroy(struct halo_stream *s);

/* Provides detectors; call this before halo_stream_start(). Without it, a chain that needs one
 * makes the stream fail. calls and arg must outlive the stream. */
void halo_stream_set_detectors(struct halo_stream *s, const struct halo_detect_calls *calls,
                               void *arg);
/* Answers calls->want: fd is a connection to a detector (docs/detectors.md), of which the stream
 * takes ownership, or -1; `why` then says why there is none. */
void halo_stream_connect(struct halo_stream *s, enum halo_find find, int fd, const char *why);

/* Makes the stream one of a run in segments (segments.h): the stream that encodes one segment,
 * which was taken, into its part; or, if segment is NULL, the stream that writes the output, with
 * the video from the parts and everything else from the input. Call this before
 * halo_stream_start(). segments must outlive the stream; *segment is copied. */
void halo_stream_set_segment(struct halo_stream *s, struct halo_segments *segments,
                             const struct halo_segment *segment);

int halo_stream_start(struct halo_stream *s, struct halo_error *err);
/* Stops reading the source, and finishes the output with the frames read so far. This function may
 * be called more than once. If the sink accepts no more data, the stream ends with -EINTR. */
void halo_stream_stop(struct halo_stream *s);
/* Wakes a source that is blocked in a read, or a sink that is blocked in a write, if the stream was
 * stopped or has failed. Call this after notify(), and then repeatedly until the stream is done: a
 * call has no effect if the blocking read or write has not begun yet. */
void halo_stream_wake(struct halo_stream *s);
/* Unlinks the unfinished file. Call this only as a last resort, immediately before the process
 * exits. */
void halo_stream_abandon(struct halo_stream *s);

/* Returns whether the stream filters, or has filtered, on a device with its own driver. Call this
 * after join; s may be NULL. */
bool halo_stream_has_device(const struct halo_stream *s);

/* Returns true, with err filled, if the device has not responded for longer than is allowed. The
 * only remedy is to end the process with _exit(), after halo_stream_abandon(). Call this at least
 * once a second. If more than two seconds passed between two calls, for example because the process
 * was stopped, the measurement restarts. */
bool halo_stream_is_stuck(struct halo_stream *s, struct halo_error *err);

bool halo_stream_done(const struct halo_stream *s); /* returns whether all threads have ended */
void halo_stream_stats(const struct halo_stream *s, struct halo_stream_stats *ret);
/* Returns the frames per second while frames were processed; 0 without -stats. Call this after
 * join. */
double halo_stream_rate(const struct halo_stream *s);
/* Makes the stream a trial, whose encoded packets are discarded: nothing is written. Call this
 * before halo_stream_start(). */
void halo_stream_set_trial(struct halo_stream *s);
/* Makes the stream end when everything is open: it only checks what can be checked without frames.
 * Call this before halo_stream_start(), after halo_stream_set_trial(). */
void halo_stream_set_check(struct halo_stream *s);
/* Writes the reports that -stats, -stats_json and -trace request: that of -stats to `to`, with a
 * description of what is done with each stream of the input. Call this after join. */
void halo_stream_report(const struct halo_stream *s, FILE *to);
/* Waits until the stream has ended, and returns its result in *ret. Call this once. */
void halo_stream_join(struct halo_stream *s, struct halo_stream_result *ret);

#endif
