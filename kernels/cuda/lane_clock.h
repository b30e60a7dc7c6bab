/* SPDX-License-Identifier: BSD-2-Clause
 * When a frame's copies and kernels ran on the device, converted to the host's time.
 *
 * They are enclosed in events with timing; these cost a little, so a lane has a clock only on
 * request. The zero of a device's time is arbitrary: an event of known time is the reference for
 * the first frame, and each frame's end for the next frame, so that differences stay small (they
 * are floats). Two facts correct the drift between both clocks: no frame begins before it is
 * submitted, and none ends after the wait for it returned.
 *
 * If the clock is NULL, the functions do nothing. */
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

/* Creates a clock. The device must be current and the stream idle. Returns NULL if memory is
 * exhausted, or after a failure that later calls will report. */
struct halo_cuda_clock *halo_cuda_clock_create(cudaStream_t stream);
void halo_cuda_clock_destroy(struct halo_cuda_clock *clock);

/* Enqueues an event on the stream; the event records when the device reaches this mark. */
cudaError_t halo_cuda_clock_mark(struct halo_cuda_clock *clock, enum halo_cuda_mark mark,
                                 cudaStream_t stream);
/* Counts the copies that the frame needs. */
void halo_cuda_clock_count(struct halo_cuda_clock *clock, const struct halo_frame *frame,
                           const struct halo_frame_places *places);

/* Fills *ret with the times of the frame. The device must have finished the frame before this call.
 * Returns 0, -ENOTSUP (no clock) or -EIO. */
int halo_cuda_clock_read(struct halo_cuda_clock *clock, struct halo_frame_times *ret);

#endif
