/* SPDX-License-Identifier: BSD-2-Clause
 * The table of outputs, and the one kind that has no file of its own. */
#include "config/output_kinds.h"

const struct halo_output_row halo_output_null = {
    .key = "null",
    .help = "true: filter the frames and discard them",
    .target = HALO_AT_NOTHING,
    .writer = HALO_WRITER_NONE,
    .keys = (const char *const[]){"rendition", NULL},
};

const struct halo_output_row *const halo_output_rows[] = {
    [HALO_OUTPUT_UNIX] = &halo_output_unix, [HALO_OUTPUT_TCP] = &halo_output_tcp,
    [HALO_OUTPUT_FILE] = &halo_output_file, [HALO_OUTPUT_URL] = &halo_output_url,
    [HALO_OUTPUT_V4L2] = &halo_output_v4l2, [HALO_OUTPUT_NULL] = &halo_output_null,
};

const struct halo_output_row *halo_output_row(const struct halo_output_settings *output)
{
    return halo_output_rows[output->kind];
}
