/* SPDX-License-Identifier: BSD-2-Clause
 * The clock by which frames, lanes and stages are timed, and that of calendars. */
#ifndef HALO_CLOCK_H
#define HALO_CLOCK_H

#include <stdint.h>
#include <time.h>

/* ns of CLOCK_MONOTONIC. Any thread. */
static inline int64_t halo_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* us of it. */
static inline int64_t halo_now_us(void)
{
    return halo_now_ns() / 1000;
}

/* Seconds since 1970, which may jump. Any thread. */
static inline double halo_unix_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
