/* SPDX-License-Identifier: BSD-2-Clause
 * The table of outputs, made of outputs.def. */
#include "config/output_kinds.h"

#include <string.h>

const struct halo_output_row *const halo_output_rows[] = {
#define OUTPUT(kind, name) &halo_output_##name,
#include "config/outputs.def"
#undef OUTPUT
};

const struct halo_output_row *halo_output_row(const struct halo_output_settings *output)
{
    return halo_output_rows[output->kind];
}

static bool lists(const char *const *keys, const char *key)
{
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys;
}

bool halo_output_takes(const struct halo_output_row *row, const char *key)
{
    return lists(row->keys, key);
}

bool halo_output_takes_video(const struct halo_output_row *row, const char *key)
{
    return lists(row->keys, "video") && (!row->video_keys || lists(row->video_keys, key));
}

bool halo_output_is_camera(const struct halo_output_settings *output)
{
    const enum halo_output_target target = halo_output_row(output)->target;
    return target == HALO_AT_DEVICE || target == HALO_AT_NODE;
}
