/* SPDX-License-Identifier: BSD-2-Clause
 * The confinement of halod run, and its helper (run_confine.h). */
#include "daemon/cli/run/run_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/path_name.h"
#include "config/pipewire.h"
#include "config/source_kinds.h"
#include "daemon/engine/confine.h"
#include "daemon/engine/engine_probe.h"
#include "daemon/engine/file_list.h"
#include "daemon/engine/refusals.h"
#include "daemon/link/send_fds.h"
#include "kernels/fault.h"
#include "pipeline/base/path.h"
#include "pipeline/region/mask_image.h"

static int helper = -1;

int halo_run_helper(void)
{
    return helper;
}

/* ---- the helper ---- */

static const struct halo_detector_settings *detectors;
static struct halo_detector_pool *pool;
static uv_loop_t loop;

static const char stream[] = ""; /* there is only one */

static void send_answer(void *arg, const char *name, enum halo_find find, uint64_t id, int fd,
                        const char *why)
{
    struct halo_run_answer answer = {.find = find, .id = id};
    struct iovec part = {&answer, sizeof answer};
    (void)arg;
    (void)name;
    snprintf(answer.why, sizeof answer.why, "%s", fd < 0 && why ? why : "");
    halo_send_fds(helper, &part, 1, &fd, fd >= 0);
    if (fd >= 0)
        close(fd);
}

/* Whoever asks has perhaps been taken over: it can have the detectors of the command line started,
 * and nothing else. Most streams need none, so there is no pool before one is wanted. */
static void perform(struct halo_run_asked *asked, int fd)
{
    static const struct halo_detector_pool_ops ops = {.answer = send_answer};
    static bool answers;
    if (asked->what == HALO_RUN_CALLS && fd >= 0 && !answers) {
        halo_refusals_answer(&loop, fd, "halod run");
        answers = true;
        return;
    }
    if (fd >= 0)
        close(fd);
    if (asked->what >= HALO_RUN_CALLS || asked->find >= HALO_FINDS)
        return;
    asked->why[sizeof asked->why - 1] = '\0';
    if (!pool && halo_detector_pool_create(&pool, &loop, "/proc/self/exe", &ops, NULL) < 0) {
        send_answer(NULL, stream, asked->find, asked->id, -1, "out of memory");
        return;
    }
    if (asked->what == HALO_RUN_WANT)
        halo_detector_pool_want(pool, stream, asked->find, asked->id, &detectors[asked->find]);
    else if (asked->what == HALO_RUN_BROKEN)
        halo_detector_pool_broken(pool, stream, asked->find, asked->why);
    else
        halo_detector_pool_leave(pool, stream, asked->find);
}

static void on_asked(uv_poll_t *poll, int status, int events)
{
    struct halo_run_asked asked = {.what = HALO_RUN_CALLS};
    int fd = -1;
    (void)poll;
    (void)events;
    const ssize_t size = status < 0 ? 0 : halo_receive(helper, &asked, sizeof asked, &fd);
    if (size == -EAGAIN || size == -EINTR)
        return;
    if (size <= 0)
        _exit(0); /* and the detectors with it (become.c) */
    if (size == sizeof asked)
        perform(&asked, fd);
    else if (fd >= 0)
        close(fd);
}

/* Signals of the terminal are for the process that works: it may need verdicts to finish. */
static void be_helper(pid_t parent)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU};
    uv_poll_t poll;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    prctl(PR_SET_NAME, "halod-helper");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    helper = dup3(helper, STDERR_FILENO + 1, O_CLOEXEC) < 0 ? helper : STDERR_FILENO + 1;
    syscall(SYS_close_range, helper + 1, ~0U, 0);
    if (uv_loop_init(&loop) < 0 || uv_poll_init(&loop, &poll, helper) < 0 ||
        uv_poll_start(&poll, UV_READABLE, on_asked) < 0)
        _exit(1);
    uv_run(&loop, UV_RUN_DEFAULT);
    _exit(0);
}

static int start_helper(const struct halo_run_settings *settings, struct halo_error *err)
{
    int ends[2];
    detectors = settings->detector;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return halo_fail(err, -errno, "the helper cannot be started: %s", strerror(errno));
    const pid_t parent = getpid(), child = fork();
    helper = ends[child == 0];
    close(ends[child != 0]);
    if (child == 0)
        be_helper(parent);
    return child < 0 ? halo_fail(err, -errno, "the helper cannot be started: %s", strerror(errno))
                     : 0;
}

/* ---- files ---- */

/* URLs by which FFmpeg waits for a connection, as in "?listen=1" and "mode=listener". */
static void add_url(struct halo_file_list *list, const char *url)
{
    halo_file_list_add_network(list);
    if (strstr(url, "listen"))
        halo_file_list_add(list, "", HALO_FILES_LISTEN);
}

/* Files that are written appear under another name first, and parts of OUT beside it, so their
 * folders are needed. Folders are
 * not created, as those of the daemon's outputs are. */
