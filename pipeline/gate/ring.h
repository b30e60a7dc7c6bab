/* SPDX-License-Identifier: BSD-2-Clause
 * The ring: the lanes in which a stream's frames are filtered, used in turn.
 *
 * A lane is an opened backend (kernels/frame.h) with its own memory and CUDA stream. While one
 * frame is uploaded, another is filtered and a third downloaded. The filter thread acquires lanes
 * and submits frames; the thread that finishes frames releases the lanes. Both do so in order, so
 * frames keep their order.
 *
 * After an error a device may never answer. Calls on lanes have no timeout, because that would
 * require polling; they record when they began, and the event loop calls halo_ring_watch_is_stuck()
 * periodically. A lane past its deadline can be neither used nor freed, because the device may
 * still write into its memory: the process has to end, by _exit(). */
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
    const char *backend; /* "auto", or a name in halo_backends[] */
    int device;          /* number of the GPU; negative: the least loaded one */
    int depth;           /* lanes, 1 .. HALO_RING_MAX; the CPU has only one: it is synchronous */
    int threads;         /* for the CPU backend */
    bool live;           /* takes precedence over files on the same GPU */
    int64_t locked;      /* limit of page-locked bytes; negative: a default (memory.h) */
    double deadline;     /* seconds within which the device must finish a frame */
    struct halo_stats *stats; /* records waits and frames; NULL: not recorded */
};

/* Ring settings from the user's; live, locked and stats have defaults: false, negative, NULL. */
struct halo_ring_settings halo_ring_settings_of(const struct halo_device_settings *device);

struct halo_lane {
    struct halo_backend *backend;
    int number;
    bool busy;
    /* When the current call on the device began: ns of the monotonic clock; 0: no call. */
    atomic_llong submitting, waiting;
    atomic_int patience; /* how many deadlines submitting may take */
};

struct halo_ring;

/* Opens the lanes. "auto" uses the GPU if it is available; otherwise it logs the reason and uses
 * the CPU. 0, or -ENODEV, -ENOMEM ... with err filled. Blocks while the driver starts. The caller
 * owns *ret. */
int halo_ring_create(struct halo_ring **ret, const struct halo_ring_settings *settings,
                     struct halo_error *err);
void halo_ring_destroy(struct halo_ring *ring); /* no lane may be busy; NULL is ignored */

/* The backend with which the ring began, and the memory for its frames, which the ring owns. */
const struct halo_backend_ops *halo_ring_ops(const struct halo_ring *ring);
struct halo_memory *halo_ring_memory(const struct halo_ring *ring);

/* Writes which backends the lanes use now: "cuda", "cuda+cpu" after some of them have failed, "cpu"
 * after all have. Any thread. */
void halo_ring_where(const struct halo_ring *ring, char *ret, size_t size);

int halo_ring_depth(const struct halo_ring *ring);  /* lanes */
int halo_ring_device(const struct halo_ring *ring); /* number of the GPU, if it uses one */
struct halo_stats *halo_ring_stats(const struct halo_ring *ring);

/* The GPU that the stream's decoder or encoder should use: that of the lanes; if they are on the
 * CPU, the one asked for, or the first if asked is negative. */
int halo_ring_gpu(const struct halo_ring *ring, int asked);

/* Whether a lane that has not fallen back can use this strategy and convolution for planes with
 * this many interleaved channels. Any thread. */
bool halo_ring_can(struct halo_ring *ring, const struct halo_strategy *strategy,
                   const struct halo_conv *conv, int channels);

/* Acquires the next lane; blocks until it is released. NULL after halo_ring_abort(). */
struct halo_lane *halo_ring_acquire(struct halo_ring *ring);
void halo_ring_release(struct halo_ring *ring, struct halo_lane *lane);
void halo_ring_abort(struct halo_ring *ring); /* any thread */

/* halo_frame_submit() and halo_frame_finish() on an acquired lane; they record when they began.
 * first: the driver may have to compile kernels for frames of this kind, which takes up to
 * minutes. */
int halo_ring_submit(struct halo_ring *ring, struct halo_lane *lane, const struct halo_frame *frame,
                     bool first);
int halo_ring_finish(struct halo_ring *ring, struct halo_lane *lane);

/* State of the event loop's checks of a device; zeroed at first. A process that was stopped could
 * not see a device answer, so after a long pause between two checks all deadlines start again. */
struct halo_ring_watch {
    int64_t checked, resumed; /* ns: the last check, and the first one after a long pause */
};

/* Call this periodically, on one thread. Returns whether the device must be given up; err is then
 * filled. ring: NULL while it is being opened, which began at `opening` (ns; 0: not begun).
 * deadline: that of the ring. */
bool halo_ring_watch_is_stuck(struct halo_ring_watch *watch, struct halo_ring *ring,
                              int64_t opening, double deadline, struct halo_error *err);

/* Call this after -EIO (or -ENOMEM: memory is full) in an acquired lane. With "auto" the lane
 * continues on the CPU, which is logged once, and its frame may be submitted again (0). Otherwise
 * returns an error, with the device's message in err, which is marked as worth retrying. */
int halo_ring_fall_back(struct halo_ring *ring, struct halo_lane *lane, int code,
                        struct halo_error *err);

/* Whether "auto" uses the CPU because the GPU failed, at its start or later; why: the reason in
 * words; *ret_memory: the GPU's memory was full. Any thread. */
bool halo_ring_fell_back(struct halo_ring *ring, bool *ret_memory, char *why, size_t size);

#endif
