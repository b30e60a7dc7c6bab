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

#include "config/error.h"

struct halo_camera;
struct halo_live;
struct halo_live_camera;
struct halo_live_input;
struct halo_raw_picture;

int halo_live_camera_create(struct halo_live_camera **ret, const char *input,
                            struct halo_error *err);
void halo_live_camera_destroy(struct halo_live_camera *c); /* NULL: does nothing */
/* Wakes the source thread so that it checks for a stop, a new viewer or a control to set. Does
 * nothing if c is NULL. Any thread. */
void halo_live_camera_wake(struct halo_live_camera *c);
/* Returns the camera's state in one word, for halo_live_stats; "" if c is NULL. Any thread. */
const char *halo_live_camera_state(const struct halo_live_camera *c);

/* ---- functions for a session, which the source thread calls ---- */

/* Reads a frame. Returns 1 with *ret_raw filled (for compressed formats: with in->pkt filled
 * instead), 0 if the stream was stopped or has no viewers, or -errno with err filled. */
int halo_live_camera_read(struct halo_live *live, struct halo_live_input *in,
                          struct halo_raw_picture **ret_raw, struct halo_error *err);
/* Records that no frame from the camera can be decoded. Returns the text for the card. */
const char *halo_live_camera_stall(struct halo_live_camera *c);

/* ---- the format of the camera's frames (live_camera_mode.c) ---- */

/* Describes the format of a session with a camera that has been opened. */
int halo_live_camera_agree(struct halo_live *live, struct halo_live_input *in,
                           struct halo_error *err);
/* Describes the format of a session as the settings specify it, before a camera is present that
 * could report its own formats. */
int halo_live_camera_describe(struct halo_live *live, struct halo_live_input *in,
                              struct halo_error *err);

#endif
