/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_end.h"

#include <stdio.h>
#include <string.h>

#include "config/log.h"
#include "daemon/link/link.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_lost.h"
#include "daemon/supervisor/sup_process.h"
#include "daemon/supervisor/sup_share.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/supervisor/supervisor.h"
#include "kernels/fault.h"

enum {
    HELLO_MS = 10000,    /* to load its libraries on a busy machine */
    GONE_MS = 15000,     /* for a stream to finish */
    LAST_WORDS_MS = 200, /* between the end of a link and the end of its process */
};

static void describe_end(char *text, size_t size, int64_t status, int number)
{
    if (number)
        snprintf(text, size, "the engine was ended by signal %d (%s)", number, strsignal(number));
    else if (status == HALO_EXIT_TRY_AGAIN)
        snprintf(text, size, "the GPU failed (the engine ended with status %d)",
                 HALO_EXIT_TRY_AGAIN);
    else
        snprintf(text, size, "the engine ended with status %lld", (long long)status);
}

/* Logs the end of a process that was released before. */
static void say_end(const struct sv_process *process, int64_t status, int number)
{
    char why[160];
    describe_end(why, sizeof why, status, number);
    halo_log(HALO_LOG_INFO, "engine %s (process %d): %s", process->name, process->process.pid, why);
}

/* The engine is lost: reports what happened, and which stream requested it. */
static void lose(struct sv_process *process, const char *what, bool device)
{
    char why[600];
    if (process->asker[0])
        snprintf(why, sizeof why, "%.250s; requested by stream %s: %s", what, process->asker,
                 process->asked);
    else
        snprintf(why, sizeof why, "%s", what);
    sv_engine_lost(process->engine, why, device);
}

void sv_end_on_exit(struct halo_process *child, int64_t status, int number)
{
    struct sv_process *process = child->data;
    struct sv_engine *engine = process->engine;
    process->exited = true;
    if (process->link && !process->closed)
        /* its last messages may announce cards and finished files */
        halo_link_drain(process->link);
    if (!engine) {
        say_end(process, status, number);
        sv_process_forget(process);
        return;
    }
    if (!process->engine)
        return; /* one of these messages has already ended it */
    char why[160];
    describe_end(why, sizeof why, status, number);
    const bool device = process->device || (!number && status == HALO_EXIT_TRY_AGAIN);
    lose(process, why, device); /* forgets it */
}

/* Handles a released process. If it still has a link, it was asked to quit; otherwise it was
 * killed. */
static void step_leaving(struct sv_process *process)
{
    struct halo_supervisor *sv = process->sv;
    if (process->deadline == UINT64_MAX || sv_now(sv) < process->deadline)
        return;
    if (process->link) {
        halo_log(HALO_LOG_WARNING, "engine process %d did not finish in time and is being killed",
                 process->process.pid);
        sv_process_kill(process);
        return;
    }
    sv_process_judge(process);
}

static bool leaves_too_long(const struct sv_engine *engine, uint64_t now)
{
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next)
        if (s->place.engine == engine && s->place.phase == SV_LEAVING &&
            now - s->place.since >= GONE_MS)
            return true;
    return false;
}

/* The supervisor ends a process that stalled. */
static void lose_standing(struct sv_process *process, const char *why)
{
    char what[160];
    snprintf(what, sizeof what, "killed: %s", why);
    sv_engine_stalled(process->engine);
    lose(process, what, false);
}

/* The process has closed its link but has not ended. */
static void lose_closed(struct sv_process *process)
{
    char what[300];
    snprintf(what, sizeof what, "killed: its link was closed (%s), but the process did not exit",
             process->closed_why);
    lose(process, what, process->device);
}

/* The time for which the process was ready to run but had no processor does not count. */
static bool is_silent(struct sv_process *process, uint64_t now)
{
    const uint64_t since = process->said_hello ? process->heard : process->started;
    const uint64_t most = process->said_hello ? HALO_ENGINE_SILENCE_MS : HELLO_MS;
    const pid_t pid = process->process.pid;
    if (process->looked != process->heard) {
        process->looked = process->heard;
        process->waited = sv_share_waited(pid);
    }
    if (now - since < most || halo_fault("supervisor", "silence"))
        return false;
    const uint64_t waited = sv_share_waited(pid);
    return now - since >= most + (waited > process->waited ? waited - process->waited : 0);
}

void sv_end_step(struct sv_process *process)
{
    const uint64_t now = sv_now(process->sv);
    struct sv_engine *engine = process->engine;
    if (!engine)
        step_leaving(process);
    else if (process->closed && now - process->closed >= LAST_WORDS_MS &&
             !sv_share_ended(process->process.pid) && !halo_fault("supervisor", "exit"))
        lose_closed(process);
    else if (process->closed)
        return;
    else if (is_silent(process, now))
        lose_standing(process, process->said_hello ? "it was silent for three seconds"
                                                   : "it did not start in time");
    else if (leaves_too_long(engine, now) && !halo_fault("supervisor", "exit"))
        lose_standing(process, "a stream did not end in time");
}
