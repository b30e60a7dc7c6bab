/* SPDX-License-Identifier: BSD-2-Clause
 * When a frame's copies and kernels ran on the device, told in the host's time.
 *
 * Events with timing are put around them; they cost a little, so a lane has a clock only where
 * somebody asked. A device counts from a zero of its own: one event of known time is the reference
 * for the next frame's, and each frame's end for the frame after it, so that differences stay small
 * (they are floats). What the host knows for sure - no frame begins before it is submitted, none
 * ends after it was waited for - corrects the drift between both clocks.
 *
 * NULL for a clock is nothing to do. */
#ifndef HALO_LANE_CLOCK_H
#define HALO_LANE_CLOCK_H

#include <cuda_runtime_api.h>

#include "kernels/frame.h"

struct halo_cuda_clock;

enum halo_cuda_mark {
    HALO_CUDA_BEGIN,      /* before the upload */
    HALO_CUDA_UPLOADED,   /* before the kernels */
    HALO_CUDA_FILTERED,   /* before the download */
    HALO_CUDA_DOWNLOADED, /* the end */
    HALO_CUDA_MARKS,
};

/* NULL: there is none, for lack of memory or by a failure that later calls will meet. The device is
 * current and the stream idle. */
struct halo_cuda_clock *halo_cuda_clock_create(cudaStream_t stream);
void halo_cuda_clock_destroy(struct halo_cuda_clock *clock);

/* Puts a mark onto the stream. */
cudaError_t halo_cuda_clock_mark(struct halo_cuda_clock *clock, enum halo_cuda_mark mark,
                                 cudaStream_t stream);
/* Counts the copies that the frame needs. */
void halo_cuda_clock_count(struct halo_cuda_clock *clock, const struct halo_frame *frame,
                           const struct halo_frame_places *places);

/* After the frame is done. 0, -ENOTSUP (no clock), -EIO. */
int halo_cuda_clock_read(struct halo_cuda_clock *clock, struct halo_frame_times *ret);

#endif
