/* SPDX-License-Identifier: BSD-2-Clause
 * The data that the supervisor's files share: the supervisor itself, engines and their processes.
 * Streams are in sup_stream_data.h. Functions are declared in the header of the file that defines
 * them, except for functions that read a single field, which are here.
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
#include "daemon/link/process.h"
#include "daemon/supervisor/sup_place.h"

struct halo_detector_pool;
struct sv_hook;
struct sv_request;
struct sv_stream;

struct sv_process {
    struct halo_process process;
    struct halo_supervisor *sv;
    struct sv_process *next;
    struct sv_engine *engine; /* NULL: the process was killed or asked to quit */
    struct halo_link *link;   /* NULL: the supervisor has destroyed its end of the link */
    uint64_t started, heard;
    /* how long it had waited for a processor at the time `looked`, which is a value of `heard` */
    uint64_t looked, waited;
    int64_t ran;     /* once it was killed: its processor time, in ns, when it was last looked at */
    uint64_t closed; /* when the link was closed; 0: it is open */
    uint64_t deadline; /* when the process must have ended; 0: no deadline */
    char closed_why[128];
    char asker[68];  /* name of the stream that requested the end of the process, or "" */
    char asked[200]; /* why that stream requested the end of the process */
    /* the engine's name; copied when the process starts and when it is separated from the engine */
    char name[96];
    bool said_hello, device, exited;
    bool worked;   /* a stream in this process has filtered frames */
    int senseless; /* number of malformed messages since senseless_since */
    uint64_t senseless_since;
    json_t *files;                  /* result of sv_files_of() when the process was started */
    struct sv_hook *hooks;          /* the hooks that the process may request */
    struct halo_refusals *refusals; /* answers its calls that are refused; may be NULL */
};

enum sv_engine_state { SV_ENGINE_STARTING, SV_ENGINE_RUNNING, SV_ENGINE_PAUSED };

struct sv_engine {
    struct halo_supervisor *sv;
    struct sv_engine *next;
    char name[96]; /* "cpu", "gpu0", "cpu:STREAM", or "gpu" while the GPU number is not known yet */
    int gpu; /* the GPU's number; -1: the engine runs on the CPU, or its GPU is not known yet */
    bool choosing; /* the engine must list the GPUs before it gets its GPU number */
    /* when the engine was asked to list the GPUs; 0: it was not asked, or it has answered */
    uint64_t asked;
    struct sv_process *process; /* NULL: the state is SV_ENGINE_PAUSED */
    enum sv_engine_state state;
    struct sv_backoff backoff;
    int restarts;
    int device_failures; /* number of consecutive exits with status 75 (the GPU failed) */
    bool stalled;        /* the engine's process stalled and is about to be killed */
    int stood;           /* how many times in a row the engine's process stalled and was killed */
    uint64_t idle_since; /* time since which the engine has had no streams; 0: it has streams */
    /* earliest time at which a stream that found too little free GPU memory may try again */
    uint64_t room_after;
    char why[600]; /* reason for the last failure, or "" */
    /* number of malformed messages from the engine, plus its connections to the control socket */
    int64_t ignored;
    struct halo_link_gpu gpu_memory[HALO_LINK_GPUS];
    int gpus; /* number of valid entries in gpu_memory */
};

/* The load of the machine's GPUs and their free memory, as reported by an engine. */
struct sv_gpus {
    struct halo_device_load load[HALO_LINK_GPUS];
    int count;
    uint64_t known; /* time of the last report; 0: there was no report yet */
};

struct halo_supervisor {
    uv_loop_t *loop;
    const char *program;
    /* called when an engine's process has ended (supervisor.c) */
    void (*on_exit)(struct halo_process *process, int64_t status, int number);
    /* called when an engine has sent a message (sup_message.c) */
    const struct halo_link_ops *link_ops;
    struct halo_daemon_settings *settings;
    struct sv_stream *streams;
    struct sv_engine *engines;
    struct sv_process *processes;
    struct sv_request *requests;
    struct halo_listener *listeners;
    struct halo_detector_pool *detectors;
    struct sv_gpus gpus;
    /* what was added to the chains of streams, as in hides.json; it is being written by a thread;
     * it has changed since */
    json_t *hides;
    bool writing, unwritten;
    uint64_t write_again; /* earliest time of the next attempt after a failure */
    uv_timer_t tick;
    uv_idle_t drain;    /* active while rings contain unread packets */
    uv_timer_t regions; /* active while updates from detectors are queued */
    int handles;        /* number of the above libuv handles that are not closed yet */
    struct AVPacket *packet;
    uint64_t ticked, next_id;
    double since; /* Unix time */
    bool stopping;
    uint64_t stop_deadline;
    void (*stopped)(void *arg);
    void *stopped_arg;
    int abandoned; /* number of processes that did not die in time after SIGKILL */
    /* ids of ended engine processes whose connections to the control socket may still be waiting to
     * be accepted */
    pid_t *dead;
    int deads;
};

static inline uint64_t sv_now(const struct halo_supervisor *sv)
{
    return uv_now(sv->loop);
}

/* Moves a time in the past so that what passed from the last tick until now does not count. */
static inline uint64_t sv_forgive(const struct halo_supervisor *sv, uint64_t time, uint64_t now)
{
    return now - (sv->ticked > time ? sv->ticked - time : 0);
}

#endif
