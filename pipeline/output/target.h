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
    HALO_TARGET_DIRECT, /* URL, pipe or device: receives the bytes as they are produced */
};

/* path, partial and mode are set for files only. */
struct halo_target {
    enum halo_target_kind kind;
    char *path;    /* final name, with symbolic links resolved */
    char *partial; /* NAME.partial.EXT */
    mode_t mode;   /* permissions of the existing file; 0 if there is no file */
};

/* Compares OUT, IN and the files of -progress, -stats_json and -trace with each other and with
 * existing files, even if one of them is standard input or output. Opens none of these files.
 * Returns 0, a usage error or -errno, with err filled. Always call halo_target_finish() afterwards,
 * even after a failure. */
int halo_target_init(struct halo_target *target, const struct halo_run_settings *set,
                     struct halo_error *err);
void halo_target_finish(struct halo_target *target); /* accepts an all-zero target */

#endif
