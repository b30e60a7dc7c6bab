/* SPDX-License-Identifier: BSD-2-Clause
 * Threads and conditions (thread.h). */
#include "pipeline/base/thread.h"

#include <errno.h>
#include <string.h>
#include <time.h>

int halo_thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err)
{
    const int code = -pthread_create(ret, NULL, run, arg);
    if (code == 0)
        pthread_setname_np(*ret, name);
    return code < 0 ? halo_fail(err, code, "cannot start a thread: %s", strerror(-code)) : 0;
}

int halo_cond_init(pthread_cond_t *ret)
{
    pthread_condattr_t clock;
    if (pthread_condattr_init(&clock) != 0)
        return -ENOMEM;
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    const int code = pthread_cond_init(ret, &clock);
    pthread_condattr_destroy(&clock);
    return code == 0 ? 0 : -ENOMEM;
}

void halo_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until)
{
    const struct timespec t = {until / 1000000000, until % 1000000000};
    if (until == INT64_MAX)
        pthread_cond_wait(cond, lock);
    else
        pthread_cond_timedwait(cond, lock, &t);
}
