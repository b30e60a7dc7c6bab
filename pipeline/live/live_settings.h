/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of a live stream: what can be checked before it starts. */
#ifndef HALO_LIVE_SETTINGS_H
#define HALO_LIVE_SETTINGS_H

#include "config/error.h"

struct halo_live;

/* What can be known without opening anything, into live->live and what else is const. 0 or a usage
 * error. The loop's, before the start. */
int halo_live_check(struct halo_live *live, struct halo_error *err);
/* The size that "WxH", "Wx-1", "-1xH" or one of FFmpeg's names means for frames of width x height.
 * 0, or -EINVAL: it is none. */
int halo_live_size(const char *text, int width, int height, int *ret_width, int *ret_height);

#endif
