/* SPDX-License-Identifier: BSD-2-Clause
 * The mask images of a stream: their identities, by which a reload notices a file that has changed
 * under the same name; and descriptors of them for engines, which cannot open them. Loop thread
 * only. */
#ifndef HALO_SUP_MASKS_H
#define HALO_SUP_MASKS_H

#include <jansson.h>

#include "config/daemon.h"

struct sv_engine;

/* The identities of all mask images that the settings name: two results are equal if none of the
 * files was changed between them. The caller owns the result. May block on those files. */
json_t *sv_masks_of(const struct halo_stream_settings *settings);
void sv_masks_add(json_t *files, const char *filters); /* adds those of one chain */
/* To be called before a message that names the files is sent. May block on those files. */
void sv_masks_send(struct sv_engine *engine, const json_t *masks);

#endif
