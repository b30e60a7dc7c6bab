/* SPDX-License-Identifier: BSD-2-Clause
 * A stream: one source, one chain of filters, one sink. How a frame travels.
 *
 *   source thread           filter thread    collect thread           encode thread
 *   demux -> decode -> raw ==q==> gate: lane | lane | lane -> output ==q==> encode -> mux -> file
 *          \-- audio, subtitles ==q=============q==================q==>---------/
 *
 * The source thread opens everything (files and devices may block), then demuxes. Packets of video
 * streams are decoded there (the decoder brings threads of its own) and become raw pictures;
 * packets of audio and subtitles go round the filters in the same queues, so that order and
 * back-pressure are one thing. The filter thread lets each raw picture into the gate (gate.h), in
 * the next lane of the ring (ring.h), and does not wait for it; the collect thread does, in the
 * same order, and takes the output picture out: the only place where one is made. The encode thread
 * encodes, muxes and writes. Queues are short, so memory is bounded and a slow disk slows the
 * decoder.
 *
 * The first error stops all of them; the output is then discarded. A stop request ends the source
 * early: what there is runs through, and the file is finished under another name.
 *
 * Threads: create, start, stop, stats and join belong to one thread (the event loop's), which no
 * call but join and destroy blocks. `look` comes from stream threads and must only wake the
 * loop. */
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
    int64_t total;   /* expected; 0 where nobody knows */
    double time;     /* seconds of output so far */
    double duration; /* seconds expected; negative where nobody knows */
    int64_t bytes;   /* written */
    int64_t damaged; /* places in the input that -keep-going read past */
    bool running;    /* pictures flow: everything is open */
};

struct halo_stream_result {
    struct halo_error error; /* code 0: the stream ended well */
    const char *path;        /* where the file is, or NULL; owned by the stream */
    bool interrupted;        /* ended by halo_stream_stop */
};

/* Checks what can be checked without reading the input. 0 or -errno (mostly usage), err filled.
 * settings and chain must outlive the stream; the caller owns *ret. look(arg) says: call
 * halo_stream_done. */
int halo_stream_create(struct halo_stream **ret, const struct halo_run_settings *settings,
                       const struct halo_chain *chain, void (*notify)(void *arg), void *arg,
                       struct halo_error *err);
/* Joins, closes, and removes what is unfinished. NULL is nothing to do. */
void halo_stream_destroy(struct halo_stream *s);

int halo_stream_start(struct halo_stream *s, struct halo_error *err);
/* Finish with what there is; may be called again. A sink that takes nothing more ends the stream
 * with -EINTR. */
void halo_stream_stop(struct halo_stream *s);
/* Wakes a source that waits in a blocking read, or a sink in a blocking write, of a stream that was
 * stopped or has failed: when it calls look, and now and then, for it may begin to wait later. */
void halo_stream_wake(struct halo_stream *s);
/* For the last resort: remove the unfinished file's name, before the process exits at once. */
void halo_stream_abandon(struct halo_stream *s);

/* Whether it filters, or has filtered, on a device with a driver of its own. After join; s may be
 * NULL. */
bool halo_stream_has_device(const struct halo_stream *s);

/* Whether the device has been silent for too long; err is filled then. Nothing but the process's
 * end by _exit() helps, after halo_stream_abandon(). To be asked at least once a second: after
 * longer pauses, in which the process was stopped, the time begins anew. */
bool halo_stream_is_stuck(struct halo_stream *s, struct halo_error *err);

bool halo_stream_done(const struct halo_stream *s); /* its threads are over */
void halo_stream_stats(const struct halo_stream *s, struct halo_stream_stats *ret);
/* After join: what -stats, -stats_json and -trace ask for, to stderr and files. */
void halo_stream_report(const struct halo_stream *s);
/* Waits for the end; once. */
void halo_stream_join(struct halo_stream *s, struct halo_stream_result *ret);

#endif
