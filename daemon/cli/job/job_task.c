/* SPDX-License-Identifier: BSD-2-Clause
 * Variables of schedulers (job_task.h). */
#include "daemon/cli/job/job_task.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/cli/run/run_end.h"
#include "daemon/engine/hide.h"

static const struct scheduler {
    const char *index;
    const char *count; /* NULL: it does not say */
    int first;         /* number of the first task */
} schedulers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 0},
    {"JOB_COMPLETION_INDEX", NULL, 0},
    {"AWS_BATCH_JOB_ARRAY_INDEX", NULL, 0},
    {"PBS_ARRAY_INDEX", NULL, 0},
    {"PARALLEL_SEQ", NULL, 1},
};
enum { SCHEDULERS = sizeof schedulers / sizeof *schedulers };

static const char *value_of(const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

static int number_of(const char *name, int least, int *ret, struct halo_error *err)
{
    char *end;
    const char *value = value_of(name);
    const long number = strtol(value, &end, 10);
    if (*end || number < least || number > 100000000)
        return halo_fail_usage(err, "%s=%.40s: must be a number, %d or more", name, value, least);
    *ret = (int)number;
    return 0;
}

/* The tasks of an array that does not begin at 0, or leaves out numbers, cannot share segments. */
static int check_range(const struct halo_job_task *task, struct halo_error *err)
{
    const char *least = value_of("SLURM_ARRAY_TASK_MIN"), *most = value_of("SLURM_ARRAY_TASK_MAX");
    if (least && most && (atoi(least) != 0 || atoi(most) != task->count - 1))
        return halo_fail_usage(err,
                               "--array must count from 0 without gaps, as in --array=0-%d, "
                               "or give the number of tasks with --of",
                               task->count - 1);
    return 0;
}

int halo_job_task_find(struct halo_job_task *ret, struct halo_error *err)
{
    const struct scheduler *found = NULL;
    for (const struct scheduler *s = schedulers; s < schedulers + SCHEDULERS; s++) {
        if (!value_of(s->index))
            continue;
        if (found)
            return halo_fail_usage(err, "%s and %s are both set: give the number of the segment",
                                   found->index, s->index);
        found = s;
    }
    if (!found)
        return halo_fail_usage(err, "no scheduler has set a task number: give the number of the "
                                    "segment");
    struct halo_job_task task = {0, 0};
    int code = number_of(found->index, found->first, &task.index, err);
    task.index -= found->first;
    if (code >= 0 && value_of(found->count)) {
        code = number_of(found->count, 1, &task.count, err);
        if (code >= 0)
            code = check_range(&task, err);
    }
    if (code >= 0)
        *ret = task;
    return code;
}

bool halo_job_task_name(char *text, size_t size)
{
    for (const struct scheduler *s = schedulers; s < schedulers + SCHEDULERS; s++)
        if (value_of(s->index)) {
            snprintf(text, size, "%s=%s", s->index, value_of(s->index));
            return true;
        }
    return false;
}

static void end_process(int number)
{
    _exit(128 + number);
}

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

static void handle_signals(void (*handler)(int number))
{
    const struct sigaction action = {.sa_handler = handler};
    struct sigaction now;
    for (size_t i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

void halo_job_end_by_signal(void)
{
    handle_signals(end_process);
}

static bool several; /* jobs in this command */

int halo_job_each(const char *command, int count, char **names,
                  int (*one)(const char *name, void *arg), void *arg)
{
    struct halo_error err = {0};
    int code = 0;
    halo_job_end_by_signal();
    if (count == 0)
        code = halo_fail_usage(&err, "job %s: MANIFEST is missing", command);
    if (code >= 0)
        code = halo_hide_memory(&err);
    if (code < 0)
        return halo_job_fail(&err);
    several = count > 1;
    for (int i = 0; i < count && code == HALO_EXIT_OK; i++)
        code = one(names[i], arg);
    return code;
}

static volatile sig_atomic_t process; /* of halo_job_apart() */

static void pass_on(int number)
{
    kill((pid_t)process, number);
}

static pid_t fork_with_signals_held(sigset_t *ret_old)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&held, signals[i]);
    sigprocmask(SIG_BLOCK, &held, ret_old);
    fflush(NULL);
    return fork();
}

int halo_job_apart(int (*work)(void *arg), void *arg)
{
    const pid_t parent = getpid();
    sigset_t old;
    int status = 0;
    if (!several)
        return work(arg);
    process = fork_with_signals_held(&old);
    if (process > 0)
        handle_signals(pass_on);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        halo_run_end_now(getppid() == parent ? work(arg) : HALO_EXIT_FAILED);
    }
    if (process < 0) {
        struct halo_error err = {0};
        halo_fail(&err, -errno, "a process cannot be started: %s", strerror(errno));
        return halo_job_fail(&err);
    }
    while (waitpid((pid_t)process, &status, 0) < 0 && errno == EINTR)
        ;
    halo_job_end_by_signal();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

const char *halo_job_node(const char *host)
{
    const char *node = value_of("SLURMD_NODENAME");
    return node ? node : host;
}

/* ---- exit codes ---- */

/* Returns the exit code for an error: 64, 75 if another try, or another machine, may succeed, 78 if
 * the machine or the files do not fit the manifest, or 1. */
static int job_exit(const struct halo_error *err)
{
    static const int temporary[] = {ENOSPC, EDQUOT, ENOMEM, EROFS,  EACCES,    EPERM,  ENOENT,
                                    EIO,    EAGAIN, EBUSY,  ENFILE, ETIMEDOUT, EMFILE, ENOTCONN};
    if (err->usage)
        return HALO_EXIT_USAGE;
    if (err->code == -ESTALE)
        return HALO_EXIT_CONFIG;
    for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++)
        if (err->code == -temporary[i])
            return HALO_EXIT_TRY_AGAIN;
    return err->device ? HALO_EXIT_TRY_AGAIN : HALO_EXIT_FAILED;
}

int halo_job_fail(const struct halo_error *err)
{
    halo_log(HALO_LOG_ERROR, "%s", err->text);
    return job_exit(err);
}

bool halo_job_may_succeed(int code)
{
    return code == HALO_EXIT_TRY_AGAIN || code > 128;
}
