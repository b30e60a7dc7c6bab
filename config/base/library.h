/* SPDX-License-Identifier: BSD-2-Clause
 * Libraries that are loaded only if they are needed, so that halod also runs without them. */
#ifndef HALO_LIBRARY_H
#define HALO_LIBRARY_H

#include <stddef.h>

#include "config/base/error.h"

/* One function of a library. A table of functions is a struct of pointers to functions. */
struct halo_library_row {
    const char *name; /* as the library exports it */
    size_t offset;    /* of the pointer in the table */
};

/* Loads the library and fills the table. package: what to install if it is missing (Debian's name).
 * Returns 0; or -ENOTSUP with err filled if the library is missing or lacks a function, and some of
 * the table may be filled. The functions remain valid until the process ends. Any thread; opens
 * files in the library folders. */
int halo_library_load(const char *name, const char *package, const struct halo_library_row *rows,
                      size_t count, void *table, struct halo_error *err);

#endif
