/* SPDX-License-Identifier: BSD-2-Clause
 * A bank of constant memory for masks. Each .cu file that includes this has a bank of its own:
 * without relocatable device code a __constant__ array belongs to one file, and so do its 64 KB. */
#ifndef HALO_MASK_BANK_CUH
#define HALO_MASK_BANK_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/mask_slots.h"
#include "kernels/cuda/strategies.h"

enum {
    HALO_ROW_WEIGHTS = 0,                /* in a slot: where a separable mask has its row ... */
    HALO_COLUMN_WEIGHTS = HALO_MAX_TAPS, /* ... and its column; a dense one begins at 0 */
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

/* Puts the mask of call->conv into a slot, to be released after the kernels. On failure nothing is
 * held. */
static inline cudaError_t halo_mask_acquire(const struct halo_cuda_call *call, int *ret_slot)
{
    const struct halo_conv *conv = call->conv;
    const int width = 2 * conv->radius_x + 1, height = 2 * conv->radius_y + 1;

    int slot;
    cudaError_t status = halo_mask_slots_acquire(&halo_mask_slots, call->stream, &slot);
    if (status != cudaSuccess)
        return status;
    if (conv->kind == HALO_CONV_DENSE) {
        status = halo_mask_copy(conv->mask, width * height, slot, 0, call->stream);
    } else if (conv->kind == HALO_CONV_GRADIENT) { /* two masks, one after the other */
        status = halo_mask_copy(conv->mask, 2 * width * height, slot, 0, call->stream);
    } else {
        status = halo_mask_copy(conv->row, width, slot, HALO_ROW_WEIGHTS, call->stream);
        if (status == cudaSuccess)
            status = halo_mask_copy(conv->col, height, slot, HALO_COLUMN_WEIGHTS, call->stream);
    }
    if (status == cudaSuccess)
        *ret_slot = slot;
    else
        halo_mask_slots_release(&halo_mask_slots, call->stream, slot);
    return status;
}

/* Returns the first failure: of the launches, or of the release. */
static inline cudaError_t halo_mask_release(const struct halo_cuda_call *call, int slot,
                                            cudaError_t launched)
{
    const cudaError_t status = halo_mask_slots_release(&halo_mask_slots, call->stream, slot);
    return launched != cudaSuccess ? launched : status;
}

template <class Kernels>
static inline cudaError_t halo_launch_typed(const struct halo_cuda_call *call, int slot)
{
    const bool wide = call->conv->accum == HALO_ACCUM_I64;
    if (halo_plane_sample_bytes(&call->src) == 1)
        return wide ? Kernels::template launch<uint8_t, int64_t>(call, slot)
                    : Kernels::template launch<uint8_t, int32_t>(call, slot);
    return wide ? Kernels::template launch<uint16_t, int64_t>(call, slot)
                : Kernels::template launch<uint16_t, int32_t>(call, slot);
}

/* One plane: Kernels::launch<Sample, Accum>(call, slot) puts its kernels on the stream. They read
 * the bank, unless their mask has been prepared in device memory. */
template <class Kernels>
static inline cudaError_t halo_launch_one(const struct halo_cuda_call *call)
{
    if (call->conv->kind == HALO_CONV_COPY)
        return halo_cuda_launch_copy(call, 1);
    if (call->prepared)
        return halo_launch_typed<Kernels>(call, 0);

    int slot;
    const cudaError_t status = halo_mask_acquire(call, &slot);
    if (status != cudaSuccess)
        return status;
    return halo_mask_release(call, slot, halo_launch_typed<Kernels>(call, slot));
}

template <class Kernels>
static inline cudaError_t halo_launch_each(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++)
        status = halo_launch_one<Kernels>(&calls[i]);
    return status;
}

#endif
