/* SPDX-License-Identifier: BSD-2-Clause
 * The detectors of halod run. The stream's threads ask for them; the helper starts them, because
 * this process is confined (run_confine.h).
 *
 * Loop thread only, except for the functions in halo_run_detector_calls. */
#ifndef HALO_RUN_DETECTORS_H
#define HALO_RUN_DETECTORS_H

#include <uv.h>

#include "config/detectors.h"
#include "pipeline/detect/detect_calls.h"

struct halo_run_detectors;

/* Passes a connection, or the reason why there is none, to the stream: halo_stream_connect() or
 * halo_live_connect(). */
typedef void halo_run_connect(void *arg, enum halo_find find, int fd, const char *why);

/* Call halo_run_confine() first. Returns 0 (the caller owns *ret) or
 * -errno with err filled. */
int halo_run_detectors_create(struct halo_run_detectors **ret, uv_loop_t *loop,
                              halo_run_connect *connect, void *arg, struct halo_error *err);
/* The functions by which a stream asks; arg is a struct halo_run_detectors. After
 * halo_run_detectors_close(), nothing is answered. Any thread. */
extern const struct halo_detect_calls halo_run_detector_calls;
/* The stream has ended, and another one may ask from now on: kills its detectors. What the stream
 * has asked and was not answered is forgotten. */
void halo_run_detectors_leave(struct halo_run_detectors *detectors);
/* Kills the detectors and closes all handles. NULL is ignored. */
void halo_run_detectors_close(struct halo_run_detectors *detectors);
/* Frees the memory. Call this when the loop and the stream's threads have ended. NULL is
 * ignored. */
void halo_run_detectors_destroy(struct halo_run_detectors *detectors);

#endif
