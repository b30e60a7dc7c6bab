/* SPDX-License-Identifier: BSD-2-Clause
 * What submits jobs: one row for each engine. */
#ifndef HALO_JOB_SUBMIT_H
#define HALO_JOB_SUBMIT_H

#include <stdio.h>

#include "daemon/job/job_file.h"
#include "daemon/job/job_options.h"

/* One submission: tasks 0 to tasks - 1 share the segments of all jobs, and then each job is
 * joined. */
struct halo_job_submission {
    const struct halo_job_options *options;
    struct halo_job_file *job;
    int jobs;
    int64_t segments; /* of all jobs */
    int tasks;
    char name[40];       /* a DNS label */
    const char *program; /* name of halod where the tasks run */
};

struct halo_job_engine_row {
    /* Checks the options; NULL: there is nothing to check. Returns 0 or a usage error. */
    int (*check)(const struct halo_job_submission *s, struct halo_error *err);
    /* Writes what the engine is given. */
    void (*print)(const struct halo_job_submission *s, FILE *to);
    /* Submits, and writes the engine's name for it into id, which may stay empty. Blocks; those of
     * parallel and local until everything is done. Returns 0, or -errno with err filled. */
    int (*submit)(const struct halo_job_submission *s, char *id, size_t size,
                  struct halo_error *err);
};

extern const struct halo_job_engine_row halo_job_slurm, halo_job_kubernetes, halo_job_parallel,
    halo_job_local;

/* Writes a word for a POSIX shell, quoted if that is necessary. */
void halo_job_quote(const char *word, FILE *to);
/* Writes the program, "job", a command, --of if it is not 0, and the jobs from..to-1, quoted. */
void halo_job_print_command(const struct halo_job_submission *s, const char *command, int of,
                            FILE *to);

/* Runs a program that reads `input`; output receives the first line that it prints, of at most size
 * - 1 bytes. output NULL: the program inherits standard output. Returns its exit code, or -errno
 * with err filled. Blocks. */
int halo_job_pipe(char *const *argv, const char *input, char *output, size_t size,
                  struct halo_error *err);

/* Number of tasks at the same time on this machine. */
int halo_job_workers(const struct halo_job_submission *s);

#endif
