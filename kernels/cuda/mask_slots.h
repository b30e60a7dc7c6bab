/* SPDX-License-Identifier: BSD-2-Clause
 * Controls when a slot of a bank of constant memory may be overwritten.
 *
 * All streams of a device share 64 KB of constant memory, and a kernel reads its mask there long
 * after it was launched. So a bank is divided into slots; the event of a slot marks the end of the
 * last kernel that reads it, and a stream waits for that event before it copies a new mask to the
 * slot. */
#ifndef HALO_MASK_SLOTS_H
#define HALO_MASK_SLOTS_H

#include <pthread.h>
#include <stdbool.h>

#include <cuda_runtime_api.h>

#include "kernels/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HALO_MASK_WORDS = HALO_MAX_DENSE * HALO_MAX_DENSE, /* words per slot; also enough for two
                                                        * separable masks */
    HALO_MASK_SLOTS = 4,                               /* 15876 bytes each, together 62 of the 64 KB
                                                        * of constant memory */
    HALO_CUDA_MAX_DEVICES = 32,
};

/* The slots of one bank of constant memory. Each instance of this struct is static, like the bank
 * to which it belongs, and is initialised with {PTHREAD_MUTEX_INITIALIZER}. Any thread. */
struct halo_mask_slots {
    pthread_mutex_t lock; /* held from acquire to release */
    struct {
        bool made;
        int next; /* the next slot to assign; slots are assigned in turn, so this is the least
                   * recently used one */
        cudaEvent_t last_use[HALO_MASK_SLOTS];
    } device[HALO_CUDA_MAX_DEVICES];
};

/* Acquires `count` slots, 1 to HALO_MASK_SLOTS, on the current device. Work that is enqueued on the
 * stream after this call can safely overwrite the slots. Other threads block until the slots are
 * released, so until then the caller must do nothing except enqueue copies and launches. On failure
 * no slot is held. */
cudaError_t halo_mask_slots_acquire(struct halo_mask_slots *slots, cudaStream_t stream, int count,
                                    int *ret_slots);

/* Releases the slots. Must be called after the last launch that reads the slots, even if a launch
 * failed. */
cudaError_t halo_mask_slots_release(struct halo_mask_slots *slots, cudaStream_t stream, int count,
                                    const int *taken);

#ifdef __cplusplus
}
#endif

#endif
