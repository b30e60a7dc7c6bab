/* SPDX-License-Identifier: BSD-2-Clause
 * The cameras of this machine, found by a thread of libuv's pool. Loop thread only. */
#ifndef HALO_CAMERAS_H
#define HALO_CAMERAS_H

#include <jansson.h>
#include <uv.h>

#include "daemon/supervisor/supervisor.h"

/* Calls reply(arg) later with a list of objects with "path", "name" and "input" (the name by which
 * settings should refer to the camera), or with an error. Returns 0 or -ENOMEM. */
int halo_cameras_find(uv_loop_t *loop, halo_reply *reply, void *arg);

#endif
