/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

char **sv_environment(void)
{
    static const char *const mine[] = {"NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_"};
    static char **ret; /* queued hooks outlive the supervisor */
    size_t count = 0;
    while (environ[count])
        count++;
    if (ret || !(ret = calloc(count + 1, sizeof *ret)))
        return ret;
    for (size_t i = 0, n = 0; i < count; i++) {
        bool keep = true;
        for (size_t m = 0; m < sizeof mine / sizeof *mine; m++)
            keep &= strncmp(environ[i], mine[m], strlen(mine[m])) != 0;
        if (keep)
            ret[n++] = environ[i];
    }
    return ret;
}
