/* SPDX-License-Identifier: BSD-2-Clause
 * The files that an engine may open (those that its streams name), and whether it has network
 * access (confine_files.h). Both are fixed when the engine starts, so a stream that needs more gets
 * another engine. Mask images are passed as descriptors (sup_masks.h). Loop thread only. */
#ifndef HALO_SUP_FILES_H
#define HALO_SUP_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "config/daemon.h"

struct sv_engine;
struct sv_stream;

/* Returns the files that the engine may open: all files that are named by streams on this engine,
 * or by streams that may move to this engine. The caller owns the result. May block while accessing
 * the files. */
json_t *sv_files_of(const struct sv_engine *engine);
/* Returns whether the engine's process may open all files that the settings of a stream name. The
 * result is true if the engine has no process yet. May block. */
bool sv_files_cover(const struct sv_engine *engine, const struct halo_stream_settings *settings);
/* Returns whether the stream needs another engine because its files or folders were replaced. The
 * result is true if both conditions hold: the engine has reported that a file cannot be opened, and
 * a name in the stream's settings now belongs to a file or folder that the engine is not allowed to
 * open. May block. */
bool sv_files_are_replaced(const struct sv_stream *stream);

#endif
