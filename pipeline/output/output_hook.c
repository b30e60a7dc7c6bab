/* SPDX-License-Identifier: BSD-2-Clause
 * Programs for finished segments (output_hook.h). A small thread starts each, because it may be on
 * a disk that hangs, and waits for its end, so it is reaped without a signal handler. */
#include "pipeline/output/output_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/mem.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/clock.h"

enum {
    MAX_RUNNING = 4,
    MAX_WAITING = 64,
};

struct halo_hook {
    struct halo_mutex lock;
    char *program, *who;
    char *waiting[MAX_WAITING];
    int first, count; /* in `waiting` */
    int running;
    bool destroyed;
    atomic_bool failed; /* reported once */
    char **environment;
};

/* Threads that have not started their first program yet. */
static struct {
    struct halo_mutex lock;
    struct halo_cond changed;
    int count;
} beginning;

static void count_beginning(int by)
{
    halo_lock(&beginning.lock);
    beginning.count += by;
    halo_cond_broadcast(&beginning.changed);
    halo_unlock(&beginning.lock);
}

void halo_hook_wait_begun(int ms)
{
    const int64_t until = halo_now_ns() + ms * INT64_C(1000000);
    halo_lock(&beginning.lock);
    while (beginning.count > 0 && halo_cond_wait(&beginning.changed, &beginning.lock, until))
        ;
    halo_unlock(&beginning.lock);
}

struct run {
    struct halo_hook *hook;
    char *path;
};

struct halo_hook *halo_hook_create(const char *program, const char *who, char **environment)
{
    struct halo_hook *hook = av_mallocz(sizeof *hook);
    if (!hook)
        return NULL;
    hook->program = av_strdup(program);
    hook->who = av_strdup(who);
    hook->environment = environment;
    if (!hook->program || !hook->who) {
        halo_hook_destroy(hook);
        return NULL;
    }
    return hook;
}

static void free_hook(struct halo_hook *hook)
{
    for (int i = 0; i < hook->count; i++)
        av_free(hook->waiting[(hook->first + i) % MAX_WAITING]);
    av_free(hook->program);
    av_free(hook->who);
    av_free(hook);
}

void halo_hook_destroy(struct halo_hook *hook)
{
    if (!hook)
        return;
    halo_lock(&hook->lock);
    hook->destroyed = true;
    const bool last = !hook->running;
    halo_unlock(&hook->lock);
    if (last)
        free_hook(hook);
}

/* Starts the program with no signal blocked or ignored, an empty standard input, and its standard
 * output on stderr. */
static int spawn(const struct halo_hook *hook, const char *path, pid_t *ret)
{
    char *const argv[] = {hook->program, (char *)path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int code = posix_spawn(ret, hook->program, &files, &attr, argv, hook->environment);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return code;
}

/* Under the lock: the next path in the queue, or NULL. */
static char *next_path(struct halo_hook *hook)
{
    if (!hook->count)
        return NULL;
    char *path = hook->waiting[hook->first];
    hook->first = (hook->first + 1) % MAX_WAITING;
    hook->count--;
    return path;
}

static void say_failed(struct halo_hook *hook, const char *why)
{
    if (!atomic_exchange(&hook->failed, true))
        halo_log(HALO_LOG_WARNING, "stream %s: the hook %s failed to start: %s", hook->who,
                 hook->program, why);
}

static void *run(void *arg)
{
    struct run *run = arg;
    struct halo_hook *hook = run->hook;
    char *path = run->path;
    bool last = false, first = true;
    av_free(run);
    while (path) {
        pid_t pid;
        const int error = spawn(hook, path, &pid);
        if (first)
            count_beginning(-1);
        first = false;
        if (error)
            say_failed(hook, strerror(error));
        while (!error && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        av_free(path);
        halo_lock(&hook->lock);
        path = next_path(hook);
        hook->running -= !path;
        last = hook->destroyed && !hook->running;
        halo_unlock(&hook->lock);
    }
    if (last)
        free_hook(hook);
    return NULL;
}

/* Under the lock. Takes ownership of path. */
static void start(struct halo_hook *hook, char *path)
{
    struct run *new = av_malloc(sizeof *new);
    struct halo_thread thread;
    struct halo_error err = {0};
    int code = new ? 0 : halo_fail(&err, -ENOMEM, "out of memory");
    if (code >= 0) {
        *new = (struct run){hook, path};
        count_beginning(1);
        code = halo_thread_start(&thread, "hook", run, new, &err);
    }
    if (code >= 0) {
        hook->running++;
        halo_thread_detach(thread);
        return;
    }
    if (new)
        count_beginning(-1);
    say_failed(hook, err.text);
    av_free(path);
    av_free(new);
}

void halo_hook_start(struct halo_hook *hook, const char *path)
{
    char *copy = av_strdup(path);
    halo_lock(&hook->lock);
    if (copy && hook->running < MAX_RUNNING) {
        start(hook, copy);
    } else if (copy && hook->count < MAX_WAITING) {
        hook->waiting[(hook->first + hook->count++) % MAX_WAITING] = copy;
    } else {
        halo_log(
            HALO_LOG_WARNING,
            "stream %s: the hook %s is not started for %s, because %d files are already waiting",
            hook->who, hook->program, path, MAX_WAITING);
        av_free(copy);
    }
    halo_unlock(&hook->lock);
}
