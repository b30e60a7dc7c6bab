/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy nodes: the planes of nodes between its kernels, and the order of the kernels.
 *
 *     src --halo_nodes_gather--> R --rows--> T --columns--> U --halo_nodes_spread--> dst
 *
 * As with samples, element k * channels + c is node k of channel c. If the border repeats one cell,
 * all nodes on one side that no pixel of the plane reaches have the same value: then only one of
 * them is kept on each side. */
#ifndef HALO_NODES_CUH
#define HALO_NODES_CUH

#include "kernels/cuda/strategies.h"

/* The nodes in one direction. */
struct halo_axis {
    int step, log2_step;
    int count;  /* nodes 0 .. count - 1, between which all pixels are */
    int margin; /* nodes of R before and after these */
    int reach, bits;
    int node_bits, pixel_bits; /* log2 of the sums of the weights of R, and of out */
};

struct halo_nodes {
    struct halo_axis x, y;
    enum halo_border border;
    int ghost; /* HALO_BORDER_CONSTANT: the sample of ghost cells */
    int frac;
    bool wide;                    /* 64-bit sums */
    bool overlap;                 /* kernels may start before the one for which they wait has
                                   * ended */
    uint32_t *r, *t, *u;          /* their first elements; U reuses the memory of R */
    ptrdiff_t r_stride, t_stride; /* in elements; U has the stride of T */
    const int32_t *row, *column;  /* one side of each mask, in device memory */
};

#ifdef __CUDACC__
cudaError_t halo_nodes_gather(const struct halo_cuda_call *call, const struct halo_nodes *nodes);
cudaError_t halo_nodes_spread(const struct halo_cuda_call *call, const struct halo_nodes *nodes);

/* From here on, blocks of the next kernel may start if resources are free. Do not call this before
 * the blocks of this kernel run: blocks that wait for two kernels would be distributed badly, many
 * on one multiprocessor and none on the next. */
static __device__ inline void halo_nodes_let_next_in(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Waits for the previous kernel and everything that it has written. */
static __device__ inline void halo_nodes_wait(void)
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
    halo_nodes_let_next_in();
}

/* The dimensions of a launch. */
struct halo_nodes_grid {
    dim3 blocks, threads; /* threads: of a block */
    size_t shared;        /* bytes of its dynamic shared memory */
};

/* Launches a kernel that calls halo_nodes_wait(). */
template <typename... Parameters, typename... Arguments>
static cudaError_t halo_nodes_launch(const struct halo_cuda_call *call,
                                     const struct halo_nodes *nodes, void (*kernel)(Parameters...),
                                     const struct halo_nodes_grid &grid, Arguments... arguments)
{
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid.blocks;
    config.blockDim = grid.threads;
    config.dynamicSmemBytes = grid.shared;
    config.stream = call->stream;
    config.attrs = &overlap;
    config.numAttrs = nodes->overlap ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* Calls KERNELS::launch<Sample, CHANNELS, STEP> with the plane's step. */
template <typename KERNELS, typename Sample, int CHANNELS>
static cudaError_t halo_nodes_by_step(const struct halo_cuda_call *call,
                                      const struct halo_nodes *nodes)
{
    switch (nodes->x.step) {
    case 1:
        return KERNELS::template launch<Sample, CHANNELS, 1>(call, nodes);
    case 2:
        return KERNELS::template launch<Sample, CHANNELS, 2>(call, nodes);
    case 4:
        return KERNELS::template launch<Sample, CHANNELS, 4>(call, nodes);
    case 8:
        return KERNELS::template launch<Sample, CHANNELS, 8>(call, nodes);
    default:
        return KERNELS::template launch<Sample, CHANNELS, 16>(call, nodes);
    }
}

template <typename KERNELS>
static cudaError_t halo_nodes_choose(const struct halo_cuda_call *call,
                                     const struct halo_nodes *nodes)
{
    const bool bytes = halo_plane_sample_bytes(&call->src) == 1;
    if (call->src.channels == 1)
        return bytes ? halo_nodes_by_step<KERNELS, uint8_t, 1>(call, nodes)
                     : halo_nodes_by_step<KERNELS, uint16_t, 1>(call, nodes);
    return bytes ? halo_nodes_by_step<KERNELS, uint8_t, 2>(call, nodes)
                 : halo_nodes_by_step<KERNELS, uint16_t, 2>(call, nodes);
}
#endif

#endif
