/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA strategies: arguments of launchers, and the table. Compiled by the C compiler and
 * nvcc. */
#ifndef HALO_CUDA_STRATEGIES_H
#define HALO_CUDA_STRATEGIES_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a plane that a region needs: flags for each patch of HALO_PATCH_WIDTH elements by
 * HALO_PATCH_HEIGHT rows. */
enum {
    HALO_PATCH_WIDTH = 64,
    HALO_PATCH_HEIGHT = 32,
    HALO_PATCH_ROW = 16,     /* the length of a row of patches is a multiple of this, for wide
                              * loads */
    HALO_PATCH_FILTERED = 1, /* some pixels of the patch have a weight above 0 */
    HALO_PATCH_SOURCE = 2,   /* some have a weight below 255 */
};

struct halo_cuda_wanted {
    const uint8_t *flags; /* device memory, row by row; NULL: no region, the whole plane is
                           * wanted */
    int across, down;     /* patches */
    int height;           /* of the plane */
    int reach;            /* rows from an output to the farthest of its inputs */
    bool wraps;           /* whether the plane's border is HALO_BORDER_WRAP */
};

/* One plane in device memory. A launcher only enqueues work on the stream: it neither waits for the
 * kernels nor allocates. *conv is read before the launcher returns (it must not be pinned memory,
 * which the copy engine would read later). */
struct halo_cuda_call {
    const struct halo_conv *conv;
    /* Device memory; data and strides are multiples of 16, positive. The bytes between the end of a
     * row of dst and the next multiple of 16 may be written. */
    struct halo_plane src, dst;
    int32_t *wide;        /* scratch of halo_cuda_scratch_bytes(conv, &src), between passes */
    const void *prepared; /* written by the strategy's prepare, in device memory */
    const struct halo_region *region; /* NULL: the whole plane; a mask is in device memory */
    void *region_memory;              /* halo_cuda_region_bytes() bytes */
    /* Computed from the region; kernels may skip a tile that is outside (region.cuh). Written by a
     * kernel on the stream: a kernel that is started early reads it after its wait. */
    struct halo_cuda_wanted wanted;
    cudaStream_t stream; /* the same in all calls of a launch */
    bool early;   /* kernels that wait themselves may be started before the previous kernel has
                   * ended */
    bool chained; /* the same for kernels that follow one of the same launcher */
};

enum { HALO_CUDA_MAX_PLANES = 4 }; /* of one launch */

/* A row: one .cu file, or a variant of it, named FILE/VARIANT. */
struct halo_cuda_strategy {
    struct halo_strategy base;
    int compute; /* lowest compute capability, 80 for 8.0; 0: any */
    /* Filters 1 .. HALO_CUDA_MAX_PLANES planes, in any order; returns the status of the runtime. */
    cudaError_t (*launch)(const struct halo_cuda_call *calls, int count);
    /* Make a mask in the layout of the kernels; both NULL, or prepared_bytes returns 0, if they
     * need none. */
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

/* HALO_CONV_COPY needs no tiles: all strategies share one kernel. */
cudaError_t halo_cuda_launch_copy(const struct halo_cuda_call *calls, int count);

/* The same for HALO_CONV_PIXELIZE and the strategies that support it. */
cudaError_t halo_cuda_launch_pixelize(const struct halo_cuda_call *calls, int count);

/* The same for HALO_CONV_SOLID. */
cudaError_t halo_cuda_launch_solid(const struct halo_cuda_call *calls, int count);

/* Called before and after the launch of calls if some have a region: the map sets `wanted`, and the
 * merge copies everything that is not filtered from src. */
size_t halo_cuda_region_bytes(const struct halo_region *region, const struct halo_plane *like);
cudaError_t halo_cuda_region_map(struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_region_merge(const struct halo_cuda_call *calls, int count);

/* Determines the compute capability for which the kernels that run on this device were compiled, 90
 * for 9.0: that of the device, or less if the driver translated them from PTX. An error means that
 * no kernel can run. */
cudaError_t halo_cuda_probe(int *ret_compute);

/* The intermediate plane: int32 elements, with rows padded so that each begins a memory
 * transaction. */
static inline ptrdiff_t halo_cuda_wide_stride(const struct halo_plane *p)
{
    return ((ptrdiff_t)p->width * p->channels + 31) / 32 * 32;
}

static inline size_t halo_cuda_wide_bytes(const struct halo_plane *p)
{
    return (size_t)halo_cuda_wide_stride(p) * p->height * sizeof(int32_t);
}

/* A size that is sufficient for every strategy that supports this convolution. */
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
