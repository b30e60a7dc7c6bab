/* SPDX-License-Identifier: BSD-2-Clause
 * The data that the supervisor's files share: the supervisor itself, engines and their processes;
 * streams are in sup_stream_data.h. Functions are declared in the header of the file that defines
 * them; only functions that read a single field are here.
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
    struct sv_engine *engine; /* NULL: it was abandoned, or asked to quit for good */
    struct halo_link *link;   /* NULL: closed for good */
    uint64_t started, heard;
    uint64_t closed;   /* when its link was closed; 0: it is open */
    uint64_t deadline; /* when to kill it; 0: no deadline */
    char closed_why[128];
    char asker[68];  /* its stream that requested its end ... */
    char asked[200]; /* ... and why; "": no stream did */
    char name[96];   /* the engine's name when the process began, or when it was released */
    bool said_hello, device, exited;
    bool worked;   /* a stream on it has filtered frames */
    int senseless; /* malformed messages, since senseless_since */
    uint64_t senseless_since;
    json_t *files;         /* result of sv_files_of() when it started */
    struct sv_hook *hooks; /* hooks that it may request */
};

enum sv_engine_state { SV_ENGINE_STARTING, SV_ENGINE_RUNNING, SV_ENGINE_PAUSED };

struct sv_engine {
    struct halo_supervisor *sv;
    struct sv_engine *next;
    char name[96];  /* "cpu", "gpu0", "cpu:STREAM"; "gpu": see below */
    int gpu;        /* its number; -1: it runs on the CPU, or its GPU is not known yet */
    bool choosing;  /* it is to list the GPUs, and then gets its GPU number */
    uint64_t asked; /* when it was asked for the GPUs; 0: not asked, or it has answered */
    struct sv_process *process; /* NULL: PAUSED */
    enum sv_engine_state state;
    struct sv_backoff backoff;
    int restarts;
    int device_failures; /* consecutive exits with status 75 */
    bool stalled;        /* it is about to be lost because it stalled */
    int stood;           /* how many times in a row it was lost because it stalled */
    uint64_t idle_since; /* since when it has no streams; 0: it has some */
    uint64_t room_after; /* when the next stream that found no memory may try again */
    char why[600];       /* reason of the last failure, or "" */
    int64_t ignored;     /* malformed messages, and connections to the control socket */
    struct halo_link_gpu gpu_memory[HALO_LINK_GPUS];
    int gpus; /* how many entries of gpu_memory are filled */
};

/* The free capacity of the machine's GPUs, as reported by an engine. */
struct sv_gpus {
    struct halo_device_load load[HALO_LINK_GPUS];
    int count;
    uint64_t known; /* when it was reported; 0: never */
};

struct halo_supervisor {
    uv_loop_t *loop;
    const char *program;
    uv_exit_cb on_exit;                   /* an engine's process has ended: sup_end.c ... */
    const struct halo_link_ops *link_ops; /* ... or has sent a message: sup_message.c */
    struct halo_daemon_settings *settings;
    struct sv_stream *streams;
    struct sv_engine *engines;
    struct sv_process *processes;
    struct sv_request *requests;
    struct halo_listener *listeners;
    struct sv_gpus gpus;
    uv_timer_t tick;
    uv_idle_t drain;    /* runs while rings have unread packets */
    uv_timer_t regions; /* runs while updates from detectors are queued */
    int handles;        /* how many of these are not closed yet */
    struct AVPacket *packet;
    uint64_t ticked, next_id;
    double since; /* Unix time */
    bool stopping;
    uint64_t stop_deadline;
    void (*stopped)(void *arg);
    void *stopped_arg;
    int abandoned; /* processes that did not die in time */
    pid_t *dead;   /* ended engines that may have left a connection to the control socket */
    int deads;
};

static inline uint64_t sv_now(const struct halo_supervisor *sv)
{
    return uv_now(sv->loop);
}

#endif
