/* SPDX-License-Identifier: BSD-2-Clause
 * For builds without libseccomp, and with sanitizers, which inspect their own process as a debugger
 * does. */
#include <errno.h>
#include <sys/prctl.h>

#include "daemon/engine/confine.h"

int halo_confine(const struct halo_files *files, int count, struct halo_error *err)
{
    (void)files;
    (void)count;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? halo_fail(err, -errno, "cannot set no_new_privs")
               : 0;
}

int halo_confine_detector(const struct halo_files *files, int count, bool gpu,
                          struct halo_error *err)
{
    (void)gpu;
    return halo_confine(files, count, err);
}

bool halo_confine_is_built(void)
{
    return false;
}
