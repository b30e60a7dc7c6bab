/* SPDX-License-Identifier: BSD-2-Clause
 * Programs for finished segments (output_hook.h). A small thread starts each, because it may be on
 * a disk that hangs, and waits for its end, so it is reaped without a signal handler. */
#include "pipeline/output/output_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/mem.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config/log.h"

enum {
    MAX_RUNNING = 4,
    MAX_WAITING = 64,
    STACK = 128 * 1024,
};

struct halo_hook {
    pthread_mutex_t lock;
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
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
} beginning = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void count_beginning(int by)
{
    pthread_mutex_lock(&beginning.lock);
    beginning.count += by;
    pthread_cond_broadcast(&beginning.changed);
    pthread_mutex_unlock(&beginning.lock);
}

void halo_hook_wait_begun(int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int r = 0;
    pthread_mutex_lock(&beginning.lock);
    while (beginning.count > 0 && !r)
        r = pthread_cond_timedwait(&beginning.changed, &beginning.lock, &until);
    pthread_mutex_unlock(&beginning.lock);
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
    pthread_mutex_init(&hook->lock, NULL);
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
    pthread_mutex_destroy(&hook->lock);
    av_free(hook->program);
    av_free(hook->who);
    av_free(hook);
}

void halo_hook_destroy(struct halo_hook *hook)
{
    if (!hook)
        return;
    pthread_mutex_lock(&hook->lock);
    hook->destroyed = true;
    const bool last = !hook->running;
    pthread_mutex_unlock(&hook->lock);
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

static void say_failed(struct halo_hook *hook, int error)
{
    if (!atomic_exchange(&hook->failed, true))
        halo_log(HALO_LOG_WARNING, "stream %s: the hook %s failed to start: %s", hook->who,
                 hook->program, strerror(error));
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
            say_failed(hook, error);
        while (!error && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        av_free(path);
        pthread_mutex_lock(&hook->lock);
        path = next_path(hook);
        hook->running -= !path;
        last = hook->destroyed && !hook->running;
        pthread_mutex_unlock(&hook->lock);
    }
    if (last)
        free_hook(hook);
    return NULL;
}

/* Under the lock. Takes ownership of path. */
static void start(struct halo_hook *hook, char *path)
{
    struct run *new = av_malloc(sizeof *new);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK);
    int code = new ? 0 : ENOMEM;
    if (!code) {
        *new = (struct run){hook, path};
        count_beginning(1);
        code = pthread_create(&thread, &attr, run, new);
        count_beginning(code ? -1 : 0);
    }
    hook->running += !code;
    if (code) {
        say_failed(hook, code);
        av_free(path);
        av_free(new);
    }
    pthread_attr_destroy(&attr);
}

void halo_hook_start(struct halo_hook *hook, const char *path)
{
    char *copy = av_strdup(path);
    pthread_mutex_lock(&hook->lock);
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
    pthread_mutex_unlock(&hook->lock);
}
