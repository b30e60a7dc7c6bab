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

/* The files that the engine may open: all that are named by streams that are on it or may move to
 * it. The caller owns the result. May block on those files. */
json_t *sv_files_of(const struct sv_engine *engine);
/* Whether the engine's process, if it has one, may open all files that a stream with these settings
 * names. True if the process has yet to start. May block. */
bool sv_files_cover(const struct sv_engine *engine, const struct halo_stream_settings *settings);
/* Whether a file or folder of the stream was replaced by one that its engine is not allowed to
 * open, as the engine has reported: the stream then needs another engine. May block. */
bool sv_files_are_replaced(const struct sv_stream *stream);

#endif
