/* SPDX-License-Identifier: BSD-2-Clause
 * Makes the process not "dumpable" (hide.h). A limit on the size of core files would not be enough:
 * the kernel applies it to files only, not to a program that core_pattern names. */
#include "daemon/engine/hide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static const char name[] = "HALOD_DEBUGGABLE";

int halo_hide_memory(struct halo_error *err)
{
    const char *wish = getenv(name);
    if (getenv("NOTIFY_SOCKET"))
        unsetenv(name);
    else if (wish && !strcmp(wish, "1"))
        return 0;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0
               ? halo_fail(err, -errno, "cannot protect memory from other processes: %s",
                           strerror(errno))
               : 0;
}
