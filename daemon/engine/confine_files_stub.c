/* SPDX-License-Identifier: BSD-2-Clause
 * For builds with sanitizers, which open arbitrary files, and for kernel headers without
 * Landlock. */
#include <stddef.h>

#include "daemon/engine/confine_files.h"

int halo_confine_files(const struct halo_files *files, int count, bool moves,
                       struct halo_error *err)
{
    (void)moves;
    (void)files;
    (void)count;
    (void)err;
    return 0;
}

int halo_confine_detector_files(const struct halo_files *files, int count, bool gpu,
                                struct halo_error *err)
{
    (void)gpu;
    return halo_confine_files(files, count, false, err);
}

const char *halo_confine_files_missing(bool moves)
{
    (void)moves;
    return "this build of halod has no Landlock support";
}
