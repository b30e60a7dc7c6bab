/* SPDX-License-Identifier: BSD-2-Clause
 * The ring: the lanes in which a stream's frames are filtered, used in turn.
 *
 * A lane is an opened backend (kernels/frame.h) with its own memory and CUDA stream. While one
 * frame is uploaded, another is filtered and a third downloaded. The filter thread acquires lanes
 * and submits frames; the thread that finishes frames releases the lanes. Both do so in order, so
 * frames keep their order.
 *
 * After an error a device may never answer. Calls on lanes have no timeout, because that would
 * require polling. Instead, each call records when it began, and the event loop calls
 * halo_ring_watch_is_stuck() periodically. A lane past its deadline can be neither used nor freed,
 * because the device may still write into its memory, so the process has to end, by calling
 * _exit(). */
#ifndef HALO_RING_H
#define HALO_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/device.h"
#include "kernels/frame.h"
#include "pipeline/base/arrival.h"
#include "pipeline/frame/memory.h"

struct halo_stats;

enum { HALO_RING_MAX = 16 };

struct halo_ring_settings {
    const char *backend; /* "auto", or a name in halo_backends[] */
    int device;          /* number of the GPU; negative: the least loaded one */
    int depth;           /* number of lanes, 1 to HALO_RING_MAX; the CPU always has one */
    int threads;         /* number of threads of the CPU backend */
    bool live;           /* the stream takes precedence over files on the same GPU */
    /* With "auto": the GPU is started by a thread of the ring, and one more lane, on the CPU, takes
     * all frames until the GPU is there, or for good if it cannot be started. Chains may not name
     * strategies. */
    bool in_background;
    int64_t locked;           /* limit for page-locked memory, in bytes; negative: a default
                               * (memory.h) */
    double deadline;          /* seconds within which the device must finish a frame */
    struct halo_stats *stats; /* where waits and frames are recorded; NULL: nowhere */
};

/* Returns the ring's settings for the user's device settings. In the result, live is false, locked
 * is negative and stats is NULL. */
struct halo_ring_settings halo_ring_settings_of(const struct halo_device_settings *device);

struct halo_lane {
    struct halo_backend *backend;
    int number;
    bool busy;
    /* When the current call to the device began, in ns of CLOCK_MONOTONIC; 0: no call. */
    atomic_llong submitting, waiting;
    atomic_int patience; /* a submission may take this many times the deadline */
};

struct halo_ring;

/* Opens the lanes. "auto" uses the GPU if it is available; otherwise it logs the reason and uses
 * the CPU. Returns 0, or -ENODEV, -ENOMEM or another error with err filled. Blocks while the driver
 * starts, unless settings->in_background is set. The caller owns *ret. */
int halo_ring_create(struct halo_ring **ret, const struct halo_ring_settings *settings,
                     struct halo_error *err);
/* No lane may be busy; NULL is ignored. Waits for a GPU that is being started, except after
 * halo_backend_leave(). */
void halo_ring_destroy(struct halo_ring *ring);

/* Returns the GPU's arrival, valid as long as the ring; without `in_background` it has arrived.
 * Frames that are on the GPU may be submitted in lanes that are acquired after it. */
struct halo_arrival *halo_ring_arrival(struct halo_ring *ring);
/* Returns how many frames were filtered before that. */
int64_t halo_ring_early(const struct halo_ring *ring);

/* Returns the backend with which the ring was opened, or is to be opened in the background. */
const struct halo_backend_ops *halo_ring_ops(const struct halo_ring *ring);
/* Returns the memory for the ring's frames. The ring keeps ownership of it. */
struct halo_memory *halo_ring_memory(const struct halo_ring *ring);

/* Writes the names of the backends that the lanes use now: "cuda", "cuda+cpu" after some lanes have
 * failed, "cpu" after all have failed or before a GPU is there. Any thread. */
void halo_ring_where(const struct halo_ring *ring, char *ret, size_t size);

int halo_ring_depth(const struct halo_ring *ring);  /* number of lanes in use */
int halo_ring_device(const struct halo_ring *ring); /* number of the GPU, if the ring uses one */
struct halo_stats *halo_ring_stats(const struct halo_ring *ring);

/* Returns the number of the GPU that the stream's decoder or encoder should use. The result is the
 * lanes' GPU; if the lanes are on the CPU, the result is `asked`, or the first GPU if `asked` is
 * negative. */
int halo_ring_gpu(const struct halo_ring *ring, int asked);

/* Returns whether a lane that has not fallen back to the CPU can use this strategy for this
 * convolution on planes with this number of interleaved channels. Any thread. */
bool halo_ring_can(struct halo_ring *ring, const struct halo_strategy *strategy,
                   const struct halo_conv *conv, int channels);

/* Acquires the next lane; blocks while it is in use. Returns NULL after halo_ring_abort(). */
struct halo_lane *halo_ring_acquire(struct halo_ring *ring);
void halo_ring_release(struct halo_ring *ring, struct halo_lane *lane);
void halo_ring_abort(struct halo_ring *ring); /* any thread */

/* Calls halo_frame_submit() on an acquired lane and records when that call began. If `first` is
 * true, the driver may have to compile kernels for frames of this kind, which can take minutes. */
int halo_ring_submit(struct halo_ring *ring, struct halo_lane *lane, const struct halo_frame *frame,
                     bool first);
/* Calls halo_frame_finish() on an acquired lane and records when that call began. */
int halo_ring_finish(struct halo_ring *ring, struct halo_lane *lane);

/* State of the event loop's periodic checks of a device. The struct must be zeroed before the first
 * check. While the process is stopped, it cannot notice that a device responds. Therefore all
 * deadlines start again if the pause between two checks was long. */
struct halo_ring_watch {
    /* Times in ns: of the last check, and of the first check after the last long pause. */
    int64_t checked, resumed;
};

/* Returns whether a call to the device has exceeded its deadline, so that the device must be given
 * up; err is filled if so. Call this periodically, on one thread. While the ring is still being
 * created, ring is NULL, and `opening` is the time at which its creation began (in ns; 0 if it has
 * not begun). deadline is the deadline in the ring's settings. */
bool halo_ring_watch_is_stuck(struct halo_ring_watch *watch, struct halo_ring *ring,
                              int64_t opening, double deadline, struct halo_error *err);

/* Call this after a call on an acquired lane has returned -EIO, or -ENOMEM (the device's memory is
 * full). With "auto" the lane continues on the CPU, which is logged once; this function then
 * returns 0, and the lane's frame may be submitted again. If the lane cannot continue, this
 * function returns an error with err filled. The error is either `code` or the error that occurred
 * when the CPU backend was opened. If it is `code`, err contains the device's message and is marked
 * as an error after which a retry makes sense. */
int halo_ring_fall_back(struct halo_ring *ring, struct halo_lane *lane, int code,
                        struct halo_error *err);

/* Returns whether the ring has backend "auto" and uses the CPU because the GPU failed, either at
 * the start or later. Writes the reason to `why`, and sets *ret_memory to whether the GPU's memory
 * was full. Any thread. */
bool halo_ring_fell_back(struct halo_ring *ring, bool *ret_memory, char *why, size_t size);

#endif
