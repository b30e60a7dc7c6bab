/* SPDX-License-Identifier: BSD-2-Clause
 * Variables of schedulers (job_task.h). */
#include "daemon/job/job_task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/engine/hide.h"
#include "daemon/job/job_file.h"

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

void halo_job_end_by_signal(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    const struct sigaction end = {.sa_handler = end_process};
    struct sigaction now;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], &end, NULL);
}

/* Back to the folder in which the command was started, which names of jobs are relative to. */
static int go_back(const char *command, int folder, struct halo_error *err)
{
    if (folder >= 0 && fchdir(folder) == 0)
        return 0;
    return halo_fail(err, -errno, "job %s: the current folder: %s", command, strerror(errno));
}

int halo_job_each(const char *command, int count, char **names,
                  int (*one)(const char *name, void *arg), void *arg)
{
    struct halo_error err = {0};
    int folder = -1, code = 0;
    halo_job_end_by_signal();
    if (count == 0)
        code = halo_fail_usage(&err, "job %s: MANIFEST is missing", command);
    if (code >= 0)
        code = halo_hide_memory(&err);
    if (code >= 0 && count > 1) {
        folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        code = go_back(command, folder, &err);
    }
    code = code < 0 ? halo_job_fail(&err) : one(names[0], arg);
    for (int i = 1; i < count && code == HALO_EXIT_OK; i++)
        code = go_back(command, folder, &err) < 0 ? halo_job_fail(&err) : one(names[i], arg);
    if (folder >= 0)
        close(folder);
    return code;
}

const char *halo_job_node(const char *host)
{
    const char *node = value_of("SLURMD_NODENAME");
    return node ? node : host;
}
