/* SPDX-License-Identifier: BSD-2-Clause
 * A PipeWire camera: a node of class Video/Source in the PipeWire graph of the user's
 * session, which every program of the session can list and play.
 *
 * Like a virtual camera (camera/loopback.h), it belongs to the supervisor (or halod run), never to
 * an engine, and is given only finished frames that left a gate, and cards. Each frame is copied
 * into a memfd that the server has allocated and sealed against resizing.
 *
 * The node offers one size, some rates up to the mode's, and four pixel formats, from which the
 * first consumer chooses; all consumers of a node get the same format. While a consumer is linked
 * the format is fixed. The node drives the graph: consumers run when it has a frame.
 *
 * Used by one thread; no call blocks, except that the first halo_pipewire_node_open() loads the
 * library. */
#ifndef HALO_PIPEWIRE_NODE_H
#define HALO_PIPEWIRE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/base/error.h"

enum { HALO_PIPEWIRE_STUCK_S = 5 };

struct halo_pipewire_node;

struct halo_pipewire_mode {
    const char *name;  /* what programs show, not "" */
    int width, height; /* multiples of 8 and of 2: rows then need no padding in any format */
    double rate;       /* frames per second */
};

/* What the consumers have agreed on. */
struct halo_pipewire_wish {
    bool linked; /* a consumer receives frames; otherwise the other fields are unchanged */
    int format;  /* an index of halo_desktop_formats (config/encoding.h) */
    double rate; /* at most that of the mode */
};

/* Creates a node that is not open; name is copied. Returns 0 or -ENOMEM. */
int halo_pipewire_node_create(struct halo_pipewire_node **ret,
                              const struct halo_pipewire_mode *mode);
void halo_pipewire_node_destroy(struct halo_pipewire_node *node); /* accepts NULL */

/* Connects to the server and adds the node to the graph, which is complete when the server has
 * answered. Returns the same as halo_pipewire_session_open(). */
int halo_pipewire_node_open(struct halo_pipewire_node *node, struct halo_error *err);
void halo_pipewire_node_close(struct halo_pipewire_node *node);

/* See halo_pipewire_session_poll() and halo_pipewire_session_turn(). */
int halo_pipewire_node_poll(const struct halo_pipewire_node *node);
int halo_pipewire_node_turn(struct halo_pipewire_node *node, struct halo_error *err);

void halo_pipewire_node_wish(const struct halo_pipewire_node *node, struct halo_pipewire_wish *ret);

/* Returns the bytes of a frame in this format; its rows have no padding. */
size_t halo_pipewire_node_size(const struct halo_pipewire_node *node, int format);

/* Sends a frame in the wished format to all consumers. time is in ns of CLOCK_MONOTONIC, which is
 * the graph's clock. Returns 0, or -EAGAIN if no consumer is linked, the size is another one, or
 * the consumers still hold all buffers: the frame is then dropped. Returns -ETIMEDOUT if they have
 * returned no buffer for the frames of HALO_PIPEWIRE_STUCK_S seconds: a consumer was killed while
 * the session manager was away, or it hangs. Nobody then gets frames until the node is opened
 * again. */
int halo_pipewire_node_write(struct halo_pipewire_node *node, const void *data, size_t size,
                             int64_t time);
#endif
