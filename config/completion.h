/* SPDX-License-Identifier: BSD-2-Clause
 * Completion for bash, from option tables: the parts of which a program's --completion prints its
 * script. In the script, $word is the word being completed and $last the one before it. The script
 * sets $words to the candidates for $word; if $words is empty and $files is set, file names are
 * completed. */
#ifndef HALO_COMPLETION_H
#define HALO_COMPLETION_H

#include <stdio.h>

#include "config/option.h"

/* Prints "PREFIXname PREFIXname ...". */
void halo_completion_names(const struct halo_option *table, const char *prefix, FILE *to);
/* Prints the branches of the shell command `case $last`, one for each option that requires a value.
 * A branch sets $words to the option's choices, sets $files, or does nothing if the possible values
 * are unknown. Each line begins with indent. */
void halo_completion_values(const struct halo_option *table, const char *prefix, const char *indent,
                            FILE *to);
/* Print the beginning and the end of the shell function, around the lines that set $words. */
void halo_completion_begin(const char *program, FILE *to);
void halo_completion_end(const char *program, FILE *to);

#endif
