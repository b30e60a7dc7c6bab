/* SPDX-License-Identifier: BSD-2-Clause
 * The processes of engines: their life, what they say, what they finished, and what they do that no
 * engine does. Times are milliseconds of CLOCK_MONOTONIC. Loop thread only. */
#ifndef HALO_SUP_PROCESS_H
#define HALO_SUP_PROCESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/error.h"
#include "daemon/link/link.h"

struct halo_supervisor;
struct sv_engine;
struct sv_hook;
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

/* ---- sup_process.c ---- */
int sv_process_start(struct sv_engine *engine, struct halo_error *err);
void sv_process_quit(struct sv_process *process);       /* let go: finishes, or is killed */
void sv_process_kill(struct sv_process *process);       /* let go at once */
void sv_process_forget(struct sv_process *process);     /* its status is known */
void sv_process_forget_all(struct halo_supervisor *sv); /* those that do not die */

/* ---- sup_hook.c ---- */
/* The process is about to get this stream: its hooks may be asked for until the next such call for
 * the stream, or the end of the process, also while it finishes files after it was let go. */
void sv_hooks_give(struct sv_process *process, const struct sv_stream *stream);
bool sv_hooks_finished(struct sv_process *process, const json_t *message); /* false: no sense */
void sv_hooks_forget(struct sv_process *process); /* what runs or waits goes on */

/* ---- sup_stray.c ---- */
/* It has done what no engine does ("says what makes no sense"): counted, and too much of it is the
 * end of the process. */
void sv_process_strays(struct sv_process *process, const char *what);

/* ---- sup_message.c ---- */
extern const struct halo_link_ops sv_link_ops; /* arg: struct sv_process */

#endif
