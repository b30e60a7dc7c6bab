/* SPDX-License-Identifier: BSD-2-Clause
 * Camera controls that are waiting to be set (halo_live_control()).
 *
 * The loop adds them; the source thread sets them in order. They have their own lock, which only
 * live_controls.c uses; no other lock is acquired under it. */
#ifndef HALO_LIVE_CONTROLS_H
#define HALO_LIVE_CONTROLS_H

struct halo_camera;
struct halo_live;
struct halo_live_controls;

struct halo_live_controls *halo_live_controls_create(void);    /* returns NULL if out of memory */
void halo_live_controls_destroy(struct halo_live_controls *c); /* NULL: does nothing */

/* Sets all camera controls that are waiting, and answers the requests. camera is NULL while the
 * camera is unavailable; the controls are then set when it becomes available again. Source
 * thread. */
void halo_live_controls_set(struct halo_live *live, struct halo_camera *camera);

#endif
