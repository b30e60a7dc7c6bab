/* SPDX-License-Identifier: BSD-2-Clause
 * What the files of a camera that is played (v4l2.h) share.
 *
 *   v4l2_camera.c    its life: opened, closed, pictures that come
 *   v4l2_calls.c     what the driver answers
 *   v4l2_orders.c      what the files of the folder tell it
 *   v4l2_frame.c   samples */
#ifndef HALO_STANDIN_V4L2_PRIVATE_H
#define HALO_STANDIN_V4L2_PRIVATE_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "tests/standin/v4l2.h"

enum { BUFFERS = 8, MODES = 64, TEXT = 4096, PLANES = 3 };

struct mode {
    uint32_t fourcc;
    int width, height;
    double rate;
};

struct buffer {
    bool queued, ready;
    uint32_t sequence;
    struct timespec at;
    size_t used; /* bytes of the picture */
};

struct standin_camera {
    char name[32];
    int fd, other, memory;
    pthread_t player;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over, streaming, changed, raised;
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

/* ---- v4l2_orders.c ---- */

/* The value of a key, its number (0: there is none). */
bool standin_ordered(const struct standin_camera *c, const char *key, char *ret, size_t size);
double standin_number(const struct standin_camera *c, const char *key);
bool standin_lies(const struct standin_camera *c, const char *word);
/* The errno that the call is to fail with now, or 0. */
int standin_fault(const struct standin_camera *c, const char *call);
void standin_read_modes(struct standin_camera *c);
/* A line of the log. */
void standin_note(const struct standin_camera *c, const char *what, int value);

/* ---- v4l2_frame.c ---- */
double standin_bytes(const struct mode *m);
/* The n-th; bytes of it. */
size_t standin_paint(const struct standin_camera *c, uint8_t *to, unsigned n);

/* ---- v4l2_camera.c ---- */
void standin_drop_buffers(struct standin_camera *c);

#endif
