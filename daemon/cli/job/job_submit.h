/* SPDX-License-Identifier: BSD-2-Clause
 * What submits jobs: one row for each engine. */
#ifndef HALO_JOB_SUBMIT_H
#define HALO_JOB_SUBMIT_H

#include <stdio.h>

#include "daemon/cli/job/job_file.h"
#include "daemon/cli/job/job_options.h"

/* A step of all jobs, which begins when the one before has ended with success: an array, whose
 * tasks 0 to tasks - 1 share the segments of all jobs, or something that is done once for each
 * job. */
struct halo_job_step {
    const char *command; /* of halod job */
    const char *suffix;  /* of the submission's name */
    bool shares;         /* an array */
    bool detects;        /* its tasks are given the detectors */
};

/* One submission. */
struct halo_job_submission {
    const struct halo_job_options *options;
    struct halo_job_file *job;
    int jobs;
    int64_t segments; /* of all jobs */
    int tasks;
    char of[16];                      /* the same, for --of */
    const struct halo_job_step *step; /* in their order */
    int steps;
    bool merges;         /* `merge` is one of the steps */
    char name[40];       /* a DNS label */
    const char *program; /* name of halod where the tasks run */
};

struct halo_job_engine_row {
    /* Its tasks cannot wait for others, so the steps before and after `merge` are two
     * submissions. */
    bool merges_first;
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

/* Whether the job, which was read, was submitted as far as `merge`, and has been merged since. */
bool halo_job_is_due(const struct halo_job_file *job);

/* Returns the words of a task: the program, "job", the step's command, --of if it is an array, and
 * the jobs; then `last`, which may be NULL, and NULL. NULL if memory runs out. The caller frees the
 * array, but not the words. What an engine is given is made from these words alone, and each engine
 * passes them on as they are: the names of files are those of strangers. */
const char **halo_job_words(const struct halo_job_submission *s, const struct halo_job_step *step,
                            const char *last);
/* Writes a word for a POSIX shell, quoted if that is necessary. */
void halo_job_quote(const char *word, FILE *to);
/* Writes the words of a task for a POSIX shell. */
void halo_job_print_command(const struct halo_job_submission *s, const struct halo_job_step *step,
                            FILE *to);

/* Runs a program that reads `input`; output receives what it prints, at most size - 1 bytes of it.
 * output NULL: the program inherits standard output. Returns its exit code, or -errno
 * with err filled. Blocks. */
int halo_job_pipe(char *const *argv, const char *input, char *output, size_t size,
                  struct halo_error *err);

/* Notes that nobody does what is missing of the step, or, if it is NULL, of the first step that is
 * not done. Returns the error for it: -EAGAIN if another
 * try may succeed, or -ECHILD; with err filled. */
int halo_job_fail_task(const struct halo_job_submission *s, const struct halo_job_step *step,
                       const char *what, int code, struct halo_error *err);
/* Returns for how many seconds to wait after so many tries: 0.5, and twice as long each time. */
double halo_job_pause(int tries);

/* Number of tasks at the same time on this machine. */
int halo_job_workers(const struct halo_job_submission *s);

#endif
