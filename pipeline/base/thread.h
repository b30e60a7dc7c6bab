/* SPDX-License-Identifier: BSD-2-Clause
 * Threads of a stream, and how they wait for each other. */
#ifndef HALO_THREAD_H
#define HALO_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "config/error.h"

/* Starts one, to be joined; name: 15 letters at most, as top -H shows it. 0, or -errno with err
 * filled. */
int halo_thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err);

/* A condition whose waits end by CLOCK_MONOTONIC; pthread_cond_destroy() ends it. 0 or -ENOMEM. */
int halo_cond_init(pthread_cond_t *ret);
/* Under the lock: until it is woken, or then (ns) at the latest, INT64_MAX: never; or for no
 * reason. */
void halo_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);

#endif
