/* SPDX-License-Identifier: BSD-2-Clause
 * One viewer of an output socket, for viewers.c and the forms that it is served in. Loop thread
 * only. */
#ifndef HALO_VIEWER_H
#define HALO_VIEWER_H

#include <sys/socket.h>
#include <uv.h>

#include "config/error.h"
#include "config/viewer_format.h"
#include "daemon/view/feed.h"

struct halo_viewer;
struct halo_frames;

/* What the viewers of a socket have in common. */
struct halo_viewers_shared {
    const struct halo_viewer_format *format;
    int64_t origin;             /* of the feed, us */
    struct halo_frames *frames; /* pictures in memory for others; NULL where there are none */
    int64_t sent, dropped;      /* bytes; packets */
};

/* A form. Errors close the viewer, and err says why. Nothing here blocks. */
struct halo_viewer_ops {
    int (*open)(struct halo_viewer *viewer);
    int (*begin)(struct halo_viewer *viewer, const struct halo_live_begin *begin,
                 struct halo_error *err);
    int (*packet)(struct halo_viewer *viewer, const AVPacket *pkt, struct halo_error *err);
    /* Sends what waits, as far as the socket takes it. */
    int (*flush)(struct halo_viewer *viewer, struct halo_error *err);
    /* What the viewer said. */
    int (*receive)(struct halo_viewer *viewer, const uint8_t *data, size_t size,
                   struct halo_error *err);
    /* The stream is over: what ends the form, as far as the socket takes it. */
    void (*end)(struct halo_viewer *viewer);
    void (*close)(struct halo_viewer *viewer);
};
extern const struct halo_viewer_ops halo_viewer_mux, halo_viewer_frames;

struct halo_viewer {
    struct halo_feed_taker taker; /* first: it is found by it */
    struct halo_viewers *viewers;
    struct halo_viewers_shared *shared;
    const struct halo_viewer_ops *ops;
    void *own; /* the form's own */
    struct halo_viewer *next;
    uv_poll_t poll;
    int fd;
    char peer[80];       /* for people */
    bool wants_write;    /* of the form: flush when the socket takes something again */
    int64_t waits_since; /* us; since when nothing that waits has moved on; 0: nothing waits */
    int events;          /* that are polled for */
    bool deaf;           /* it says nothing more, but may still read */
};

/* From its form: something waits for it to read; moved: some of it went out now. */
void halo_viewer_waits(struct halo_viewer *viewer, bool waits, bool moved);

#endif
