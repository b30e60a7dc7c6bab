/* SPDX-License-Identifier: BSD-2-Clause
 * GRADIENT: from the sums of the two masks to a sample. The root is computed in floating point: the
 * correctly rounded root of an integer below 2^24 (of a double: 2^52) never reaches the next
 * integer, so truncating it is exact. */
#ifndef HALO_GRADIENT_CUH
#define HALO_GRADIENT_CUH

#include "kernels/cuda/tile.cuh"

/* Passed by value to a kernel. */
struct halo_root {
    uint64_t limit;
    uint32_t scale;
    int scale_bits, shift;
    int64_t bias;
};

static inline struct halo_root halo_root_of(const struct halo_conv *conv)
{
    return {conv->limit, conv->scale, conv->scale_bits, conv->mask_bits, conv->bias};
}

/* Accum corresponds to conv->accum; a and b fit 32 bits in any case. */
template <typename Accum>
static __device__ inline int64_t halo_root_finish(int a, int b, const struct halo_root &root)
{
    if (sizeof(Accum) == 4) {
        const uint32_t aa = (uint32_t)a * (uint32_t)a, sum = aa + (uint32_t)b * (uint32_t)b;
        const uint32_t limit = (uint32_t)root.limit;
        const uint32_t square = sum < aa || sum > limit ? limit : sum; /* sum < aa: it wrapped */
        const uint32_t t = (uint32_t)((uint64_t)square * root.scale >> root.scale_bits);
        return ((int64_t)__fsqrt_rn((float)t) + root.bias) >> root.shift;
    }
    const uint64_t sum = (uint64_t)((int64_t)a * a + (int64_t)b * b);
    const uint64_t t = (sum > root.limit ? root.limit : sum) * root.scale >> root.scale_bits;
    return ((int64_t)__dsqrt_rn((double)t) + root.bias) >> root.shift;
}

/* From the constant cache, as parameters of a kernel. */
struct halo_gradient_masks {
    int a[9], b[9];
};

/* Kernel::run() is the work of a block of ACROSS by DOWN threads, on WIDTH elements by HEIGHT
 * rows. */
template <class Kernel, typename Sample, typename Accum>
static __global__ void __launch_bounds__(Kernel::ACROSS *Kernel::DOWN)
    halo_gradient_kernel(const struct halo_plane src, const struct halo_plane dst,
                         const struct halo_pass pass, const struct halo_root root,
                         const __grid_constant__ struct halo_gradient_masks masks,
                         const struct halo_cuda_wanted wanted)
{
    if (!halo_block_outside(wanted, make_int2(blockIdx.x, blockIdx.y), Kernel::WIDTH,
                            Kernel::HEIGHT))
        Kernel::template run<Sample, Accum>(src, dst, pass, root, masks);
}

template <class Kernel, typename Sample, typename Accum>
static inline cudaError_t halo_launch_gradient(const struct halo_cuda_call *c)
{
    struct halo_pass pass = {};
    pass.border = c->conv->border;
    pass.ghost = c->conv->border_value;
    struct halo_gradient_masks masks;
    for (int k = 0; k < 9; k++) {
        masks.a[k] = c->conv->mask[k];
        masks.b[k] = c->conv->mask[9 + k];
    }
    halo_gradient_kernel<Kernel, Sample, Accum>
        <<<halo_grid(c->src, Kernel::WIDTH, Kernel::HEIGHT), dim3(Kernel::ACROSS, Kernel::DOWN), 0,
           c->stream>>>(c->src, c->dst, pass, halo_root_of(c->conv), masks, c->wanted);
    return cudaGetLastError();
}

template <class Kernel>
static inline cudaError_t halo_launch_gradients(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        const struct halo_cuda_call *c = &calls[i];
        const bool wide = c->conv->accum == HALO_ACCUM_I64;
        if (halo_plane_sample_bytes(&c->src) == 1)
            status = wide ? halo_launch_gradient<Kernel, uint8_t, int64_t>(c)
                          : halo_launch_gradient<Kernel, uint8_t, int32_t>(c);
        else
            status = wide ? halo_launch_gradient<Kernel, uint16_t, int64_t>(c)
                          : halo_launch_gradient<Kernel, uint16_t, int32_t>(c);
    }
    return status;
}

#endif
