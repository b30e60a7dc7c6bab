/* SPDX-License-Identifier: BSD-2-Clause
 * The life of a camera that is played (v4l2.h). Descriptors are one end of a socket pair: a
 * thread puts a byte into the other for each picture that is ready: poll() works on them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/standin/v4l2_private.h"

enum { DESCRIPTORS = 4096 };

static struct standin_camera *cameras[DESCRIPTORS];

struct standin_camera *standin_camera_of(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS ? cameras[fd] : NULL;
}

/* Under the lock: a picture has come, into the first buffer that is queued. Its time is that of its
 * last sample, as if a device had written it. */
static void produce(struct standin_camera *c)
{
    const uint32_t sequence = c->sequence++;
    for (int i = 0; i < c->buffers; i++)
        if (c->buffer[i].queued) {
            c->buffer[i].queued = false;
            c->buffer[i].ready = true;
            c->buffer[i].sequence = sequence;
            c->buffer[i].used = standin_paint(c, c->view + (size_t)i * c->size, sequence);
            clock_gettime(CLOCK_MONOTONIC, &c->buffer[i].at);
            c->order[c->ready++] = i;
            send(c->other, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            return;
        }
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *play(void *arg)
{
    struct standin_camera *c = arg;
    bool hung = false;
    pthread_mutex_lock(&c->lock);
    for (int64_t due = now_ns(); !c->over;) {
        const bool paced = c->streaming && c->now.rate > 0;
        const int64_t period = paced ? (int64_t)(1e9 / c->now.rate) : 5000000, now = now_ns();
        due = now - due < period ? due + period : now + period;
        const struct timespec t = {due / 1000000000, due % 1000000000};
        pthread_cond_timedwait(&c->wake, &c->lock, &t);
        pthread_mutex_unlock(&c->lock);
        const bool gone = standin_number(c, "gone") > 0, stalled = standin_number(c, "stall") > 0,
                   changes = standin_number(c, "change") > 0;
        pthread_mutex_lock(&c->lock);
        if (gone && !hung) {
            shutdown(c->other, SHUT_RDWR);
            hung = true;
        }
        if (c->streaming && changes && !c->raised) {
            send(c->other, "", 1, MSG_OOB | MSG_NOSIGNAL); /* POLLPRI */
            c->raised = true;
        }
        if (c->streaming && !gone && !stalled)
            produce(c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- descriptors ---- */

static void load_jpeg(struct standin_camera *c)
{
    char path[PATH_MAX];
    struct stat st;
    FILE *f = standin_ordered(c, "jpeg", path, sizeof path) ? fopen(path, "re") : NULL;
    if (!f || fstat(fileno(f), &st) < 0)
        return;
    c->jpeg = malloc((size_t)st.st_size);
    c->jpeg_size = fread(c->jpeg, 1, (size_t)st.st_size, f);
    fclose(f);
}

int standin_camera_open(const char *name)
{
    int pair[2];
    pthread_condattr_t clock;
    struct standin_camera *c = calloc(1, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    const int error = standin_number(c, "gone") > 0 ? ENODEV : standin_fault(c, "OPEN");
    if (error || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) {
        standin_note(c, "open", error);
        free(c);
        errno = error ? error : errno;
        return -1;
    }
    c->fd = pair[0];
    c->other = pair[1];
    c->memory = -1;
    standin_read_modes(c);
    c->now = c->mode[0];
    load_jpeg(c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &clock);
    pthread_create(&c->player, NULL, play, c);
    cameras[c->fd] = c;
    standin_note(c, "open", 0);
    return c->fd;
}

void standin_drop_buffers(struct standin_camera *c)
{
    char bytes[BUFFERS];
    if (c->view)
        munmap(c->view, c->size * (size_t)c->buffers);
    if (c->memory >= 0)
        standin_real_close(c->memory);
    c->view = NULL;
    c->memory = -1;
    c->buffers = c->ready = 0;
    memset(c->buffer, 0, sizeof c->buffer);
    while (recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

void standin_camera_close(struct standin_camera *c)
{
    cameras[c->fd] = NULL;
    pthread_mutex_lock(&c->lock);
    c->over = true;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->player, NULL);
    standin_note(c, "close", 0);
    standin_drop_buffers(c);
    standin_real_close(c->fd);
    standin_real_close(c->other);
    free(c->jpeg);
    free(c);
}

void *standin_camera_map(struct standin_camera *c, size_t size, off_t offset)
{
    const int error = standin_fault(c, "MMAP");
    if (error) {
        errno = error;
        return MAP_FAILED;
    }
    return standin_real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->memory, offset);
}
