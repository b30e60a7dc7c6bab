/* SPDX-License-Identifier: BSD-2-Clause
 * For LD_PRELOAD (tests/halotest/warm.py): a program loads its libraries, and stops before main.
 * For each request at its standard input, a socket, a child calls main with the folder, the umask,
 * the words, the environment and the standard streams of the request. The child is one of the
 * requester's, who is answered its number. */
#include <dlfcn.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int main_fn(int, char **, char **);
typedef int start_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                     void *);

#define MAX_TEXT  (1 << 17)
#define MAX_WORDS 4096
static main_fn *program;
/* A request: "UMASK\0COUNT\0FOLDER\0", COUNT words, the environment. Static, so that leak checkers
 * in children find what points into it. */
static char text[MAX_TEXT + 1];
static char *words[MAX_WORDS + 2];

static ssize_t receive(int streams[3])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec data = {text, MAX_TEXT};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    const ssize_t length = recvmsg(STDIN_FILENO, &message, 0);
    if (length > 0)
        memcpy(streams, CMSG_DATA(&control.header), 3 * sizeof(int));
    return length;
}

/* As fork(), but whoever started this process is the parent of the child, too. Only what was loaded
 * has run so far, so handlers of pthread_atfork() are not missed; the C library needs the number of
 * its thread to be right. */
static pid_t fork_sibling(void)
{
    int *number = NULL;
    if (prctl(PR_GET_TID_ADDRESS, &number) < 0)
        return -1;
    /* Not clone3(), which containers refuse. The number's place is the fourth or, where that is for
     * a thread's memory, the fifth. */
    const long flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, number, number);
}

static int run(ssize_t length, const int streams[3])
{
    int count = 0;
    for (char *at = text; at < text + length; at += strlen(at) + 1) {
        if (count == MAX_WORDS)
            _exit(127);
        words[count++] = at;
    }
    umask((mode_t)atoi(words[0]));
    if (chdir(words[2]) < 0)
        _exit(127);
    for (int i = 0; i < 3; i++)
        dup2(streams[i], i);
    for (int i = 0; i < 3; i++)
        close(streams[i]);
    /* The environment moves up by one word, so that the arguments end with NULL. */
    const int argc = atoi(words[1]);
    char **env = words + 3 + argc;
    memmove(env + 1, env, (size_t)(count - 3 - argc) * sizeof *env);
    *env++ = NULL;
    environ = env;
    return program(argc, words + 3, environ);
}

static int serve(int argc, char **argv, char **env)
{
    (void)argc, (void)argv, (void)env;
    for (;;) {
        int streams[3];
        const ssize_t length = receive(streams);
        if (length <= 0)
            _exit(0);
        const pid_t child = fork_sibling();
        if (child == 0)
            return run(length, streams);
        for (int i = 0; i < 3; i++)
            close(streams[i]);
        if (write(STDIN_FILENO, &child, sizeof child) < 0)
            _exit(1);
    }
}

int __libc_start_main(main_fn *real, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*unload)(void), void *stack_end)
{
    start_fn *next = (start_fn *)dlsym(RTLD_NEXT, "__libc_start_main");
    program = real;
    return next(serve, argc, argv, init, fini, unload, stack_end);
}
