/* SPDX-License-Identifier: BSD-2-Clause
 * What the engines share (job_submit.h): the words of a task, and running a scheduler's
 * program. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/cli/job/job_failed.h"
#include "daemon/cli/job/job_submit.h"
#include "daemon/cli/job/job_task.h"

extern char **environ;

static int start(pid_t *ret, char *const *argv, const int *in, const int *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (in)
        posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    if (out)
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int code = -posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static void write_all(int fd, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const ssize_t n = write(fd, text, left);
        if (n < 0 && errno != EINTR)
            return; /* the program's status says why */
        text += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
}

static void read_all(int fd, char *output, size_t size)
{
    char rest[256];
    size_t length = 0;
    for (;;) {
        const bool room = length + 1 < size;
        const ssize_t n =
            room ? read(fd, output + length, size - 1 - length) : read(fd, rest, sizeof rest);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        length += room && n > 0 ? (size_t)n : 0;
    }
    output[length] = 0;
}

int halo_job_pipe(char *const *argv, const char *input, char *output, size_t size,
                  struct halo_error *err)
{
    int in[2], out[2], status = 0;
    pid_t pid;
    if (pipe2(in, O_CLOEXEC) < 0)
        return halo_fail(err, -errno, "%s: %s", argv[0], strerror(errno));
    if (output && pipe2(out, O_CLOEXEC) < 0) {
        const int code = halo_fail(err, -errno, "%s: %s", argv[0], strerror(errno));
        close(in[0]);
        close(in[1]);
        return code;
    }
    const int code = start(&pid, argv, in, output ? out : NULL);
    close(in[0]);
    if (output)
        close(out[1]);
    if (code >= 0)
        write_all(in[1], input);
    close(in[1]);
    if (output && code >= 0)
        read_all(out[0], output, size);
    if (output)
        close(out[0]);
    if (code < 0)
        return halo_fail(err, -ECHILD, "%s: cannot be started: %s", argv[0], strerror(-code));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void halo_job_quote(const char *word, FILE *to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, to);
        return;
    }
    putc('\'', to);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", to);
        else
            putc(*word, to);
    putc('\'', to);
}

const char **halo_job_words(const struct halo_job_submission *s, const struct halo_job_step *step,
                            const char *last)
{
    static const char *const option[] = {"--faces", "--people"};
    int n = 0;
    const char **ret = calloc((size_t)s->jobs + 12, sizeof *ret);
    if (!ret)
        return NULL;
    ret[n++] = s->program;
    ret[n++] = "job";
    ret[n++] = step->command;
    if (step->shares) {
        ret[n++] = "--of";
        ret[n++] = s->of;
    }
    for (int find = 0; find < HALO_FINDS && step->detects; find++)
        if (s->options->detector[find]) {
            ret[n++] = option[find];
            ret[n++] = s->options->detector[find];
        }
    for (int i = 0; i < s->jobs; i++)
        ret[n++] = s->job[i].folder;
    ret[n] = last;
    return ret;
}

void halo_job_print_command(const struct halo_job_submission *s, const struct halo_job_step *step,
                            FILE *to)
{
    const char **words = halo_job_words(s, step, NULL);
    for (const char **word = words; word && *word; word++) {
        if (word > words)
            putc(' ', to);
        halo_job_quote(*word, to);
    }
    free(words);
}

/* Returns whether there was anything to note. */
static bool note_step(const struct halo_job_submission *s, const char *command, int code)
{
    bool ret = false;
    const struct halo_job_share all = {.step = 1};
    for (int i = 0; i < s->jobs; i++) {
        halo_job_note_failure(&s->job[i], command, &all, code, true, NULL);
        json_t *failures = halo_job_failures(&s->job[i]);
        ret |= json_array_size(failures) > 0;
        json_decref(failures);
    }
    return ret;
}

int halo_job_fail_task(const struct halo_job_submission *s, const struct halo_job_step *step,
                       const char *what, int code, struct halo_error *err)
{
    for (int i = 0; i < s->steps; i++)
        if ((!step || step == &s->step[i]) && note_step(s, s->step[i].command, code))
            break;
    return halo_fail(err, halo_job_may_succeed(code) ? -EAGAIN : -ECHILD,
                     "%s ended with status %d: run the same command again to continue", what, code);
}

double halo_job_pause(int tries)
{
    return ldexp(0.25, tries);
}

int halo_job_workers(const struct halo_job_submission *s)
{
    const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return s->options->workers ? s->options->workers : processors > 3 ? processors / 2 : 2;
}
