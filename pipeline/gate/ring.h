/* SPDX-License-Identifier: BSD-2-Clause
 * The ring: the lanes in which a stream's frames are filtered, taken in turn.
 *
 * A lane is an opened backend (kernels/frame.h) with memory and a CUDA stream of its own. While one
 * frame is uploaded, another is filtered and a third downloaded. The filter thread acquires and
 * submits, the thread that finishes frames releases; as both do so in order, frames keep theirs.
 *
 * After an error a device may never answer. Calls of the lanes have no limit of their own, for that
 * would mean to ask again and again; they note when they began, and the event loop asks
 * halo_ring_watch_is_stuck() now and then. A lane past its deadline can neither be used nor freed,
 * since the device may still write into its memory: the process has to end, by _exit(). */
#ifndef HALO_RING_H
#define HALO_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/device.h"
#include "config/error.h"
#include "kernels/frame.h"
#include "pipeline/picture/memory.h"

struct halo_stats;

enum { HALO_RING_MAX = 16 };

struct halo_ring_settings {
    const char *backend;      /* "auto", or a name in halo_backends[] */
    int device;               /* number of the GPU; negative: the one with most to spare */
    int depth;                /* lanes, 1 .. HALO_RING_MAX. The CPU has one: it does not wait */
    int threads;              /* of the CPU */
    bool live;                /* goes before files on the same GPU */
    int64_t locked;           /* bytes of page-locked memory; negative: a default (memory.h) */
    double deadline;          /* seconds in which the device has to end a frame */
    struct halo_stats *stats; /* where waits and frames are recorded; NULL: nowhere */
};

/* As the user has it; live, locked and stats at their defaults: false, negative, NULL. */
struct halo_ring_settings halo_ring_settings_of(const struct halo_device_settings *device);

struct halo_lane {
    struct halo_backend *backend;
    int number;
    bool busy;
    /* Since when a call on the device lasts: ns, monotonic; 0 while there is none. */
    atomic_llong submitting, waiting;
    atomic_int patience; /* deadlines that submitting may last */
};

struct halo_ring;

/* Opens the lanes. "auto" takes the GPU where it can be had, and says why not where it cannot. 0,
 * -ENODEV, -ENOMEM ... with err filled. Blocks while the driver starts. The caller owns *ret. */
int halo_ring_create(struct halo_ring **ret, const struct halo_ring_settings *settings,
                     struct halo_error *err);
void halo_ring_destroy(struct halo_ring *ring); /* no lane is busy; NULL is nothing to do */

/* The backend that the ring began with, and the memory for its pictures, which the ring owns. */
const struct halo_backend_ops *halo_ring_ops(const struct halo_ring *ring);
struct halo_memory *halo_ring_memory(const struct halo_ring *ring);

/* Where its lanes are now: "cuda", after failures of all of them "cpu", between "cuda+cpu". Any
 * thread. */
void halo_ring_where(const struct halo_ring *ring, char *ret, size_t size);

int halo_ring_depth(const struct halo_ring *ring);  /* lanes */
int halo_ring_device(const struct halo_ring *ring); /* number of the GPU, where it is one */
struct halo_stats *halo_ring_stats(const struct halo_ring *ring);

/* The GPU for a decoder or an encoder beside it: the one that the lanes are on; with lanes on the
 * CPU the one asked for, or the first (negative). */
int halo_ring_gpu(const struct halo_ring *ring, int asked);

/* Whether a lane of it, one that has not fallen back, can filter planes with this many interleaved
 * channels so. Any thread. */
bool halo_ring_can(struct halo_ring *ring, const struct halo_strategy *strategy,
                   const struct halo_conv *conv, int channels);

/* The next lane; blocks until it is released. NULL after halo_ring_abort(). */
struct halo_lane *halo_ring_acquire(struct halo_ring *ring);
void halo_ring_release(struct halo_ring *ring, struct halo_lane *lane);
void halo_ring_abort(struct halo_ring *ring); /* any thread */

/* halo_frame_submit() and halo_frame_finish() on an acquired lane, with the time taken. first: for
 * frames of this kind the driver may have to compile kernels, which takes up to minutes. */
int halo_ring_submit(struct halo_ring *ring, struct halo_lane *lane, const struct halo_frame *frame,
                     bool first);
int halo_ring_finish(struct halo_ring *ring, struct halo_lane *lane);

/* The loop's looks at a device, zeroed at first. A process that was stopped was not there to see a
 * device answer: after a pause in looking everything has its time again. */
struct halo_ring_watch {
    int64_t checked, resumed; /* ns: when last, and when again after a long pause */
};

/* Now and then, one thread: whether the device is to be given up, with err filled. ring: NULL while
 * it is being opened, then since `opening` (ns; 0: it is not yet). deadline: the ring's. */
bool halo_ring_watch_is_stuck(struct halo_ring_watch *watch, struct halo_ring *ring,
                              int64_t opening, double deadline, struct halo_error *err);

/* After -EIO (or -ENOMEM: memory is full) in an acquired lane: with "auto" the lane goes on on the
 * CPU, which is said once, and its frame may be submitted again (0). Otherwise that code, with err
 * filled in the device's words and marked as worth another try. */
int halo_ring_fall_back(struct halo_ring *ring, struct halo_lane *lane, int code,
                        struct halo_error *err);

/* Whether "auto" is on the CPU for something that happened to the GPU, at its start or later; why:
 * in words; *ret_memory: its memory was full. Any thread. */
bool halo_ring_fell_back(struct halo_ring *ring, bool *ret_memory, char *why, size_t size);

#endif
