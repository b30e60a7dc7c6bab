/* SPDX-License-Identifier: BSD-2-Clause
 * The engine process: what its files share.
 *
 *   engine.c         the process, its link, what the supervisor asks for
 *   engine_stream.c  one stream: live stream, outputs, rings; from start to gone
 *   engine_gpu.c     how full the GPUs are
 *   engine_events.c  what its threads have to say, on their way to the loop
 *
 * The loop thread owns everything but the events: live streams call these on their own threads. A
 * packet goes straight into its ring and its outputs; words go into a list, and the loop sends
 * them. What may block (making and finishing streams) runs on libuv's threads. */
#ifndef HALO_ENGINE_PRIVATE_H
#define HALO_ENGINE_PRIVATE_H

#include <jansson.h>
#include <pthread.h>
#include <uv.h>

#include "config/daemon.h"
#include "config/encoding.h"
#include "config/output_kinds.h"
#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "kernels/device_memory.h"
#include "pipeline/live/live.h"
#include "pipeline/output/output.h"
#include "pipeline/output/packet_ring.h"

/* Words of a thread; the loop sends them and frees this. */
struct engine_note {
    struct engine_note *next;
    json_t *message;
    int fds[HALO_LINK_FDS]; /* copies of its own */
    int count;
    bool device; /* the GPU failed */
};

struct engine {
    uv_loop_t loop;
    struct halo_link *link;
    uv_async_t wake;
    uv_timer_t tick;
    struct engine_stream *streams;
    struct engine_stream *left; /* were abandoned, and a thread of theirs has not come back */
    bool quitting, closed;
    uint64_t quit_deadline;
    pthread_mutex_t lock; /* of the notes */
    pthread_cond_t passed;
    struct engine_note *first, **last;
    int notes;
    int64_t noted, sent;        /* of all times */
    struct engine_query *query; /* under way on a thread of libuv's; NULL */
    uint64_t queried;           /* when the last one began */
    struct halo_link_gpu gpu[HALO_LINK_GPUS];
    int gpus;                     /* of them, as last seen */
    struct engine_survey *survey; /* under way on a thread of libuv's; NULL */
};

enum engine_phase {
    ENGINE_MAKING, /* on a thread of libuv's */
    ENGINE_RUNNING,
    ENGINE_STOPPING,  /* the live stream ends */
    ENGINE_FINISHING, /* on a thread of libuv's */
    ENGINE_ABANDONED, /* a thread of it is stuck: soon it tells no event any more */
};

struct engine_ring {
    struct halo_packet_writer *writer;
    size_t size;
    int64_t dropped; /* of writers before this one */
};

struct engine_stream {
    struct engine *engine;
    struct engine_stream *next;
    char name[68];
    struct halo_stream_settings settings;
    char *camera; /* that it is to find again, NULL */
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS];
    int encodings;
    int gpu; /* as its live stream last told; -1: none */
    enum engine_phase phase;
    bool abandoned;                           /* for a thread that is stuck; soon in `left` */
    bool stop;                                /* asked for while it was being made */
    bool record, watched[HALO_MAX_ENCODINGS]; /* the same */
    json_t *late_set;                         /* the same; or NULL */
    uv_work_t work;
    struct halo_live *live; /* NULL: could not be made */
    struct halo_error error;
    struct engine_finished {
        struct engine_stream *stream;
        int output;
    } finished[HALO_MAX_OUTPUTS];                 /* who tells of finished files */
    struct halo_output *output[HALO_MAX_OUTPUTS]; /* NULL: another kind, or could not be made */
    char *refused[HALO_MAX_OUTPUTS];              /* why that was */
    pthread_mutex_t rings;                        /* of ring[]: threads write, the loop counts */
    struct engine_ring ring[HALO_MAX_ENCODINGS];
};

/* ---- engine_stream.c ---- */
/* camera: of the engine before; NULL: none. */
void engine_stream_start(struct engine *engine, const char *name, const char *settings,
                         const char *camera);
void engine_stream_stop(struct engine_stream *stream);
/* Where that may be done (halo_live_stalls_alone): the supervisor is told, its outputs are
 * finished, and it is gone. What it has is kept in `left` until what is stuck in it comes back. */
void engine_stream_abandon(struct engine_stream *stream, const struct halo_error *why);
/* Those that were abandoned are looked at: frees what has come back. */
void engine_stream_free_left(struct engine *engine);
void engine_stream_tick(struct engine_stream *stream); /* may free it */
void engine_stream_report_stats(struct engine_stream *stream);
void engine_stream_record(struct engine_stream *stream, bool on);

/* ---- engine_gpu.c ---- */
/* By the clock: looks now and then, beside the loop, for a driver may not answer. */
void engine_gpu_tick(struct engine *engine);
/* Tells what all GPUs of the machine have to spare, as soon as the driver says it. */
void engine_gpu_survey(struct engine *engine);
/* The list for the link; empty where the last look has not come back. */
json_t *engine_gpu_report(const struct engine *engine);

/* ---- engine_probe.c ---- */
void engine_probe(void); /* on the loop; blocks */

/* ---- engine.c ---- */
void engine_stream_set(struct engine_stream *stream, json_t *message); /* borrowed */

/* ---- engine_events.c ---- */
extern const struct halo_live_events engine_events;       /* arg: struct engine_stream */
void engine_report_finished(void *arg, const char *path); /* arg: struct engine_finished */
/* message is taken over, fds are copied. Any thread. */
void engine_note(struct engine *engine, json_t *message, const int *fds, int count, bool device);
/* Returns when the loop has sent what was noted, or after a second. Not on the loop. */
void engine_wait_sent(struct engine *engine);
json_t *engine_message(const char *what, const char *stream);
void engine_report_state(struct engine_stream *stream, enum halo_live_state state,
                         const struct halo_error *err);
/* A stage of it stands, or the device does: the process ends. */
void engine_report_stall(struct engine_stream *stream, const struct halo_error *err);
/* A stage of it stands, and it alone ends. */
void engine_report_stalled_source(struct engine_stream *stream, const struct halo_error *err);
/* Loop thread. Does not come back where one of them is that the GPU failed: the process ends with
 * status 75, and nothing is freed, for no handler of a driver is waited for. */
void engine_send_notes(struct engine *engine);

#endif
