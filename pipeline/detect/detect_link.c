/* SPDX-License-Identifier: BSD-2-Clause
 * One connection with a detector (detect_link.h). Each message is one packet of the socket, so
 * messages need not be split or joined. At most one hello and HALO_DETECT_UNANSWERED frames are
 * unread, which always fit into the socket, so nothing is queued here. */
#include "pipeline/detect/detect_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_FDS = 4, /* taken from one message; the kernel closes those beyond */
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL
};

#define OVERSLEPT INT64_C(2000000000) /* ns */

/* A detector that cannot work says why before it ends. */
static const char closed[] =
    "the detector closed the connection; its last lines in the log say why";

/* A frame that was sent, and how the detector was going to answer when it was sent. */
struct unanswered {
    int64_t n, since;
    bool mask;
    int mask_width, mask_height;
};

struct halo_detect_link {
    int fd;
    int64_t ready_limit, verdict_limit; /* ns */
    int failed;                         /* why nothing can be sent any more; 0: nothing failed */
    bool reset;                         /* ECONNRESET was received, which happens once */
    bool asked;                         /* a hello is unanswered */
    int64_t asked_at;
    char *next;     /* the hello to send when the current one is answered; NULL: none */
    bool has_ready; /* the last hello was answered */
    struct halo_detect_ready ready;
    int64_t last; /* n of the last frame sent; 0: none */
    int count;
    struct unanswered unanswered[HALO_DETECT_UNANSWERED]; /* the oldest first */
    uint8_t *mask;                                        /* the last mask */
    size_t mask_room;
    char buffer[HALO_DETECT_MESSAGE_MAX];
};

/* ---- to the detector ---- */

/* Sends a message with a descriptor, or without if fd is negative. */
static int send_text(struct halo_detect_link *link, const char *text, int fd)
{
    struct iovec part = {.iov_base = (char *)text, .iov_len = strlen(text)};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    }
    ssize_t n;
    do
        n = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        link->failed = errno;
    return n < 0 ? -EPIPE : 0;
}

/* Failures are reported by halo_detect_link_read(), which first reads what has arrived. */
static void ask(struct halo_detect_link *link, const char *hello, int64_t now)
{
    link->asked = true;
    link->asked_at = now;
    if (!link->failed)
        send_text(link, hello, -1);
}

int halo_detect_link_create(struct halo_detect_link **ret, int fd,
                            const struct halo_detect_hello *hello, int64_t now)
{
    struct halo_detect_link *link = calloc(1, sizeof *link);
    char *text = link ? halo_detect_hello_write(hello) : NULL;
    if (!text) {
        free(link);
        close(fd);
        return -ENOMEM;
    }
    link->fd = fd;
    link->ready_limit = hello->live ? HALO_DETECT_READY_LIMIT : HALO_DETECT_PATIENCE;
    link->verdict_limit = hello->live ? HALO_DETECT_VERDICT_LIMIT : HALO_DETECT_PATIENCE;
    ask(link, text, now);
    free(text);
    *ret = link;
    return 0;
}

void halo_detect_link_destroy(struct halo_detect_link *link)
{
    if (!link)
        return;
    close(link->fd);
    free(link->next);
    free(link->mask);
    free(link);
}

int halo_detect_link_hello(struct halo_detect_link *link, const struct halo_detect_hello *hello,
                           int64_t now)
{
    char *text = halo_detect_hello_write(hello);
    if (!text)
        return -ENOMEM;
    link->has_ready = false;
    if (link->asked) {
        free(link->next);
        link->next = text;
        return 0;
    }
    ask(link, text, now);
    free(text);
    return 0;
}

int halo_detect_link_fd(const struct halo_detect_link *link)
{
    return link->fd;
}

int64_t halo_detect_link_deadline(const struct halo_detect_link *link)
{
    const int64_t ready = link->asked ? link->asked_at + link->ready_limit : INT64_MAX;
    const int64_t verdict =
        link->count > 0 ? link->unanswered[0].since + link->verdict_limit : INT64_MAX;
    return ready < verdict ? ready : verdict;
}

const struct halo_detect_ready *halo_detect_link_ready(const struct halo_detect_link *link)
{
    return link->has_ready ? &link->ready : NULL;
}

int halo_detect_link_unanswered(const struct halo_detect_link *link)
{
    return link->count;
}

