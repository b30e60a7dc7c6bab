/* SPDX-License-Identifier: BSD-2-Clause
 * The files of a job: OUT.parts/manifest.json, and OUT.job.json, which says how OUT was made.
 *
 * The manifest is that of a run in segments (pipeline/segment/manifest.h), with two more keys:
 *
 *   "job": {
 *     "arguments": those of halod run; paths are relative to the folder of OUT
 *     "machine": where the job was split (job_facts.h)
 *     "any_flags": the flags of the processor do not matter
 *     "detects", "merges": halod job detect, or merge, comes before segment
 *     "detectors": hashes of those that are not halo-detect (job_detections.h)
 *     "mixed": other machines and versions are allowed
 *     "split": who split it }
 *   "seal": SHA-256 of everything else
 *
 * The seal detects mistakes: somebody who can write the manifest can seal it as well. */
#ifndef HALO_JOB_FILE_H
#define HALO_JOB_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/detect/detections.h"
#include "pipeline/filter/filter.h"

struct halo_job_file {
    char *folder; /* OUT.parts, absolute */
    char *output; /* OUT, absolute */
    char *audit;  /* OUT.job.json */
    json_t *manifest;
    int segments;
    bool merges;                       /* it must be merged before its segments can be encoded, */
    bool detects;                      /* and detectors must look at them before that */
    struct halo_run_settings settings; /* after halo_job_load() */
    struct halo_chain *chain;
    json_t *detectors; /* halo_job_hash_detectors(): a confined task cannot read these programs */
    struct halo_detections detections; /* after halo_job_load_detections() (job_detections.h) */
};

/* Finds the files of the job that a user calls `name` (its folder or its manifest), which need not
 * exist. Returns 0 or -errno with err filled. The caller closes *ret. */
int halo_job_find(struct halo_job_file *ret, const char *name, struct halo_error *err);
void halo_job_close(struct halo_job_file *job);

/* Call this before asking again which files are there, because another machine may have changed
 * them. halo_job_find() does it. */
void halo_job_look_again(const struct halo_job_file *job);

/* Returns whether OUT is complete: the job was joined, and OUT is what it was then. */
bool halo_job_is_complete(const struct halo_job_file *job);

/* Reads the manifest and checks its seal. Returns 0; -ENOENT if there is none; -ESTALE if it was
 * edited; or another -errno; with err filled. */
int halo_job_read(struct halo_job_file *job, struct halo_error *err);
/* Number of segments, also of a job that is complete. Returns -errno with err filled. */
int halo_job_count(struct halo_job_file *job, struct halo_error *err);

/* Makes the folder of OUT the working directory, loads the settings and the chain, after
 * halo_job_read(), and confines the process to the job's files, so call it once. If the task
 * `detects`, the programs of detectors are hashed before that. Returns 0; -ESTALE with err filled
 * if this machine, its versions, or the files that the chain names would give other bytes, or if
 * the folder is not that of the manifest's OUT; or another -errno. */
int halo_job_load(struct halo_job_file *job, bool detects, struct halo_error *err);

/* Changes into the folder of OUT, to which the paths of a job are relative. Returns 0, or -errno
 * with err filled. */
int halo_job_enter(const struct halo_job_file *job, struct halo_error *err);

/* Checks what a job may not do, whoever wrote its arguments. IN must be a file, which is from now
 * on read as one that strangers may have made (halo_source_settings.alone), and OUT, unless it is
 * NULL, must be the name `output`. Returns 0, or -errno with err filled. */
int halo_job_check_settings(struct halo_run_settings *settings, const char *output,
                            struct halo_error *err);

/* Seals the manifest and writes it. Returns 0, or -errno with err filled. */
int halo_job_write(struct halo_job_file *job, struct halo_error *err);

#endif
