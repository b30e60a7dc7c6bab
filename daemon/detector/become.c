/* SPDX-License-Identifier: BSD-2-Clause
 * A process on its way to be a detector (become.h). It has one thread. */
#include "daemon/detector/become.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/engine/confine.h"
#include "daemon/link/send_fds.h"

enum {
    MAX_FILES = HALO_DETECTOR_WORDS + 8,
    MAX_VARIABLES = 64,
};

static int fail(const char *what)
{
    dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
    return HALO_DETECTOR_FAILED;
}

/* Ends with the parent, which is the thread that called fork() for this process. If that has ended
 * already, another process is the parent now. */
static void end_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(HALO_DETECTOR_FAILED);
}

/* Signals that the parent ignores are ignored after execve(), too. A session of its own keeps the
 * terminal's signals away: at Ctrl-C the parent finishes its file, for which it needs verdicts. */
static void reset_process(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    setsid();
    umask(077);
    const int fd = open("/dev/null", O_RDWR);
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    syscall(SYS_close_range, HALO_DETECTOR_FD + 1, ~0U, 0);
}

static void limit(int which, rlim_t value)
{
    struct rlimit old;
    if (getrlimit((__rlimit_resource_t)which, &old) < 0)
        return;
    if (old.rlim_max != RLIM_INFINITY && old.rlim_max < value)
        value = old.rlim_max;
    const struct rlimit new = {value, value};
    setrlimit((__rlimit_resource_t)which, &new);
}

/* If memory runs out, a detector is the first to go: everything is hidden until there is a new
 * one. A limit of 1 also keeps the kernel from passing a core dump to another program. */
static void limit_resources(bool gpu)
{
    const rlim_t mib = 1 << 20;
    limit(RLIMIT_CORE, 1);
    limit(RLIMIT_NOFILE, 512);
    limit(RLIMIT_FSIZE, 256 * mib);
    limit(RLIMIT_MEMLOCK, gpu ? RLIM_INFINITY : 8 * mib);
    if (!gpu && halo_confine_is_built())
        limit(RLIMIT_DATA, 4096 * mib);
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "500", 3) < 0)
        errno = 0; /* not needed to work */
    if (fd >= 0)
        close(fd);
}

/* ---- its files ---- */

struct list {
    struct halo_files file[MAX_FILES];
    int count;
};

static void add(struct list *list, char *path /* taken; may be NULL */)
{
    if (path && list->count < MAX_FILES)
        list->file[list->count++] = (struct halo_files){path, HALO_FILES_RUN};
}

static void add_in(struct list *list, const char *folder, const char *rest)
{
    char *path = NULL;
    if (folder && *folder == '/' && asprintf(&path, "%s%s", folder, rest) >= 0)
        add(list, path);
}

/* Adds the folder that contains a program, unless it contains everything else, too. */
static void add_folder_of(struct list *list, const char *path)
{
    const char *home = getenv("HOME");
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = '\0';
    if (slash && *folder && (!home || strcmp(folder, home) != 0))
        add(list, folder);
    else
        free(folder);
    add(list, strdup(path));
}

/* Adds the program, with links followed and not; where halo-detect is installed; and what the
 * arguments name by an absolute path, as in "--model=/path". */
static void collect(struct list *list, const char *program, char *const *arguments)
{
    char *real = realpath(program, NULL);
    const char *data = getenv("XDG_DATA_HOME");
    add_folder_of(list, program);
    if (real)
        add_folder_of(list, real);
    free(real);
    add_in(list, "/opt", "/halo-detect");
    if (data && *data)
        add_in(list, data, "/halo-detect");
    else
        add_in(list, getenv("HOME"), "/.local/share/halo-detect");
    for (int i = 0; arguments[i]; i++) {
        const char *equals = strchr(arguments[i], '=');
        add_in(list, arguments[i], "");
        if (equals)
            add_in(list, equals + 1, "");
    }
}

static void confine(const char *program, char *const *arguments, bool gpu)
{
    struct list list = {0};
    struct halo_error err = {0};
    collect(&list, program, arguments);
    char letter = 'C';
    struct iovec part = {&letter, 1};
    int calls;
    const struct halo_confinement all = {
        .files = list.file, .count = list.count, .detector = true, .gpu = gpu};
    if (halo_confine(&all, &calls, &err) < 0) {
        dprintf(STDERR_FILENO,
                "not started, because its access to the system cannot be restricted: %s\n",
                err.text);
        _exit(HALO_DETECTOR_FAILED);
    }
    if (calls >= 0)
        halo_send_fds(HALO_DETECTOR_FD, &part, 1, &calls, 1); /* closed by execve() */
    for (int i = 0; i < list.count; i++)
        free((char *)list.file[i].path);
}

/* ---- its environment ---- */

static bool is_kept(const char *variable)
{
    static const char *const kept[] = {
        "PATH=",          "HOME=", "LANG=",     "LC_",          "TZ=",
        "XDG_DATA_HOME=", "OMP_",  "OPENBLAS_", "HALO_DETECT_", "CUDA_VISIBLE_DEVICES=",
        "NVIDIA_"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!strncmp(variable, kept[i], strlen(kept[i])))
            return true;
    return false;
}

/* Python is told not to write files and not to hold back lines for the log. */
static char **environment(void)
{
    extern char **environ;
    static char bytecode[] = "PYTHONDONTWRITEBYTECODE=1", lines[] = "PYTHONUNBUFFERED=1";
    static char *kept[MAX_VARIABLES + 3];
    int count = 0;
    for (char **at = environ; *at && count < MAX_VARIABLES; at++)
        if (is_kept(*at))
            kept[count++] = *at;
    kept[count++] = bytecode;
    kept[count] = lines;
    return kept;
}

static bool has_socket(void)
{
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(HALO_DETECTOR_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

int halo_command_detector(int argc, char **argv)
{
    if (argc < 4 || !has_socket()) {
        halo_log(HALO_LOG_ERROR, "detectors are started by halod: see halod.yaml(5)");
        return HALO_EXIT_USAGE;
    }
    const bool gpu = !strcmp(argv[1], "gpu");
    end_with_parent((pid_t)strtol(argv[0], NULL, 10));
    prctl(PR_SET_DUMPABLE, 0);
    reset_process();
    limit_resources(gpu);
    confine(argv[2], argv + 3, gpu);
    execve(argv[2], argv + 3, environment());
    return fail(argv[2]);
}
