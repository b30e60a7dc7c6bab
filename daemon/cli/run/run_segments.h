/* SPDX-License-Identifier: BSD-2-Clause
 * halod run -segments: several segments of one file are encoded at the same time, and joined.
 *
 *   reader thread: cut list ─► loop: starts a stream for each segment, -workers at a time
 *                                    └► one stream joins their parts, from the beginning on
 *
 * All streams run in this process (pipeline/stream/ends.h). In a job (daemon/cli/job), a process
 * does only part of this: it encodes some segments, or joins all of them. */
#ifndef HALO_RUN_SEGMENTS_H
#define HALO_RUN_SEGMENTS_H

#include "config/run.h"
#include "pipeline/filter/filter.h"
#include "pipeline/segment/segments.h"

/* Performs the whole run. settings and chain must stay valid until it ends. Logs errors and returns
 * the exit status. If filters ran on a GPU, this does not return: the process ends. */
int halo_run_segments(const struct halo_run_settings *settings, const struct halo_chain *chain);

/* How a process's part of a job ended. */
struct halo_run_part_end {
    struct halo_error error; /* error.code is 0: no error */
    int signal;              /* that ended it; 0: none */
    int64_t frames;
    bool device; /* frames were filtered on a GPU: leave with halo_run_end_now() */
};

/* Performs part of a job: encodes the segments that the process wants (halo_segments_want()), has
 * detectors look at them, or takes values of objects from them, as struct halo_segments_job says;
 * or, if `joins` is set, joins all segments into OUT. A signal ends it within a second, without
 * OUT; if that is not possible otherwise, the process ends. Shows the progress, logs no errors.
 * Blocks. */
void halo_run_part(const struct halo_run_settings *settings, const struct halo_chain *chain,
                   struct halo_segments *segments, bool joins, struct halo_run_part_end *ret);

#endif
