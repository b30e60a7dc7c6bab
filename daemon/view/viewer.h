/* SPDX-License-Identifier: BSD-2-Clause
 * One viewer of an output socket. viewers.c and the files for the viewer formats share these
 * declarations. Loop thread only. */
#ifndef HALO_VIEWER_H
#define HALO_VIEWER_H

#include <sys/socket.h>
#include <uv.h>

#include "config/base/error.h"
#include "config/viewer_format.h"
#include "daemon/view/feed.h"
#include "kernels/clock.h"

struct halo_viewer;
struct halo_frames;

/* Data that the viewers of a socket share. */
struct halo_viewers_shared {
    const struct halo_viewer_format *format;
    int64_t origin;             /* time 0 of the feed, in microseconds of CLOCK_MONOTONIC */
    struct halo_frames *frames; /* memory shared with viewers; NULL if the format has none */
    int64_t sent, dropped;      /* bytes; packets */
    char why[600];              /* why the stream cannot be written in the format, or "" */
};

/* The functions that implement one of the formats for viewers. If a function returns an error, the
 * viewer is closed; err then holds the reason. None of these functions blocks. */
struct halo_viewer_ops {
    int (*open)(struct halo_viewer *viewer);
    int (*begin)(struct halo_viewer *viewer, const struct halo_encoding_parameters *begin,
                 struct halo_error *err);
    int (*packet)(struct halo_viewer *viewer, const AVPacket *pkt, struct halo_error *err);
    /* Sends queued data, as much as the socket accepts. */
    int (*flush)(struct halo_viewer *viewer, struct halo_error *err);
    /* Handles data that the viewer has sent. */
    int (*receive)(struct halo_viewer *viewer, const uint8_t *data, size_t size,
                   struct halo_error *err);
    /* Called when the stream has ended. Sends the format's trailer, as much of it as the socket
     * accepts. */
    void (*end)(struct halo_viewer *viewer);
    void (*close)(struct halo_viewer *viewer);
};
extern const struct halo_viewer_ops halo_viewer_mux, halo_viewer_frames;

struct halo_viewer {
    struct halo_feed_subscriber subscriber; /* must be first: callbacks cast it to the viewer */
    struct halo_viewers *viewers;
    struct halo_viewers_shared *shared;
    const struct halo_viewer_ops *ops;
    void *own; /* private data of the format */
    struct halo_viewer *next;
    uv_poll_t poll;
    int fd;
    char peer[80]; /* the viewer's address or process, for the log */
    /* set by the format so that flush is called when the socket is writable again */
    bool wants_write;
    /* the time in us when queued data was last sent or, if later, when data was first queued; 0:
     * nothing is queued */
    int64_t waits_since;
    int events; /* POLLIN and others, for which the loop waits */
    bool deaf;  /* the client has shut down its sending side, but may still read */
};

/* Called by the format's code after it has sent or queued data. `waits` is true if data is
 * still queued because the viewer does not read; `moved` is true if some of the queued data has
 * just been sent. */
static inline void halo_viewer_waits(struct halo_viewer *viewer, bool waits, bool moved)
{
    if (!waits)
        viewer->waits_since = 0;
    else if (moved || viewer->waits_since == 0)
        viewer->waits_since = halo_now_us();
}

#endif
