/* SPDX-License-Identifier: BSD-2-Clause
 * Runs the tasks on this machine. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "config/base/log.h"
#include "daemon/cli/job/job_submit.h"
#include "daemon/cli/job/job_task.h"
#include "kernels/clock.h"

enum { TRIES = 5 };

extern char **environ;

struct task {
    pid_t pid; /* 0: does not run */
    int tries;
    int64_t due; /* when it may be tried again */
    bool done;
};

struct local {
    const struct halo_job_submission *s;
    const struct halo_job_step *step;
    struct task *task;
    int running, next;        /* no task before it has to be started */
    int64_t due;              /* when a task may be tried again; 0: none waits */
    int code;                 /* of the first task that failed */
    int ended_by;             /* the signal that ends all this, or 0 */
    sigset_t awaited, before; /* signals: await() takes them; blocked before */
};

/* Starts a process with the signals that were blocked before. Returns it or -errno. */
static pid_t spawn_words(const struct local *l, char *const *words)
{
    pid_t pid;
    posix_spawnattr_t attr;
    if (posix_spawnattr_init(&attr) != 0)
        return -ENOMEM;
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attr, &l->before);
    const int code = -posix_spawnp(&pid, words[0], NULL, &attr, words, environ);
    posix_spawnattr_destroy(&attr);
    return code < 0 ? code : pid;
}

/* Starts the step, or task `number` of it. Returns the process or -errno. */
static pid_t spawn(const struct local *l, const char *number)
{
    const char **words = halo_job_words(l->s, l->step, number);
    const pid_t pid = words ? spawn_words(l, (char *const *)words) : -ENOMEM;
    free(words);
    return pid;
}

/* Those that end all this, unless they are ignored, and SIGCHLD: from now on await() takes them. */
static void block_signals(struct local *l)
{
    static const int ends[] = {SIGTERM, SIGINT};
    struct sigaction now;
    sigemptyset(&l->awaited);
    sigaddset(&l->awaited, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* if it was ignored, no process could be waited for */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&l->awaited, ends[i]);
    sigprocmask(SIG_BLOCK, &l->awaited, &l->before);
}

/* Waits until a child has ended, which may be one from before exec(). Returns it; 0, once, when a
 * signal ends all this; or -1 at the time l->due. */
static pid_t await(struct local *l, int *status)
{
    for (;;) {
        const pid_t pid = waitpid(-1, status, WNOHANG);
        if (pid > 0)
            return pid;
        const int64_t left = l->due - halo_now_ns();
        if (l->due && left <= 0)
            return -1;
        const struct timespec limit = {left / 1000000000, left % 1000000000};
        const int number =
            l->due ? sigtimedwait(&l->awaited, NULL, &limit) : sigwaitinfo(&l->awaited, NULL);
        if (number > 0 && number != SIGCHLD && !l->ended_by) {
            l->ended_by = number;
            return 0;
        }
    }
}

static void start_tasks(struct local *l)
{
    char number[16];
    const int most = halo_job_workers(l->s);
    l->due = 0;
    for (int i = l->next; l->running < most && i < l->s->tasks && !l->code && !l->ended_by; i++) {
        struct task *t = &l->task[i];
        if (t->done || t->pid) {
            l->next += i == l->next;
            continue;
        }
        if (t->due > halo_now_ns()) {
            l->due = l->due && l->due < t->due ? l->due : t->due;
            continue;
        }
        snprintf(number, sizeof number, "%d", i);
        t->pid = spawn(l, number);
        if (t->pid < 0) {
            l->code = HALO_EXIT_FAILED;
            break;
        }
        t->tries++;
        l->running++;
    }
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void end_task(struct local *l, pid_t pid, int code)
{
    int i = 0;
    while (i < l->s->tasks && l->task[i].pid != pid)
        i++;
    if (i == l->s->tasks)
        return;
    struct task *t = &l->task[i];
    t->pid = 0;
    l->running--;
    t->done = code == 0;
    if (t->done || l->ended_by)
        return;
    if (halo_job_may_succeed(code) && t->tries < TRIES) {
        l->next = i < l->next ? i : l->next;
        t->due = halo_now_ns() + (int64_t)(halo_job_pause(t->tries) * 1e9);
    } else if (!l->code)
        l->code = code;
}

static void run_tasks(struct local *l)
{
    for (;;) {
        int status;
        start_tasks(l);
        if (l->running == 0 && !l->due)
            return;
        const pid_t pid = await(l, &status);
        if (pid > 0)
            end_task(l, pid, code_of(status));
        for (int i = 0; pid == 0 && i < l->s->tasks; i++)
            if (l->task[i].pid > 0)
                kill(l->task[i].pid, SIGTERM);
    }
}

/* Does what is done once for each job. Returns the exit code. */
static int run_once(struct local *l)
{
    int status = 0;
    const pid_t pid = spawn(l, NULL);
    if (pid < 0)
        return HALO_EXIT_FAILED;
    for (;;) {
        const pid_t ended = await(l, &status);
        if (ended == pid)
            return code_of(status);
        if (ended == 0)
            kill(pid, SIGTERM);
    }
}

static void run_step(struct local *l)
{
    if (!l->step->shares) {
        l->code = run_once(l);
        return;
    }
    memset(l->task, 0, (size_t)l->s->tasks * sizeof *l->task);
    l->next = 0;
    run_tasks(l);
}

static int submit(const struct halo_job_submission *s, char *id, size_t size,
                  struct halo_error *err)
{
    struct local l = {.s = s, .task = calloc((size_t)s->tasks, sizeof *l.task)};
    (void)id;
    (void)size;
    if (!l.task)
        return halo_fail(err, -ENOMEM, "out of memory");
    block_signals(&l);
    for (l.step = s->step; l.step < s->step + s->steps; l.step++) {
        run_step(&l);
        if (l.code || l.ended_by)
            break;
    }
    free(l.task);
    if (l.ended_by) {
        halo_log(HALO_LOG_INFO, "interrupted: run the same command again to continue");
        raise(l.ended_by);
    }
    sigprocmask(SIG_SETMASK, &l.before, NULL);
    return l.code ? halo_job_fail_task(s, l.step, "a task", l.code, err) : 0;
}

static void print(const struct halo_job_submission *s, FILE *to)
{
    for (const struct halo_job_step *step = s->step; step < s->step + s->steps; step++)
        for (int i = 0; i < (step->shares ? s->tasks : 1); i++) {
            halo_job_print_command(s, step, to);
            if (step->shares)
                fprintf(to, " %d", i);
            putc('\n', to);
        }
}

const struct halo_job_engine_row halo_job_local = {.print = print, .submit = submit};
