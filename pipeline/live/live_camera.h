/* SPDX-License-Identifier: BSD-2-Clause
 * The camera of a live stream: the state that outlives sessions with it, and the waits between
 * sessions. The same camera is found again by its identity; with open: on-demand it is open only
 * while its pictures are needed.
 *
 * Owner: the source thread. Any thread may wake it and read its state, which is atomic. No lock.
 * live->camera is NULL if the input is not a camera. */
#ifndef HALO_LIVE_CAMERA_H
#define HALO_LIVE_CAMERA_H

#include <stdbool.h>
#include <stdint.h>

#include "config/error.h"

struct halo_camera;
struct halo_live;
struct halo_live_camera;
struct halo_live_input;
struct halo_raw_picture;

int halo_live_camera_create(struct halo_live_camera **ret, struct halo_error *err);
void halo_live_camera_destroy(struct halo_live_camera *c); /* NULL is nothing to do */
/* Its thread looks at what has changed: a stop, a viewer, a control. NULL: no camera. Any
 * thread. */
void halo_live_camera_wake(struct halo_live_camera *c);
/* For halo_live_stats, in a word; NULL: "". Any thread. */
const char *halo_live_camera_state(const struct halo_live_camera *c);

/* ---- a session; what follows is the source thread's ---- */

/* 1: *ret_raw or, of coded formats, in->pkt is filled; 0: a stop, or nobody looks; -errno. */
int halo_live_camera_read(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_picture **ret_raw, struct halo_error *err);
/* None of what it sends can be decoded: the state, and its words. */
const char *halo_live_camera_stall(struct halo_live_camera *c);

/* ---- live_camera_mode.c: what its pictures are ---- */

/* Of a camera that has been opened: what its session gives. */
int halo_live_camera_agree(struct halo_live *live, struct halo_live_input *in,
                           struct halo_error *err);
/* A session as the settings want it, where there is no camera yet to say what it has. */
int halo_live_camera_describe(struct halo_live *live, struct halo_live_input *in,
                              struct halo_error *err);

#endif
