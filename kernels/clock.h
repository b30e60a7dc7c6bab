/* SPDX-License-Identifier: BSD-2-Clause
 * The time. All code asks it here, or by uv_now() on a loop of libuv (tools/dev/check-style
 * enforces this), so that a program for tests can play it: by its own clock_gettime() and
 * clock_nanosleep().
 * Any thread. */
#ifndef HALO_CLOCK_H
#define HALO_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

static inline int64_t halo_clock_ns(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) < 0 ? 0 : t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Return the time of CLOCK_MONOTONIC, which is also the one of uv_now() and of other processes. */
static inline int64_t halo_now_ns(void)
{
    return halo_clock_ns(CLOCK_MONOTONIC);
}
static inline int64_t halo_now_us(void)
{
    return halo_now_ns() / 1000;
}

/* Return the time since 1970 according to the system clock, which may jump. */
static inline int64_t halo_unix_ns(void)
{
    return halo_clock_ns(CLOCK_REALTIME);
}
static inline time_t halo_unix_seconds(void)
{
    return (time_t)(halo_unix_ns() / 1000000000);
}
static inline double halo_unix_time(void)
{
    return (double)halo_unix_ns() / 1e9;
}

/* Returns for how long a process has run on processors; 0 if it cannot be known. */
static inline int64_t halo_cpu_ns(pid_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) ? 0 : halo_clock_ns(clock);
}

/* Sleeps; not at all if the time is negative. A signal whose handler returns ends it early. */
static inline void halo_sleep(double seconds)
{
    const int64_t ns = (int64_t)(seconds * 1e9);
    const struct timespec t = {ns / 1000000000, ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

#endif