int halo_detect_link_send(struct halo_detect_link *link, const struct halo_detect_sent *sent,
                          int memfd, int64_t now)
{
    if (link->failed)
        return -EPIPE;
    if (!link->has_ready)
        return -EAGAIN;
    if (link->count == HALO_DETECT_UNANSWERED)
        return -EBUSY;
    if (sent->n <= link->last)
        return -EINVAL;
    char *text = halo_detect_sent_write(sent);
    if (!text)
        return -ENOMEM;
    const int code = send_text(link, text, memfd);
    free(text);
    if (code < 0)
        return code;
    link->last = sent->n;
    link->unanswered[link->count++] = (struct unanswered){
        .n = sent->n,
        .since = now,
        .mask = link->ready.mask,
        .mask_width = link->ready.mask_width,
        .mask_height = link->ready.mask_height,
    };
    return 0;
}

/* ---- from the detector ---- */

struct received {
    size_t size;
    int fds[MAX_FDS];
    int count; /* of fds */
};

static void take_fds(struct received *r, struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t bytes = c->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
            if (r->count < MAX_FDS)
                r->fds[r->count++] = fd;
            else
                close(fd);
        }
    }
}

/* Why the kernel cut a message. */
static int fail_cut(const struct msghdr *message, const struct received *r, struct halo_error *err)
{
    if (message->msg_flags & MSG_TRUNC)
        return halo_fail(err, -EPROTO, "the detector sent a message that is longer than %d bytes",
                         HALO_DETECT_MESSAGE_MAX);
    if (r->count == MAX_FDS)
        return halo_fail(err, -EPROTO, "the detector sent a message with more than %d descriptors",
                         MAX_FDS);
    return halo_fail(err, -EMFILE,
                     "the descriptor of a message from the detector cannot be received: too many "
                     "open files");
}

/* Receives a message. Returns 1; 0: there is none now; or an error. The caller closes the
 * descriptors of *ret unless it returned 0. */
static int receive(struct halo_detect_link *link, struct received *ret, struct halo_error *err)
{
    struct iovec part = {.iov_base = link->buffer, .iov_len = sizeof link->buffer};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * MAX_FDS)];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    ssize_t n = recvmsg(link->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && errno == ECONNRESET && !link->reset) {
        /* It closed the socket before it had read everything; its last messages follow. */
        link->reset = true;
        n = recvmsg(link->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return halo_fail(err, -EPIPE, "the connection with the detector failed: %s",
                         strerror(errno));
    take_fds(ret, &message);
    if (n == 0)
        return halo_fail(err, -EPIPE, "%s",
                         ret->count ? "the detector sent an empty message" : closed);
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return fail_cut(&message, ret, err);
    ret->size = (size_t)n;
    return 1;
}

static int take_ready(struct halo_detect_link *link, const struct halo_detect_ready *ready,
                      const struct received *r, int64_t now, struct halo_error *err)
{
    if (r->count > 0)
        return halo_fail(err, -EPROTO, "the detector attached a descriptor to a message \"ready\"");
    if (!link->asked)
        return halo_fail(err, -EPROTO,
                         "the detector sent a message \"ready\" that does not answer a \"hello\"");
    link->asked = false;
    if (link->next) {
        ask(link, link->next, now);
        free(link->next);
        link->next = NULL;
        return 0;
    }
    link->ready = *ready;
    link->has_ready = true;
    return 0;
}

/* Other files than sealed memory would allow the detector to change a mask while it is read, or to
 * make reading it block. */
static int check_mask(int fd, size_t size, struct halo_error *err)
{
    struct stat st;
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0)
        return halo_fail(err, -EPROTO, "the detector sent a mask that is not a memory file");
    if ((seals & SEALS) != SEALS)
        return halo_fail(err, -EPROTO, "the detector sent a mask that is not sealed");
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)size)
        return halo_fail(err, -EPROTO,
                         "the detector sent a mask of another size than the %zu bytes that it "
                         "announced",
                         size);
    return 0;
}

/* Copies the mask. A mapping would cost more for so few bytes, and reading holes through it could
 * end this process if memory is scarce. */
