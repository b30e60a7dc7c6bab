/* SPDX-License-Identifier: BSD-2-Clause
 * Threads, and how they wait for each other and for descriptors. But for kernels/, no other code
 * calls pthreads or poll() (tools/dev/check-style enforces this), so that a program for tests can
 * replace thread.c and decide which thread runs when.
 *
 * Times are those of halo_now_ns(); INT64_MAX never comes. Any thread may call these functions.
 * What fails only by an error in the program, or if the kernel has no memory, has no result. */
#ifndef HALO_THREAD_H
#define HALO_THREAD_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"

/* Memory of zeros is an unlocked mutex or a condition without waiting threads. Nothing has to be
 * released in the end, but no thread may be using it. */
struct halo_mutex {
    pthread_mutex_t os;
};
struct halo_cond {
    pthread_cond_t os;
};

/* A mutex is not recursive, and is unlocked by the thread that has locked it. */
void halo_lock(struct halo_mutex *mutex);
void halo_unlock(struct halo_mutex *mutex);

/* Waits, with the mutex held, until the condition is broadcast, or perhaps for no reason. Returns
 * false if the time has come; what is waited for may have happened even so. */
bool halo_cond_wait(struct halo_cond *cond, struct halo_mutex *mutex, int64_t until);
/* Ends the wait of all threads; the caller usually holds their mutex. */
void halo_cond_broadcast(struct halo_cond *cond);

struct halo_thread {
    pthread_t os;
};

/* Starts a thread, which must be joined or detached. name, of at most 15 characters, is shown by
 * top -H. The thread gets no signals but those of faults and of halo_thread_wake(). Returns 0, or
 * -errno with err filled. */
int halo_thread_start(struct halo_thread *ret, const char *name, void *(*run)(void *), void *arg,
                      struct halo_error *err);
struct halo_thread halo_thread_self(void);
/* Waits until the thread has returned. */
void halo_thread_join(struct halo_thread thread);
void halo_thread_detach(struct halo_thread thread);
/* Makes a system call in which the thread waits fail with EINTR, by SIGUSR2. If it begins to wait
 * only after that, it is not woken. halo_poll() goes on waiting. */
void halo_thread_wake(struct halo_thread thread);

/* Waits until a descriptor is ready, as poll() does. Returns how many are, or 0 if the time has
 * come, even if some are ready: who keeps them ready cannot put it off. With 0 for the time, it
 * looks without waiting. */
int halo_poll(struct pollfd *fds, int count, int64_t until);

#endif
