/* SPDX-License-Identifier: BSD-2-Clause
 * The driver of a camera that is played (v4l2.h). Descriptors are one end of a socket pair: a
 * thread puts a byte into the other for each picture that is ready: poll() works on them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/videodev2.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "v4l2.h"

enum { BUFFERS = 8, MODES = 64, TEXT = 4096, DESCRIPTORS = 4096, PLANES = 3 };

struct mode {
    uint32_t fourcc;
    int width, height;
    double rate;
};

struct buffer {
    bool queued, ready;
    uint32_t sequence;
    struct timespec at;
};

struct standin_camera {
    char name[32];
    int fd, other, memory;
    pthread_t player;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over, streaming, changed;
    struct mode mode[MODES], now;
    int modes, planar; /* 2: memories apart */
    int control;       /* value of the first one */
    struct buffer buffer[BUFFERS];
    int buffers, order[BUFFERS], ready;
    size_t size; /* of all memories of a buffer */
    uint8_t *view;
    uint32_t sequence;
    uint8_t *jpeg;
    size_t jpeg_size;
};

static struct standin_camera *cameras[DESCRIPTORS];

struct standin_camera *standin_camera_of(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS ? cameras[fd] : NULL;
}

/* ---- what it is told ---- */

static void read_file(const char *path, char *ret, size_t size)
{
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(ret, 1, size - 1, f) : 0;
    ret[n] = 0;
    if (f)
        fclose(f);
}

/* The value of key in text: true where there is one. */
static bool find(const char *text, const char *key, char *ret, size_t size)
{
    const size_t length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0 || line[length] != '=')
            continue;
        snprintf(ret, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
        return true;
    }
    return false;
}

static bool told(const struct standin_camera *c, const char *key, char *ret, size_t size)
{
    char path[PATH_MAX], text[TEXT];
    snprintf(path, sizeof path, "%s/control-%s", standin_folder(), c->name);
    read_file(path, text, sizeof text);
    if (find(text, key, ret, size))
        return true;
    snprintf(path, sizeof path, "%s/control", standin_folder());
    read_file(path, text, sizeof text);
    return find(text, key, ret, size);
}

static double number(const struct standin_camera *c, const char *key)
{
    char text[64];
    return told(c, key, text, sizeof text) ? atof(text) : 0;
}

static void note(const struct standin_camera *c, const char *what, int value)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/log", standin_folder());
    FILE *f = fopen(path, "ae");
    if (!f)
        return;
    fprintf(f, "%s %s %d\n", c->name, what, value);
    fclose(f);
}

/* The errno that the call is to fail with now, or 0. */
static int fault_of(const struct standin_camera *c, const char *call)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char last[256];
    static int count;
    char text[256], name[32];
    int error, when;
    if (!told(c, "fault", text, sizeof text))
        text[0] = 0;
    pthread_mutex_lock(&lock);
    if (strcmp(text, last) != 0)
        count = 0;
    snprintf(last, sizeof last, "%s", text);
    const bool meant =
        sscanf(text, "%31[^:]:%d:%d", name, &error, &when) == 3 && !strcmp(name, call);
    count += meant;
    const bool now = meant && (when == 0 || count == when);
    pthread_mutex_unlock(&lock);
    return now ? error : 0;
}

static uint32_t fourcc_of(const char *name)
{
    static const struct {
        const char *name;
        uint32_t fourcc;
    } known[] = {{"yuyv", V4L2_PIX_FMT_YUYV},   {"uyvy", V4L2_PIX_FMT_UYVY},
                 {"nv12", V4L2_PIX_FMT_NV12},   {"yu12", V4L2_PIX_FMT_YUV420},
                 {"mjpeg", V4L2_PIX_FMT_MJPEG}, {"grey", V4L2_PIX_FMT_GREY},
                 {"h264", V4L2_PIX_FMT_H264}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name))
            return known[i].fourcc;
    return 0;
}

