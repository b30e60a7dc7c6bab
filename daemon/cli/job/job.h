/* SPDX-License-Identifier: BSD-2-Clause
 * halod job: one run, encoded in segments by many processes, on any machines that share a folder.
 *
 *   split ─► OUT.parts/manifest.json ─► segment 0, 1 ... ─► OUT.parts/NUMBER.part ─► join ─► OUT
 *
 * With detectors, two steps come before `segment`:
 *
 *   detect 0, 1 ... ─► OUT.parts/NUMBER.detections ─► merge ─► OUT.parts/all.detections
 *
 * The files are the only truth: the manifest never changes, and a part is there when it is complete
 * (pipeline/segment). Any scheduler may start the tasks, as often as it likes. */
#ifndef HALO_COMMAND_JOB_H
#define HALO_COMMAND_JOB_H

#include <stdio.h>

#include "daemon/cli/job/job_options.h"

/* Runs the command. argv contains the arguments after "job". Returns the exit code. */
int halo_command_job(int argc, char **argv);

/* Prints the names of its commands, separated by blanks. */
void halo_job_print_names(FILE *to);

/* Its commands; rest contains the arguments that are not options of the job, and ends with NULL.
 * Each returns the exit code, and logs errors. */
int halo_job_split_command(const struct halo_job_options *options, int count, char **rest);
int halo_job_detect_command(const struct halo_job_options *options, int count, char **rest);
int halo_job_merge_command(const struct halo_job_options *options, int count, char **rest);
int halo_job_segment_command(const struct halo_job_options *options, int count, char **rest);
int halo_job_join_command(const struct halo_job_options *options, int count, char **rest);
int halo_job_status_command(const struct halo_job_options *options, int count, char **rest);
int halo_job_submit_command(const struct halo_job_options *options, int count, char **rest);
int halo_job_watch_command(const struct halo_job_options *options, int count, char **rest);

#endif
