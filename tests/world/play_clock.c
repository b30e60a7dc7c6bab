/* SPDX-License-Identifier: BSD-2-Clause
 * libc's calls that ask for the time, in all played worlds (play.h). */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/world/play.h"

enum { REAL_S = 1800000000 };

static struct timespec time_from(int64_t seconds)
{
    const int64_t ns = play_ns();
    return (struct timespec){seconds + ns / 1000000000, ns % 1000000000};
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    switch (clock) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
        play_asked();
        *ret = time_from(PLAY_MONOTONIC_S);
        return 0;
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
        *ret = time_from(REAL_S);
        return 0;
    default: /* of processors */
        return (int)syscall(SYS_clock_gettime, clock, ret);
    }
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    (void)zone;
    const struct timespec t = time_from(REAL_S);
    *ret = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *ret)
{
    const time_t t = time_from(REAL_S).tv_sec;
    if (ret)
        *ret = t;
    return t;
}
