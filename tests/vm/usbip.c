/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/vm/usbip.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CONTROLLER "/sys/devices/platform/vhci_hcd.0/"
enum { SUBMIT = 1, UNLINK = 2, SUBMITTED = 3, UNLINKED = 4 };
enum { HIGH_SPEED = 3, DEVICE_NUMBER = 1 << 16 | 2 };

/* Every message begins so; what the words after `endpoint` mean depends on the command. */
struct message {
    uint32_t command, number, device, direction, endpoint;
    uint32_t word[5]; /* submit: flags, length, ...; answer: status, length, ... */
    uint8_t setup[8];
};
_Static_assert(sizeof(struct message) == 48, "a USB/IP header has 48 bytes");

static int send_order(const char *file, const char *words)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = write(fd, words, strlen(words)) < 0 ? -errno : 0;
    close(fd);
    return result;
}

int usbip_plug(struct usbip *bus, int port)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    char words[64];
    snprintf(words, sizeof words, "%d %d %d %d", port, pair[1], DEVICE_NUMBER, HIGH_SPEED);
    int result = send_order(CONTROLLER "attach", words);
    close(pair[1]); /* the kernel has its own reference */
    if (result < 0) {
        close(pair[0]);
        return result;
    }
    *bus = (struct usbip){.port = port, .socket = pair[0]};
    return 0;
}

int usbip_unplug(struct usbip *bus)
{
    char words[16];
    snprintf(words, sizeof words, "%d", bus->port);
    int result = send_order(CONTROLLER "detach", words);
    close(bus->socket);
    bus->socket = -1;
    bus->waits = 0;
    return result;
}

static int receive(int socket, void *to, size_t size)
{
    ssize_t got = recv(socket, to, size, MSG_WAITALL);
    if (got < 0)
        return -errno;
    return (size_t)got == size ? 0 : -EPIPE;
}

/* Header and data go in one message, for each costs the time of a system call. */
static int answer(struct usbip *bus, uint32_t command, uint32_t number, int status,
                  const void *data, uint32_t length)
{
    struct message message = {.command = htonl(command), .number = htonl(number)};
    message.word[0] = htonl(status);
    message.word[1] = htonl(length);
    struct iovec parts[] = {{&message, sizeof message}, {(void *)data, data ? length : 0}};
    struct msghdr both = {.msg_iov = parts, .msg_iovlen = 2};
    size_t left = parts[0].iov_len + parts[1].iov_len;
    while (left) {
        ssize_t sent = sendmsg(bus->socket, &both, MSG_NOSIGNAL);
        if (sent < 0)
            return -errno;
        left -= sent;
        for (int i = 0; i < 2; i++) {
            size_t gone = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + gone;
            parts[i].iov_len -= gone;
            sent -= gone;
        }
    }
    return 0;
}

/* The host takes a bulk request back. */
static int withdraw(struct usbip *bus, uint32_t number, uint32_t withdrawn)
{
    int status = 0; /* it was answered before */
    for (int i = 0; i < bus->waits; i++) {
        if (bus->waiting[i].number != withdrawn)
            continue;
        bus->waits--;
        memmove(&bus->waiting[i], &bus->waiting[i + 1], (bus->waits - i) * sizeof bus->waiting[0]);
        status = -ECONNRESET;
        break;
    }
    return answer(bus, UNLINKED, number, status, NULL, 0);
}

int usbip_take(struct usbip *bus, struct usbip_request *ret)
{
    struct message message;
    int result = receive(bus->socket, &message, sizeof message);
    if (result < 0)
        return result;
    uint32_t number = ntohl(message.number);
    if (ntohl(message.command) == UNLINK)
        return withdraw(bus, number, ntohl(message.word[0]));
    if (ntohl(message.command) != SUBMIT)
        return -EPROTO;
    ret->number = number;
    ret->endpoint = ntohl(message.endpoint);
    ret->in = ntohl(message.direction);
    ret->length = ntohl(message.word[1]);
    memcpy(ret->setup, message.setup, sizeof ret->setup);
    if (!ret->in && ret->length) {
        if (ret->length > sizeof ret->data)
            return -EMSGSIZE;
        if ((result = receive(bus->socket, ret->data, ret->length)) < 0)
            return result;
    }
    if (ret->endpoint == 0)
        return 1;
    if (bus->waits == USBIP_WAITING)
        return -ENOBUFS;
    bus->waiting[bus->waits].number = number;
    bus->waiting[bus->waits++].length = ret->length;
    return 0;
}

int usbip_answer(struct usbip *bus, const struct usbip_request *request, int status,
                 const void *data, uint32_t length)
{
    return answer(bus, SUBMITTED, request->number, status, request->in ? data : NULL, length);
}

int usbip_answer_waiting(struct usbip *bus, const void *data, uint32_t length)
{
    uint32_t number = bus->waiting[0].number;
    bus->waits--;
    memmove(&bus->waiting[0], &bus->waiting[1], bus->waits * sizeof bus->waiting[0]);
    return answer(bus, SUBMITTED, number, 0, data, length);
}