static void add_written(struct halo_file_list *list, const char *name, bool has_parts)
{
    struct stat st;
    const char *path = halo_path_of(name);
    if (!strcmp(name, "-") || !strcmp(name, "null:"))
        return;
    if (halo_path_is_url(name)) {
        add_url(list, name);
        return;
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        halo_file_list_add(list, path, HALO_FILES_DEVICE);
        if (!has_parts)
            return;
    }
    char *real = halo_path_follow(path), *slash = real ? strrchr(real, '/') : NULL;
    if (slash == real && slash)
        halo_file_list_add(list, "/", HALO_FILES_WRITE);
    if (slash && slash != real)
        *slash = '\0';
    if (real && !slash)
        halo_file_list_add(list, ".", HALO_FILES_WRITE);
    else if (real && slash != real && stat(real, &st) == 0 && S_ISDIR(st.st_mode))
        halo_file_list_add(list, real, HALO_FILES_WRITE);
    free(real);
}

static void add_input(struct halo_file_list *list, const struct halo_source_settings *source)
{
    const char *path = halo_source_path(source->input);
    struct stat st;
    const int before = list->count;
    halo_file_list_add_input(list, source);
    if (halo_source_row(source->input)->place == HALO_FROM_NETWORK)
        add_url(list, source->input);
    /* FFmpeg's names of several files, as concat:A|B, and lists in the root folder */
    else if (path && ((strchr(path, ':') && stat(path, &st) < 0) || list->count == before))
        halo_file_list_add(list, "/", HALO_FILES_READ);
}

static void add_masks(struct halo_file_list *list, const struct halo_chain *chain)
{
    for (int f = 0; f < chain->count; f++) {
        const struct halo_shapes *shapes = chain->filter[f].shapes;
        for (int i = 0; shapes && i < shapes->count; i++)
            if (shapes->shape[i].kind == HALO_SHAPE_MASK)
                halo_file_list_add(list, shapes->shape[i].mask->path, HALO_FILES_READ);
    }
}

static void collect(struct halo_file_list *list, const struct halo_run_settings *set,
                    const struct halo_chain *chain, bool moves)
{
    const char *const written[] = {set->progress, set->stats_json, set->trace};
    add_input(list, &set->source);
    add_masks(list, chain);
    if (halo_is_camera(set->output))
        halo_file_list_add(list, "/dev", HALO_FILES_DEVICE);
    else if (halo_pipewire_name_of(set->output))
        halo_file_list_add(list, "", HALO_FILES_SESSION);
    else
        add_written(list, set->output, moves);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (written[i])
            add_written(list, written[i], false);
    halo_file_list_add_tests(list);
}

/* One line for -v debug. */
static void say(const struct halo_file_list *list)
{
    static const char *const words[HALO_FILES_HOW] = {[HALO_FILES_READ] = " read ",
                                                      [HALO_FILES_WRITE] = " write in ",
                                                      [HALO_FILES_DEVICE] = " open ",
                                                      [HALO_FILES_NETWORK] = " use the network",
                                                      [HALO_FILES_RUN] = " load ",
                                                      [HALO_FILES_SESSION] =
                                                          " connect to the session's sockets",
                                                      [HALO_FILES_LISTEN] = " accept connections"};
    char text[900] = "";
    for (int i = 0; i < list->count; i++) {
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s%s", i ? "," : "", words[list->file[i].how],
                 list->file[i].path);
    }
    halo_log(HALO_LOG_DEBUG, "confined: it cannot start programs; it can%s", text);
}

int halo_run_confine(const struct halo_run_settings *settings, const struct halo_chain *chain,
                     bool moves, struct halo_error *err)
{
    struct halo_file_list list = {0};
    struct halo_error inner = {0};
    struct stat st;
    int calls = -1;
    const char *missing = halo_confine_files_missing(moves);
    int code = start_helper(settings, err);
    if (code < 0)
        return code;
    collect(&list, settings, chain, moves);
    static const struct halo_files none;
    struct halo_confinement all = {.files = list.file ? list.file : &none, .count = list.count};
    all.moves = moves;
    if (stat(halo_path_of(settings->output), &st) == 0 && S_ISREG(st.st_mode))
        all.mode = st.st_mode & 07777;
    code = halo_confine(&all, &calls, &inner);
    if (calls >= 0) {
        struct halo_run_asked asked = {.what = HALO_RUN_CALLS};
        struct iovec part = {&asked, sizeof asked};
        halo_send_fds(helper, &part, 1, &calls, 1);
        close(calls);
    }
    if (code < 0)
        halo_log(HALO_LOG_WARNING, "the input is read unconfined: %s", inner.text);
    else if (!halo_confine_is_built())
        halo_log(HALO_LOG_DEBUG, "not confined: this build of halod cannot filter system calls");
    else if (missing)
        halo_log(HALO_LOG_INFO,
                 "confined, except that it can open every file that its user can: %s", missing);
    else
        say(&list);
    halo_file_list_finish(&list);
    if (halo_fault("run", "probe"))
        engine_probe();
    return 0;
}
