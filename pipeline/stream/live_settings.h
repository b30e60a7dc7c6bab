/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of a live stream: checks that are possible before it starts. */
#ifndef HALO_LIVE_SETTINGS_H
#define HALO_LIVE_SETTINGS_H

#include "config/base/error.h"

struct halo_live;

/* Checks all settings that can be checked without opening anything, and sets live->live and other
 * constant fields. Returns 0 or a usage error. Called by the event loop's thread before the stream
 * is started. */
int halo_live_check(struct halo_live *live, struct halo_error *err);

#endif