static void read_modes(struct standin_camera *c)
{
    char text[TEXT] = "yuyv:640x480@30", *rest, *rest2;
    told(c, "formats", text, sizeof text);
    c->modes = 0;
    for (char *f = strtok_r(text, ";", &rest); f; f = strtok_r(NULL, ";", &rest)) {
        char *colon = strchr(f, ':');
        *colon = 0;
        for (char *s = strtok_r(colon + 1, ",", &rest2); s && c->modes < MODES;
             s = strtok_r(NULL, ",", &rest2)) {
            struct mode *m = &c->mode[c->modes++];
            m->fourcc = fourcc_of(f);
            sscanf(s, "%dx%d@%lf", &m->width, &m->height, &m->rate);
        }
    }
    c->planar = (int)number(c, "planar");
}

/* ---- pictures ---- */

static double bytes_of(const struct mode *m)
{
    const double pixels = (double)m->width * m->height;
    return m->fourcc == V4L2_PIX_FMT_MJPEG                                    ? pixels / 4
           : m->fourcc == V4L2_PIX_FMT_YUYV || m->fourcc == V4L2_PIX_FMT_UYVY ? pixels * 2
           : m->fourcc == V4L2_PIX_FMT_GREY                                   ? pixels
                                                                              : pixels * 1.5;
}

/* Known samples: luma of a place, and chroma of a place of its own plane. */
static uint8_t luma(unsigned x, unsigned y, unsigned n)
{
    return (uint8_t)(16 + ((x * 3 + y * 5 + n) & 127) + ((x ^ y) & 1) * 80);
}

static uint8_t chroma(unsigned x, unsigned y, int v)
{
    return (uint8_t)(v ? 200 - (x * 2 + y) % 64 : 60 + (x + y * 2) % 64);
}

static void paint_pairs(uint8_t *to, const struct mode *m, unsigned n, int y_at)
{
    for (unsigned y = 0; y < (unsigned)m->height; y++)
        for (unsigned x = 0; x < (unsigned)m->width; x++, to += 2) {
            to[y_at] = luma(x, y, n);
            to[1 - y_at] = chroma(x / 2, y, x & 1);
        }
}

static void paint_planes(uint8_t *to, const struct mode *m, unsigned n)
{
    const unsigned w = (unsigned)m->width, h = (unsigned)m->height;
    for (unsigned y = 0; y < h; y++)
        for (unsigned x = 0; x < w; x++)
            *to++ = luma(x, y, n);
    if (m->fourcc == V4L2_PIX_FMT_NV12)
        for (unsigned y = 0; y < h / 2; y++)
            for (unsigned x = 0; x < w; x++)
                *to++ = chroma(x / 2, y, x & 1);
    if (m->fourcc == V4L2_PIX_FMT_YUV420)
        for (int v = 0; v < 2; v++)
            for (unsigned y = 0; y < h / 2; y++)
                for (unsigned x = 0; x < w / 2; x++)
                    *to++ = chroma(x, y, v);
}

/* Bytes of it. */
static size_t paint(const struct standin_camera *c, uint8_t *to, unsigned n)
{
    const struct mode *m = &c->now;
    if (m->fourcc == V4L2_PIX_FMT_MJPEG) {
        memcpy(to, c->jpeg, c->jpeg_size < c->size ? c->jpeg_size : c->size);
        return c->jpeg_size;
    }
    if (m->fourcc == V4L2_PIX_FMT_YUYV || m->fourcc == V4L2_PIX_FMT_UYVY)
        paint_pairs(to, m, n, m->fourcc == V4L2_PIX_FMT_UYVY);
    else
        paint_planes(to, m, n);
    return (size_t)bytes_of(m);
}

