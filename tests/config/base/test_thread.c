/* SPDX-License-Identifier: BSD-2-Clause
 * Threads: zeros are ready to use, waits end at their time, signals do not disturb. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config/base/thread.h"
#include "kernels/clock.h"
#include "tests/cmocka_all.h"

static struct halo_mutex lock;
static struct halo_cond changed;
static int turn; /* under the lock */

static void zeros_are_initialised(void **state)
{
    static const struct halo_mutex mutex;
    static const struct halo_cond cond;
    const struct halo_mutex as_mutex = {PTHREAD_MUTEX_INITIALIZER};
    const struct halo_cond as_cond = {PTHREAD_COND_INITIALIZER};
    (void)state;
    assert_memory_equal(&mutex, &as_mutex, sizeof mutex);
    assert_memory_equal(&cond, &as_cond, sizeof cond);
}

static void *answer(void *arg)
{
    (void)arg;
    halo_lock(&lock);
    while (turn != 1)
        halo_cond_wait(&changed, &lock, INT64_MAX);
    turn = 2;
    halo_cond_broadcast(&changed);
    halo_unlock(&lock);
    return NULL;
}

static void a_broadcast_ends_waits(void **state)
{
    struct halo_thread thread;
    (void)state;
    assert_int_equal(halo_thread_start(&thread, "answer", answer, NULL, NULL), 0);
    halo_lock(&lock);
    turn = 1;
    halo_cond_broadcast(&changed);
    while (turn != 2)
        assert_true(halo_cond_wait(&changed, &lock, halo_now_ns() + 3600000000000));
    halo_unlock(&lock);
    halo_thread_join(thread);
}

static void a_wait_ends_at_its_time(void **state)
{
    const int64_t soon = halo_now_ns() + 2000000, times[] = {-5, 0, 1, soon};
    struct pollfd fd = {eventfd(0, EFD_CLOEXEC), POLLIN, 0};
    (void)state;
    halo_lock(&lock);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        while (halo_cond_wait(&changed, &lock, times[i]))
            ;
    halo_unlock(&lock);
    assert_true(halo_now_ns() >= soon);
    const int64_t later = halo_now_ns() + 2000000;
    assert_int_equal(halo_poll(&fd, 1, -5), 0);
    assert_int_equal(halo_poll(&fd, 1, 0), 0);
    assert_int_equal(halo_poll(&fd, 1, later), 0);
    assert_true(halo_now_ns() >= later);
    assert_int_equal(eventfd_write(fd.fd, 1), 0);
    assert_int_equal(halo_poll(&fd, 1, 0), 1);
    assert_int_equal(halo_poll(&fd, 1, INT64_MAX), 1);
    assert_int_equal(halo_poll(&fd, 1, later), 0);
    close(fd.fd);
}

static atomic_int woken;

static void *read_and_poll(void *arg)
{
    const int fd = *(const int *)arg;
    uint64_t value;
    struct pollfd ready = {fd, POLLIN, 0};
    while (read(fd, &value, sizeof value) >= 0 || errno != EINTR)
        ;
    atomic_store(&woken, 1);
    return (void *)(intptr_t)(halo_poll(&ready, 1, INT64_MAX) == 1 && ready.revents == POLLIN);
}

/* Reads fail, but a poll ends only when its descriptor is ready. */
static void a_wake_interrupts_calls(void **state)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    struct halo_thread thread;
    void *polled;
    (void)state;
    assert_int_equal(halo_thread_start(&thread, "read", read_and_poll, &fd, NULL), 0);
    while (!atomic_load(&woken)) {
        halo_thread_wake(thread);
        halo_sleep(0.001);
    }
    for (int i = 0; i < 20; i++) {
        halo_thread_wake(thread);
        halo_sleep(0.001);
    }
    assert_int_equal(eventfd_write(fd, 1), 0);
    pthread_join(thread.os, &polled);
    assert_non_null(polled);
    close(fd);
}

static void *take_mask(void *arg)
{
    pthread_sigmask(SIG_BLOCK, NULL, arg);
    return NULL;
}

static void signals_are_left_to_other_threads(void **state)
{
    static const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGXFSZ, SIGPIPE, SIGALRM};
    static const int taken[] = {SIGUSR2, SIGSEGV, SIGBUS, SIGSYS, SIGABRT};
    struct halo_thread thread;
    sigset_t before, mask, after;
    (void)state;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(halo_thread_start(&thread, "mask", take_mask, &mask, NULL), 0);
    halo_thread_join(thread);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
        assert_int_equal(sigismember(&mask, blocked[i]), 1);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_int_equal(sigismember(&mask, taken[i]), 0);
    for (int i = 1; i < 32; i++)
        assert_int_equal(sigismember(&after, i), sigismember(&before, i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_are_initialised),
        cmocka_unit_test(a_broadcast_ends_waits),
        cmocka_unit_test(a_wait_ends_at_its_time),
        cmocka_unit_test(a_wake_interrupts_calls),
        cmocka_unit_test(signals_are_left_to_other_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
