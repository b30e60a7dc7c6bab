/* SPDX-License-Identifier: BSD-2-Clause
 * The files of a stream's masks: what identifies their contents, so that a reload notices a file
 * that was changed under the same name; and their descriptors for engines, which may not open them.
 * Loop thread only. */
#ifndef HALO_SUP_MASKS_H
#define HALO_SUP_MASKS_H

#include <jansson.h>

#include "config/daemon.h"

struct sv_engine;

/* What the files are like that the masks of filters come from: equal to what was said before as
 * long as none of them was changed. The caller owns it. May block on those files. */
json_t *sv_masks_of(const struct halo_stream_settings *settings);
void sv_masks_add(json_t *files, const char *filters); /* those of one chain */
/* Before what names them is sent. May block on those files. */
void sv_masks_send(struct sv_engine *engine, const json_t *masks);

#endif
