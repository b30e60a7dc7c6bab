/* SPDX-License-Identifier: BSD-2-Clause
 * A list of all errors in the files of a configuration. One thread at a time. */
#ifndef HALO_ERROR_LIST_H
#define HALO_ERROR_LIST_H

#include <stdbool.h>

struct halo_error_list;

/* Errors in the order in which they were added or sorted, each as "FILE:LINE: PATH.OF.KEY:
 * MESSAGE". If a name is unknown, the message suggests the nearest known name. */
int halo_error_list_count(const struct halo_error_list *list);
const char *halo_error_list_text(const struct halo_error_list *list, int index);
void halo_error_list_destroy(struct halo_error_list *list); /* may be NULL */

/* A file, and its position in the order in which files were read. Lists copy it. */
struct halo_settings_file {
    const char *name;
    int number;
    bool overlay; /* the overlay of the state folder */
};

struct halo_error_list *halo_error_list_create(void); /* returns NULL if memory is exhausted */

/* Adds "NAME:LINE: PATH: MESSAGE"; line 0 and an empty path are omitted. When the list is full,
 * further errors are only counted, and a last line reports their number. */
void halo_error_list_add(struct halo_error_list *list, const struct halo_settings_file *source,
                         int line, const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Sorts the errors by file, in the order in which the files were read, and then by line. */
void halo_error_list_sort(struct halo_error_list *list);

/* Returns whether errors are missing because memory ran out. */
bool halo_error_list_is_short(const struct halo_error_list *list);

#endif
