/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_share.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/clock.h"

bool sv_share_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Reads a small file of /proc; false: it does not exist or is hidden. */
static bool read_text(const char *path, char *ret, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    ret[length > 0 ? length : 0] = '\0';
    return length > 0;
}

int64_t sv_share_ran(pid_t pid)
{
    return halo_cpu_ns(pid);
}

uint64_t sv_share_waited(pid_t pid)
{
    char path[40], text[100];
    uint64_t waited = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    if (!read_text(path, text, sizeof text) &&
        !read_text("/proc/self/schedstat", text, sizeof text))
        return 0;
    return sscanf(text, "%*u %" SCNu64, &waited) == 1 ? waited / 1000000 : 0;
}

bool sv_share_blocked(pid_t pid)
{
    char path[300], text[256];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    bool blocked = !threads;
    for (const struct dirent *one; threads && !blocked && (one = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, one->d_name);
        if (one->d_name[0] == '.' || !read_text(path, text, sizeof text))
            continue;
        const char *name_end = strrchr(text, ')'); /* a name may contain any characters */
        blocked = name_end && !strncmp(name_end, ") D", 3);
    }
    if (threads)
        closedir(threads);
    return blocked;
}
