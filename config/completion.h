/* SPDX-License-Identifier: BSD-2-Clause
 * Completion for bash, from option tables: what a program's --completion prints is made of these.
 * The script has word (being completed) and last (before it), and sets words, one of which word
 * becomes; where words stays empty and files is set, the names of files are meant. */
#ifndef HALO_COMPLETION_H
#define HALO_COMPLETION_H

#include <stdio.h>

#include "config/option.h"

/* PREFIXname PREFIXname ... */
void halo_completion_names(const struct halo_option *table, const char *prefix, FILE *to);
/* Patterns of a case on last, each for one option that takes a value: its choices, files, or
 * nothing that could be known. indent: before each line. */
void halo_completion_values(const struct halo_option *table, const char *prefix, const char *indent,
                            FILE *to);
/* The function's head and end, which belong around the lines that set words. */
void halo_completion_begin(const char *program, FILE *to);
void halo_completion_end(const char *program, FILE *to);

#endif
