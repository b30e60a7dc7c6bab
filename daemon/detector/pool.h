/* SPDX-License-Identifier: BSD-2-Clause
 * The detectors of all streams of the supervisor, or of the one stream of halod run: which process
 * serves which stream, and when a process is started again.
 *
 * A stream is a client once for each find. Its name is "" if there is no other stream. A client has
 * a process of its own or, with `shared`, the process of all clients with the same command. A
 * process is started when its first client wants it, and killed when its last client leaves, when
 * it breaks the contract, and when the program's settings have changed. When a process has ended,
 * the next one is started after a pause of 0.25 seconds, which doubles with every failure up to 5
 * seconds; after a process has run for 60 seconds, the pauses begin at 0.25 seconds again. Clients
 * that want a connection meanwhile are answered after the pause.
 *
 * Loop thread only. Starting a process may block on a disk. */
#ifndef HALO_DETECTOR_POOL_H
#define HALO_DETECTOR_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "config/detectors.h"

struct halo_detector_pool;

enum halo_detector_event {
    HALO_DETECTOR_STARTED,
    HALO_DETECTOR_FAILED, /* `why` says why; also logged */
};

struct halo_detector_pool_ops {
    /* Answers halo_detector_pool_want(): fd is a connection, which the callee owns, or -1; `why`
     * then says why there is none. Called once for each call that was not withdrawn; may be called
     * before halo_detector_pool_want() returns. Must not call the pool. */
    void (*answer)(void *arg, const char *stream, enum halo_find find, uint64_t id, int fd,
                   const char *why);
    /* Reports what happened to the process of a client. May be NULL. */
    void (*event)(void *arg, const char *stream, enum halo_find find,
                  enum halo_detector_event event, const char *why);
};

struct halo_detector_status {
    bool up;       /* a process is running */
    int pid;       /* its ID; 0: none */
    int restarts;  /* how often a process was started again for this client's program */
    char why[400]; /* why the last process ended or could not be started; "": none has failed */
};

/* halod: path of halod's own program, which must stay valid. Returns 0 (the caller owns *ret) or
 * -ENOMEM. */
int halo_detector_pool_create(struct halo_detector_pool **ret, uv_loop_t *loop, const char *halod,
                              const struct halo_detector_pool_ops *ops, void *arg);

/* Wants a connection for a stream; `id` is returned with the answer. A second call replaces the
 * first. settings are copied. */
void halo_detector_pool_want(struct halo_detector_pool *pool, const char *stream,
                             enum halo_find find, uint64_t id,
                             const struct halo_detector_settings *settings);
/* The client's detector has broken the contract: it is killed. */
void halo_detector_pool_broken(struct halo_detector_pool *pool, const char *stream,
                               enum halo_find find, const char *why);
/* The client leaves, and is not answered any more. */
void halo_detector_pool_leave(struct halo_detector_pool *pool, const char *stream,
                              enum halo_find find);
/* Returns false, with *ret unchanged, if there is no such client. */
bool halo_detector_pool_status(const struct halo_detector_pool *pool, const char *stream,
                               enum halo_find find, struct halo_detector_status *ret);
/* Kills all processes. The memory is freed when the loop has closed all handles. NULL is
 * ignored. */
void halo_detector_pool_destroy(struct halo_detector_pool *pool);

#endif
