/* SPDX-License-Identifier: BSD-2-Clause
 * Runs the tasks on this machine. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "config/log.h"
#include "daemon/job/job_submit.h"

enum { TRIES = 5 };

extern char **environ;

struct task {
    pid_t pid; /* 0: does not run */
    int tries;
    bool done;
};

struct local {
    const struct halo_job_submission *s;
    const struct halo_job_step *step;
    struct task *task;
    int running, next; /* no task before it has to be started */
    int code;          /* of the first task that failed */
};

static volatile sig_atomic_t ended_by;

static void note_signal(int number)
{
    ended_by = number;
}

/* Starts a step, or task `number` of it. Returns the process or -errno. */
static pid_t spawn(const struct halo_job_submission *s, const struct halo_job_step *step,
                   const char *number)
{
    char of[16];
    pid_t pid;
    int n = 0;
    const char **argv = calloc((size_t)s->jobs + 8, sizeof *argv);
    if (!argv)
        return -ENOMEM;
    snprintf(of, sizeof of, "%d", s->tasks);
    argv[n++] = s->program;
    argv[n++] = "job";
    argv[n++] = step->command;
    if (step->shares) {
        argv[n++] = "--of";
        argv[n++] = of;
    }
    for (int i = 0; i < s->jobs; i++)
        argv[n++] = s->job[i].folder;
    argv[n++] = number;
    const int code = -posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
    free(argv);
    return code < 0 ? code : pid;
}

static void start_tasks(struct local *l)
{
    char number[16];
    const int most = halo_job_workers(l->s);
    while (l->running < most && l->next < l->s->tasks && !l->code && !ended_by) {
        struct task *t = &l->task[l->next];
        if (t->done || t->pid) {
            l->next++;
            continue;
        }
        snprintf(number, sizeof number, "%d", l->next);
        t->pid = spawn(l->s, l->step, number);
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
    if (t->done || ended_by)
        return;
    if (halo_job_may_succeed(code) && t->tries < TRIES)
        l->next = i < l->next ? i : l->next;
    else if (!l->code)
        l->code = code;
}

static void run_tasks(struct local *l)
{
    int status;
    bool told = false;
    for (;;) {
        start_tasks(l);
        if (l->running == 0)
            return;
        const pid_t pid = waitpid(-1, &status, 0);
        if (pid > 0)
            end_task(l, pid, code_of(status));
        for (int i = 0; ended_by && !told && i < l->s->tasks; i++)
            if (l->task[i].pid > 0)
                kill(l->task[i].pid, SIGTERM);
        told = ended_by;
    }
}

/* Does what is done once for each job. Returns the exit code. */
static int run_once(const struct local *l)
{
    int status = 0;
    const pid_t pid = spawn(l->s, l->step, NULL);
    if (pid < 0)
        return HALO_EXIT_FAILED;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        if (ended_by)
            kill(pid, SIGTERM);
    return code_of(status);
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
    const struct sigaction note = {.sa_handler = note_signal}; /* interrupts waitpid() */
    struct local l = {.s = s, .task = calloc((size_t)s->tasks, sizeof *l.task)};
    (void)id;
    (void)size;
    if (!l.task)
        return halo_fail(err, -ENOMEM, "out of memory");
    struct sigaction before[2];
    sigaction(SIGTERM, &note, &before[0]);
    sigaction(SIGINT, &note, &before[1]);
    for (l.step = s->step; l.step < s->step + s->steps && !l.code && !ended_by; l.step++)
        run_step(&l);
    free(l.task);
    sigaction(SIGTERM, &before[0], NULL);
    sigaction(SIGINT, &before[1], NULL);
    if (ended_by) {
        halo_log(HALO_LOG_INFO, "interrupted: the same command continues");
        raise(ended_by);
    }
    return l.code ? halo_job_fail_task("a task", l.code, err) : 0;
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