/* Under the lock: a picture has come, into the first buffer that is queued. */
static void produce(struct standin_camera *c)
{
    const uint32_t sequence = c->sequence++;
    for (int i = 0; i < c->buffers; i++)
        if (c->buffer[i].queued) {
            c->buffer[i].queued = false;
            c->buffer[i].ready = true;
            c->buffer[i].sequence = sequence;
            clock_gettime(CLOCK_MONOTONIC, &c->buffer[i].at);
            c->order[c->ready++] = i;
            send(c->other, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            return;
        }
}

static void *play(void *arg)
{
    struct standin_camera *c = arg;
    bool hung = false;
    pthread_mutex_lock(&c->lock);
    while (!c->over) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        const int64_t period =
            c->streaming && c->now.rate > 0 ? (int64_t)(1e9 / c->now.rate) : 5000000;
        const int64_t ns = t.tv_nsec + period;
        t.tv_sec += ns / 1000000000;
        t.tv_nsec = ns % 1000000000;
        pthread_cond_timedwait(&c->wake, &c->lock, &t);
        pthread_mutex_unlock(&c->lock);
        const bool gone = number(c, "gone") > 0, stalled = number(c, "stall") > 0;
        pthread_mutex_lock(&c->lock);
        if (gone && !hung) {
            shutdown(c->other, SHUT_RDWR);
            hung = true;
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
    FILE *f = told(c, "jpeg", path, sizeof path) ? fopen(path, "re") : NULL;
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
    const int error = number(c, "gone") > 0 ? ENODEV : fault_of(c, "OPEN");
    if (error || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) {
        note(c, "open", error);
        free(c);
        errno = error ? error : errno;
        return -1;
    }
    c->fd = pair[0];
    c->other = pair[1];
    c->memory = -1;
    read_modes(c);
    c->now = c->mode[0];
    load_jpeg(c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &clock);
    pthread_create(&c->player, NULL, play, c);
    cameras[c->fd] = c;
    note(c, "open", 0);
    return c->fd;
}

static void drop_buffers(struct standin_camera *c)
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
    note(c, "close", 0);
    drop_buffers(c);
    standin_real_close(c->fd);
    standin_real_close(c->other);
    free(c->jpeg);
    free(c);
}

void *standin_camera_map(struct standin_camera *c, size_t size, off_t offset)
{
    const int error = fault_of(c, "MMAP");
    if (error) {
        errno = error;
        return MAP_FAILED;
    }
    return standin_real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, c->memory, offset);
}

/* ---- calls: 0 or an errno ---- */

static bool is_planar(const struct standin_camera *c)
{
    return c->planar > 0;
}

/* Memories of a picture, and bytes of each. */
static int memories(const struct standin_camera *c, size_t *ret)
{
    const size_t pixels = (size_t)c->now.width * (size_t)c->now.height;
    const bool nv12 = c->now.fourcc == V4L2_PIX_FMT_NV12,
               yu12 = c->now.fourcc == V4L2_PIX_FMT_YUV420;
    ret[0] = c->size;
    if (c->planar < 2 || (!nv12 && !yu12))
        return 1;
    ret[0] = pixels;
    ret[1] = nv12 ? pixels / 2 : pixels / 4;
    ret[2] = pixels / 4;
    return nv12 ? 2 : 3;
}

static int query_cap(struct standin_camera *c, struct v4l2_capability *a)
{
    memset(a, 0, sizeof *a);
    snprintf((char *)a->driver, sizeof a->driver, "standin");
    snprintf((char *)a->card, sizeof a->card, "Played %.20s", c->name);
    a->device_caps = V4L2_CAP_STREAMING |
                     (is_planar(c) ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE);
    a->capabilities = a->device_caps | V4L2_CAP_DEVICE_CAPS;
    return 0;
}

static int enum_fmt(struct standin_camera *c, struct v4l2_fmtdesc *a)
{
    unsigned found = 0;
    for (int i = 0; i < c->modes; i++) {
        if (i > 0 && c->mode[i].fourcc == c->mode[i - 1].fourcc)
            continue;
        if (found++ != a->index)
            continue;
        a->pixelformat = c->mode[i].fourcc;
        return 0;
    }
    return EINVAL;
}

static int enum_sizes(struct standin_camera *c, struct v4l2_frmsizeenum *a)
{
    unsigned found = 0;
    for (int i = 0; i < c->modes; i++)
        if (c->mode[i].fourcc == a->pixel_format && found++ == a->index) {
            a->type = V4L2_FRMSIZE_TYPE_DISCRETE;
            a->discrete.width = (unsigned)c->mode[i].width;
            a->discrete.height = (unsigned)c->mode[i].height;
            return 0;
        }
    return EINVAL;
}

