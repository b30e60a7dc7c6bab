/* SPDX-License-Identifier: BSD-2-Clause
 * The files of the page, which are read once, at the start: HTML, CSS, JavaScript, images. The
 * folder is $HALOD_PAGE or, if that is not set, the one in which they were installed. Any
 * thread. */
#ifndef HALO_HTTP_FILES_H
#define HALO_HTTP_FILES_H

#include <stddef.h>

#include "config/base/error.h"

struct halo_http_files;

struct halo_http_file {
    const char *type; /* the content type */
    const char *data;
    size_t size;
};

/* Reads all files. Returns 0, or -errno with err filled. Blocks on disk. */
int halo_http_files_read(struct halo_http_files **ret, struct halo_error *err);
void halo_http_files_destroy(struct halo_http_files *files); /* NULL is ignored */
/* Returns the file with this name, or NULL. */
const struct halo_http_file *halo_http_files_find(const struct halo_http_files *files,
                                                  const char *name);

#endif
