/* SPDX-License-Identifier: BSD-2-Clause
 * Functions to fill a list of errors (functions to read it: config/daemon.h). One thread at a
 * time. */
#ifndef HALO_ERROR_LIST_H
#define HALO_ERROR_LIST_H

#include <stdbool.h>

#include "config/daemon.h"

/* A file, and its position in the order in which files were read. Lists copy it. */
struct halo_source {
    const char *name;
    int number;
    bool overlay; /* the overlay of the state folder */
};

struct halo_error_list *halo_error_list_create(void); /* returns NULL if memory is exhausted */

/* Adds "NAME:LINE: PATH: MESSAGE"; line 0 and an empty path are omitted. When the list is full,
 * further errors are only counted, and a last line reports their number. */
void halo_error_list_add(struct halo_error_list *list, const struct halo_source *source, int line,
                         const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Sorts the errors by file, in the order in which the files were read, and then by line. */
void halo_error_list_sort(struct halo_error_list *list);

/* Returns whether errors are missing because memory ran out. */
bool halo_error_list_is_short(const struct halo_error_list *list);

#endif
