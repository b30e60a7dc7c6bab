/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA strategies: what a launcher gets, and the table. Read by the C compiler and nvcc. */
#ifndef HALO_CUDA_STRATEGIES_H
#define HALO_CUDA_STRATEGIES_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a region wants filtered: flags for each patch of so many elements by so many rows. */
enum {
    HALO_PATCH_WIDTH = 64,
    HALO_PATCH_HEIGHT = 32,
    HALO_PATCH_ROW = 16,     /* a row of patches is a multiple of this, for wide loads */
    HALO_PATCH_FILTERED = 1, /* some of its pixels have a weight above 0 */
    HALO_PATCH_SOURCE = 2,   /* some have one below 255 */
};

struct halo_cuda_wanted {
    const uint8_t *flags; /* device memory, row by row; NULL: no region, all is wanted */
    int across, down;     /* patches */
    int height;           /* of the plane */
    int reach;            /* rows from an output to the farthest of its inputs */
    bool wraps;           /* the plane's border does */
};

/* One plane in device memory. A launcher only puts work on the stream: it neither blocks for the
 * kernels nor allocates. *conv is read before the launcher returns (it must not be pinned memory,
 * which the copy engine would read later). */
struct halo_cuda_call {
    const struct halo_conv *conv;
    /* Device memory; data and strides are multiples of 16, positive. What lies between the end of a
     * row of dst and the next multiple of 16 may be written. */
    struct halo_plane src, dst;
    int32_t *wide;        /* scratch of halo_cuda_scratch_bytes(conv, &src), between passes */
    const void *prepared; /* what the strategy's prepare wrote, in device memory */
    const struct halo_region *region; /* NULL: everywhere; a mask lies in device memory */
    void *region_memory;              /* halo_cuda_region_bytes() of it */
    /* From the region; kernels may leave out a tile that is outside (region.cuh). Written on the
     * stream: a kernel that is started early asks behind its wait. */
    struct halo_cuda_wanted wanted;
    cudaStream_t stream; /* the same in all calls of a launch */
    bool early;   /* kernels that wait themselves may be started before the one before has ended */
    bool chained; /* the same of those that follow a kernel of the same launcher */
};

enum { HALO_CUDA_MAX_PLANES = 4 }; /* that one launch may take */

/* A row: one .cu file, or one more way that it has, named FILE/WAY. */
struct halo_cuda_strategy {
    struct halo_strategy base;
    int compute; /* least compute capability, 80 for 8.0; 0: any */
    /* Filters 1 .. HALO_CUDA_MAX_PLANES planes, in any order; returns what the runtime said. */
    cudaError_t (*launch)(const struct halo_cuda_call *calls, int count);
    /* A mask in the form that the kernels read; both NULL, or prepared_bytes 0, where they need
     * none. */
    size_t (*prepared_bytes)(const struct halo_conv *conv, int channels);
    void (*prepare)(void *ret, const struct halo_conv *conv, int channels);
};

extern const struct halo_strategy *const halo_cuda_strategies[]; /* NULL-terminated, best first */

cudaError_t halo_cuda_launch_naive(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_output_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_output_tile_steps(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_coarse_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_coarse_tile_2(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_coarse_tile_8(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_input_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_input_tile_coarse(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_core_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_box_bands(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_box_slide(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_box_stream(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_running_sums(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_gradient_tile(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_nodes(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_tensor(const struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_launch_direct(const struct halo_cuda_call *calls, int count);

bool halo_cuda_box_bands_can(const struct halo_conv *conv, int channels);
size_t halo_cuda_box_bands_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_box_bands_prepare(void *ret, const struct halo_conv *conv, int channels);
bool halo_cuda_box_slide_can(const struct halo_conv *conv, int channels);
size_t halo_cuda_box_slide_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_box_slide_prepare(void *ret, const struct halo_conv *conv, int channels);
bool halo_cuda_box_stream_can(const struct halo_conv *conv, int channels);
size_t halo_cuda_box_stream_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_box_stream_prepare(void *ret, const struct halo_conv *conv, int channels);
size_t halo_cuda_coarse_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_coarse_prepare(void *ret, const struct halo_conv *conv, int channels);
size_t halo_cuda_nodes_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_nodes_prepare(void *ret, const struct halo_conv *conv, int channels);
size_t halo_cuda_nodes_scratch(const struct halo_conv *conv, const struct halo_plane *plane);
size_t halo_cuda_tensor_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_tensor_prepare(void *ret, const struct halo_conv *conv, int channels);
bool halo_cuda_tensor_can(const struct halo_conv *conv, int channels);
bool halo_cuda_direct_can(const struct halo_conv *conv, int channels);
size_t halo_cuda_direct_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_direct_prepare(void *ret, const struct halo_conv *conv, int channels);
cudaError_t halo_cuda_tensor_separable(const struct halo_cuda_call *calls, int count);
size_t halo_cuda_tensor_separable_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_tensor_separable_prepare(void *ret, const struct halo_conv *conv, int channels);
cudaError_t halo_cuda_tensor_separable_deep(const struct halo_cuda_call *calls, int count);
size_t halo_cuda_tensor_separable_deep_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_tensor_separable_deep_prepare(void *ret, const struct halo_conv *conv, int channels);
cudaError_t halo_cuda_tensor_dense(const struct halo_cuda_call *calls, int count);
bool halo_cuda_tensor_dense_can(const struct halo_conv *conv, int channels);
size_t halo_cuda_tensor_dense_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_tensor_dense_prepare(void *ret, const struct halo_conv *conv, int channels);

/* HALO_CONV_COPY has nothing to tile: one kernel serves every strategy. */
cudaError_t halo_cuda_launch_copy(const struct halo_cuda_call *calls, int count);

/* The same of HALO_CONV_PIXELIZE, for the strategies that take it. */
cudaError_t halo_cuda_launch_pixelize(const struct halo_cuda_call *calls, int count);

/* The same of HALO_CONV_SOLID. */
cudaError_t halo_cuda_launch_solid(const struct halo_cuda_call *calls, int count);

/* Around the launch of calls of which some have a region: the map sets what is wanted, the merge
 * takes what is not filtered from src. */
size_t halo_cuda_region_bytes(const struct halo_region *region, const struct halo_plane *like);
cudaError_t halo_cuda_region_map(struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_region_merge(const struct halo_cuda_call *calls, int count);

/* The compute capability that this program's kernels were compiled for here, 90 for 9.0: that of
 * the device, or less where the driver translated them from PTX. An error: none of them can run. */
cudaError_t halo_cuda_probe(int *ret_compute);

/* The intermediate plane: int32 elements, rows padded so that each starts a memory transaction. */
static inline ptrdiff_t halo_cuda_wide_stride(const struct halo_plane *p)
{
    return ((ptrdiff_t)p->width * p->channels + 31) / 32 * 32;
}

static inline size_t halo_cuda_wide_bytes(const struct halo_plane *p)
{
    return (size_t)halo_cuda_wide_stride(p) * p->height * sizeof(int32_t);
}

/* What every strategy that can filter a plane so has room in. */
static inline size_t halo_cuda_scratch_bytes(const struct halo_conv *conv,
                                             const struct halo_plane *p)
{
    return conv->kind == HALO_CONV_DECIMATED ? halo_cuda_nodes_scratch(conv, p)
                                             : halo_cuda_wide_bytes(p);
}

#ifdef __cplusplus
}
#endif

#endif
