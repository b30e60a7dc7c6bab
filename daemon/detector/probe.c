/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/detector/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/base/thread.h"
#include "daemon/detector/command.h"
#include "kernels/clock.h"

static const char standard[] = "halo-detect", prefix[] = "halo-detect: ";

/* Runs it with no signal blocked or ignored, no output, and errors on fd. */
static int spawn(pid_t *ret, const char *program, char *const *argv, int fd)
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, fd, STDERR_FILENO);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int code = posix_spawn(ret, program, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return -code;
}

/* Reads until all writers have closed the pipe; keeps the end of a long text. Returns false if the
 * time is over. */
static bool read_all(int fd, char *ret, size_t size, int64_t until)
{
    size_t used = 0;
    for (;;) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        if (!halo_poll(&poller, 1, until))
            return false;
        if (used == size - 1) {
            memmove(ret, ret + size / 2, used - size / 2);
            used -= size / 2;
        }
        const ssize_t count = read(fd, ret + used, size - 1 - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        used += (size_t)count;
        ret[used] = '\0';
    }
    return true;
}

/* The last line, without the program's name. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return strncmp(line, prefix, sizeof prefix - 1) ? line : line + sizeof prefix - 1;
}

static int judge(int status, char *text, struct halo_error *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    const char *line = last_line(text);
    return halo_fail(err, -ENOENT, "%.300s", *line ? line : "halo-detect check failed");
}

static int run_check(const char *program, char *const *argv, int64_t deadline,
                     struct halo_error *err)
{
    char text[1024] = "";
    int pipes[2], status = 0;
    pid_t pid;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return halo_fail(err, -errno, "halo-detect cannot be run: %s", strerror(errno));
    const int code = spawn(&pid, program, argv, pipes[1]);
    close(pipes[1]);
    if (code < 0) {
        close(pipes[0]);
        return halo_fail(err, code, "%.200s cannot be run: %s", program, strerror(-code));
    }
    const bool ended = read_all(pipes[0], text, sizeof text, deadline);
    close(pipes[0]);
    if (!ended)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return ended ? judge(status, text, err) : 0;
}

static int probe(const char *command, enum halo_find find, int64_t deadline, struct halo_error *err)
{
    char *argv[HALO_DETECTOR_WORDS + 2], check[] = "check";
    struct halo_detector_command found;
    int code = halo_detector_command_find(&found, command, find, err);
    if (code < 0)
        return code;
    const char *name = strrchr(found.program, '/');
    if (!strcmp(name ? name + 1 : found.program, standard)) {
        int words = 0;
        for (; found.word[words]; words++)
            argv[words + (words > 0)] = found.word[words];
        argv[1] = check;
        argv[words + 1] = NULL;
        code = run_check(found.program, argv, deadline, err);
    }
    halo_detector_command_finish(&found);
    return code;
}

static enum halo_find find_of(const char *name)
{
    int find = 0;
    while (find < HALO_FINDS - 1 && strcmp(halo_find_names[find], name) != 0)
        find++;
    return (enum halo_find)find;
}

void halo_detector_probe(json_t *detectors, int timeout_ms)
{
    const int64_t deadline = halo_now_ns() + timeout_ms * INT64_C(1000000);
    json_t *one;
    size_t i;
    json_array_foreach (detectors, i, one) {
        const char *find = json_string_value(json_object_get(one, "find"));
        const char *command = json_string_value(json_object_get(one, "command"));
        struct halo_error err = {0};
        if (find && probe(command, find_of(find), deadline, &err) < 0)
            json_object_set_new(one, "error", json_string(err.text));
        json_object_del(one, "command");
    }
}
