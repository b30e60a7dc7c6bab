/* SPDX-License-Identifier: BSD-2-Clause
 * Each message is one packet of the socket, so messages need not be split or joined. */
#include "daemon/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/link/send_fds.h"

_Static_assert((int)HALO_LINK_FDS <= (int)HALO_SEND_FDS_MAX,
               "all descriptors must fit into one message");

/* Messages received in one turn, so that one engine cannot keep the loop busy. */
enum { MESSAGES_AT_ONCE = 64 };

struct waiting {
    struct waiting *next;
    int fds[HALO_LINK_FDS];
    int count;
    size_t length;
    char text[];
};

struct halo_link {
    uv_poll_t poll;
    const struct halo_link_ops *ops;
    void *arg;
    int fd;
    struct waiting *first, **last;
    int waiting;
    const char *broken; /* why the link has ended; NULL: it has not */
    bool mute;          /* nothing can be sent any more, but received messages are still read */
    bool reset;         /* the other side closed the socket without having read everything */
    bool reported;      /* ops->closed was called */
    bool destroyed;
    char buffer[HALO_LINK_MAX];
};

void halo_link_close_fds(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

static void free_waiting(struct halo_link *link)
{
    while (link->first) {
        struct waiting *w = link->first;
        link->first = w->next;
        halo_link_close_fds(w->fds, w->count);
        free(w);
    }
    link->last = &link->first;
    link->waiting = 0;
}

/* Ends the link. The loop sees this as the end of the socket, so no callback runs inside of a
 * send. */
static void give_up(struct halo_link *link, const char *why)
{
    if (link->broken)
        return;
    link->broken = why;
    free_waiting(link);
    shutdown(link->fd, SHUT_RDWR);
}

/* The other side has closed the socket: its last messages can still be read before the end of the
 * socket. */
static void fall_silent(struct halo_link *link)
{
    link->mute = true;
    free_waiting(link);
    shutdown(link->fd, SHUT_RDWR);
}

static int send_now(struct halo_link *link, const char *text, size_t length, const int *fds,
                    int count)
{
    struct iovec part = {.iov_base = (char *)text, .iov_len = length};
    const ssize_t n = halo_send_fds(link->fd, &part, 1, fds, count);
    return n < 0 ? (int)n : 0;
}

/* Returns the descriptors of the received message; the kernel has already dropped those beyond
 * HALO_LINK_FDS. */
static int take_fds(struct msghdr *message, int *ret)
{
    int count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t bytes = c->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
            if (count < HALO_LINK_FDS)
                ret[count++] = fd;
            else
                close(fd);
        }
    }
    return count;
}

static void hand_over(struct halo_link *link, size_t length, const int *fds, int count)
{
    json_t *message = json_loadb(link->buffer, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(message)) {
        halo_link_close_fds(fds, count);
        give_up(link, "a malformed message was received");
    } else {
        link->ops->message(link->arg, message, fds, count);
    }
    json_decref(message);
}

/* Explains why the kernel truncated a message. Descriptors are dropped if there are too many, or if
 * this process cannot have more open files. */
static const char *what_is_cut(const struct msghdr *message, int fds)
{
    return (message->msg_flags & MSG_TRUNC) || fds == HALO_LINK_FDS
               ? "received a message that is too large"
               : "the file descriptors of a message cannot be received: too many open files";
}

/* Receives one message. Returns whether there may be more. */
static bool receive(struct halo_link *link)
{
    struct iovec part = {.iov_base = link->buffer, .iov_len = sizeof link->buffer};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * HALO_LINK_FDS)];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    const ssize_t n = recvmsg(link->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0 && errno == ECONNRESET && !link->reset) {
        link->reset = true; /* reported only once, before its last messages can be read */
        return true;
    }
    int fds[HALO_LINK_FDS];
    const int count = n < 0 ? 0 : take_fds(&message, fds);
    if (n <= 0) {
        halo_link_close_fds(fds, count);
        give_up(link, "the connection is closed");
        return false;
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        halo_link_close_fds(fds, count);
        give_up(link, what_is_cut(&message, count));
        return false;
    }
    hand_over(link, (size_t)n, fds, count);
    return true;
}

