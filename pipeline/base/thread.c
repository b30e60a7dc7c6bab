/* SPDX-License-Identifier: BSD-2-Clause
 * Threads of a stream (thread.h). */
#include "pipeline/base/thread.h"

#include <string.h>

int halo_thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err)
{
    const int r = -pthread_create(ret, NULL, run, arg);
    if (r == 0)
        pthread_setname_np(*ret, name);
    return r < 0 ? halo_fail(err, r, "no thread could be started: %s", strerror(-r)) : 0;
}
