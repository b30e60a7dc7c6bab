/* SPDX-License-Identifier: BSD-2-Clause
 * halod run with a camera: one live stream in this process (pipeline/stream/live.h), which is
 * output to a virtual camera, a file, a pipe or nothing.
 *
 *   loop: virtual camera, signals, clock       live stream's threads: camera -> gate -> packets
 *            ^-------------------- newest frame, wake --------------------'  '--> file or pipe
 *
 *   run_live.c           the run, from its start to its exit status: the loop, the callbacks on the
 *                        stream's threads, and reports
 *   run_live_settings.c  the command line as settings of a stream
 */
#ifndef HALO_RUN_LIVE_H
#define HALO_RUN_LIVE_H

#include <stdbool.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "config/run.h"
#include "pipeline/filter/filter.h"

/* Returns whether IN or OUT is a camera. */
bool halo_run_live_is(const struct halo_run_settings *run);

/* Performs the whole run. settings and chain must stay valid until it ends. Logs errors and returns
 * the exit status. If filters ran on a GPU, this does not return: the process ends. */
int halo_run_live(const struct halo_run_settings *settings, const struct halo_chain *chain);

/* ---- run_live_settings.c ---- */

/* Returns whether OUT is a virtual camera. */
bool halo_run_live_shows(const struct halo_run_settings *run);
/* Makes all checks that are possible without accessing devices. Returns 0 or a usage error. */
int halo_run_live_check(const struct halo_run_settings *run, const struct halo_chain *chain,
                        struct halo_error *err);
/* Fills *ret with the settings of the stream, whose output 0 is OUT. codec is the encoder's name,
 * or NULL if nothing is encoded; is_file is true if OUT is neither a pipe nor a URL. The function
 * searches for the camera and its formats; if there is no camera, it sets err->device. Returns 0, a
 * usage error or -errno; the caller must finish *ret even on failure. */
int halo_run_live_settings(struct halo_stream_settings *ret, const struct halo_run_settings *run,
                           const struct halo_chain *chain, const char *codec, bool is_file,
                           struct halo_error *err);

#endif
