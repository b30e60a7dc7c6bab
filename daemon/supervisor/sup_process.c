/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/engine/refusals.h"
#include "daemon/link/link.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_files.h"
#include "daemon/supervisor/sup_hook.h"
#include "daemon/supervisor/sup_share.h"

enum {
    QUIT_MS = 8000,     /* for an engine to finish files */
    STUBBORN_MS = 5000, /* after SIGKILL */
};

static void free_process(struct sv_process *process)
{
    json_decref(process->files);
    free(process);
}

static void on_closed(uv_handle_t *handle)
{
    const struct halo_process *child = handle->data;
    free_process(child->data);
}

/* Data that it sent to the control socket may be read after its end. */
static void remember(struct halo_supervisor *sv, pid_t pid)
{
    pid_t *dead = realloc(sv->dead, ((size_t)sv->deads + 1) * sizeof *dead);
    if (!dead)
        return;
    sv->dead = dead;
    sv->dead[sv->deads++] = pid;
}

void sv_process_forget(struct sv_process *process)
{
    struct sv_process **at = &process->sv->processes;
    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    halo_link_destroy(process->link);
    process->link = NULL;
    halo_refusals_end(process->refusals);
    process->refusals = NULL;
    sv_hooks_forget(process);
    if (process->deadline == UINT64_MAX)
        process->sv->abandoned--;
    remember(process->sv, process->process.pid);
    halo_process_close(&process->process, on_closed);
}

/* Writes the list of files that the engine may open, which it gets as standard input. A descriptor
 * or -errno. */
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
    uv_process_options_t options = {
        .file = process->sv->program,
        .args = arguments,
        .env = environment,
        .stdio = stdio,
        .stdio_count = HALO_LINK_FD + 1,
    };
    return halo_process_start(&process->process, process->sv->loop, &options);
}

static int start(struct sv_process *process)
{
    int ends[2];
    process->process.data = process;
    process->process.exited = process->sv->on_exit;
    char **environment = sv_environment();
    const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const int files = environment ? write_files(process->files) : -ENOMEM;
    if (files < 0 || socketpair(AF_UNIX, type, 0, ends) < 0) {
        const int code = files < 0 ? files : -errno;
        if (files >= 0)
            close(files);
        free_process(process);
        return code;
    }
    const int code = spawn(process, files, ends[1], environment);
    close(files);
    close(ends[1]);
    if (code < 0) {
        close(ends[0]);
        halo_process_close(&process->process, on_closed);
        return code;
    }
    struct halo_supervisor *sv = process->sv;
    process->next = sv->processes;
    sv->processes = process;
    const int linked = halo_link_create(&process->link, sv->loop, ends[0], sv->link_ops, process);
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
    const int code = start(process);
    if (code < 0)
        return halo_fail(err, code, "an engine cannot be started: %s", strerror(-code));
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
        sv_process_forget(process);
        return;
    }
    halo_link_destroy(process->link);
    process->link = NULL;
    halo_process_ops->kill(&process->process);
    process->ran = sv_share_ran(process->process.pid);
    process->deadline = sv_now(process->sv) + STUBBORN_MS;
}

void sv_process_judge(struct sv_process *process)
{
    const pid_t pid = process->process.pid;
    const int64_t ran = sv_share_ran(pid);
    if (sv_share_ended(pid) || ran != process->ran || !sv_share_blocked(pid)) {
        process->ran = ran; /* libuv will report its end, or it will run again */
        process->deadline = sv_now(process->sv) + STUBBORN_MS;
        return;
    }
    halo_log(
        HALO_LOG_ERROR,
        "engine process %d survived SIGKILL: it has been waiting in the kernel for %d s, for a "
        "driver or a disk, and has been abandoned",
        (int)pid, STUBBORN_MS / 1000);
    process->deadline = UINT64_MAX;
    process->sv->abandoned++;
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

void sv_process_forgive(struct sv_process *process, uint64_t now)
{
    const uint64_t limit = process->link ? QUIT_MS : STUBBORN_MS; /* told to finish, or killed */
    process->heard = now;
    if (!process->said_hello)
        process->started = sv_forgive(process->sv, process->started, now);
    if (process->closed)
        process->closed = sv_forgive(process->sv, process->closed, now);
    if (process->deadline && process->deadline != UINT64_MAX)
        process->deadline = sv_forgive(process->sv, process->deadline - limit, now) + limit;
}

void sv_process_forget_all(struct halo_supervisor *sv)
{
    while (sv->processes) {
        let_go(sv->processes);
        if (!sv->processes->exited)
            halo_process_ops->kill(&sv->processes->process);
        sv_process_forget(sv->processes);
    }
}
