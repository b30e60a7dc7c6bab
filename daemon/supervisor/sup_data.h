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
#include "daemon/supervisor/sup_place.h"

struct sv_hook;
struct sv_request;
struct sv_stream;

struct sv_process {
    uv_process_t handle;
    struct halo_supervisor *sv;
    struct sv_process *next;
    struct sv_engine *engine; /* NULL: the process was abandoned, or asked to quit for good */
    struct halo_link *link;   /* NULL: closed for good */
    uint64_t started, heard;
    uint64_t closed;   /* when its link was closed; 0: it is open */
    uint64_t deadline; /* when to kill it; 0: no deadline */
    char closed_why[128];
    char asker[68];  /* the stream that requested its end; "": no stream did */
    char asked[200]; /* why that stream requested it */
    char name[96];   /* the engine's name: set when the process starts and when it leaves it */
    bool said_hello, device, exited;
    bool worked;   /* a stream in this process has filtered frames */
    int senseless; /* number of malformed messages since senseless_since */
    uint64_t senseless_since;
    json_t *files;         /* result of sv_files_of() when it started */
    struct sv_hook *hooks; /* hooks that it may request */
};

enum sv_engine_state { SV_ENGINE_STARTING, SV_ENGINE_RUNNING, SV_ENGINE_PAUSED };

struct sv_engine {
    struct halo_supervisor *sv;
    struct sv_engine *next;
    char name[96];  /* "cpu", "gpu0", "cpu:STREAM", or "gpu" before it has a GPU number */
    int gpu;        /* number of its GPU; -1: it runs on the CPU, or its GPU is not known yet */
    bool choosing;  /* it has to list the GPUs, and then gets its GPU number */
    uint64_t asked; /* when it was asked to list the GPUs; 0: it was not asked, or has answered */
    struct sv_process *process; /* NULL: PAUSED */
    enum sv_engine_state state;
    struct sv_backoff backoff;
    int restarts;
    int device_failures; /* consecutive exits with status 75 */
    bool stalled;        /* its process is about to be killed because it stalled */
    int stood;           /* how many times in a row its process was killed because it stalled */
    uint64_t idle_since; /* time since which it has no streams; 0: it has streams */
    /* time at which the next stream that found no free GPU memory may try again */
    uint64_t room_after;
    char why[600];   /* reason for the last failure, or "" */
    int64_t ignored; /* number of malformed messages and of connections to the control socket */
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
    /* called when an engine's process has ended (sup_end.c) */
    uv_exit_cb on_exit;
    /* called when an engine has sent a message (sup_message.c) */
    const struct halo_link_ops *link_ops;
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
    int handles;        /* number of these handles that are not closed yet */
    struct AVPacket *packet;
    uint64_t ticked, next_id;
    double since; /* Unix time */
    bool stopping;
    uint64_t stop_deadline;
    void (*stopped)(void *arg);
    void *stopped_arg;
    int abandoned; /* number of processes that did not die in time */
    /* processes of ended engines that may have left a connection to the control socket */
    pid_t *dead;
    int deads;
};

static inline uint64_t sv_now(const struct halo_supervisor *sv)
{
    return uv_now(sv->loop);
}

#endif
