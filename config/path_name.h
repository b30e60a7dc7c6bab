/* SPDX-License-Identifier: BSD-2-Clause
 * What a name on the command line or in the daemon's file means: a URL or a path. Any thread; looks
 * at the name alone. */
#ifndef HALO_PATH_NAME_H
#define HALO_PATH_NAME_H

#include <stdbool.h>

/* SCHEME://..., unix: or pipe:. The scheme file is none: it names a file, see halo_path_of. */
bool halo_path_is_url(const char *name);

/* The path in name: what follows file:, or name itself. As in FFmpeg file:///x is /x. */
const char *halo_path_of(const char *name);

#endif
