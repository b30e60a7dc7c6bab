/* SPDX-License-Identifier: BSD-2-Clause
 * The camera that an input such as "v4l2:serial=S:index=1" describes; camera_find.c searches for
 * it. Any thread. */
#ifndef HALO_CAMERA_WISH_H
#define HALO_CAMERA_WISH_H

#include <stdbool.h>

#include "config/error.h"
#include "pipeline/camera/camera_find.h"

struct halo_camera_wish {
    char *serial, *path, *name; /* NULL: any */
    int index;
};

/* Whether the input has this form. */
bool halo_camera_wish_is(const char *input);
/* Parses such an input; call finish in any case. 0; a usage error; -ENOMEM. */
int halo_camera_wish_parse(struct halo_camera_wish *wish, const char *input,
                           struct halo_error *err);
void halo_camera_wish_finish(struct halo_camera_wish *wish);
bool halo_camera_wish_fits(const struct halo_camera_wish *wish, const struct halo_camera_id *id);

#endif
