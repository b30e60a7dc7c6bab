/* SPDX-License-Identifier: BSD-2-Clause
 * Which task of an array the process is, by the variables that schedulers set, and how a task
 * begins and ends. */
#ifndef HALO_JOB_TASK_H
#define HALO_JOB_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "config/base/error.h"

struct halo_job_task {
    int index; /* from 0 */
    int count; /* tasks in the array; 0: not known */
};

/* Returns 0; or a usage error if there is no variable, if there are several, or if one is
 * malformed. */
int halo_job_task_find(struct halo_job_task *ret, struct halo_error *err);

/* Writes the name of the task, such as "SLURM_ARRAY_TASK_ID=7"; false if there is none. */
bool halo_job_task_name(char *text, size_t size);

/* Lets SIGTERM, SIGINT and SIGHUP end the process at once, with their exit codes, also where it is
 * the first process of a container. A loop takes them over while it runs. */
void halo_job_end_by_signal(void);

/* Performs a command, such as "join", for each job: calls one() for each name, until it returns an
 * exit code other than 0, which is the result. */
int halo_job_each(const char *command, int count, char **names,
                  int (*one)(const char *name, void *arg), void *arg);

/* Calls work(arg) and returns its exit code; where halo_job_each() has several jobs, in a process
 * of its own, which ends with this one and gets its signals: halo_job_load() confines the process
 * to the files of one job. */
int halo_job_apart(int (*work)(void *arg), void *arg);

/* Returns the name of the node, as the scheduler knows it: several may be on one machine. */
const char *halo_job_node(const char *host);

/* ---- exit codes ---- */

/* Logs the error, and returns the same. */
int halo_job_fail(const struct halo_error *err);
/* Whether another try may succeed after a task has ended with this exit code, or by a signal (128
 * and more). */
bool halo_job_may_succeed(int code);

#endif
