/* SPDX-License-Identifier: BSD-2-Clause
 * The files that an engine may open, by Landlock: what its streams name, and what libraries and
 * drivers need. Nothing can be added later. connect() to the path of a socket is not governed. */
#ifndef HALO_CONFINE_FILES_H
#define HALO_CONFINE_FILES_H

#include <stdbool.h>

#include "config/error.h"

enum halo_files_how {
    HALO_FILES_READ,    /* a file, or a folder with all in it */
    HALO_FILES_WRITE,   /* a folder, made where it is missing: files are made, read and removed */
    HALO_FILES_DEVICE,  /* nodes, or a folder of them: read and written, none is made */
    HALO_FILES_RUN,     /* read, and libraries loaded */
    HALO_FILES_NETWORK, /* no file (its path is ""): sockets to others (confine.h) */
    HALO_FILES_HOW,
};

struct halo_files {
    const char *path;
    enum halo_files_how how;
};

/* For this thread and all that it starts; without new privileges. What is not there is left out.
 * May block on the disks. 0 (also where the kernel has no Landlock) or -errno with err filled. */
int halo_confine_files(const struct halo_files *files, int count, struct halo_error *err);

/* NULL, or why this build or kernel does not do that. */
const char *halo_confine_files_missing(void);

#endif
