/* SPDX-License-Identifier: BSD-2-Clause
 * null: filtered frames are discarded. */
#include "config/output_kinds.h"

const struct halo_output_row halo_output_null = {
    .key = "null",
    .help = "true: filter the frames and discard them",
    .example = "true",
    .target = HALO_AT_NOTHING,
    .writer = HALO_WRITER_NONE,
    .keys = (const char *const[]){"rendition", NULL},
};
