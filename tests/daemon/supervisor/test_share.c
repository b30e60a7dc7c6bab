/* SPDX-License-Identifier: BSD-2-Clause
 * What the kernel says about child processes: whether they run, wait or have ended. */
#include <signal.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/supervisor/sup_share.h"
#include "kernels/clock.h"
#include "tests/cmocka_all.h"

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Spins on the processor. */
static pid_t start_busy(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile int n = 0;; n++)
            ;
    }
    return pid;
}

static void has_ended_before_it_is_waited_for(void **state)
{
    (void)state;
    const pid_t pid = start_busy();
    assert_false(sv_share_ended(pid));
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(sv_share_ended(pid));
    assert_true(sv_share_ended(pid)); /* it is still there for others */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(sv_share_ended(pid));
}

static void runs(void **state)
{
    (void)state;
    const pid_t pid = start_busy();
    const int64_t before = halo_cpu_ns(pid);
    while (halo_cpu_ns(pid) <= before)
        sched_yield();
    assert_false(sv_share_blocked(pid));
    end(pid);
    assert_int_equal(halo_cpu_ns(pid), 0);
}

/* The parent of a vfork() waits as a process does that hangs in a driver. */
static void is_blocked(void **state)
{
    (void)state;
    int told[2];
    assert_int_equal(pipe(told), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const pid_t child = vfork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)!write(told[1], "", 1);
            for (;;)
                pause();
        }
        _exit(0);
    }
    char byte;
    assert_int_equal(read(told[0], &byte, 1), 1);
    while (!sv_share_blocked(pid))
        sched_yield();
    end(pid);
    close(told[0]);
    close(told[1]);
}

/* One of many that want the processor waits for it. */
static void waits_for_the_processor(void **state)
{
    (void)state;
    enum { MANY = 8 };
    pid_t pid[MANY];
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    for (int i = 0; i < MANY; i++) {
        pid[i] = start_busy();
        sched_setaffinity(pid[i], sizeof one, &one);
    }
    const uint64_t before = sv_share_waited(pid[0]);
    if (!access("/proc/self/schedstat", R_OK))
        while (sv_share_waited(pid[0]) <= before)
            sched_yield();
    for (int i = 0; i < MANY; i++)
        end(pid[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_ended_before_it_is_waited_for),
        cmocka_unit_test(runs),
        cmocka_unit_test(is_blocked),
        cmocka_unit_test(waits_for_the_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
