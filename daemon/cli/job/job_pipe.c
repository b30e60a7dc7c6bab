/* SPDX-License-Identifier: BSD-2-Clause
 * Runs a scheduler's program (job_submit.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/cli/job/job_submit.h"

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
