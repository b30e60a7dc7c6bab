/* SPDX-License-Identifier: BSD-2-Clause
 * The messages between the supervisor and an engine.
 *
 * The link is a SOCK_SEQPACKET pair; the engine's end is its descriptor 3. Each message is one JSON
 * object of at most HALO_LINK_MAX bytes, with at most two descriptors attached. Neither side ever
 * blocks: messages that the socket does not accept yet are queued. If more than HALO_LINK_WAITING
 * messages would be queued, the other side is considered dead.
 *
 * To the engine, "do":
 *   start     stream, settings (text of halo_stream_settings_write(), with the chains in force),
 *             camera (as an earlier engine reported it: this camera and no other is to be
 *             opened; absent: none was reported yet)
 *   mask      path; descriptor: its file, which the engine cannot open itself; sent before the
 *             message that names the path
 *   stop      stream
 *   set       stream, id, chains ["...", ...]: first the stream's own, then its renditions'
 *   control   stream, id, control, value: sets a control of its camera; answered by set
 *   watch     stream, encoding, on
 *   key       stream, encoding: requests a keyframe
 *   snapshot  stream, id, format, filters (absent: no further ones)
 *   record    stream, on
 *   regions   stream, frame (us), regions (regions.h); frequent, and not answered
 *   detector  stream, find, id, why (absent: it is connected); descriptor: the connection; answers
 *             the `detector` with this id
 *   gpus      requests a report of the free capacity of all GPUs
 *   log       level
 *   quit      finish everything and exit with 0
 * From the engine, "tell":
 *   hello     version; descriptor (absent: there is none): answers refused calls (refusals.h)
 *   ring      stream, encoding; descriptors: memory, event; replaces the previous ring
 *   state     stream, state, why, device (whether the GPU failed), stands (a stage is stuck, and
 *             the process ends), stalled (a stage is stuck, and only this stream ends), lack
 *             (a name in degradation.h)
 *   camera    stream, is (text of halo_camera_id_write()): the camera that was opened
 *   encoding  stream, encoding, why (absent: it works); other encodings are not affected
 *   detector  stream, find, ask (want, broken or unwanted), id, why (if broken): see
 *             detect_calls.h; `want` is answered
 *   finished  stream, output (its number), path: a file for which the hook is to be started
 *   set       stream, id, why (absent: the change is in force)
 *   snapshot  stream, id, why if it failed; descriptor: a memfd with the image
 *   stats     streams {NAME: {...}} (link_stats.h), one message for each stream, and one without
 *             streams that has gpus [...]; every half second, also as the sign of life
 *   gpus      gpus [...]: the free capacity of each GPU of the machine, by number; once for each
 *             request
 *   gone      stream: it has stopped, and everything of it is finished
 *
 * A start is sent only after the gone of the previous start, so reports on a stream always concern
 * its latest start.
 *
 * Loop thread only. */
#ifndef HALO_LINK_H
#define HALO_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

enum {
    HALO_LINK_FD = 3,
    HALO_LINK_MAX = 160 * 1024,
    HALO_LINK_WAITING = 1024,
    HALO_LINK_FDS = 2,
};

struct halo_link;

struct halo_link_ops {
    /* Receives a message, which is borrowed; the callee owns the `count` descriptors in fds. */
    void (*message)(void *arg, json_t *message, const int *fds, int count);
    /* Reports that the other side has closed the link or violated the protocol; `why` is the
     * reason, as one line of text. No callbacks follow. */
    void (*closed)(void *arg, const char *why);
};

/* Creates one end of a link. Takes ownership of fd, even on failure. Returns 0 or -errno. */
int halo_link_create(struct halo_link **ret, uv_loop_t *loop, int fd,
                     const struct halo_link_ops *ops, void *arg);
/* Sends a message. Takes the caller's reference to message. The caller keeps fds; copies of them
 * are sent. Returns 0, -ENOMEM (also if message is NULL), -EMSGSIZE, -EPIPE, or another -errno if a
 * descriptor cannot be copied. May be called from ops. */
int halo_link_send(struct halo_link *link, json_t *message, const int *fds, int count);
/* Returns whether sent messages are still queued here because the other side does not read. */
bool halo_link_is_behind(const struct halo_link *link);
/* Passes on all messages that arrived before the other side closed the link. Does not call
 * ops->closed. Must not be called from ops. */
void halo_link_drain(struct halo_link *link);
void halo_link_close_fds(const int *fds, int count);
/* Destroys the link; ops are not called any more. The memory is freed when the loop has closed the
 * handle. NULL is ignored. */
void halo_link_destroy(struct halo_link *link);

#endif
