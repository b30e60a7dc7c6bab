/* SPDX-License-Identifier: BSD-2-Clause
 * Slots of a bank of constant memory. */
#include "kernels/cuda/mask_slots.h"

/* Events stay until the process ends, as the bank does. */
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

cudaError_t halo_mask_slots_acquire(struct halo_mask_slots *slots, cudaStream_t stream,
                                    int *ret_slot)
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
    const int slot = slots->device[device].next;
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(stream, slots->device[device].last_use[slot], 0);
    if (status != cudaSuccess) {
        pthread_mutex_unlock(&slots->lock);
        return status;
    }
    slots->device[device].next = (slot + 1) % HALO_MASK_SLOTS;
    *ret_slot = slot;
    return cudaSuccess;
}

cudaError_t halo_mask_slots_release(struct halo_mask_slots *slots, cudaStream_t stream, int slot)
{
    int device;
    cudaError_t status = cudaGetDevice(&device);

    if (status == cudaSuccess)
        status = cudaEventRecord(slots->device[device].last_use[slot], stream);
    pthread_mutex_unlock(&slots->lock);
    return status;
}
