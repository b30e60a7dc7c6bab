/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/detector/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/base/log.h"
#include "daemon/detector/become.h"
#include "daemon/detector/command.h"
#include "daemon/engine/refusals.h"
#include "daemon/link/process.h"
#include "daemon/link/send_fds.h"

enum {
    LINE = 400,       /* bytes of a line that are logged */
    LINES = 20,       /* lines that are logged in ... */
    WINDOW_MS = 10000 /* ... this time */
};

struct halo_detector_process {
    struct halo_process child;
    uv_loop_t *loop;
    uv_pipe_t words; /* the process's standard error */
    int open;        /* handles that are not closed yet */
    int socket;      /* our end of the process's descriptor 3 */
    /* until the process has sent a descriptor through it, and then what answers by that */
    uv_poll_t told;
    struct halo_refusals *refusals;
    int other; /* the process's end, until a connection was sent, or -1 */
    bool exited, destroyed, gpu;
    char *who;
    void (*on_exit)(void *arg, const char *why);
    void *arg;
    char line[LINE + 1]; /* the one being read; at the end, the last one */
    size_t length;
    int lines; /* logged since window_began */
    int64_t left_out;
    uint64_t window_began;
};

/* ---- what it writes ---- */

static void report_left_out(struct halo_detector_process *p)
{
    if (p->left_out)
        halo_log(HALO_LOG_WARNING, "%s wrote %" PRId64 " more lines, which were left out", p->who,
                 p->left_out);
    p->left_out = 0;
}

static void log_line(struct halo_detector_process *p)
{
    const uint64_t now = uv_now(p->loop);
    if (p->length == 0)
        return;
    if (now - p->window_began >= WINDOW_MS) {
        report_left_out(p);
        p->window_began = now;
        p->lines = 0;
    }
    p->line[p->length] = '\0';
    if (p->lines < LINES)
        halo_log(HALO_LOG_INFO, "%s: %s", p->who, p->line);
    p->left_out += p->lines >= LINES;
    p->lines++;
    p->length = 0;
}

static void take_words(struct halo_detector_process *p, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] == '\n')
            log_line(p);
        else if (p->length < LINE)
            p->line[p->length++] = data[i];
}

static void allocate(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
    static char buffer[4096]; /* used only until the callback returns */
    (void)handle;
    (void)wanted;
    *ret = uv_buf_init(buffer, sizeof buffer);
}

static void on_words(uv_stream_t *stream, ssize_t size, const uv_buf_t *data)
{
    if (size > 0)
        take_words(stream->data, data->base, (size_t)size);
    else if (size < 0)
        uv_read_stop(stream);
}

/* The last words may explain the end, but may not have been read yet. */
static void take_last_words(struct halo_detector_process *p)
{
    char data[4096];
    uv_os_fd_t fd;
    if (uv_fileno((uv_handle_t *)&p->words, &fd) < 0)
        return;
    for (int i = 0; i < LINES; i++) {
        const ssize_t size = read(fd, data, sizeof data);
        if (size <= 0)
            break;
        take_words(p, data, (size_t)size);
    }
    log_line(p);
    report_left_out(p);
}

/* ---- what it is refused ---- */

/* It is sent before the program is executed, so it is halod's own; what the program itself may send
 * later is not read. */
static void on_told(uv_poll_t *poll, int status, int events)
{
    struct halo_detector_process *p = poll->data;
    (void)events;
    uv_poll_stop(poll);
    char letter;
    int calls;
    if (status == 0 && halo_receive(p->socket, &letter, 1, &calls) > 0 && calls >= 0)
        p->refusals = halo_refusals_answer(p->loop, calls, p->who);
}

/* ---- its life ---- */

static void close_one(struct halo_detector_process *p)
{
    if (--p->open > 0)
        return;
    free(p->who);
    free(p);
}

static void on_closed(uv_handle_t *handle)
{
    close_one(handle->data);
}

static void on_child_closed(uv_handle_t *handle)
{
    const struct halo_process *child = handle->data;
    close_one(child->data);
}

static void on_exit_status(struct halo_process *child, int64_t status, int number)
{
    struct halo_detector_process *p = child->data;
    char why[160], all[sizeof why + LINE + 2];
    p->exited = true;
    if (p->destroyed) {
        halo_process_close(child, on_child_closed);
        return;
    }
    take_last_words(p);
    if (number)
        snprintf(why, sizeof why, "it was ended by signal %d (%s)", number, strsignal(number));
    else if (status == HALO_DETECTOR_FAILED)
        snprintf(why, sizeof why, "it could not be executed");
    else
        snprintf(why, sizeof why, "it ended with status %" PRId64, status);
    snprintf(all, sizeof all, "%s%s%s", why, p->lines ? ": " : "", p->lines ? p->line : "");
    halo_sanitise(all);
    p->on_exit(p->arg, all);
}

