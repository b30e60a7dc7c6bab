/* SPDX-License-Identifier: BSD-2-Clause
 * Frames: all planes pass through chains of convolutions, asynchronously.
 *
 *   submit:  src (host) --upload--> device --step--> scratch --step--> ... device --download--> dst
 *   finish:  waits until dst is complete
 *
 * An opened backend is a lane: it processes one frame at a time, on its own stream and in its own
 * memory. Frames in different lanes overlap, and copies with kernels; a ring of lanes
 * (pipeline/gate/ring.h) keeps the order of frames. On the CPU, submit does the work before it
 * returns.
 *
 * submit and finish may be called by different threads if the caller orders the calls. No memory is
 * allocated after the first frame of a format. */
#ifndef HALO_FRAME_H
#define HALO_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/backend.h"

#define HALO_MAX_PLANES 4

struct halo_step {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    const struct halo_region *region;     /* NULL: the whole plane. The region's mask is in host
                                           * memory */
};

/* A plane and its path from src, through one or more steps, to dst. Copies from and to memory of
 * halo_backend_memory() are asynchronous; with other host memory they may block. dst is downloaded
 * in one copy if it has the same layout as on the device, so the download may overwrite the bytes
 * between the rows of dst. In device memory, every row, including the last, must have room for a
 * multiple of 16 bytes: the bytes after a row's samples may be read and, in dst, also written. */
struct halo_frame_plane {
    struct halo_plane src, dst; /* must have the same format and must not overlap */
    const struct halo_step *steps;
    int count;
    /* If this is not 0, every gather-th sample of src is gathered first (gather.h), and only the
     * gathered samples are used; the shift of src may then differ from that of dst. Requires
     * src_on_device and a positive stride. */
    int gather;
};

struct halo_frame {
    struct halo_frame_plane plane[HALO_MAX_PLANES];
    int planes;
    /* True if the planes are in memory of the lane's own device, in its primary context. Such
     * planes need no upload or download. If false, the planes are in host memory. The CPU backend
     * refuses frames in device memory. */
    bool src_on_device, dst_on_device;
    void *after; /* with src_on_device: the cudaStream_t on which src is being written */
};

/* Starts a frame. The lane must be idle; src, dst and steps must remain valid until
 * halo_frame_finish(). The rules of halo_job apply to each step. Returns 0, -EINVAL, -ENOMEM or
 * -EIO (the device failed). After a failure the lane is idle, and every dst is undefined and must
 * not be shown. */
int halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);

/* Blocks until the submitted frame is done; afterwards the lane is idle. Returns 0 if every dst is
 * complete, -EIO if the frame failed (then none of its dst planes may be shown), or -EINVAL if no
 * frame was submitted. Blocks forever if the device never answers. A caller that must not wait
 * forever monitors the call from another thread (pipeline/gate/ring.h) and ends the process,
 * because nothing else stops the device from writing. */
int halo_frame_finish(struct halo_backend *b);

struct halo_span {
    int64_t begin, end; /* in nanoseconds of CLOCK_MONOTONIC */
};

struct halo_copies {
    int count;     /* number of plane copies */
    int pageable;  /* number of copies from or to pageable host memory; the driver copies such data
                    * a second time */
    int64_t bytes; /* includes the bytes between rows if they were copied */
};

/* The times at which the stages of a frame ran on a device. upload and download are empty if
 * nothing was copied. If a copy had to wait for another lane's copy, its span includes the time of
 * both copies. */
struct halo_frame_times {
    struct halo_span upload, kernels, download;
    struct halo_copies up, down, inside; /* inside: copies within the device, for alignment */
};

/* Makes the lane, which must be idle, record the times of its frames from the next one on.
 * Recording costs a little time. Does nothing on backends whose submit does the work itself,
 * because the caller can time that call. */
void halo_frame_measure(struct halo_backend *b);

/* Fills *ret with the times of the last finished frame. Must be called before the next frame is
 * submitted. Returns 0, -ENOTSUP (nothing was measured) or -EIO. */
int halo_frame_times(struct halo_backend *b, struct halo_frame_times *ret);

/* Allocates page-locked, mapped host memory, aligned to 256 bytes, which the device accesses in
 * place or uses directly as the source or destination of a copy. Returns NULL if no such memory is
 * left; other host memory works, too, but is slower. Any thread. The memory may be freed even after
 * the backend has been closed. */
void *halo_backend_memory(const struct halo_backend_ops *ops, size_t size);
void halo_backend_memory_free(const struct halo_backend_ops *ops, void *memory);

/* The number and size of this process's allocations with halo_backend_memory() so far, and the time
 * that they took (page-locking is slow). */
struct halo_memory_cost {
    int64_t count, bytes, ns; /* ns: total time of all threads, in nanoseconds */
};
void halo_backend_memory_cost(struct halo_memory_cost *ret); /* any thread */

/* ---- for backends ---- */

/* The value of every byte of a plane before a step writes it: 8-bit gray. If a kernel leaves out
 * pixels, they show this value and never an older frame. */
enum { HALO_POISON = 0x80 };

/* The memory of a frame's planes before, between and after their steps. Each plane
 * has the format of the frame's plane with the same index. */
struct halo_frame_places {
    struct halo_plane src[HALO_MAX_PLANES], dst[HALO_MAX_PLANES];
    struct halo_plane scratch[2][HALO_MAX_PLANES];
};

/* Fills jobs with step number `step` of every plane that has this step. Returns the number of jobs,
 * which is 0 after the last step. A plane's last step writes to dst. */
int halo_frame_jobs(const struct halo_frame *frame, const struct halo_frame_places *places,
                    int step, struct halo_job *jobs);

/* Returns the number of scratch planes that the frame needs, 0 to 2. */
int halo_frame_scratch(const struct halo_frame *frame);

/* Returns the scratch plane that the step writes for plane p of the frame, or NULL if it writes
 * none. */
const struct halo_plane *halo_frame_scratch_of(const struct halo_frame *frame,
                                               const struct halo_frame_places *places, int step,
                                               int p);

#endif
