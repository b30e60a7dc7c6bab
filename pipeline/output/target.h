/* SPDX-License-Identifier: BSD-2-Clause
 * Interprets OUT, and ensures that writing there destroys nothing. */
#ifndef HALO_TARGET_H
#define HALO_TARGET_H

#include <sys/types.h>

#include "config/error.h"
#include "config/run.h"

enum halo_target_kind {
    HALO_TARGET_NULL,
    HALO_TARGET_FILE,   /* appears complete or not at all */
    HALO_TARGET_DIRECT, /* URL, pipe or device: gets the bytes as they are produced */
};

/* Path and partial are for files only. */
struct halo_target {
    enum halo_target_kind kind;
    char *path;    /* final name, with symbolic links resolved */
    char *partial; /* NAME.partial.EXT */
    mode_t mode;   /* of the existing file; 0 if there is no file */
};

/* Compares OUT, IN and the files of -progress, -stats_json and -trace with each other, also if they
 * are standard input and output, and with existing files; opens nothing. 0, a usage error or
 * -errno, with err filled; *target is the caller's to finish, on failure too. */
int halo_target_init(struct halo_target *target, const struct halo_run_settings *set,
                     struct halo_error *err);
void halo_target_finish(struct halo_target *target); /* accepts an all-zero target */

#endif
