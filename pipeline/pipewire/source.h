/* SPDX-License-Identifier: BSD-2-Clause
 * Reads the frames of a node of the PipeWire graph: a camera, a phone, a screen cast. The link to
 * the node is made here and not by the session manager, which could link another camera instead.
 *
 * Frames are unfiltered, in memory that the server or the node's owner has allocated and may change
 * at any time. Used by one thread, the source's. */
#ifndef HALO_PIPEWIRE_SOURCE_H
#define HALO_PIPEWIRE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"

struct halo_pipewire_source;

enum { HALO_PIPEWIRE_PLANES = 3 };

struct halo_pipewire_wanted {
    uint32_t id;        /* the node's number, from halo_pipewire_list() */
    const char *format; /* a name of halo_pipewire_formats; NULL: any */
    int width, height;  /* the preferred size */
    double rate;        /* the preferred rate */
};

/* What was agreed on. */
struct halo_pipewire_agreed {
    const char *format;
    int width, height;
    double rate; /* 0: unknown or variable */
    bool full_range, bt709;
};

/* A frame's buffer. */
struct halo_pipewire_taken {
    int index;
    int memories; /* 1, or one for each plane */
    const uint8_t *data[HALO_PIPEWIRE_PLANES];
    size_t size[HALO_PIPEWIRE_PLANES];     /* bytes that may be read */
    uint32_t stride[HALO_PIPEWIRE_PLANES]; /* 0: unknown */
    int64_t time;                          /* ns of CLOCK_MONOTONIC; 0: unknown */
    uint32_t sequence;
    bool damaged;
};

/* Links the node, and waits until the format is agreed on, for at most three seconds, or until the
 * descriptor `wake` is readable. Returns 0 with *ret and *ret_agreed filled, -ECANCELED after a
 * wake, -ENODEV if the node is gone, -EINVAL if no format fits, -ETIMEDOUT, or what
 * halo_pipewire_session_open() returns, with err filled. */
int halo_pipewire_source_open(struct halo_pipewire_source **ret,
                              struct halo_pipewire_agreed *ret_agreed,
                              const struct halo_pipewire_wanted *wanted, int wake,
                              struct halo_error *err);
void halo_pipewire_source_close(struct halo_pipewire_source *source); /* accepts NULL */

/* Returns a descriptor that is readable when halo_pipewire_source_take() may have something. */
int halo_pipewire_source_poll(const struct halo_pipewire_source *source);
/* Takes the oldest frame that has arrived. Returns 1 with *ret filled, 0 if there is none, -ENODEV
 * if the node or the server is gone, or -ESTALE if the format has changed, with err filled. */
int halo_pipewire_source_take(struct halo_pipewire_source *source, struct halo_pipewire_taken *ret,
                              struct halo_error *err);
/* Gives a buffer back; its data must not be used any more. */
void halo_pipewire_source_give(struct halo_pipewire_source *source, int index);

#endif
