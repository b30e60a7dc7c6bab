/* SPDX-License-Identifier: BSD-2-Clause
 * Cameras that are nodes of the PipeWire graph (pipeline/pipewire), for the other files of this
 * folder: they are found, opened and read like V4L2 cameras.
 *
 *   pipewire:NAME    the node with this node.name, otherwise the one with this node.description
 *   pipewire:N       the node that has this number when it is first opened, as portals pass it on;
 *                    from then on, only that node, whatever its number is
 *
 * In struct halo_camera_id, `node` is "pipewire:" with the node's name (node.name), and `driver` is
 * "pipewire". Any thread except the event loop, because calls wait for the server. */
#ifndef HALO_CAMERA_PIPEWIRE_H
#define HALO_CAMERA_PIPEWIRE_H

#include <stdbool.h>

#include "pipeline/camera/camera_find.h"
#include "pipeline/camera/v4l2.h"

struct halo_camera;
struct halo_camera_fault;
struct halo_camera_offer;
struct halo_camera_taken;

/* Returns what a result of pipeline/pipewire means, of which 0 is FINE. */
enum halo_v4l2_trouble halo_camera_pipewire_judge(int code);

/* Implements halo_camera_find() for inputs called "pipewire:...". */
int halo_camera_pipewire_find(struct halo_camera_id *ret, const char *input,
                              const struct halo_camera_id *known, struct halo_error *err);
/* Returns whether this identity is that of a node. */
bool halo_camera_pipewire_is(const struct halo_camera_id *id);

/* Lists all nodes that can be cameras; the caller frees *ret. Returns their number, or -errno with
 * err filled. */
int halo_camera_pipewire_list(struct halo_camera_id **ret, struct halo_error *err);
/* Fills ret->mode for ret->id. */
int halo_camera_pipewire_ask(struct halo_camera_offer *ret, struct halo_error *err);

/* Links camera->id's node and fills in the camera's mode and descriptor. */
int halo_camera_pipewire_open(struct halo_camera *camera, const struct halo_camera_fault *fault);
void halo_camera_pipewire_close(struct halo_camera *camera);
/* See halo_camera_take() and halo_camera_give(). */
int halo_camera_pipewire_take(struct halo_camera *camera, struct halo_camera_taken *ret,
                              const struct halo_camera_fault *fault);
void halo_camera_pipewire_give(struct halo_camera *camera, int index);

#endif