static void flush(struct halo_link *link)
{
    while (link->first && !link->broken) {
        struct waiting *w = link->first;
        const int code = send_now(link, w->text, w->length, w->fds, w->count);
        if (code == -EAGAIN)
            return;
        if (code < 0) {
            fall_silent(link);
            return;
        }
        link->first = w->next;
        if (!link->first)
            link->last = &link->first;
        link->waiting--;
        halo_link_close_fds(w->fds, w->count);
        free(w);
    }
}

static void on_ready(uv_poll_t *poll, int status, int events);

static void watch(struct halo_link *link)
{
    if (!link->destroyed)
        uv_poll_start(&link->poll, UV_READABLE | (link->first ? UV_WRITABLE : 0), on_ready);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct halo_link *link = poll->data;
    bool more = true;
    (void)events;
    flush(link);
    for (int i = 0; i < MESSAGES_AT_ONCE && more && !link->broken && !link->destroyed; i++)
        more = receive(link);
    if (link->destroyed)
        return;
    if (status < 0 && !more)
        give_up(link, "the connection is closed");
    if (!link->broken) {
        watch(link);
        return;
    }
    uv_poll_stop(&link->poll);
    if (!link->reported) {
        link->reported = true;
        link->ops->closed(link->arg, link->broken);
    }
}

void halo_link_drain(struct halo_link *link)
{
    /* more than a socket holds; a process that inherited the other end might go on sending */
    enum { LIMIT = 4096 };
    link->reported = true;
    for (int i = 0; i < LIMIT && !link->broken && !link->destroyed; i++)
        if (!receive(link))
            break;
}

int halo_link_create(struct halo_link **ret, uv_loop_t *loop, int fd,
                     const struct halo_link_ops *ops, void *arg)
{
    struct halo_link *link = calloc(1, sizeof *link);
    if (!link) {
        close(fd);
        return -ENOMEM;
    }
    link->fd = fd;
    link->ops = ops;
    link->arg = arg;
    link->last = &link->first;
    link->poll.data = link;
    /* The kernel accepts a message completely or not at all, so the largest one must fit. */
    const int room = 2 * HALO_LINK_MAX;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    const int code = uv_poll_init(loop, &link->poll, fd);
    if (code < 0) {
        close(fd);
        free(link);
        return code;
    }
    watch(link);
    *ret = link;
    return 0;
}

static int keep(struct halo_link *link, const char *text, size_t length, const int *fds, int count)
{
    if (link->waiting == HALO_LINK_WAITING) {
        give_up(link, "the receiver is not reading its messages");
        return -EPIPE;
    }
    struct waiting *w = malloc(sizeof *w + length);
    if (!w)
        return -ENOMEM;
    *w = (struct waiting){.length = length};
    memcpy(w->text, text, length);
    for (; w->count < count; w->count++) {
        w->fds[w->count] = fcntl(fds[w->count], F_DUPFD_CLOEXEC, 3);
        if (w->fds[w->count] < 0) {
            const int ret = -errno;
            halo_link_close_fds(w->fds, w->count);
            free(w);
            return ret;
        }
    }
    *link->last = w;
    link->last = &w->next;
    link->waiting++;
    watch(link);
    return 0;
}

static int send_text(struct halo_link *link, const char *text, const int *fds, int count)
{
    const size_t length = strlen(text);
    if (length > HALO_LINK_MAX)
        return -EMSGSIZE;
    if (link->first) /* keep the order */
        return keep(link, text, length, fds, count);
    const int code = send_now(link, text, length, fds, count);
    if (code == -EAGAIN)
        return keep(link, text, length, fds, count);
    if (code < 0)
        fall_silent(link);
    return code < 0 ? -EPIPE : 0;
}

int halo_link_send(struct halo_link *link, json_t *message, const int *fds, int count)
{
    if (link->broken || link->mute) {
        json_decref(message);
        return -EPIPE;
    }
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!text)
        return -ENOMEM;
    const int code = send_text(link, text, fds, count);
    free(text);
    return code;
}

bool halo_link_is_behind(const struct halo_link *link)
{
    return link->first;
}

static void free_link(uv_handle_t *handle)
{
    free(handle->data);
}

void halo_link_destroy(struct halo_link *link)
{
    if (!link || link->destroyed)
        return;
    link->destroyed = true;
    free_waiting(link);
    uv_close((uv_handle_t *)&link->poll, free_link);
    close(link->fd);
    link->fd = -1;
}
