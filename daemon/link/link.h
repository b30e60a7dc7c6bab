/* SPDX-License-Identifier: BSD-2-Clause
 * What supervisor and engine say to each other.
 *
 * A SOCK_SEQPACKET pair, descriptor 3 of the engine. Each message is one JSON object of at most
 * HALO_LINK_MAX bytes, with at most two descriptors beside it. Neither side ever blocks: what the
 * socket does not take waits in a list; a list longer than HALO_LINK_WAITING means that the other
 * side is dead.
 *
 * To the engine, "do":
 *   start     stream, settings (text of halo_stream_settings_write(), with the chains in force),
 *             camera (what an engine before told of it, or absent: the same one, and no other)
 *   mask      path; descriptor: its file, which the engine may not open; before what names it
 *   stop      stream
 *   set       stream, id, chains ["...", ...]: the stream's own, then its renditions'
 *   control   stream, id, control, value: of its camera; answered by set
 *   watch     stream, encoding, on
 *   key       stream, encoding
 *   snapshot  stream, id, format
 *   record    stream, on
 *   regions   stream, picture (us), regions (regions.h); many, and not answered
 *   gpus      tell what they have to spare
 *   log       level
 *   quit      finish everything and exit 0
 * From the engine, "tell":
 *   hello     version
 *   ring      stream, encoding; descriptors: memory, event; replaces the one before
 *   state     stream, state, why, device (the GPU failed), lack (a name of degradation.h)
 *   camera    stream, is (text of halo_camera_id_write()): it was opened
 *   encoding  stream, encoding, why (absent: it works): the others go on
 *   finished  stream, output (its number), path: a file that its hook is to be started with
 *   set       stream, id, why (absent: in force)
 *   snapshot  stream, id, why or nothing; descriptor: a memfd with the image
 *   stats     streams {NAME: {...}} (link_stats.h), a message for each, and one without streams
 *             that has gpus [...]: every half second, also as the sign of life
 *   gpus      gpus [...]: what each of the machine has to spare, by number; once when asked
 *   gone      stream: stopped, everything of it is finished
 *
 * A start follows the gone of the start before it, so that what is told of a stream is of the
 * latest one.
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
    /* message is borrowed; fds (count of them) become the receiver's. */
    void (*message)(void *arg, json_t *message, const int *fds, int count);
    /* The other side is gone or broke the rules; why in words. No call follows. */
    void (*closed)(void *arg, const char *why);
};

/* fd becomes the link's, on failure too. 0 or -errno. */
int halo_link_create(struct halo_link **ret, uv_loop_t *loop, int fd,
                     const struct halo_link_ops *ops, void *arg);
/* Takes message over (NULL is -ENOMEM); fds stay the caller's (copies are sent). 0, -ENOMEM,
 * -EMSGSIZE, -EPIPE, -errno of a copy. May be called from ops. */
int halo_link_send(struct halo_link *link, json_t *message, const int *fds, int count);
/* Whether some of what was sent waits because the other side does not read. */
bool halo_link_is_behind(const struct halo_link *link);
/* Whether a send has found the other side gone: what comes now are its last words. */
bool halo_link_is_mute(const struct halo_link *link);
/* Hands over what has come before the other side's end, of which it does not tell: ops->closed is
 * not called. Not from ops. */
void halo_link_drain(struct halo_link *link);
void halo_link_close_fds(const int *fds, int count);
/* No call of ops follows; memory goes when the loop has closed the handle. NULL: nothing. */
void halo_link_destroy(struct halo_link *link);

#endif
