/* SPDX-License-Identifier: BSD-2-Clause
 * A file that is written once, when a run is over: whole, or what was there before stays. Pipes,
 * devices and descriptors (/dev/stderr, /dev/fd/N) are opened at once and written directly. One
 * thread; calls may block on disk. */
#ifndef HALO_REPORT_FILE_H
#define HALO_REPORT_FILE_H

#include <stdio.h>

#include "config/error.h"

struct halo_report_file;

/* Checks that it can be made; nothing that is there is changed. option, name: as on the command
 * line; they stay the caller's. 0 or -errno with err filled. The caller owns *ret. */
int halo_report_open(struct halo_report_file **ret, const char *option, const char *name,
                     struct halo_error *err);
void halo_report_destroy(struct halo_report_file *report); /* NULL is nothing to do */

/* Where to write, the report's; NULL where that cannot be, which is logged. */
FILE *halo_report_begin(struct halo_report_file *report);

/* After begin: closes the file and puts it into its place. What goes wrong is logged. */
void halo_report_end(struct halo_report_file *report);

#endif
