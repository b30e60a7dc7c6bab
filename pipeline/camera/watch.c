/* SPDX-License-Identifier: BSD-2-Clause
 * Watches folders (watch.h). */
#include "pipeline/camera/watch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int halo_watch(const char *folder)
{
    const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return -errno;
    (void)inotify_add_watch(fd, folder, HALO_WATCH_EVENTS);
    return fd;
}

static bool is_of(const struct inotify_event *event, const char *const *names)
{
    if (event->mask & IN_Q_OVERFLOW)
        return true;
    for (; event->len && *names; names++)
        if (!strncmp(event->name, *names, strlen(*names)))
            return true;
    return false;
}

bool halo_watch_drain(int watch, const char *const *names)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool ours = false;
    ssize_t n;
    while ((n = read(watch, events, sizeof events)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const void *)(events + at);
            ours |= is_of(event, names);
            at += (ssize_t)(sizeof *event + event->len);
        }
    return ours;
}
