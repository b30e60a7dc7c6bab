/* SPDX-License-Identifier: BSD-2-Clause
 * The camera of a live stream: the state that outlives its sessions, and the waits between
 * sessions. A camera that returns is recognised by its identity. With `open: on-demand`, the camera
 * is open only while its frames are needed.
 *
 * Owner: the source thread. Any thread may wake the source thread and read the camera's state,
 * which is atomic. No lock is needed. live->camera is NULL if the input is not a camera. */
#ifndef HALO_LIVE_CAMERA_H
#define HALO_LIVE_CAMERA_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"

struct halo_live;
struct halo_live_camera;

int halo_live_camera_create(struct halo_live_camera **ret, const char *input,
                            struct halo_error *err);
void halo_live_camera_destroy(struct halo_live_camera *c); /* NULL: does nothing */
/* Wakes the source thread so that it checks for a stop, a new viewer or a control to set. Does
 * nothing if c is NULL. Any thread. */
void halo_live_camera_wake(struct halo_live_camera *c);
/* Returns the camera's state in one word, for halo_live_stats; "" if c is NULL. Any thread. */
const char *halo_live_camera_state(const struct halo_live_camera *c);

/* Controls that are waiting to be set (halo_live_control()). The loop adds them; the source thread
 * sets them in order. They have their own lock, under which no other is acquired. */
struct halo_live_controls *halo_live_controls_create(void);    /* returns NULL if out of memory */
void halo_live_controls_destroy(struct halo_live_controls *c); /* NULL: does nothing */

#endif
