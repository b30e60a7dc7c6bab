/* SPDX-License-Identifier: BSD-2-Clause
 * What the stand-ins for the driver's libraries share. */
#ifndef HALO_STANDIN_H
#define HALO_STANDIN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STANDIN_LOST = 700 };

/* In libcuda: from now on the device fails. Returns STANDIN_LOST. */
int standin_lose_device(void);

/* Whether HALO_STANDIN asks for this trouble. */
static inline bool standin_is(const char *trouble)
{
    const char *wish = getenv("HALO_STANDIN");
    return wish && !strcmp(wish, trouble);
}

static inline void standin_log(const char *line)
{
    const char *path = getenv("HALO_STANDIN_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

#endif
