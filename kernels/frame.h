/* SPDX-License-Identifier: BSD-2-Clause
 * Frames: whole pictures through chains of convolutions, without waiting for them.
 *
 *   submit:  src (host) --upload--> device --step--> scratch --step--> ... device --download--> dst
 *   finish:  waits until dst is whole
 *
 * An opened backend is a lane: it holds one frame at a time, on a stream and in memory of its own.
 * Frames in several lanes overlap, copies with kernels; a ring of them (pipeline/gate/ring.h) keeps
 * their order. The CPU's submit does the work before it returns.
 *
 * submit and finish may be called by two threads, one after the other: what orders them is the
 * caller's. Nothing is allocated after the first frame of a shape. */
#ifndef HALO_FRAME_H
#define HALO_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/backend.h"

#define HALO_MAX_PLANES 4

struct halo_step {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    const struct halo_region *region;     /* NULL: everywhere. Its mask is on the host */
};

/* A plane and its way: src through 1 or more steps to dst. From and to host memory of
 * halo_backend_memory() copies overlap, from elsewhere they may block. Bytes between the rows of
 * dst may be written: rows that lie as the device has them come back in one copy. On the device
 * every row has room for a multiple of 16 bytes, the last one too: what is behind a row's samples
 * may be read, and written in dst. */
struct halo_frame_plane {
    struct halo_plane src, dst; /* of one shape, not overlapping */
    const struct halo_step *steps;
    int count;
    /* 0, or the samples of src lie so far apart, and its shift may be another than dst's: they are
     * gathered first (gather.h). Only with src_on_device, stride positive. */
    int gather;
};

struct halo_frame {
    struct halo_frame_plane plane[HALO_MAX_PLANES];
    int planes;
    /* Planes that are in memory of the lane's own device, in its primary context, and need no
     * upload or download; otherwise they are on the host. The CPU refuses such frames. */
    bool src_on_device, dst_on_device;
    void *after; /* with src_on_device: the cudaStream_t on which src is being written */
};

/* Starts a frame. The lane must be idle; src, dst and steps must stay until halo_frame_finish().
 * The rules of halo_job hold for each step. 0, -EINVAL, -ENOMEM, -EIO (the device failed). After a
 * failure the lane is idle, and dst undefined: it must not be shown. */
int halo_frame_submit(struct halo_backend *b, const struct halo_frame *frame);

/* Blocks until the submitted frame is done. 0: every dst is whole. -EIO: none may be shown.
 * -EINVAL: nothing was submitted. The lane is idle then. A device that never answers blocks it for
 * ever: who must not wait so long watches from another thread (pipeline/gate/ring.h) and ends the
 * process, since nothing else ends the device's writing. */
int halo_frame_finish(struct halo_backend *b);

struct halo_span {
    int64_t begin, end; /* ns of CLOCK_MONOTONIC */
};

struct halo_copies {
    int count;     /* of planes */
    int pageable;  /* of them: from or to host memory that the driver copies once more */
    int64_t bytes; /* between rows too, where they went along */
};

/* What became of a frame on a device. upload and download are empty where nothing was copied. A
 * copy that waited for another lane's is as long as both. */
struct halo_frame_times {
    struct halo_span upload, kernels, download;
    struct halo_copies up, down, inside; /* inside: on the device, for alignment */
};

/* From the next frame on the lane, which is idle, keeps its times; that costs a little. Nothing on
 * backends that do the work at once: their caller's clock does. */
void halo_frame_measure(struct halo_backend *b);

/* Of the frame that was finished last, before the next one is submitted. 0, -ENOTSUP (nothing was
 * measured), -EIO. */
int halo_frame_times(struct halo_backend *b, struct halo_frame_times *ret);

/* Host memory that the device copies from and to without a detour, or uses where it is
 * (page-locked, mapped), aligned to 256 bytes; NULL where there is none left: other memory does,
 * slower. Any thread; it may be freed after the backend was closed. */
void *halo_backend_memory(const struct halo_backend_ops *ops, size_t size);
void halo_backend_memory_free(const struct halo_backend_ops *ops, void *memory);

/* What it took so far to get such memory, for the whole process: page-locking is slow. */
struct halo_memory_cost {
    int64_t count, bytes, ns; /* ns: of all threads together */
};
void halo_backend_memory_cost(struct halo_memory_cost *ret); /* any thread */

/* ---- for backends ---- */

/* What every byte of a plane is before a step writes it: 8-bit gray. What a kernel has left out
 * shows that then, and never an older picture. */
enum { HALO_POISON = 0x80 };

/* Where the planes of a frame are between their steps: planes of the frame's shapes. */
struct halo_frame_places {
    struct halo_plane src[HALO_MAX_PLANES], dst[HALO_MAX_PLANES];
    struct halo_plane scratch[2][HALO_MAX_PLANES];
};

/* Fills jobs with step number `step` of every plane that has one; returns how many, 0 after the
 * last. A plane's last step writes dst. */
int halo_frame_jobs(const struct halo_frame *frame, const struct halo_frame_places *places,
                    int step, struct halo_job *jobs);

/* Scratch planes that the frame needs: 0 .. 2. */
int halo_frame_scratch(const struct halo_frame *frame);

/* The one that the step writes for plane p of the frame; NULL: it writes none. */
const struct halo_plane *halo_frame_scratch_of(const struct halo_frame *frame,
                                               const struct halo_frame_places *places, int step,
                                               int p);

#endif
