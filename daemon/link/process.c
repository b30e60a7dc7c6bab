/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/link/process.h"

#include <linux/close_range.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_exit_status(uv_process_t *handle, int64_t status, int number)
{
    struct halo_process *process = handle->data;
    process->exited(process, status, number);
}

static int start(struct halo_process *process, uv_loop_t *loop, uv_process_options_t *options)
{
    options->exit_cb = on_exit_status;
    const int code = uv_spawn(loop, &process->handle.process, options); /* also resets data */
    process->handle.handle.data = process;
    process->pid = process->handle.process.pid;
    return code;
}

static void kill_process(struct halo_process *process)
{
    uv_process_kill(&process->handle.process, SIGKILL);
}

static const struct halo_process_ops real = {.start = start, .kill = kill_process};
const struct halo_process_ops *halo_process_ops = &real;

int halo_process_start(struct halo_process *process, uv_loop_t *loop, uv_process_options_t *options)
{
    /* Libraries do not mark all of theirs, libmosquitto's for example. Linux before 5.11 does not
     * know the flag, but engines and detectors close what they inherit. */
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    return halo_process_ops->start(process, loop, options);
}

void halo_process_close(struct halo_process *process, uv_close_cb closed)
{
    process->handle.handle.data = process;
    uv_close(&process->handle.handle, closed);
}
