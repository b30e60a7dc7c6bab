/* SPDX-License-Identifier: BSD-2-Clause
 * What the stand-in detector sends (detector.h). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/standin/detector.h"

double detector_chance(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

void detector_send(int fd, const void *text, size_t size, int attached)
{
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec iov = {(void *)text, size};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (attached >= 0) {
        m.msg_control = control.room;
        m.msg_controllen = sizeof control.room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &attached, sizeof attached);
    }
    sendmsg(fd, &m, MSG_NOSIGNAL);
    if (attached >= 0)
        close(attached);
}

int detector_write_verdict(char *text, size_t size, int64_t n, const struct detector_box *box,
                           int count)
{
    int at = snprintf(text, size, "{\"" DETECTOR_TYPE "\": \"verdict\", \"n\": %lld, \"boxes\": [",
                      (long long)n);
    for (int i = 0; i < count; i++)
        at +=
            snprintf(text + at, size - (size_t)at, "%s[%.6f, %.6f, %.6f, %.6f, %.4f]",
                     i ? ", " : "", box[i].x, box[i].y, box[i].width, box[i].height, box[i].score);
    return at + snprintf(text + at, size - (size_t)at, "]}");
}

int detector_make_mask(const struct detector_answer *a, int seals)
{
    const int width = a->mask_width, height = a->mask_height;
    const int fd = memfd_create("mask", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    uint8_t *mask = calloc((size_t)width, (size_t)height);
    if (fd < 0 || !mask)
        abort();
    for (int i = 0; i < a->count; i++) {
        const struct detector_box *b = &a->box[i];
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const double right = (x + 0.5) / width - b->x, down = (y + 0.5) / height - b->y;
                if (right >= 0 && right < b->width && down >= 0 && down < b->height)
                    mask[y * width + x] = 255;
            }
    }
    if (write(fd, mask, (size_t)width * (size_t)height) != (ssize_t)width * height ||
        fcntl(fd, F_ADD_SEALS, seals) < 0)
        abort();
    free(mask);
    return fd;
}

void detector_send_verdict(const struct detector_answer *a)
{
    char text[64 * 80 + 100];
    int size, attached = -1;
    if (a->mask_width) {
        size = snprintf(text, sizeof text, "{\"" DETECTOR_TYPE "\": \"verdict\", \"n\": %lld}",
                        (long long)a->n);
        attached = detector_make_mask(a, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    } else {
        size = detector_write_verdict(text, sizeof text, a->n, a->box, a->count);
    }
    detector_send(a->fd, text, (size_t)size, attached);
}
