/* SPDX-License-Identifier: BSD-2-Clause
 * Threads on pthreads (thread.h). All zeros is how C libraries of Linux initialise a mutex and a
 * condition. */
#include "config/base/thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "kernels/clock.h"
#include "kernels/fault.h"

enum { WAKE_SIGNAL = SIGUSR2 };

void halo_lock(struct halo_mutex *mutex)
{
    pthread_mutex_lock(&mutex->os);
}

void halo_unlock(struct halo_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->os);
}

bool halo_cond_wait(struct halo_cond *cond, struct halo_mutex *mutex, int64_t until)
{
    const int64_t ns = until > 0 ? until : 0;
    const struct timespec t = {ns / 1000000000, ns % 1000000000};
    if (until == INT64_MAX)
        return pthread_cond_wait(&cond->os, &mutex->os) == 0;
    return !HALO_FAULT_IS("time", "pthread_cond_clockwait") &&
           pthread_cond_clockwait(&cond->os, &mutex->os, CLOCK_MONOTONIC, &t) != ETIMEDOUT;
}

void halo_cond_broadcast(struct halo_cond *cond)
{
    pthread_cond_broadcast(&cond->os);
}

int halo_thread_start(struct halo_thread *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked, before;
    sigfillset(&blocked);
    sigdelset(&blocked, WAKE_SIGNAL);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int code = HALO_FAULT_IS("code", "pthread_create")
                         ? -EAGAIN
                         : -pthread_create(&ret->os, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code < 0)
        return halo_fail(err, code, "cannot start a thread: %s", strerror(-code));
    pthread_setname_np(ret->os, name);
    return 0;
}

struct halo_thread halo_thread_self(void)
{
    return (struct halo_thread){pthread_self()};
}

void halo_thread_join(struct halo_thread thread)
{
    pthread_join(thread.os, NULL);
}

void halo_thread_detach(struct halo_thread thread)
{
    pthread_detach(thread.os);
}

static void do_nothing(int number)
{
    (void)number;
}

void halo_thread_wake(struct halo_thread thread)
{
    const struct sigaction wake = {.sa_handler = do_nothing}; /* no SA_RESTART */
    sigaction(WAKE_SIGNAL, &wake, NULL);
    pthread_kill(thread.os, WAKE_SIGNAL);
}

int halo_poll(struct pollfd *fds, int count, int64_t until)
{
    for (;;) {
        const int64_t now = halo_now_ns(), left = until ? until - now : 0;
        const struct timespec t = {left / 1000000000, left % 1000000000};
        if (until && until <= now)
            return 0;
        const int ready = HALO_FAULT_IS("time", "ppoll")
                              ? 0
                              : ppoll(fds, (nfds_t)count, until == INT64_MAX ? NULL : &t, NULL);
        if (ready >= 0 || errno != EINTR)
            return ready < 0 ? 0 : ready;
    }
}
