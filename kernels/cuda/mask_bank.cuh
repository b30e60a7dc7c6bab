/* SPDX-License-Identifier: BSD-2-Clause
 * A bank of constant memory for masks. Each .cu file that includes this header has its own bank:
 * without relocatable device code a __constant__ array belongs to one file, and so do its 64 KB. */
#ifndef HALO_MASK_BANK_CUH
#define HALO_MASK_BANK_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/mask_slots.h"
#include "kernels/cuda/tile.cuh"

enum {
    HALO_ROW_WEIGHTS = 0,                /* in a slot: the index of the row of a separable mask
                                          * ... */
    HALO_COLUMN_WEIGHTS = HALO_MAX_TAPS, /* ... and of its column; a dense mask begins at 0 */
};

static __constant__ int32_t halo_mask_bank[HALO_MASK_SLOTS][HALO_MASK_WORDS];
static struct halo_mask_slots halo_mask_slots = {PTHREAD_MUTEX_INITIALIZER, {}};

static inline cudaError_t halo_mask_copy(const int32_t *weights, int count, int slot, int first,
                                         cudaStream_t stream)
{
    const size_t word = (size_t)slot * HALO_MASK_WORDS + first;
    return cudaMemcpyToSymbolAsync(halo_mask_bank, weights, count * sizeof *weights,
                                   word * sizeof *weights, cudaMemcpyHostToDevice, stream);
}

/* Copies the mask of conv to a slot. */
static inline cudaError_t halo_mask_fill(const struct halo_conv *conv, int slot,
                                         cudaStream_t stream)
{
    const int width = 2 * conv->radius_x + 1, height = 2 * conv->radius_y + 1;
    if (conv->kind == HALO_CONV_DENSE)
        return halo_mask_copy(conv->mask, width * height, slot, 0, stream);
    if (conv->kind == HALO_CONV_GRADIENT) /* two masks, one after the other */
        return halo_mask_copy(conv->mask, 2 * width * height, slot, 0, stream);
    const cudaError_t status = halo_mask_copy(conv->row, width, slot, HALO_ROW_WEIGHTS, stream);
    return status != cudaSuccess
               ? status
               : halo_mask_copy(conv->col, height, slot, HALO_COLUMN_WEIGHTS, stream);
}

template <class Kernels>
static inline cudaError_t halo_launch_typed(const struct halo_cuda_call *calls, int count,
                                            const int *slots)
{
    const bool wide = calls->conv->accum == HALO_ACCUM_I64;
    if (halo_plane_sample_bytes(&calls->src) == 1)
        return wide ? Kernels::template launch<uint8_t, int64_t>(calls, count, slots)
                    : Kernels::template launch<uint8_t, int32_t>(calls, count, slots);
    return wide ? Kernels::template launch<uint16_t, int64_t>(calls, count, slots)
                : Kernels::template launch<uint16_t, int32_t>(calls, count, slots);
}

/* Launches planes for which halo_alike() is true. Kernels::launch<Sample, Accum>(calls, count,
 * slots) enqueues their kernels, which read the bank unless their masks were prepared in device
 * memory. */
template <class Kernels>
static inline cudaError_t halo_launch_alike(const struct halo_cuda_call *calls, int count)
{
    static_assert((int)HALO_CUDA_MAX_PLANES <= (int)HALO_MASK_SLOTS,
                  "a slot for each plane of a launch");
    int slots[HALO_CUDA_MAX_PLANES] = {};
    if (calls->conv->kind == HALO_CONV_COPY)
        return halo_cuda_launch_copy(calls, count);
    if (calls->prepared)
        return halo_launch_typed<Kernels>(calls, count, slots);

    const cudaStream_t stream = calls->stream;
    cudaError_t status = halo_mask_slots_acquire(&halo_mask_slots, stream, count, slots);
    if (status != cudaSuccess)
        return status;
    for (int i = 0; i < count && status == cudaSuccess; i++)
        status = halo_mask_fill(calls[i].conv, slots[i], stream);
    if (status == cudaSuccess)
        status = halo_launch_typed<Kernels>(calls, count, slots);
    const cudaError_t freed = halo_mask_slots_release(&halo_mask_slots, stream, count, slots);
    return status != cudaSuccess ? status : freed;
}

template <class Kernels>
static inline cudaError_t halo_launch_each(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int first = 0, alike; first < count && status == cudaSuccess; first += alike) {
        alike = halo_alike(&calls[first], count - first);
        status = halo_launch_alike<Kernels>(&calls[first], alike);
    }
    return status;
}

#endif
