/* SPDX-License-Identifier: BSD-2-Clause
 * Which mask images a chain of a client that is no administrator may use: those that the stream
 * uses already. With others, messages would tell which files exist, and frames would show their
 * outline. Loop thread only. */
#ifndef HALO_MASKS_H
#define HALO_MASKS_H

#include <jansson.h>

#include "daemon/control/client.h"

/* Returns whether the call, whose parameters have a stream's `name` and `filters`, was refused
 * because of its mask images. */
bool halo_masks_refuse(struct halo_client *client, const json_t *parameters);

#endif
