/* SPDX-License-Identifier: BSD-2-Clause
 * The connection to the daemon, in Varlink's wire format (daemon/control/varlink.h). */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/base/thread.h"
#include "daemon/control/varlink.h"
#include "kernels/clock.h"
#include "tools/haloctl/haloctl.h"

enum {
    READ = 65536,
    LIMIT = 64 << 20, /* bytes of an answer */
    SLOW_S = 5,       /* to send a call */
};

static int try_path(struct ctl *ctl, const char *format, const char *base)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval slow = {.tv_sec = SLOW_S};
    const int length = snprintf(ctl->path, sizeof ctl->path, format, base);
    if (length >= (int)sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, ctl->path, (size_t)length + 1);
    ctl->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ctl->fd < 0)
        return -errno;
    setsockopt(ctl->fd, SOL_SOCKET, SO_SNDTIMEO, &slow, sizeof slow);
    if (connect(ctl->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    const int rc = -errno;
    close(ctl->fd);
    ctl->fd = -1;
    return rc;
}

int ctl_try(struct ctl *ctl)
{
    static const char system[] = "/run/halod/control.sock";
    const char *base = getenv("XDG_RUNTIME_DIR");
    if (ctl->fd >= 0)
        return 0;
    int code = try_path(ctl, "%s", ctl->socket ? ctl->socket : system);
    /* A daemon of our own, if the system has none. */
    if (!ctl->socket && base && *base && (code == -ENOENT || code == -ECONNREFUSED)) {
        code = try_path(ctl, "%s/halod/control.sock", base);
        if (code == -ENOENT)
            snprintf(ctl->path, sizeof ctl->path, "%s", system);
    }
    ctl->error = -code;
    return code;
}

const char *ctl_group(const struct ctl *ctl)
{
    struct stat info;
    const struct group *group = stat(ctl->path, &info) ? NULL : getgrgid(info.st_gid);
    return group ? group->gr_name : NULL;
}

static int say_denied(const struct ctl *ctl)
{
    const char *group = ctl_group(ctl);
    ctl_say("you are not permitted to open %s: %s%s%s", ctl->path,
            group ? "join its group (usermod -aG " : "run haloctl as root", group ? group : "",
            group ? " YOU, then log in again), or run haloctl as root" : "");
    return CTL_EXIT_NO_DAEMON;
}

int ctl_connect(struct ctl *ctl)
{
    const int code = ctl_try(ctl);
    if (code == 0)
        return 0;
    if (code == -EACCES || code == -EPERM)
        return say_denied(ctl);
    if (code == -ENOENT || code == -ECONNREFUSED || code == -ENOTSOCK)
        ctl_say("no daemon answers at %s: start it (systemctl start halod, or halod -c FILE), or "
                "use --socket",
                ctl->path);
    else
        ctl_say("%s: %s", ctl->path, strerror(-code));
    return CTL_EXIT_NO_DAEMON;
}

int ctl_send(struct ctl *ctl, const char *method, json_t *parameters, bool more)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s", HALO_VARLINK_CONTROL, method);
    json_t *message =
        parameters ? json_pack("{s:s, s:o}", "method", name, "parameters", parameters) : NULL;
    if (message && more)
        json_object_set_new(message, "more", json_true());
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!text)
        return -EINVAL;
    const size_t length = strlen(text) + 1;
    int code = 0;
    for (size_t sent = 0; sent < length && !code;) {
        const ssize_t n = send(ctl->fd, text + sent, length - sent, MSG_NOSIGNAL);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno != EINTR)
            code = errno == EAGAIN ? -ETIMEDOUT : -errno;
    }
    free(text);
    return code;
}

static void take_descriptor(struct ctl *ctl, struct msghdr *header)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
            c->cmsg_len != CMSG_LEN(sizeof(int)))
            continue;
        if (ctl->received >= 0)
            close(ctl->received);
        memcpy(&ctl->received, CMSG_DATA(c), sizeof(int));
    }
}

