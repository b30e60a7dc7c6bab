/* SPDX-License-Identifier: BSD-2-Clause
 * Engine processes. One that has to go is killed and let go in the same moment: it may hang in a
 * driver where not even SIGKILL ends it, and nobody waits for that. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/supervisor/supervisor_private.h"

enum {
    HELLO_MS = 10000,    /* to load its libraries, on a machine that is busy */
    QUIT_MS = 8000,      /* for an engine to finish files */
    GONE_MS = 15000,     /* for a stream to finish */
    LAST_WORDS_MS = 200, /* between the end of a link and the status of its process */
    STUBBORN_MS = 5000,  /* after SIGKILL */
};

extern char **environ;

static void free_process(uv_handle_t *handle)
{
    struct sv_process *process = handle->data;
    json_decref(process->files);
    free(process);
}

/* Its status is known, or nobody wants it any more. */
static void forget(struct sv_process *process)
{
    struct sv_process **at = &process->sv->processes;
    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    halo_link_destroy(process->link);
    process->link = NULL;
    sv_hooks_forget(process);
    if (process->deadline == UINT64_MAX)
        process->sv->abandoned--;
    sv_process_remember(process->sv, process->handle.pid);
    uv_close((uv_handle_t *)&process->handle, free_process);
}

static void describe_end(char *text, size_t size, int64_t status, int number)
{
    if (number == SIGSYS)
        snprintf(text, size, "the engine made a system call that is forbidden to it");
    else if (number)
        snprintf(text, size, "the engine was ended by signal %d (%s)", number, strsignal(number));
    else if (status == HALO_EXIT_TRY_AGAIN)
        snprintf(text, size, "the GPU failed (the engine ended with status %d)",
                 HALO_EXIT_TRY_AGAIN);
    else
        snprintf(text, size, "the engine ended with status %lld", (long long)status);
}

/* Of one that was let go before. */
static void say_end(const struct sv_process *process, int64_t status, int number)
{
    char why[160];
    describe_end(why, sizeof why, status, number);
    halo_log(HALO_LOG_INFO, "engine %s (process %d): %s", process->name, process->handle.pid, why);
}

/* The engine is lost; what happened, and which stream asked for it. */
static void lose(struct sv_process *process, const char *what, bool device)
{
    char why[600];
    if (process->asker[0])
        snprintf(why, sizeof why, "%.250s; asked for by stream %s: %s", what, process->asker,
                 process->asked);
    else
        snprintf(why, sizeof why, "%s", what);
    sv_engine_lost(process->engine, why, device);
}

static void on_exit_status(uv_process_t *handle, int64_t status, int number)
{
    struct sv_process *process = handle->data;
    struct sv_engine *engine = process->engine;
    process->exited = true;
    if (process->link && !process->closed)
        halo_link_drain(process->link); /* cards may be in its last words, and finished files */
    if (!engine) {
        say_end(process, status, number);
        forget(process);
        return;
    }
    if (!process->engine)
        return; /* these were its end: it is forgotten */
    char why[160];
    describe_end(why, sizeof why, status, number);
    const bool device = process->device || (!number && status == HALO_EXIT_TRY_AGAIN);
    lose(process, why, device); /* forgets it */
}

char **sv_process_environment(void)
{
    static const char *const mine[] = {"NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_"};
    static char **ret; /* hooks that wait outlive the supervisor */
    size_t count = 0;
    while (environ[count])
        count++;
    if (ret || !(ret = calloc(count + 1, sizeof *ret)))
        return ret;
    for (size_t i = 0, n = 0; i < count; i++) {
        bool keep = true;
        for (size_t m = 0; m < sizeof mine / sizeof *mine; m++)
            keep &= strncmp(environ[i], mine[m], strlen(mine[m])) != 0;
        if (keep)
            ret[n++] = environ[i];
    }
    return ret;
}

