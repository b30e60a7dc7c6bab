/* SPDX-License-Identifier: BSD-2-Clause
 * The detectors of halod run. The stream's threads ask for them; the loop starts them, because a
 * detector is killed when the thread that started it ends (daemon/detector/spawn.h).
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

/* settings has HALO_FINDS elements and must outlive *ret. Returns 0 (the caller owns *ret) or
 * -errno with err filled. */
int halo_run_detectors_create(struct halo_run_detectors **ret, uv_loop_t *loop,
                              const struct halo_detector_settings *settings,
                              halo_run_connect *connect, void *arg, struct halo_error *err);
/* The functions by which a stream asks; arg is a struct halo_run_detectors. After
 * halo_run_detectors_close(), nothing is answered. Any thread. */
extern const struct halo_detect_calls halo_run_detector_calls;
/* The stream has ended, and another one may ask from now on: kills its detectors. What the stream
 * has asked and was not answered is forgotten. */
void halo_run_detectors_leave(struct halo_run_detectors *detectors);
/* Kills the detectors and closes all handles; the loop runs until the processes have ended. NULL
 * is ignored. */
void halo_run_detectors_close(struct halo_run_detectors *detectors);
/* Frees the memory. Call this when the loop and the stream's threads have ended. NULL is
 * ignored. */
void halo_run_detectors_destroy(struct halo_run_detectors *detectors);

#endif
