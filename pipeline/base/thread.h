/* SPDX-License-Identifier: BSD-2-Clause
 * Threads, and conditions on which they wait for each other. */
#ifndef HALO_THREAD_H
#define HALO_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "config/error.h"

/* Starts a thread, which the caller must join. name, of at most 15 characters, is shown by top -H.
 * Returns 0, or -errno with err filled. */
int halo_thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err);

/* Initialises a condition whose timeouts use CLOCK_MONOTONIC; free it with pthread_cond_destroy().
 * Returns 0 or -ENOMEM. */
int halo_cond_init(pthread_cond_t *ret);
/* Waits, with lock held, until the condition is signalled or the time `until` is reached (in ns;
 * INT64_MAX: no timeout). Spurious wakeups are possible. */
void halo_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

#endif
