/* SPDX-License-Identifier: BSD-2-Clause
 * Controls of a camera that are still to be set (halo_live_control()).
 *
 * The loop adds them; the source thread takes them in order. They have a lock of their own, which
 * only live_controls.c knows; no other lock is acquired under it. */
#ifndef HALO_LIVE_CONTROLS_H
#define HALO_LIVE_CONTROLS_H

struct halo_camera;
struct halo_live;
struct halo_live_controls;

struct halo_live_controls *halo_live_controls_create(void);    /* NULL: out of memory */
void halo_live_controls_destroy(struct halo_live_controls *c); /* NULL: does nothing */

/* Sets all waiting controls and answers the requests. camera NULL: the camera is away; the controls
 * are set when it returns. Source thread. */
void halo_live_controls_set(struct halo_live *live, struct halo_camera *camera);

#endif
