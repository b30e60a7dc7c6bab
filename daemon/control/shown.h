/* SPDX-License-Identifier: BSD-2-Clause
 * What a role may see of a status, an event or an answer. Loop thread only. */
#ifndef HALO_SHOWN_H
#define HALO_SHOWN_H

#include <jansson.h>

#include "config/role.h"

/* Returns what the role may see of the JSON, whose reference it takes: administrators everything,
 * others no path of this machine's disks. Operators see those of mask images, because they cannot
 * change what they do not see. NULL: out of memory, or json was NULL. */
json_t *halo_show(json_t *json, enum halo_role role);

#endif
