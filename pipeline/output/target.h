/* SPDX-License-Identifier: BSD-2-Clause
 * What OUT means, and that nothing is lost by writing there. */
#ifndef HALO_TARGET_H
#define HALO_TARGET_H

#include <sys/types.h>

#include "config/error.h"
#include "config/run.h"

enum halo_target_kind {
    HALO_TARGET_NULL,
    HALO_TARGET_FILE,   /* whole or not there */
    HALO_TARGET_DIRECT, /* URL, pipe, device: gets the bytes as they come */
};

/* Path and partial are for files only. */
struct halo_target {
    enum halo_target_kind kind;
    char *path;    /* final name, symbolic links followed */
    char *partial; /* NAME.partial.EXT */
    mode_t mode;   /* of the file that is there; 0 where none is */
};

/* Checks OUT, IN and the files of -progress, -stats_json and -trace against each other, also where
 * they are standard input and output, and against what is there; opens nothing. 0, a
 * usage error or -errno, with err filled; *target is the caller's to finish on failure too. */
int halo_target_init(struct halo_target *target, const struct halo_run_settings *set,
                     struct halo_error *err);
void halo_target_finish(struct halo_target *target); /* all zero is nothing to do */

#endif
