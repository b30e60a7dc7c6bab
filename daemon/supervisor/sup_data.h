/* SPDX-License-Identifier: BSD-2-Clause
 * The data that the supervisor's files share: the supervisor itself, engines and their processes;
 * streams are in sup_stream_data.h. Functions are in the header of the file that
 * has them; here are only questions that one field answers.
 *
 * Times are milliseconds of CLOCK_MONOTONIC (uv_now). Loop thread only. */
#ifndef HALO_SUP_DATA_H
#define HALO_SUP_DATA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/daemon.h"
#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/sup_place.h"

struct sv_hook;
struct sv_request;
struct sv_stream;

struct sv_process {
    uv_process_t handle;
    struct halo_supervisor *sv;
    struct sv_process *next;
    struct sv_engine *engine; /* NULL: given up, or asked to quit for good */
    struct halo_link *link;   /* NULL: over */
    uint64_t started, heard;
    uint64_t closed;   /* its link ended then; 0: no */
    uint64_t deadline; /* to be killed then; 0: no */
    char closed_why[128];
    char asker[68];  /* the stream of it that has asked for its end ... */
    char asked[200]; /* ... and why; "": none did */
    char name[96];   /* the engine's, when it began, or was let go */
    bool said_hello, device, exited;
    bool worked;   /* a stream on it has filtered frames */
    int senseless; /* messages, since senseless_since */
    uint64_t senseless_since;
    json_t *files;         /* sv_files_of() its engine, when it started */
    struct sv_hook *hooks; /* that it may ask for */
};

enum sv_engine_state { SV_ENGINE_STARTING, SV_ENGINE_RUNNING, SV_ENGINE_PAUSED };

struct sv_engine {
    struct halo_supervisor *sv;
    struct sv_engine *next;
    char name[96];              /* "cpu", "gpu0", "cpu:STREAM"; "gpu": see below */
    int gpu;                    /* its number; -1: of the CPU, or it is not known which */
    bool choosing;              /* it is to say which GPUs there are, then it gets its number */
    uint64_t asked;             /* for that, and it has not said it yet; 0: no */
    struct sv_process *process; /* NULL: PAUSED */
    enum sv_engine_state state;
    struct sv_backoff backoff;
    int restarts;
    int device_failures; /* ends with status 75 in a row */
    bool stalled;        /* is about to be lost for that */
    int stood;           /* lost for it, in a row */
    uint64_t idle_since; /* without streams; 0: has some */
    uint64_t room_after; /* when the next stream without room may try again */
    char why[600];       /* of the last failure, "" */
    int64_t ignored;     /* messages that made no sense, and connections */
    struct halo_link_gpu gpu_memory[HALO_LINK_GPUS];
    int gpus; /* of them, that it uses now */
};

/* What the machine's GPUs have to spare, as an engine saw it. */
struct sv_gpus {
    struct halo_device_load load[HALO_LINK_GPUS];
    int count;
    uint64_t known; /* when; 0: never */
};

struct halo_supervisor {
    uv_loop_t *loop;
    const char *program;
    uv_exit_cb on_exit;                   /* of an engine's process: sup_end.c ... */
    const struct halo_link_ops *link_ops; /* ... and its words: sup_message.c */
    struct halo_daemon_settings *settings;
    struct sv_stream *streams;
    struct sv_engine *engines;
    struct sv_process *processes;
    struct sv_request *requests;
    struct halo_listener *listeners;
    struct sv_gpus gpus;
    uv_timer_t tick;
    uv_idle_t drain;    /* runs while rings have more */
    uv_timer_t regions; /* runs while some wait */
    int handles;        /* of these, that are not closed */
    struct AVPacket *packet;
    uint64_t ticked, next_id;
    double since; /* Unix time */
    bool stopping;
    uint64_t stop_deadline;
    void (*stopped)(void *arg);
    void *stopped_arg;
    int abandoned; /* processes that did not die in time */
    pid_t *dead;   /* engines that may have left a connection to the control socket */
    int deads;
};

static inline uint64_t sv_now(const struct halo_supervisor *sv)
{
    return uv_now(sv->loop);
}

#endif