static int read_mask(struct halo_detect_link *link, int fd, size_t size, struct halo_error *err)
{
    const int code = check_mask(fd, size, err);
    if (code < 0)
        return code;
    if (size > link->mask_room) {
        free(link->mask);
        link->mask = malloc(size);
        link->mask_room = link->mask ? size : 0;
    }
    if (!link->mask)
        return halo_fail(err, -ENOMEM, "out of memory for a detector's mask");
    for (size_t at = 0; at < size;) {
        const ssize_t n = pread(fd, link->mask + at, size - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return halo_fail(err, -EPROTO, "the detector sent a mask that cannot be read");
        at += (size_t)n;
    }
    return 0;
}

static int check_turn(const struct halo_detect_link *link, int64_t n, struct halo_error *err)
{
    if (link->count > 0 && n == link->unanswered[0].n)
        return 0;
    for (int i = 1; i < link->count; i++)
        if (n == link->unanswered[i].n)
            return halo_fail(
                err, -EPROTO,
                "the detector answered about frame %lld before frame %lld, which was sent earlier",
                (long long)n, (long long)link->unanswered[0].n);
    return halo_fail(err, -EPROTO,
                     "the detector sent a verdict about frame %lld, which was not sent to it or "
                     "was already answered",
                     (long long)n);
}

static int take_verdict(struct halo_detect_link *link, const struct halo_detect_verdict *verdict,
                        const struct received *r, struct halo_detect_answer *ret,
                        struct halo_error *err)
{
    int code = check_turn(link, verdict->n, err);
    if (code < 0)
        return code;
    const struct unanswered about = link->unanswered[0];
    if (verdict->boxed == about.mask)
        return halo_fail(err, -EPROTO, "the detector sent a verdict %s boxes, but announced %s",
                         about.mask ? "with" : "without", about.mask ? "masks" : "boxes");
    if (r->count != (about.mask ? 1 : 0))
        return halo_fail(err, -EPROTO, "the detector sent a verdict with %d descriptors, not %d",
                         r->count, about.mask ? 1 : 0);
    if (about.mask)
        code =
            read_mask(link, r->fds[0], (size_t)about.mask_width * (size_t)about.mask_height, err);
    if (code < 0)
        return code;
    link->count--;
    memmove(link->unanswered, link->unanswered + 1, (size_t)link->count * sizeof *link->unanswered);
    ret->n = verdict->n;
    ret->count = verdict->count;
    memcpy(ret->box, verdict->box, sizeof ret->box);
    ret->mask = about.mask ? link->mask : NULL;
    ret->mask_width = about.mask_width;
    ret->mask_height = about.mask_height;
    return 0;
}

/* Returns 1 if the message was a verdict, otherwise 0 or an error. */
static int take_message(struct halo_detect_link *link, const struct received *r, int64_t now,
                        struct halo_detect_answer *ret, struct halo_error *err)
{
    struct halo_detect_message message;
    struct halo_error why = {0};
    int code = halo_detect_message_read(&message, link->buffer, r->size, &why);
    if (code < 0)
        return halo_fail(err, code, "the detector %s", why.text);
    if (message.kind == HALO_DETECT_READY)
        return take_ready(link, &message.ready, r, now, err);
    code = take_verdict(link, &message.verdict, r, ret, err);
    return code < 0 ? code : 1;
}

/* Nothing more has arrived. */
static int wait_on(struct halo_detect_link *link, int64_t now, struct halo_error *err)
{
    if (link->failed == EPIPE || link->failed == ECONNRESET || link->failed == ENOTCONN)
        return halo_fail(err, -EPIPE, "%s", closed);
    if (link->failed)
        return halo_fail(err, -link->failed, "the detector cannot be sent a message: %s",
                         strerror(link->failed));
    const int64_t deadline = halo_detect_link_deadline(link);
    if (now < deadline)
        return 0;
    if (now - deadline > OVERSLEPT) {
        link->asked_at = now;
        for (int i = 0; i < link->count; i++)
            link->unanswered[i].since = now;
        return 0;
    }
    if (link->count > 0 && now - link->unanswered[0].since >= link->verdict_limit)
        return halo_fail(
            err, -ETIMEDOUT, "the detector did not answer about frame %lld within %lld s",
            (long long)link->unanswered[0].n, (long long)(link->verdict_limit / 1000000000));
    return halo_fail(err, -ETIMEDOUT, "the detector was not ready within %lld s",
                     (long long)(link->ready_limit / 1000000000));
}

/* Ends because each message that is neither a verdict nor the end answers a hello, or is refused:
 * the first message may answer a hello, after which another may be sent and answered at once. */
int halo_detect_link_read(struct halo_detect_link *link, int64_t now,
                          struct halo_detect_answer *ret, struct halo_error *err)
{
    for (;;) {
        struct received r = {0};
        int code = receive(link, &r, err);
        if (code == 0)
            return wait_on(link, now, err);
        if (code > 0)
            code = take_message(link, &r, now, ret, err);
        for (int i = 0; i < r.count; i++)
            close(r.fds[i]);
        if (code != 0)
            return code;
    }
}
