/* SPDX-License-Identifier: BSD-2-Clause
 * The table of outputs, made of outputs.def. */
#include "config/output_kinds.h"

const struct halo_output_row *const halo_output_rows[] = {
#define OUTPUT(kind, name) &halo_output_##name,
#include "config/outputs.def"
#undef OUTPUT
};

const struct halo_output_row *halo_output_row(const struct halo_output_settings *output)
{
    return halo_output_rows[output->kind];
}

bool halo_output_is_camera(const struct halo_output_settings *output)
{
    const enum halo_output_target target = halo_output_row(output)->target;
    return target == HALO_AT_DEVICE || target == HALO_AT_NODE;
}