static int spawn(struct halo_detector_process *p, const struct halo_detector_how *how,
                 struct halo_detector_command *command, int words, int fd)
{
    char parent[16], *arguments[HALO_DETECTOR_WORDS + 8] = {
                         "halod", "detector", parent, how->gpu ? "gpu" : "-", command->program};
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    for (int i = 0; command->word[i]; i++)
        arguments[5 + i] = command->word[i];
    uv_stdio_container_t stdio[HALO_DETECTOR_FD + 1] = {
        {.flags = UV_IGNORE},
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = words},
        {.flags = UV_INHERIT_FD, .data.fd = fd},
    };
    uv_process_options_t options = {
        .file = how->halod,
        .args = arguments,
        .stdio = stdio,
        .stdio_count = HALO_DETECTOR_FD + 1,
    };
    return halo_process_start(&p->child, p->loop, &options);
}

/* Takes ownership of p, words and ends; on failure, nothing of them is left. */
static int start(struct halo_detector_process *p, uv_loop_t *loop,
                 const struct halo_detector_how *how, struct halo_detector_command *command,
                 const int words[2], const int ends[2])
{
    uv_pipe_init(loop, &p->words, 0);
    p->loop = loop;
    p->child.data = p->words.data = p->told.data = p;
    p->child.exited = on_exit_status;
    p->open = 3;
    p->socket = ends[0];
    p->other = ends[1];
    p->window_began = uv_now(loop);
    const int code = spawn(p, how, command, words[1], ends[1]);
    p->exited = code < 0;
    close(words[1]);
    uv_poll_init(loop, &p->told, p->socket);
    p->told.data = p;
    uv_poll_start(&p->told, UV_READABLE, on_told);
    uv_unref((uv_handle_t *)&p->told);
    if (uv_pipe_open(&p->words, words[0]) < 0)
        close(words[0]);
    else
        uv_read_start((uv_stream_t *)&p->words, allocate, on_words);
    if (code < 0)
        halo_detector_destroy(p);
    return code;
}

/* Only our end is non-blocking: the programs may be simple ones. */
static int make_pair(int ret[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
        return -errno;
    if (fcntl(ret[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    const int code = -errno;
    close(ret[0]);
    close(ret[1]);
    return code;
}

static int make(struct halo_detector_process **ret, uv_loop_t *loop,
                const struct halo_detector_how *how, struct halo_detector_command *command,
                struct halo_error *err)
{
    int words[2], ends[2];
    struct halo_detector_process *p = calloc(1, sizeof *p);
    if (!p || !(p->who = strdup(how->who))) {
        free(p);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    p->gpu = how->gpu;
    p->on_exit = how->exited;
    p->arg = how->arg;
    int code = pipe2(words, O_CLOEXEC) < 0 ? -errno : 0;
    if (code == 0 && (code = make_pair(ends)) < 0) {
        close(words[0]);
        close(words[1]);
    }
    if (code < 0) {
        free(p->who);
        free(p);
    } else {
        code = start(p, loop, how, command, words, ends);
    }
    if (code < 0)
        return halo_fail(err, code, "%.200s cannot be started: %s", command->program,
                         strerror(-code));
    *ret = p;
    return 0;
}

int halo_detector_spawn(struct halo_detector_process **ret, uv_loop_t *loop,
                        const struct halo_detector_how *how, struct halo_error *err)
{
    struct halo_detector_command command;
    int code = halo_detector_command_find(&command, how->command, how->find, err);
    if (code < 0)
        return code;
    code = make(ret, loop, how, &command, err);
    halo_detector_command_finish(&command);
    return code;
}

static void close_other(struct halo_detector_process *p)
{
    if (p->other >= 0)
        close(p->other);
    p->other = -1;
}

/* The first connection can be sent even to a process that has ended already: then it closes, as if
 * it had been sent in time, and the status says why the process ended. */
int halo_detector_connect(struct halo_detector_process *process)
{
    int ends[2];
    char letter = 'S';
    struct iovec part = {&letter, 1};
    if (process->exited)
        return -EPIPE;
    ssize_t code = make_pair(ends);
    if (code < 0)
        return (int)code;
    code = halo_send_fds(process->socket, &part, 1, &ends[1], 1);
    close(ends[1]);
    close_other(process);
    if (code > 0)
        return ends[0];
    close(ends[0]);
    return code < 0 ? (int)code : -EAGAIN;
}

int halo_detector_pid(const struct halo_detector_process *process)
{
    return process->child.pid;
}

/* The handle of a process is closed only after its end, because libuv would otherwise not collect
 * its status. A process that is stuck in a GPU's driver may not end, and must not keep the loop
 * alive. */
void halo_detector_destroy(struct halo_detector_process *process)
{
    if (!process || process->destroyed)
        return;
    process->destroyed = true;
    close_other(process);
    halo_refusals_end(process->refusals);
    uv_poll_stop(&process->told);
    uv_close((uv_handle_t *)&process->told, on_closed);
    close(process->socket);
    uv_close((uv_handle_t *)&process->words, on_closed);
    if (process->exited) {
        halo_process_close(&process->child, on_child_closed);
        return;
    }
    halo_process_ops->kill(&process->child);
    if (process->gpu)
        uv_unref(&process->child.handle.handle);
}
