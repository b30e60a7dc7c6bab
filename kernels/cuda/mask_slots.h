/* SPDX-License-Identifier: BSD-2-Clause
 * Who may overwrite which slot of a bank of constant memory, and when.
 *
 * Constant memory is 64 KB for all streams of a device, and a kernel reads its mask there long
 * after it was launched. So a bank is cut into slots; the event of a slot marks the end of its last
 * reader, and a stream waits for it before it copies a new mask in. */
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
    HALO_MASK_WORDS = HALO_MAX_DENSE * HALO_MAX_DENSE, /* of a slot; two separable masks fit too */
    HALO_MASK_SLOTS = 4,                               /* of 15876 bytes: 62 KB of the 64 */
    HALO_CUDA_MAX_DEVICES = 32,
};

/* One for each bank, static like the bank itself: {PTHREAD_MUTEX_INITIALIZER}. Any thread. */
struct halo_mask_slots {
    pthread_mutex_t lock; /* from acquire to release */
    struct {
        bool made;
        int next; /* slots are handed out in turn: the next one is the longest unused */
        cudaEvent_t last_use[HALO_MASK_SLOTS];
    } device[HALO_CUDA_MAX_DEVICES];
};

/* Takes 1 .. HALO_MASK_SLOTS slots on the current device: what is put on the stream from here on
 * may overwrite them. Other threads are held back until release, so nothing but launches belongs in
 * between. On failure nothing is held. */
cudaError_t halo_mask_slots_acquire(struct halo_mask_slots *slots, cudaStream_t stream, int count,
                                    int *ret_slots);

/* After the last launch that reads the slots; also when a launch failed. */
cudaError_t halo_mask_slots_release(struct halo_mask_slots *slots, cudaStream_t stream, int count,
                                    const int *taken);

#ifdef __cplusplus
}
#endif

#endif
