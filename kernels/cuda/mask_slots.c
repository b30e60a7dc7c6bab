/* SPDX-License-Identifier: BSD-2-Clause
 * Slots of a bank of constant memory. */
#include "kernels/cuda/mask_slots.h"

/* Events are kept until the process ends, like the bank. */
static cudaError_t make_events(cudaEvent_t *events)
{
    cudaError_t status = cudaSuccess;
    int made = 0;

    while (made < HALO_MASK_SLOTS && status == cudaSuccess) {
        status = cudaEventCreateWithFlags(&events[made], cudaEventDisableTiming);
        if (status == cudaSuccess)
            made++;
    }
    if (status != cudaSuccess)
        while (made > 0)
            cudaEventDestroy(events[--made]);
    return status;
}

cudaError_t halo_mask_slots_acquire(struct halo_mask_slots *slots, cudaStream_t stream, int count,
                                    int *ret_slots)
{
    int device;
    cudaError_t status = cudaGetDevice(&device);
    if (status != cudaSuccess)
        return status;
    if (device >= HALO_CUDA_MAX_DEVICES)
        return cudaErrorInvalidDevice;

    pthread_mutex_lock(&slots->lock);
    if (!slots->device[device].made) {
        status = make_events(slots->device[device].last_use);
        slots->device[device].made = status == cudaSuccess;
    }
    const int next = slots->device[device].next;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        ret_slots[i] = (next + i) % HALO_MASK_SLOTS;
        status = cudaStreamWaitEvent(stream, slots->device[device].last_use[ret_slots[i]], 0);
    }
    if (status == cudaSuccess)
        slots->device[device].next = (next + count) % HALO_MASK_SLOTS;
    else
        pthread_mutex_unlock(&slots->lock);
    return status;
}

cudaError_t halo_mask_slots_release(struct halo_mask_slots *slots, cudaStream_t stream, int count,
                                    const int *taken)
{
    int device;
    cudaError_t status = cudaGetDevice(&device);

    for (int i = 0; i < count && status == cudaSuccess; i++)
        status = cudaEventRecord(slots->device[device].last_use[taken[i]], stream);
    pthread_mutex_unlock(&slots->lock);
    return status;
}
