/* SPDX-License-Identifier: BSD-2-Clause
 * Declarations that the files of the engine process share.
 *
 *   engine.c         the process, its link, requests from the supervisor
 *   engine_stream.c  one stream, from start to end: live stream, outputs, rings
 *   engine_events.c  passes events from its threads to the loop
 *   engine_probe.c   for tests: tries what an attacker might do
 *
 * The loop thread owns everything except the event callbacks, which live streams call on their own
 * threads. A packet goes straight into its ring and its outputs; messages go into a list from which
 * the loop sends them. Work that may block (creating and finishing streams) runs on libuv's worker
 * threads. */
#ifndef HALO_ENGINE_PRIVATE_H
#define HALO_ENGINE_PRIVATE_H

#include <jansson.h>
#include <stdatomic.h>
#include <uv.h>

#include "config/base/thread.h"
#include "config/daemon.h"
#include "config/encoding.h"
#include "config/output_kinds.h"
#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "kernels/device_memory.h"
#include "config/base/thread.h"
#include "pipeline/stream/live.h"
#include "pipeline/output/output.h"
#include "pipeline/output/packet_ring.h"

/* A message from a thread; the loop sends and frees it. */
struct engine_note {
    struct engine_note *next;
    json_t *message;
    int fds[HALO_LINK_FDS]; /* duplicates owned by this message */
    int count;
    bool device; /* the GPU failed */
};

struct engine {
    uv_loop_t loop;
    struct halo_link *link;
    uv_async_t wake;
    uv_timer_t tick;
    struct engine_stream *streams;
    struct engine_stream *left; /* abandoned streams with a thread that has not returned yet */
    bool quitting, closed;
    uint64_t quit_deadline;
    struct halo_mutex lock; /* guards the notes */
    struct halo_cond passed;
    struct engine_note *first, **last;
    int notes;
    int64_t noted, sent;        /* messages queued and messages sent since the start */
    struct engine_query *query; /* in progress on a libuv worker thread; NULL: none */
    uint64_t queried;           /* when the last query began: uv_now() */
    struct halo_link_gpu gpu[HALO_LINK_GPUS];
    int gpus;                     /* number of entries of gpu[] that the last query filled */
    struct engine_survey *survey; /* in progress on a libuv worker thread; NULL: none */
};

enum engine_phase {
    ENGINE_MAKING, /* being created on a libuv worker thread */
    ENGINE_RUNNING,
    ENGINE_STOPPING,  /* its live stream is ending */
    ENGINE_FINISHING, /* being finished on a libuv worker thread */
    /* one of the stream's threads is stuck; the stream's events will soon be muted */
    ENGINE_ABANDONED,
};

struct engine_ring {
    struct halo_packet_writer *writer;
    size_t size;
    int64_t dropped; /* packets dropped by earlier writers of this ring */
};

struct engine_stream {
    struct engine *engine;
    struct engine_stream *next;
    char name[68];
    struct halo_stream_settings settings;
    char *camera; /* identity of the camera to find again; NULL: any camera */
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS];
    int encodings;
    int gpu; /* the GPU that its live stream last reported; -1: none */
    enum engine_phase phase;
    bool abandoned; /* abandoned because a thread is stuck; will soon be moved to `left` */
    bool stop;      /* the supervisor has requested a stop, possibly during the stream's creation */
    /* whether to record, and which encodings are watched: the last requests, including those that
     * arrived while the stream was being created */
    bool record, watched[HALO_MAX_ENCODINGS];
    atomic_ullong wanted[HALO_FINDS]; /* id of the last request for a detector */
    /* a `set` message that arrived while the stream was being created; NULL: none */
    json_t *late_set;
    uv_work_t work;
    struct halo_live *live; /* NULL: the live stream could not be created */
    struct halo_error error;
    struct engine_finished {
        struct engine_stream *stream;
        int output;
    } finished[HALO_MAX_OUTPUTS]; /* arguments of engine_report_finished() */
    /* NULL: the engine does not write this output, or it could not be created */
    struct halo_output *output[HALO_MAX_OUTPUTS];
    char *refused[HALO_MAX_OUTPUTS]; /* why the output could not be created */
    /* guards ring[], because other threads replace writers while the loop reads their counts */
    struct halo_mutex rings;
    struct engine_ring ring[HALO_MAX_ENCODINGS];
};

/* ---- engine_stream.c ---- */
/* Starts a stream. camera identifies the camera that the stream used in an earlier engine; NULL if
 * it has used none. */
void engine_stream_start(struct engine *engine, const char *name, const char *settings,
                         const char *camera);
void engine_stream_stop(struct engine_stream *stream);
/* Abandons a stuck stream; halo_live_stalls_alone() must have allowed it. The supervisor is
 * informed, the stream's outputs are finished, and the stream is removed. The memory that the
 * stream's stuck threads may still use is kept in `left` until these threads have ended. */
void engine_stream_abandon(struct engine_stream *stream, const struct halo_error *why);
/* Frees the abandoned streams whose stuck calls have returned. */
void engine_stream_free_left(struct engine *engine);
void engine_stream_tick(struct engine_stream *stream); /* called regularly; may free the stream */
void engine_stream_report_stats(struct engine_stream *stream);
void engine_stream_record(struct engine_stream *stream, bool on);
void engine_stream_set(struct engine_stream *stream, json_t *message); /* message is borrowed */

static inline bool engine_stream_runs(const struct engine_stream *stream)
{
    return stream->phase == ENGINE_RUNNING && stream->live;
}

/* ---- engine_events.c ---- */
/* callbacks; arg is a struct engine_stream */
extern const struct halo_live_events engine_events;
void engine_report_finished(void *arg, const char *path); /* arg is a struct engine_finished */
/* Queues a message for the loop. Takes ownership of message and duplicates fds. Any thread. */
void engine_note(struct engine *engine, json_t *message, const int *fds, int count, bool device);
json_t *engine_message(const char *what, const char *stream);
void engine_report_state(struct engine_stream *stream, enum halo_live_state state,
                         const struct halo_error *err);
/* Reports that a stage of this stream, or the device, is stuck and that the process is about to
 * end. */
void engine_report_stall(struct engine_stream *stream, const struct halo_error *err);
/* Reports that a stage of this stream is stuck and that only this stream is about to end. */
void engine_report_stalled_source(struct engine_stream *stream, const struct halo_error *err);
/* Sends the queued messages. Loop thread. Does not return if one of the messages reports that the
 * GPU failed: the process then ends with status 75 and frees nothing, so that it does not wait for
 * a driver's exit handlers. */
void engine_send_notes(struct engine *engine);

#endif
