/* SPDX-License-Identifier: BSD-2-Clause
 * Programs for finished segments (output_hook.h). A running one has a small thread that waits for
 * its end: so it is reaped without anybody's signal handler, and the next one is started. */
#include "pipeline/output_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/mem.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/log.h"

enum {
    MOST_RUNNING = 4,
    MOST_WAITING = 64,
    STACK = 128 * 1024,
};

extern char **environ;

struct halo_hook {
    pthread_mutex_t lock;
    char *program, *who;
    char *waiting[MOST_WAITING];
    int first, count; /* of waiting */
    int running;
    bool destroyed, failed;
};

struct run {
    struct halo_hook *hook;
    pid_t pid;
};

struct halo_hook *halo_hook_create(const char *program, const char *who)
{
    struct halo_hook *hook = av_mallocz(sizeof *hook);
    if (!hook)
        return NULL;
    pthread_mutex_init(&hook->lock, NULL);
    hook->program = av_strdup(program);
    hook->who = av_strdup(who);
    if (!hook->program || !hook->who) {
        halo_hook_destroy(hook);
        return NULL;
    }
    return hook;
}

static void free_hook(struct halo_hook *hook)
{
    for (int i = 0; i < hook->count; i++)
        av_free(hook->waiting[(hook->first + i) % MOST_WAITING]);
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

/* With no signal blocked or ignored, nothing to read, and what it says on stderr. */
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
    const int r = posix_spawn(ret, hook->program, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return r;
}

static void *reap(void *arg);

/* Locked. Whether it runs. */
static bool start(struct halo_hook *hook, const char *path)
{
    struct run *run = av_malloc(sizeof *run);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK);
    int r = run ? 0 : ENOMEM;
    if (!r) {
        run->hook = hook;
        r = spawn(hook, path, &run->pid);
    }
    if (!r) {
        hook->running++;
        if (pthread_create(&thread, &attr, reap, run)) { /* it runs, and stays unreaped */
            hook->running--;
            av_free(run);
        }
    } else {
        if (!hook->failed)
            halo_log(HALO_LOG_WARNING, "stream %s: the hook %s does not start: %s", hook->who,
                     hook->program, strerror(r));
        hook->failed = true;
        av_free(run);
    }
    pthread_attr_destroy(&attr);
    return !r;
}

static void start_next(struct halo_hook *hook)
{
    bool started = false;
    while (hook->count && !started) {
        char *path = hook->waiting[hook->first];
        hook->first = (hook->first + 1) % MOST_WAITING;
        hook->count--;
        started = start(hook, path);
        av_free(path);
    }
}

static void *reap(void *arg)
{
    struct run run = *(struct run *)arg;
    av_free(arg);
    while (waitpid(run.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    struct halo_hook *hook = run.hook;
    pthread_mutex_lock(&hook->lock);
    hook->running--;
    start_next(hook);
    const bool last = hook->destroyed && !hook->running;
    pthread_mutex_unlock(&hook->lock);
    if (last)
        free_hook(hook);
    return NULL;
}

void halo_hook_start(struct halo_hook *hook, const char *path)
{
    pthread_mutex_lock(&hook->lock);
    if (hook->running < MOST_RUNNING) {
        start(hook, path);
    } else if (hook->count < MOST_WAITING) {
        char *copy = av_strdup(path);
        hook->waiting[(hook->first + hook->count) % MOST_WAITING] = copy;
        hook->count += copy != NULL;
    } else {
        halo_log(HALO_LOG_WARNING, "stream %s: the hook %s is not started for %s: %d wait already",
                 hook->who, hook->program, path, MOST_WAITING);
    }
    pthread_mutex_unlock(&hook->lock);
}