/* Bytes read, or -errno; 0: the end. */
static ssize_t read_some(struct ctl *ctl)
{
    if (ctl->size - ctl->length < READ) {
        char *in = ctl->length > LIMIT ? NULL : realloc(ctl->in, ctl->length + 2 * READ);
        if (!in)
            return -ENOMEM;
        ctl->in = in;
        ctl->size = ctl->length + 2 * READ;
    }
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {ctl->in + ctl->length, READ};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.space,
                            .msg_controllen = sizeof control.space};
    const ssize_t n = recvmsg(ctl->fd, &header, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -errno;
    take_descriptor(ctl, &header);
    ctl->length += (size_t)n;
    return n;
}

bool ctl_has_message(const struct ctl *ctl)
{
    return ctl->length > 0 && memchr(ctl->in, 0, ctl->length);
}

static int take_message(struct ctl *ctl, json_t **ret)
{
    const size_t length = strlen(ctl->in);
    *ret = json_loadb(ctl->in, length, 0, NULL);
    memmove(ctl->in, ctl->in + length + 1, ctl->length - length - 1);
    ctl->length -= length + 1;
    if (json_is_object(*ret))
        return 0;
    json_decref(*ret);
    return -EPROTO;
}

int ctl_receive(struct ctl *ctl, int timeout_ms, json_t **ret)
{
    const int64_t until =
        timeout_ms < 0 ? INT64_MAX : halo_now_ns() + timeout_ms * INT64_C(1000000);
    while (!ctl_has_message(ctl)) {
        struct pollfd pfd = {.fd = ctl->fd, .events = POLLIN};
        if (!halo_poll(&pfd, 1, until))
            return -ETIMEDOUT;
        const ssize_t n = read_some(ctl);
        if (n == 0 || n == -ECONNRESET)
            return -EPIPE;
        if (n < 0)
            return (int)n;
    }
    return take_message(ctl, ret);
}

void ctl_close(struct ctl *ctl)
{
    if (ctl->fd >= 0)
        close(ctl->fd);
    if (ctl->received >= 0)
        close(ctl->received);
    free(ctl->in);
    ctl->fd = ctl->received = -1;
    ctl->in = NULL;
    ctl->length = ctl->size = 0;
}

int ctl_say_errno(const struct ctl *ctl, int rc)
{
    if (rc == -EPIPE || rc == -ECONNRESET)
        ctl_say("the daemon at %s closed the connection: see its log", ctl->path);
    else if (rc == -ETIMEDOUT)
        ctl_say("the daemon at %s does not answer: see its log", ctl->path);
    else
        ctl_say("%s: %s", ctl->path,
                rc == -EPROTO ? "the data received is not an answer from halod" : strerror(-rc));
    return 1;
}

int ctl_say_error(const struct ctl *ctl, const json_t *answer)
{
    const json_t *parameters = json_object_get(answer, "parameters");
    const char *what = ctl_text(parameters, HALO_ERROR_WHAT);
    json_t *one;
    size_t i;
    if (ctl->json)
        ctl_print_json(json_incref((json_t *)answer));
    json_array_foreach (json_object_get(parameters, HALO_ERROR_ERRORS), i, one)
        if (json_is_string(one))
            ctl_say("%s", json_string_value(one));
    return ctl_say("%s", *what ? what : ctl_text(answer, "error"));
}

int ctl_call(struct ctl *ctl, const char *method, json_t *parameters, json_t **ret)
{
    json_t *answer = NULL;
    int code = ctl_connect(ctl);
    if (code) {
        json_decref(parameters);
        return code;
    }
    code = ctl_send(ctl, method, parameters, false);
    if (code != -EINVAL) /* one who is turned away may have been told why */
        code = ctl_receive(ctl, CTL_ANSWER_MS, &answer);
    if (code == -EINVAL)
        return ctl_say("arguments must be UTF-8");
    if (code)
        return ctl_say_errno(ctl, code);
    if (json_object_get(answer, "error")) {
        code = ctl_say_error(ctl, answer);
    } else {
        json_t *result = json_object_get(answer, "parameters");
        *ret = json_is_object(result) ? json_incref(result) : json_object();
    }
    json_decref(answer);
    return code;
}
