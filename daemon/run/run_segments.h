/* SPDX-License-Identifier: BSD-2-Clause
 * halod run -segments: several segments of one file are encoded at the same time, and joined.
 *
 *   reader thread: cut list ─► loop: starts a stream for each segment, -workers at a time
 *                                    └► one stream joins their parts, from the beginning on
 *
 * All streams run in this process (pipeline/run/piece.h). */
#ifndef HALO_RUN_SEGMENTS_H
#define HALO_RUN_SEGMENTS_H

#include "config/run.h"
#include "pipeline/filter/filter.h"

/* Performs the whole run. settings and chain must stay valid until it ends. Logs errors and returns
 * the exit status. If filters ran on a GPU, this does not return: the process ends. */
int halo_run_segments(const struct halo_run_settings *settings, const struct halo_chain *chain);

#endif
