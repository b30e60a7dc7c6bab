/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_stray.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_lost.h"
#include "daemon/supervisor/supervisor.h"

enum {
    STRAYS_MAX = 100, /* malformed messages of an engine within ... */
    STRAYS_MS = 60000,
};

void sv_process_strays(struct sv_process *process, const char *what)
{
    const uint64_t now = sv_now(process->sv);
    struct sv_engine *engine = process->engine;
    if (!engine)
        return;
    engine->ignored++;
    if (now - process->senseless_since >= STRAYS_MS) {
        process->senseless = 0;
        process->senseless_since = now;
    }
    if (process->senseless++ == 0)
        halo_log(HALO_LOG_WARNING, "engine %s (process %d) %s: ignored", engine->name,
                 process->process.pid, what);
    if (process->senseless <= STRAYS_MAX)
        return;
    char why[160];
    snprintf(why, sizeof why, "it %s more than %d times in a minute", what, (int)STRAYS_MAX);
    sv_engine_lost(engine, why, false);
}

/* ---- the control socket ---- */

void halo_supervisor_forget_dead(struct halo_supervisor *sv)
{
    sv->deads = 0;
}

/* 0: unknown. */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    int parent = 0;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *name_end = strrchr(text, ')'); /* a name may contain any characters */
    return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool was_engine(const struct halo_supervisor *sv, pid_t pid)
{
    for (int i = 0; i < sv->deads; i++)
        if (sv->dead[i] == pid)
            return true;
    return false;
}

static struct sv_process *process_of(const struct halo_supervisor *sv, pid_t pid)
{
    struct sv_process *process = sv->processes;
    while (process && process->process.pid != pid)
        process = process->next;
    return process;
}

bool halo_supervisor_is_engine(struct halo_supervisor *sv, pid_t pid)
{
    enum { MAX_PARENTS = 64 };
    for (int i = 0; i < MAX_PARENTS && pid > 1 && pid != getpid(); i++, pid = parent_of(pid)) {
        struct sv_process *process = process_of(sv, pid);
        if (!process && !was_engine(sv, pid))
            continue;
        if (process && process->engine)
            sv_process_strays(process, "tried to control halod");
        else
            halo_log(HALO_LOG_WARNING,
                     "process %d, which belonged to an engine that has ended, tried to control "
                     "halod: refused",
                     (int)pid);
        return true;
    }
    return false;
}
