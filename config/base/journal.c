/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/base/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool halo_journal_is_there(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat found;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &found) == 0 && found.st_dev == device && found.st_ino == inode;
}
