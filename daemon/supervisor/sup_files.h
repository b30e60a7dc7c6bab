/* SPDX-License-Identifier: BSD-2-Clause
 * The files and the network access that an engine gets: those that its streams name
 * (confine_files.h). They are fixed when it starts, so a stream that needs others gets another
 * engine. Masks are passed as descriptors (sup_masks.h). Loop thread only. */
#ifndef HALO_SUP_FILES_H
#define HALO_SUP_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "config/daemon.h"

struct sv_engine;
struct sv_stream;

/* What the engine may open: all that the streams name that are on it or may come to it. The caller
 * owns it. May block on those files. */
json_t *sv_files_of(const struct sv_engine *engine);
/* Whether the engine's process may open all that a stream with these settings names now, or has yet
 * to start. May block. */
bool sv_files_cover(const struct sv_engine *engine, const struct halo_stream_settings *settings);
/* Whether its engine may not open what has been replaced, and says so: it needs another one. May
 * block. */
bool sv_files_are_replaced(const struct sv_stream *stream);

#endif