/* What it may open, as its standard input. A descriptor or -errno. */
static int write_files(const json_t *files)
{
    const int fd = memfd_create("files", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (json_dumpfd(files, fd, JSON_COMPACT) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -ENOMEM;
}

static int spawn(struct sv_process *process, int files, int fd, char **environment)
{
    char level[16];
    snprintf(level, sizeof level, "%d", (int)halo_log_get_level());
    char *arguments[] = {"halod", "engine", level, NULL};
    uv_stdio_container_t stdio[HALO_LINK_FD + 1] = {
        {.flags = UV_INHERIT_FD, .data.fd = files},
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = fd},
    };
    const uv_process_options_t options = {
        .file = process->sv->program,
        .args = arguments,
        .env = environment,
        .exit_cb = on_exit_status,
        .stdio = stdio,
        .stdio_count = HALO_LINK_FD + 1,
    };
    return uv_spawn(process->sv->loop, &process->handle, &options);
}

static int start(struct sv_process *process)
{
    int ends[2];
    process->handle.data = process;
    char **environment = sv_process_environment();
    const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const int files = environment ? write_files(process->files) : -ENOMEM;
    if (files < 0 || socketpair(AF_UNIX, type, 0, ends) < 0) {
        const int ret = files < 0 ? files : -errno;
        if (files >= 0)
            close(files);
        free_process((uv_handle_t *)&process->handle);
        return ret;
    }
    const int ret = spawn(process, files, ends[1], environment);
    close(files);
    close(ends[1]);
    if (ret < 0) { /* libuv has begun with the handle */
        close(ends[0]);
        uv_close((uv_handle_t *)&process->handle, free_process);
        return ret;
    }
    struct halo_supervisor *sv = process->sv;
    process->next = sv->processes;
    sv->processes = process;
    const int linked = halo_link_create(&process->link, sv->loop, ends[0], &sv_link_ops, process);
    if (linked < 0)
        sv_process_kill(process);
    return linked;
}

int sv_process_start(struct sv_engine *engine, struct halo_error *err)
{
    struct sv_process *process = calloc(1, sizeof *process);
    if (!process)
        return halo_fail(err, -ENOMEM, "out of memory");
    process->sv = engine->sv;
    process->started = process->heard = sv_now(engine->sv);
    snprintf(process->name, sizeof process->name, "%s", engine->name);
    process->files = sv_files_of(engine);
    const int ret = start(process);
    if (ret < 0)
        return halo_fail(err, ret, "an engine cannot be started: %s", strerror(-ret));
    process->engine = engine;
    engine->process = process;
    return 0;
}

static void let_go(struct sv_process *process)
{
    if (process->engine) {
        snprintf(process->name, sizeof process->name, "%s", process->engine->name);
        process->engine->process = NULL;
    }
    process->engine = NULL;
}

void sv_process_kill(struct sv_process *process)
{
    let_go(process);
    if (process->exited) {
        forget(process);
        return;
    }
    halo_link_destroy(process->link);
    process->link = NULL;
    uv_process_kill(&process->handle, SIGKILL);
    process->deadline = sv_now(process->sv) + STUBBORN_MS;
}

void sv_process_quit(struct sv_process *process)
{
    let_go(process);
    process->deadline = sv_now(process->sv) + QUIT_MS;
    if (process->link)
        halo_link_send(process->link, json_pack("{s:s}", "do", "quit"), NULL, 0);
    else
        sv_process_kill(process);
}

/* One that was let go: its link tells whether it was asked or killed. */
static void step_leaving(struct sv_process *process)
{
    struct halo_supervisor *sv = process->sv;
    if (process->deadline == UINT64_MAX || sv_now(sv) < process->deadline)
        return;
    if (process->link) {
        halo_log(HALO_LOG_WARNING, "engine %d does not finish: killed", process->handle.pid);
        sv_process_kill(process);
        return;
    }
    halo_log(HALO_LOG_ERROR,
             "engine %d does not die of SIGKILL: it hangs in a driver and is left alone",
             process->handle.pid);
    process->deadline = UINT64_MAX;
    sv->abandoned++;
}

static bool leaves_too_long(const struct sv_engine *engine, uint64_t now)
{
    for (const struct sv_stream *s = engine->sv->streams; s; s = s->next)
        if (s->place.engine == engine && s->place.phase == SV_LEAVING &&
            now - s->place.since >= GONE_MS)
            return true;
    return false;
}

/* Ended by the supervisor. */
static void lose_standing(struct sv_process *process, const char *why)
{
    char what[160];
    snprintf(what, sizeof what, "killed, for %s", why);
    sv_engine_stands(process->engine);
    lose(process, what, false);
}

/* It has only closed its link, or takes its time to end. */
static void lose_closed(struct sv_process *process)
{
    char what[300];
    snprintf(what, sizeof what, "killed, for its link ended (%s) and it did not",
             process->closed_why);
    lose(process, what, process->device);
}

void sv_process_step(struct sv_process *process)
{
    const uint64_t now = sv_now(process->sv);
    struct sv_engine *engine = process->engine;
    if (!engine)
        step_leaving(process);
    else if (process->closed && now - process->closed >= LAST_WORDS_MS)
        lose_closed(process);
    else if (process->closed)
        return;
    else if (!process->said_hello && now - process->started >= HELLO_MS)
        lose_standing(process, "it did not start in time");
    else if (process->said_hello && now - process->heard >= HALO_ENGINE_SILENCE_MS)
        lose_standing(process, "it was silent for three seconds");
    else if (leaves_too_long(engine, now))
        lose_standing(process, "a stream did not end in time");
}

void sv_process_forget_all(struct halo_supervisor *sv)
{
    while (sv->processes) {
        let_go(sv->processes);
        if (!sv->processes->exited)
            uv_process_kill(&sv->processes->handle, SIGKILL);
        forget(sv->processes);
    }
}
