/* SPDX-License-Identifier: BSD-2-Clause
 * The files that an engine may open: those that its streams name, and those that libraries and
 * drivers need. Landlock enforces this. No files can be added later. connect() to the path of a
 * Unix socket is not restricted. */
#ifndef HALO_CONFINE_FILES_H
#define HALO_CONFINE_FILES_H

#include <stdbool.h>

#include "config/base/error.h"

enum halo_files_how {
    HALO_FILES_READ, /* a file, or a folder with everything in it */
    /* a folder, created if missing; files in it may be created, read, written and removed */
    HALO_FILES_WRITE,
    /* device nodes, or a folder of them, which may be read and written but not created */
    HALO_FILES_DEVICE,
    /* a file, or a folder with everything in it, for reading and for loading libraries */
    HALO_FILES_RUN,
    /* not a file (the path is ""): allows Unix and IP sockets (confine.h) */
    HALO_FILES_NETWORK,
    /* not a file, either: allows Unix sockets, but no IP sockets */
    HALO_FILES_SESSION,
    HALO_FILES_LISTEN, /* as HALO_FILES_NETWORK, and connections may be accepted */
    HALO_FILES_HOW,
};

struct halo_files {
    const char *path;
    enum halo_files_how how;
};

/* Restricts the calling thread, which must already have set no_new_privs, and all threads and
 * processes that it starts. Paths that do not exist are skipped. May block on disk. If moves is
 * set, files are moved between folders of the list, for which Linux 5.19 is needed. Returns 0 (also
 * if the kernel cannot do it), or -errno with err filled. */
int halo_confine_files(const struct halo_files *files, int count, bool moves,
                       struct halo_error *err);

/* Does the same for a detector: only the files in the list can be opened, and those that every
 * program needs; if gpu is true, also those that the GPU's driver needs. */
int halo_confine_detector_files(const struct halo_files *files, int count, bool gpu,
                                struct halo_error *err);

/* Returns NULL if file access can be restricted; otherwise, the reason why this build or kernel
 * cannot do it. */
const char *halo_confine_files_missing(bool moves);

#endif
