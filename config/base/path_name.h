/* SPDX-License-Identifier: BSD-2-Clause
 * Whether a name on the command line or in the daemon's file is a URL or a path. Any thread; only
 * the name is examined, not the file system. */
#ifndef HALO_PATH_NAME_H
#define HALO_PATH_NAME_H

#include <stdbool.h>

/* Returns whether name is a URL, that is, whether it begins with SCHEME://, unix: or pipe:. Names
 * that begin with file: are considered paths, not URLs; see halo_path_of(). */
bool halo_path_is_url(const char *name);

/* Returns the path in name: the part after file:, or name itself. As in FFmpeg, the path in
 * file:///x is /x. */
const char *halo_path_of(const char *name);

#endif
