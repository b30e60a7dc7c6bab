/* SPDX-License-Identifier: BSD-2-Clause
 * The monotonic clock, which times frames, lanes and stages, and the calendar clock. */
#ifndef HALO_CLOCK_H
#define HALO_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns the time of CLOCK_MONOTONIC in nanoseconds. Any thread. */
static inline int64_t halo_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Returns the time of CLOCK_MONOTONIC in microseconds. Any thread. */
static inline int64_t halo_now_us(void)
{
    return halo_now_ns() / 1000;
}

/* Returns the number of seconds since 1970 according to the system clock, which may jump. Any
 * thread. */
static inline double halo_unix_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
