/* SPDX-License-Identifier: BSD-2-Clause
 * A file that is written once, at the end of a run. If it cannot be written completely, an existing
 * file with that name is not changed. Pipes, devices and descriptors (/dev/stderr, /dev/fd/N) are
 * opened at once and written directly. One thread; calls may block on disk. */
#ifndef HALO_REPORT_FILE_H
#define HALO_REPORT_FILE_H

#include <stdio.h>

#include "config/base/error.h"

struct halo_report_file;

/* Checks that the file can be written, without changing an existing file. On the command line,
 * `option` is the option that requests the report, and `name` is its value; both strings must
 * remain valid while the report exists. Returns 0, or -errno with err filled. The caller owns
 * *ret. */
int halo_report_open(struct halo_report_file **ret, const char *option, const char *name,
                     struct halo_error *err);
void halo_report_destroy(struct halo_report_file *report); /* NULL is ignored */

/* Opens the file for writing. Returns the open file, which the report owns, or NULL on failure,
 * which is logged. */
FILE *halo_report_begin(struct halo_report_file *report);

/* Closes the file that halo_report_begin() opened, and renames it to its final name. Errors are
 * logged. */
void halo_report_end(struct halo_report_file *report);

#endif
