/* SPDX-License-Identifier: BSD-2-Clause
 * For builds without libseccomp, and with sanitizers, which inspect their own process as a debugger
 * does. */
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "daemon/engine/confine.h"

int halo_confine(const struct halo_confinement *c, int *ret_calls, struct halo_error *err)
{
    (void)c;
    if (ret_calls)
        *ret_calls = -1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? halo_fail(err, -errno, "cannot set no_new_privs")
               : 0;
}

bool halo_confine_is_built(void)
{
    return false;
}

const char *halo_confine_call_name(int number, char *text, size_t size)
{
    snprintf(text, size, "%d", number);
    return text;
}
