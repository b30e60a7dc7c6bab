/* SPDX-License-Identifier: BSD-2-Clause
 * Collects the files that a process must be able to open (confine_files.h), from what a stream or a
 * command names. What cannot be stored is left out: opening it will fail later. */
#ifndef HALO_FILE_LIST_H
#define HALO_FILE_LIST_H

#include "config/source.h"
#include "daemon/engine/confine_files.h"

struct halo_file_list {
    struct halo_files *file; /* with paths of its own */
    int count;
};

void halo_file_list_add(struct halo_file_list *list, const char *path, enum halo_files_how how);
/* Adds the folder that contains path, but never the root folder. */
void halo_file_list_add_folder_of(struct halo_file_list *list, const char *path,
                                  enum halo_files_how how);
/* Adds network access, and the folders of the files that resolve names. */
void halo_file_list_add_network(struct halo_file_list *list);
/* Adds an input: the file, or its folder if it may name other files in it. */
void halo_file_list_add_input(struct halo_file_list *list,
                              const struct halo_source_settings *source);
/* In builds for tests, adds the files of the tests' stand-ins. */
void halo_file_list_add_tests(struct halo_file_list *list);
void halo_file_list_finish(struct halo_file_list *list);

#endif
