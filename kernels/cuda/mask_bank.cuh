/* SPDX-License-Identifier: BSD-2-Clause
 * A bank of constant memory for masks. Each .cu file that includes this header has its own bank:
 * without relocatable device code a __constant__ array belongs to one file, and so do its 64 KB. */
#ifndef HALO_MASK_BANK_CUH
#define HALO_MASK_BANK_CUH

#include <cuda_runtime.h>

#include "kernels/cuda/mask_slots.h"
#include "kernels/cuda/strategies.h"

enum {
    HALO_ROW_WEIGHTS = 0,                /* in a slot: the index of the row of a separable mask
                                          * ... */
    HALO_COLUMN_WEIGHTS = HALO_MAX_TAPS, /* ... and of its column; a dense mask begins at 0 */
};

static __constant__ int32_t halo_mask_bank[HALO_MASK_SLOTS][HALO_MASK_WORDS];
static_assert((int)HALO_CUDA_MAX_PLANES <= (int)HALO_MASK_SLOTS,
              "a slot for each plane of a launch");
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
    const cudaError_t status = halo_mask_copy(conv->row, width, slot, HALO_ROW_WEIGHTS, stream);
    return status != cudaSuccess
               ? status
               : halo_mask_copy(conv->col, height, slot, HALO_COLUMN_WEIGHTS, stream);
}

#endif
