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

/* Returns the files that the engine may open: all files named by streams that are on it or may move
 * to it. The caller owns the result. May block while it accesses these files. */
json_t *sv_files_of(const struct sv_engine *engine);
/* Returns whether the engine's process may open all files that a stream with these settings names.
 * The result is true if the engine has no process yet. May block. */
bool sv_files_cover(const struct sv_engine *engine, const struct halo_stream_settings *settings);
/* Returns whether the stream needs another engine because its files or folders were replaced. This
 * is so if its engine has reported that it cannot open one of them, and is not allowed to open the
 * file or folder that now has this name. May block. */
bool sv_files_are_replaced(const struct sv_stream *stream);

#endif
