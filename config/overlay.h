/* SPDX-License-Identifier: BSD-2-Clause
 * The overlay: settings of streams that override those of the settings file, and streams of its
 * own. It is what clients have decided to keep, in the file overlay.yaml of the state folder
 * (folders.h), because a service cannot write to /etc. Any thread, one at a time; calls block on
 * disk. */
#ifndef HALO_OVERLAY_H
#define HALO_OVERLAY_H

#include <jansson.h>

#include "config/base/error.h"

/* Sets the keys in `settings` for this stream, or removes all of its keys if settings is NULL, and
 * writes the file. *ret_before is what the file contained, for halo_overlay_restore(); NULL: there
 * was no file. The caller frees it. Returns 0, -ENOENT (settings is NULL, and the overlay has
 * nothing about this stream), or another -errno; err is then filled. */
int halo_overlay_change(const char *path, const char *stream, const json_t *settings,
                        char **ret_before, struct halo_error *err);
/* Writes what the file contained before; NULL: removes it. */
void halo_overlay_restore(const char *path, const char *before);

#endif
