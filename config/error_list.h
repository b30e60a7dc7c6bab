/* SPDX-License-Identifier: BSD-2-Clause
 * Making a list of errors (config/daemon.h has its reading side). One thread at a time. */
#ifndef HALO_ERROR_LIST_H
#define HALO_ERROR_LIST_H

#include "config/daemon.h"

/* A file, and its place in the order in which files were read. Outlives nothing: lists copy. */
struct halo_source {
    const char *name;
    int number;
};

struct halo_error_list *halo_error_list_create(void); /* NULL: out of memory */

/* "NAME:LINE: PATH: what"; line 0 and an empty path are left out. What is beyond the most that a
 * list holds is counted, and said in one last line. */
void halo_error_list_add(struct halo_error_list *list, const struct halo_source *source, int line,
                         const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* In the order of files and lines. */
void halo_error_list_sort(struct halo_error_list *list);

/* Memory was short while it was made: something is missing in it. */
bool halo_error_list_is_short(const struct halo_error_list *list);

#endif
