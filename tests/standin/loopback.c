/* SPDX-License-Identifier: BSD-2-Clause
 * A virtual camera that is not there, for LD_PRELOAD. With HALO_STANDIN_LOOPBACK=FOLDER in the
 * environment opening /dev/videoN connects to FOLDER/videoN, a listening socket (SOCK_SEQPACKET) of
 * the test, as far as that is there; ioctl() answers as v4l2loopback does, write() sends the
 * frame as one message. The first message is the format, as text. Where the other end was closed
 * the device is gone: ENODEV.
 *
 * With cameras that are played, too (v4l2.h), this one is loaded first, FOLDER is the other's dev,
 * and nodes in it that are no sockets are cameras.
 *
 * FOLDER/busy: S_FMT fails with EBUSY. FOLDER/refuses: write() fails so. FOLDER/readers: has 0 or
 * 1, and the module tells of readers; without it, it does not. The watch on /dev is one on FOLDER,
 * access() looks there, too. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/standin/open_call.h"

enum { LIMIT = 4096, USAGE = 0x10E00001 };

static atomic_bool is_device[LIMIT];
static atomic_int reported[LIMIT]; /* of readers, plus 1 */

static const char *folder(void)
{
    return getenv("HALO_STANDIN_LOOPBACK");
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* NULL: not played. */
static const char *rewrite(const char *path, char *ret, size_t size)
{
    if (!folder() || strncmp(path, "/dev/video", 10) != 0)
        return NULL;
    snprintf(ret, size, "%s/%s", folder(), path + 5);
    struct stat st;
    return !getenv("HALO_STANDIN_V4L2") || (stat(ret, &st) == 0 && S_ISSOCK(st.st_mode)) ? ret
                                                                                         : NULL;
}

static bool is_there(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    return REAL(access)(path, F_OK) == 0;
}

static int connect_to(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int size = 4 << 20;
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (fd >= LIMIT || connect(fd, (struct sockaddr *)&to, sizeof to)) {
        const int error = errno == ECONNREFUSED ? ENODEV : errno;
        REAL(close)(fd);
        errno = error;
        return -1;
    }
    reported[fd] = 0;
    is_device[fd] = true;
    return fd;
}

static int open_any(const char *path, int flags, mode_t mode, standin_open_fn *real)
{
    char there[108];
    return rewrite(path, there, sizeof there) ? connect_to(there) : real(path, flags, mode);
}

#undef open
#undef open64
STANDIN_OPEN_CALL(open, open_any)
STANDIN_OPEN_CALL(open64, open_any)

int close(int fd)
{
    if (fd >= 0 && fd < LIMIT)
        is_device[fd] = false;
    return REAL(close)(fd);
}

int access(const char *path, int how)
{
    char there[108];
    return REAL(access)(rewrite(path, there, sizeof there) ? there : path, how);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    return REAL(inotify_add_watch)(fd, folder() && !strcmp(path, "/dev") ? folder() : path, mask);
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (fd < 0 || fd >= LIMIT || !is_device[fd])
        return REAL(write)(fd, data, size);
    if (is_there("refuses")) {
        errno = EBUSY;
        return -1;
    }
    const ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
        errno = ENODEV;
    return n;
}

/* ---- what v4l2loopback says ---- */

static int fail(int error)
{
    errno = error;
    return -1;
}

static int set_format(int fd, struct v4l2_pix_format *pix)
{
    char text[80];
    const bool packed = pix->pixelformat == V4L2_PIX_FMT_YUYV;
    if (is_there("busy"))
        return fail(EBUSY);
    pix->bytesperline = pix->width * (packed ? 2 : 1);
    /* As 0.12.7 does: the buffer's, in whole pages. */
    pix->sizeimage = (pix->width * pix->height * (packed ? 4 : 3) / 2 + 4095) / 4096 * 4096;
    snprintf(text, sizeof text, "%.4s %ux%u", (char *)&pix->pixelformat, pix->width, pix->height);
    return send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int read_readers(void)
{
    char path[200], c = '0';
    snprintf(path, sizeof path, "%s/readers", folder());
    FILE *file = fopen(path, "re");
    if (file && fread(&c, 1, 1, file) != 1)
        c = '0';
    if (file)
        fclose(file);
    return c - '0';
}

static int take_event(int fd, struct v4l2_event *event)
{
    const uint32_t count = (uint32_t)read_readers();
    if (reported[fd] == (int)count + 1)
        return fail(ENOENT);
    reported[fd] = (int)count + 1;
    memset(event, 0, sizeof *event);
    event->type = USAGE;
    memcpy(event->u.data, &count, sizeof count);
    return 0;
}

static int answer(int fd, unsigned long request, void *argument)
{
    struct v4l2_capability *cap = argument;
    switch (request) {
    case VIDIOC_QUERYCAP:
        memset(cap, 0, sizeof *cap);
        strcpy((char *)cap->driver, "v4l2 loopback");
        strcpy((char *)cap->card, "Played");
        cap->device_caps = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_READWRITE;
        cap->capabilities = cap->device_caps | V4L2_CAP_DEVICE_CAPS;
        return 0;
    case VIDIOC_S_FMT:
        return set_format(fd, &((struct v4l2_format *)argument)->fmt.pix);
    case VIDIOC_S_PARM:
    case VIDIOC_UNSUBSCRIBE_EVENT:
        return 0;
    case VIDIOC_SUBSCRIBE_EVENT:
        reported[fd] = 0;
        return is_there("readers") ? 0 : fail(EINVAL);
    case VIDIOC_DQEVENT:
        return take_event(fd, argument);
    default:
        return fail(ENOTTY);
    }
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    if (fd < 0 || fd >= LIMIT || !is_device[fd])
        return REAL(ioctl)(fd, request, argument);
    return answer(fd, request, argument);
}
