/* SPDX-License-Identifier: BSD-2-Clause
 * A stream: one source, one chain of filters, one sink; and how a frame passes through it.
 *
 *   source thread           filter thread    collect thread           encode thread
 *   demux -> decode -> raw ==q==> gate: lane | lane | lane -> output ==q==> encode -> mux -> file
 *          \-- audio, subtitles ==q=============q==================q==>---------/
 *
 * The source thread opens everything (files and devices may block), then demuxes. It decodes
 * packets of video streams into unfiltered frames (the decoder has threads of its own). Packets of
 * audio and subtitles bypass the filters in the same queues, so that order and backpressure are one
 * mechanism. The filter thread enters each unfiltered frame into the gate (gate.h), in the next
 * lane of the ring (ring.h), and does not wait for it. The collect thread waits, in the same order,
 * and takes the output frame out of the gate: no other place creates one. The encode thread
 * encodes, muxes and writes. Queues are short, so memory is bounded and a slow disk slows the
 * decoder.
 *
 * The first error stops all threads, and the output is discarded. A stop request ends the source
 * early: frames that were already read are finished, and the file is completed under another name.
 *
 * Threads: create, start, stop, stats and join are called by one thread (the event loop's); only
 * join and destroy block it. Stream threads call `notify`, which must only wake the loop. */
#ifndef HALO_STREAM_H
#define HALO_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"
#include "config/run.h"
#include "pipeline/filter/filter.h"

struct halo_stream;

struct halo_stream_stats {
    int64_t frames;  /* written (or discarded, for null:) */
    int64_t total;   /* expected; 0 if unknown */
    double time;     /* seconds of output so far */
    double duration; /* expected seconds; negative if unknown */
    int64_t bytes;   /* written */
    int64_t damaged; /* damaged places in the input that -keep-going skipped */
    bool running;    /* everything is open and frames are processed */
};

struct halo_stream_result {
    struct halo_error error; /* code 0: the stream ended without an error */
    const char *path;        /* path of the finished file, or NULL; owned by the stream */
    bool interrupted;        /* ended by halo_stream_stop */
};

/* Checks everything that can be checked without reading the input. 0 or -errno (mostly usage) with
 * err filled. settings and chain must outlive the stream; the caller owns *ret. After each
 * notify(arg), the loop should call halo_stream_done. */
int halo_stream_create(struct halo_stream **ret, const struct halo_run_settings *settings,
                       const struct halo_chain *chain, void (*notify)(void *arg), void *arg,
                       struct halo_error *err);
/* Joins the threads, closes everything and removes unfinished files. NULL: does nothing. */
void halo_stream_destroy(struct halo_stream *s);

int halo_stream_start(struct halo_stream *s, struct halo_error *err);
/* Ends the source and finishes the output with the frames read so far; may be called more than
 * once. If the sink accepts no more data, the stream ends with -EINTR. */
void halo_stream_stop(struct halo_stream *s);
/* Wakes a source that is blocked in a read, or a sink that is blocked in a write, if the stream was
 * stopped or has failed. Call it after notify() and repeatedly until the stream is done, because
 * the blocking call may begin later. */
void halo_stream_wake(struct halo_stream *s);
/* As a last resort, right before the process exits: removes the name of the unfinished file. */
void halo_stream_abandon(struct halo_stream *s);

/* Whether the stream filters, or has filtered, on a device with a driver of its own. After join; s
 * may be NULL. */
bool halo_stream_has_device(const struct halo_stream *s);

/* Whether the device has been silent for too long; err is then filled. The only remedy is to end
 * the process by _exit(), after halo_stream_abandon(). Call this at least once a second: after a
 * longer pause, in which the process was stopped, the time is measured from the start again. */
bool halo_stream_is_stuck(struct halo_stream *s, struct halo_error *err);

bool halo_stream_done(const struct halo_stream *s); /* whether all threads ended */
void halo_stream_stats(const struct halo_stream *s, struct halo_stream_stats *ret);
/* After join: prints and writes the reports that -stats, -stats_json and -trace request, to stderr
 * and files. */
void halo_stream_report(const struct halo_stream *s);
/* Waits until the stream has ended, and returns its result. Call it once. */
void halo_stream_join(struct halo_stream *s, struct halo_stream_result *ret);

#endif
