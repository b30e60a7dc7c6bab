/* SPDX-License-Identifier: BSD-2-Clause
 * The description of a camera in an input such as "v4l2:serial=S:index=1"; camera_find.c searches
 * for that camera. Any thread. */
#ifndef HALO_CAMERA_WISH_H
#define HALO_CAMERA_WISH_H

#include <stdbool.h>

#include "config/base/error.h"
#include "pipeline/camera/camera_find.h"

struct halo_camera_wish {
    char *serial, *path, *name; /* NULL: any */
    int index;
};

/* Returns whether input begins with "v4l2:" and therefore describes a camera. */
bool halo_camera_wish_is(const char *input);
/* Parses an input that begins with "v4l2:". Returns 0, a usage error or -ENOMEM; call
 * halo_camera_wish_finish() in any case. */
int halo_camera_wish_parse(struct halo_camera_wish *wish, const char *input,
                           struct halo_error *err);
void halo_camera_wish_finish(struct halo_camera_wish *wish);
bool halo_camera_wish_fits(const struct halo_camera_wish *wish, const struct halo_camera_id *id);

#endif