static struct mode *find_mode(struct standin_camera *c, uint32_t fourcc, unsigned w, unsigned h)
{
    struct mode *same = NULL;
    for (int i = 0; i < c->modes; i++) {
        struct mode *m = &c->mode[i];
        if (m->fourcc == fourcc && (unsigned)m->width == w && (unsigned)m->height == h)
            return m;
        if (m->fourcc == fourcc && !same)
            same = m;
    }
    return same ? same : &c->mode[0];
}

static int enum_rates(struct standin_camera *c, struct v4l2_frmivalenum *a)
{
    const struct mode *m = find_mode(c, a->pixel_format, a->width, a->height);
    if (a->index > 0 || (unsigned)m->width != a->width)
        return EINVAL;
    a->type = V4L2_FRMIVAL_TYPE_DISCRETE;
    a->discrete = (struct v4l2_fract){1000, (unsigned)(m->rate * 1000)};
    return 0;
}

static int set_fmt(struct standin_camera *c, struct v4l2_format *a)
{
    struct v4l2_pix_format *p = &a->fmt.pix;
    struct v4l2_pix_format_mplane *mp = &a->fmt.pix_mp;
    size_t size[PLANES];
    if (c->buffers > 0)
        return EBUSY;
    const bool planar = is_planar(c);
    uint32_t fourcc = planar ? mp->pixelformat : p->pixelformat;
    const bool apart = fourcc == V4L2_PIX_FMT_NV12M || fourcc == V4L2_PIX_FMT_YUV420M;
    if (fourcc == V4L2_PIX_FMT_NV12M)
        fourcc = V4L2_PIX_FMT_NV12;
    if (fourcc == V4L2_PIX_FMT_YUV420M)
        fourcc = V4L2_PIX_FMT_YUV420;
    c->now = *find_mode(c, fourcc, planar ? mp->width : p->width, planar ? mp->height : p->height);
    c->size = (size_t)(c->now.fourcc == V4L2_PIX_FMT_MJPEG ? bytes_of(&c->now) * 8 + 65536
                                                           : bytes_of(&c->now));
    const bool pairs = c->now.fourcc == V4L2_PIX_FMT_YUYV || c->now.fourcc == V4L2_PIX_FMT_UYVY;
    const unsigned stride = (unsigned)c->now.width * (pairs ? 2 : 1);
    if (!planar) {
        *p = (struct v4l2_pix_format){.width = (unsigned)c->now.width,
                                      .height = (unsigned)c->now.height,
                                      .pixelformat = c->now.fourcc,
                                      .bytesperline = stride,
                                      .sizeimage = (unsigned)c->size,
                                      .colorspace = V4L2_COLORSPACE_SRGB};
        return 0;
    }
    if (c->planar == 2 && !apart) /* it has them apart only */
        c->now.fourcc = c->now.fourcc == V4L2_PIX_FMT_NV12 ? V4L2_PIX_FMT_GREY : c->now.fourcc;
    mp->width = (unsigned)c->now.width;
    mp->height = (unsigned)c->now.height;
    mp->pixelformat = apart ? mp->pixelformat : c->now.fourcc;
    mp->num_planes = (uint8_t)memories(c, size);
    for (int i = 0; i < mp->num_planes; i++) {
        mp->plane_fmt[i].bytesperline =
            i && c->now.fourcc == V4L2_PIX_FMT_YUV420 ? stride / 2 : stride;
        mp->plane_fmt[i].sizeimage = (unsigned)size[i];
    }
    return 0;
}

static int request(struct standin_camera *c, struct v4l2_requestbuffers *a)
{
    drop_buffers(c);
    if (!a->count)
        return 0;
    a->count = a->count > BUFFERS ? BUFFERS : a->count;
    c->buffers = (int)a->count;
    c->memory = memfd_create("standin", MFD_CLOEXEC);
    c->size = (c->size + 4095) / 4096 * 4096;
    if (ftruncate(c->memory, (off_t)(c->size * a->count)) < 0)
        return ENOMEM;
    c->view = standin_real_mmap(NULL, c->size * a->count, PROT_READ | PROT_WRITE, MAP_SHARED,
                                c->memory, 0);
    return 0;
}

