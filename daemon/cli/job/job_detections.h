/* SPDX-License-Identifier: BSD-2-Clause
 * What detectors answered about the frames of a job: 000007.detections about those of a segment,
 * from halod job detect; all.detections about all of them, from halod job merge, which then removes
 * the former (pipeline/detect/detections.h). */
#ifndef HALO_JOB_DETECTIONS_H
#define HALO_JOB_DETECTIONS_H

#include "daemon/cli/job/job_file.h"

/* Refuses chains whose objects cannot be found in segments. Returns 0 or a usage error. */
int halo_job_check_chain(const struct halo_run_settings *settings, const struct halo_chain *chain,
                         struct halo_error *err);
/* Returns whether a job with this chain needs halod job detect. */
bool halo_job_chain_detects(const struct halo_chain *chain);
/* Returns whether it needs halod job merge: for detections, or for the cells of hide. */
bool halo_job_chain_merges(const struct halo_chain *chain);

/* Returns the SHA-256 of the programs of detectors that the job itself names and needs, by what
 * they look for; "" for a program that is not on this machine. The caller owns the object; NULL if
 * memory runs out. */
json_t *halo_job_hash_detectors(const struct halo_job_file *job);
/* A manifest may name any program, so those that it names run only if the user of this process has
 * given the same keys (`allowed`, indexed by enum halo_find; NULL: none), and if they are the
 * programs of the machine on which the job was split, except with --mixed. Returns 0; a usage
 * error; or -ESTALE with err filled. Call this after halo_job_load() with `detects`. */
int halo_job_allow_detectors(const struct halo_job_file *job, char *const allowed[HALO_FINDS],
                             struct halo_error *err);

/* Returns the name of all.detections; NULL if memory runs out. The caller frees it. */
char *halo_job_all_detections(const struct halo_job_file *job);

/* Whether there is all.detections. */
bool halo_job_is_merged(const struct halo_job_file *job);

/* Reads all.detections into job->detections, after halo_job_load(). From then on, parts depend on
 * it. Does nothing if the job does not need it, or has it. Returns 0; -ENOENT if there is none; or
 * another -errno; with err filled. */
int halo_job_load_detections(struct halo_job_file *job, struct halo_error *err);

/* What was loaded, for struct halo_segments_job; NULL: the job needs no such thing. */
const struct halo_detections *halo_job_detections(const struct halo_job_file *job);
struct halo_frozen *halo_job_frozen(struct halo_job_file *job);

/* Removes the files about single segments, which all.detections has made superfluous. */
void halo_job_remove_detections(const struct halo_job_file *job);

/* Returns what OUT.job.json says about objects that hide shows as cells; NULL if there are none. */
json_t *halo_job_describe_hidden(const struct halo_job_file *job);
/* Returns what OUT.job.json says about detectors; NULL if there are none. */
json_t *halo_job_describe_detections(const struct halo_job_file *job);

#endif
