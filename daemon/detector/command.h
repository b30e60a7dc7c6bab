/* SPDX-License-Identifier: BSD-2-Clause
 * The command of a detector: its words, and where its program is. */
#ifndef HALO_DETECTOR_COMMAND_H
#define HALO_DETECTOR_COMMAND_H

#include "config/detectors.h"

struct halo_detector_command {
    char *text;                          /* copy of the command, cut into words */
    char *word[HALO_DETECTOR_WORDS + 1]; /* NULL-terminated; word[0] is the program's path */
    char *program;                       /* absolute path of the program */
};

/* Finds the program of a command; NULL is "halo-detect FIND". The program halo-detect is looked for
 * next to halod, and then, like any name without a slash, in the folders of $PATH.
 *
 * In a system service, $PATH does not count: halo-detect must be one of the installed programs, and
 * every other program must be named by its absolute path. Both are refused if the service's user
 * could change the program, because what decodes hostile video must not be able to replace a
 * program that sees unfiltered frames.
 *
 * Returns 0 (the caller finishes *ret), or -ENOENT, -EACCES, -EINVAL or -ENOMEM with err filled,
 * in one line that says what to do. May block on a disk. Any thread. */
int halo_detector_command_find(struct halo_detector_command *ret, const char *command,
                               enum halo_find find, struct halo_error *err);
void halo_detector_command_finish(struct halo_detector_command *command);

#endif