static int query(struct standin_camera *c, struct v4l2_buffer *a)
{
    size_t size[PLANES];
    if (a->index >= (unsigned)c->buffers)
        return EINVAL;
    const int count = memories(c, size);
    const unsigned at = (unsigned)(a->index * c->size);
    if (!is_planar(c)) {
        a->length = (unsigned)c->size;
        a->m.offset = at;
        return 0;
    }
    a->length = (unsigned)count;
    for (int i = 0; i < count; i++) { /* all see the whole: mappings begin at pages */
        a->m.planes[i].length = (unsigned)c->size;
        a->m.planes[i].m.mem_offset = at;
    }
    return 0;
}

static int give(struct standin_camera *c, const struct v4l2_buffer *a)
{
    if (a->index >= (unsigned)c->buffers || c->buffer[a->index].queued || c->buffer[a->index].ready)
        return EINVAL;
    c->buffer[a->index].queued = true;
    return 0;
}

static void set_time(struct standin_camera *c, struct v4l2_buffer *a, const struct buffer *b)
{
    const int clock = (int)number(c, "clock");
    a->timestamp = (struct timeval){b->at.tv_sec, b->at.tv_nsec / 1000};
    a->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    if (clock == 1) {
        a->flags = V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN;
        a->timestamp.tv_sec = 5;
    }
    if (clock == 2)
        a->timestamp.tv_sec -= b->sequence % 3;
}

static int take(struct standin_camera *c, struct v4l2_buffer *a)
{
    char byte;
    if (!c->streaming)
        return EINVAL;
    if (c->ready == 0)
        return EAGAIN;
    recv(c->fd, &byte, 1, MSG_DONTWAIT);
    const int index = c->order[0];
    memmove(c->order, c->order + 1, sizeof *c->order * (size_t)--c->ready);
    struct buffer *b = &c->buffer[index];
    b->ready = false;
    a->index = (unsigned)index;
    a->sequence = b->sequence;
    set_time(c, a, b);
    size_t used = paint(c, c->view + (size_t)index * c->size, b->sequence), size[PLANES];
    if (number(c, "error") > 0)
        a->flags |= V4L2_BUF_FLAG_ERROR;
    if (number(c, "short") > 0)
        used /= 2;
    a->bytesused = (unsigned)used;
    if (!is_planar(c))
        return 0;
    const int count = memories(c, size);
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        a->m.planes[i].data_offset = (unsigned)at;
        a->m.planes[i].bytesused = (unsigned)(count > 1 ? at + size[i] : used);
        at += size[i];
    }
    return 0;
}

static int start(struct standin_camera *c)
{
    const double room = number(c, "room");
    const bool full = room > 0 && bytes_of(&c->now) * c->now.rate > room;
    note(c, "STREAMON", full ? ENOSPC : 0);
    c->streaming = !full;
    pthread_cond_broadcast(&c->wake);
    return full ? ENOSPC : 0;
}

static int set_parm(struct standin_camera *c, const struct v4l2_streamparm *a)
{
    const struct v4l2_fract *f = &a->parm.capture.timeperframe;
    if (f->numerator && f->denominator)
        c->now.rate = (double)f->denominator / f->numerator;
    return 0;
}

/* The index-th control that it is told to have. */
static bool control_at(struct standin_camera *c, unsigned index, struct v4l2_queryctrl *ret)
{
    char text[TEXT], *rest, name[33];
    int least, most, step, value;
    if (!told(c, "controls", text, sizeof text))
        return false;
    char *one = strtok_r(text, ",", &rest);
    while (one && index--)
        one = strtok_r(NULL, ",", &rest);
    if (!one || sscanf(one, "%32[^:]:%d:%d:%d:%d", name, &least, &most, &step, &value) != 5)
        return false;
    *ret = (struct v4l2_queryctrl){.type = V4L2_CTRL_TYPE_INTEGER,
                                   .minimum = least,
                                   .maximum = most,
                                   .step = step,
                                   .default_value = value};
    memcpy(ret->name, name, strnlen(name, sizeof ret->name - 1));
    return true;
}

