/* SPDX-License-Identifier: BSD-2-Clause
 * Controls of a live stream's camera that wait to be set (halo_live_control()).
 *
 * The loop adds them, the source thread takes them, in order. The lock is their own and a leaf. */
#ifndef HALO_LIVE_CONTROLS_H
#define HALO_LIVE_CONTROLS_H

struct halo_camera;
struct halo_live;
struct halo_live_controls;

struct halo_live_controls *halo_live_controls_create(void);    /* NULL: out of memory */
void halo_live_controls_destroy(struct halo_live_controls *c); /* NULL is nothing to do */

/* Sets and answers all that wait. camera NULL: it is away, and gets them when it is there. Source
 * thread. */
void halo_live_controls_set(struct halo_live *live, struct halo_camera *camera);

#endif
