/* SPDX-License-Identifier: BSD-2-Clause
 * The mask images of a stream: their identities, from which a reload notices that a file has
 * changed under the same name; and descriptors of them for engines, which cannot open these files.
 * Loop thread only. */
#ifndef HALO_SUP_MASKS_H
#define HALO_SUP_MASKS_H

#include <jansson.h>

#include "config/daemon.h"

struct sv_engine;

/* Returns the identities of all mask images that the settings name; two results are equal if no
 * file has changed in between. The caller owns the result. May block while accessing the files. */
json_t *sv_masks_of(const struct halo_stream_settings *settings);
/* Adds the identities of a chain's mask images to the array `files`. */
void sv_masks_add(json_t *files, const char *filters);
/* Sends descriptors of the mask images to an engine. Must be called before a message that names the
 * mask images is sent. May block while accessing the files. */
void sv_masks_send(struct sv_engine *engine, const json_t *masks);

#endif