static int query_control(struct standin_camera *c, struct v4l2_queryctrl *a)
{
    const uint32_t wanted = a->id & ~(uint32_t)V4L2_CTRL_FLAG_NEXT_CTRL;
    const bool next = a->id & V4L2_CTRL_FLAG_NEXT_CTRL;
    const uint32_t id = next ? (wanted < V4L2_CID_BASE ? V4L2_CID_BASE : wanted + 1) : wanted;
    if (id < V4L2_CID_BASE || !control_at(c, id - V4L2_CID_BASE, a))
        return EINVAL;
    a->id = id;
    return 0;
}

static int set_control(struct standin_camera *c, const struct v4l2_control *a)
{
    note(c, "S_CTRL", a->value);
    c->control = a->value;
    return 0;
}

static int take_event(struct standin_camera *c, struct v4l2_event *a)
{
    memset(a, 0, sizeof *a);
    if (!number(c, "change") || c->changed)
        return ENOENT;
    c->changed = true;
    a->type = V4L2_EVENT_SOURCE_CHANGE;
    a->u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION;
    return 0;
}

static int answer(struct standin_camera *c, unsigned long call, void *a)
{
    switch (call) {
    case VIDIOC_QUERYCAP:
        return query_cap(c, a);
    case VIDIOC_ENUM_FMT:
        return enum_fmt(c, a);
    case VIDIOC_ENUM_FRAMESIZES:
        return enum_sizes(c, a);
    case VIDIOC_ENUM_FRAMEINTERVALS:
        return enum_rates(c, a);
    case VIDIOC_S_FMT:
        return set_fmt(c, a);
    case VIDIOC_S_PARM:
        return set_parm(c, a);
    case VIDIOC_REQBUFS:
        return request(c, a);
    case VIDIOC_QUERYBUF:
        return query(c, a);
    case VIDIOC_QBUF:
        return give(c, a);
    case VIDIOC_DQBUF:
        return take(c, a);
    case VIDIOC_STREAMON:
        return start(c);
    case VIDIOC_STREAMOFF:
        c->streaming = false;
        return 0;
    case VIDIOC_QUERYCTRL:
        return query_control(c, a);
    case VIDIOC_G_CTRL:
        ((struct v4l2_control *)a)->value = c->control;
        return 0;
    case VIDIOC_S_CTRL:
        return set_control(c, a);
    case VIDIOC_SUBSCRIBE_EVENT:
        return 0;
    case VIDIOC_DQEVENT:
        return take_event(c, a);
    default:
        return ENOTTY;
    }
}

/* Names as faults have them. */
static const char *name_of(unsigned long call)
{
    static const struct {
        unsigned long call;
        const char *name;
    } known[] = {
        {VIDIOC_QUERYCAP, "QUERYCAP"},   {VIDIOC_ENUM_FMT, "ENUM"},
        {VIDIOC_S_FMT, "S_FMT"},         {VIDIOC_S_PARM, "S_PARM"},
        {VIDIOC_S_CTRL, "S_CTRL"},       {VIDIOC_REQBUFS, "REQBUFS"},
        {VIDIOC_QUERYBUF, "QUERYBUF"},   {VIDIOC_QBUF, "QBUF"},
        {VIDIOC_STREAMON, "STREAMON"},   {VIDIOC_DQBUF, "DQBUF"},
        {VIDIOC_STREAMOFF, "STREAMOFF"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].call == call)
            return known[i].name;
    return "";
}

int standin_camera_ioctl(struct standin_camera *c, unsigned long call, void *argument)
{
    pthread_mutex_lock(&c->lock);
    int error = number(c, "gone") > 0 ? ENODEV : fault_of(c, name_of(call));
    if (!error)
        error = answer(c, call, argument);
    pthread_mutex_unlock(&c->lock);
    errno = error;
    return error ? -1 : 0;
}
