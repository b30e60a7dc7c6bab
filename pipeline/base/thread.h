/* SPDX-License-Identifier: BSD-2-Clause
 * Threads of a stream. */
#ifndef HALO_THREAD_H
#define HALO_THREAD_H

#include <pthread.h>

#include "config/error.h"

/* Starts one, to be joined; name: 15 letters at most, as top -H shows it. 0, or -errno with err
 * filled. */
int halo_thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err);

#endif
