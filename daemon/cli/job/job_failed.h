/* SPDX-License-Identifier: BSD-2-Clause
 * What has failed in a job, and why: files in its folder, NUMBER.failed for a segment (of detect
 * until the job is merged, then of segment), merge.failed and join.failed. Each contains
 *
 *   {"reason", "code": exit code, "final": nobody tries it again, "host", "user", "at", "task"}
 *
 * They are for people, and for those who wait: what is done is seen from the parts alone. A task
 * that begins removes those of its segments, and submit removes all of them. Nothing is said about
 * a file that cannot be written. Any thread; calls block on disk. */
#ifndef HALO_JOB_FAILED_H
#define HALO_JOB_FAILED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/cli/job/job_file.h"

/* The segments of a task: `index` and every `step`th after it, counted through all jobs; step 0:
 * only that one. */
struct halo_job_share {
    int64_t index, step;
    int64_t before; /* number of segments of the jobs before */
};

/* Returns the number in this job of the share's first segment; it may be more than the job has, or
 * negative. */
int64_t halo_job_share_first(const struct halo_job_share *share);

/* A step of the job, such as "segment", has failed for the share's segments that are not done;
 * share is ignored for merge and join, and nothing is written if the step is done. reason NULL: it
 * is not known, and a reason that the step itself has written is kept. */
void halo_job_note_failure(const struct halo_job_file *job, const char *step,
                           const struct halo_job_share *share, int code, bool final,
                           const char *reason);
/* Logs the error of a step, notes it, and returns the exit code. */
int halo_job_fail_step(const struct halo_job_file *job, const char *step,
                       const struct halo_job_share *share, const struct halo_error *err);
/* Notes that a task, which shares the segments of several jobs, has ended and is not retried. A
 * step may have said before why it fails. Returns HALO_EXIT_OK. */
int halo_job_note_ended(int count, char *const *names, const char *step,
                        struct halo_job_share share, int code);
/* The step begins. */
void halo_job_forget_failure(const struct halo_job_file *job, const char *step,
                             const struct halo_job_share *share);
void halo_job_forget_failures(const struct halo_job_file *job);

/* Waits until every segment has its file NUMBER.kind in the folder, or the file `instead` exists
 * (NULL: there is none), or the folder is gone. Returns 0; or -ECHILD or -EAGAIN with err filled
 * if what is missing has failed, and nobody tries it again. */
int halo_job_wait(const struct halo_job_file *job, const char *kind, const char *instead,
                  struct halo_error *err);

/* Returns what has failed and is not done: an array of objects with what the file contains, and
 * with "segment" (its number) or "step". The caller owns it; NULL if memory runs out. */
json_t *halo_job_failures(const struct halo_job_file *job);
/* Fills err with one of these failures that is final; if there is none, with `any`, with another
 * one. Returns 0 if there is none; -EAGAIN if all may succeed when the job is submitted again; or
 * -ECHILD. */
int halo_job_fail_failures(const struct halo_job_file *job, const json_t *failures, bool any,
                           struct halo_error *err);

#endif
