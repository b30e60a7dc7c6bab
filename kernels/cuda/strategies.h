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

/* Each patch of HALO_PATCH_WIDTH elements by HALO_PATCH_HEIGHT rows has a set of flags, which show
 * what a region needs in this part of a plane. */
enum {
    HALO_PATCH_WIDTH = 64,
    HALO_PATCH_HEIGHT = 32,
    HALO_PATCH_ROW = 16,     /* the length of a row of patches is a multiple of this, for wide
                              * loads */
    HALO_PATCH_FILTERED = 1, /* some pixels of the patch have a weight above 0 */
    HALO_PATCH_SOURCE = 2,   /* some pixels of the patch have a weight below 255 */
};

enum { HALO_SELECT_RECTS = 16 }; /* of a region that a launcher applies itself, at most */

struct halo_cuda_wanted {
    const uint8_t *flags; /* in device memory, row by row; NULL: there is no region, so the whole
                           * plane is needed */
    int across, down;     /* patches */
    int height;           /* of the plane */
    int reach;            /* distance from an output to the farthest of its inputs, in rows */
    bool wraps;           /* the plane's border is HALO_BORDER_WRAP */
    const struct halo_region *select; /* if this is not NULL, flags is, and the launcher applies
                                       * this region of rectangles itself (select.cuh) */
};

/* A launcher's arguments for one plane, which is in device memory. A launcher only enqueues work on
 * the stream: it neither waits for the kernels nor allocates memory. *conv is read before the
 * launcher returns; it must not be in pinned memory, which the copy engine would read later. */
struct halo_cuda_call {
    const struct halo_conv *conv;
    /* In device memory; the addresses and strides are positive multiples of 16. The bytes between
     * the end of a row of dst and the next multiple of 16 may be written. */
    struct halo_plane src, dst;
    int32_t *wide;        /* scratch between passes, of halo_cuda_scratch_bytes(conv, &src) bytes */
    const void *prepared; /* the mask in device memory, in the layout that the strategy's function
                           * `prepare` writes */
    const struct halo_region *region; /* of the map and the merge; NULL: none. The region's mask is
                                       * in device memory */
    void *region_memory;              /* memory of halo_cuda_region_bytes() bytes */
    /* Computed from the region; kernels may skip tiles outside of the region (region.cuh). The
     * flags are written by an earlier kernel on the same stream, so a kernel that is started early
     * reads them only after it has waited for the previous kernel. */
    struct halo_cuda_wanted wanted;
    cudaStream_t stream; /* the same in all calls of a launch */
    bool early;   /* kernels that contain a wait for the end of the previous kernel may be started
                   * before that end */
    bool chained; /* kernels that follow another kernel of the same launcher may be started before
                   * that kernel has ended */
};

enum { HALO_CUDA_MAX_PLANES = 4 }; /* of one launch */

/* A row of the table, at the end of its .cu file: FILE, or a variant of it, FILE/VARIANT. */
struct halo_cuda_strategy {
    struct halo_strategy base;
    int compute; /* lowest compute capability on which it runs, such as 80 for 8.0; 0: any */
    /* Filters 1 to HALO_CUDA_MAX_PLANES planes, in any order. Returns the CUDA runtime's status. */
    cudaError_t (*launch)(const struct halo_cuda_call *calls, int count);
    /* Whether the launcher applies a region of at most HALO_SELECT_RECTS rectangles to this plane
     * itself, through wanted.select, instead of the map and the merge. NULL: never. */
    bool (*selects)(const struct halo_conv *conv, const struct halo_plane *plane);
    /* prepared_bytes returns the size in bytes of a mask in the layout of the kernels; prepare
     * writes this mask to ret. If the kernels need no such mask, both are NULL, or prepared_bytes
     * returns 0. */
    size_t (*prepared_bytes)(const struct halo_conv *conv, int channels);
    void (*prepare)(void *ret, const struct halo_conv *conv, int channels);
};

extern const struct halo_strategy *const halo_cuda_strategies[]; /* NULL-terminated, best first */

extern const struct halo_cuda_strategy halo_cuda_box_bands, halo_cuda_box_slide,
    halo_cuda_box_stream, halo_cuda_direct, halo_cuda_dense_rows, halo_cuda_tensor,
    halo_cuda_running_sums, halo_cuda_coarse_tile, halo_cuda_coarse_tile_2, halo_cuda_coarse_tile_8,
    halo_cuda_output_tile, halo_cuda_output_tile_steps, halo_cuda_input_tile,
    halo_cuda_input_tile_coarse, halo_cuda_core_tile, halo_cuda_gradient_rows,
    halo_cuda_gradient_tile, halo_cuda_nodes, halo_cuda_naive;

/* For the member `can`: the kinds that weight the cells of a window, and the copy. Not the box,
 * which reaches 2049 cells: its tile would not fit into shared memory, and running sums are
 * faster. */
static inline bool halo_cuda_weighs(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_COPY || conv->kind == HALO_CONV_SEPARABLE ||
           conv->kind == HALO_CONV_DENSE;
}

/* For the member `selects`. */
static inline bool halo_cuda_always(const struct halo_conv *conv, const struct halo_plane *plane)
{
    (void)conv;
    (void)plane;
    return true;
}

/* The scratch of nodes, in bytes. */
size_t halo_cuda_nodes_scratch(const struct halo_conv *conv, const struct halo_plane *plane);

/* The parts of tensor. */
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

/* Launches HALO_CONV_COPY for all strategies, which share one kernel because a copy needs no
 * tiles. */
cudaError_t halo_cuda_launch_copy(const struct halo_cuda_call *calls, int count);

/* Launches HALO_CONV_PIXELIZE for all strategies that support it. */
cudaError_t halo_cuda_launch_pixelize(const struct halo_cuda_call *calls, int count);

/* Launches HALO_CONV_SOLID for all strategies. */
cudaError_t halo_cuda_launch_solid(const struct halo_cuda_call *calls, int count);

/* Launches HALO_CONV_CELLS for all strategies. */
cudaError_t halo_cuda_launch_cells(const struct halo_cuda_call *calls, int count);

/* Launches HALO_CONV_TABLE for all strategies, whose prepared mask is the table then; for other
 * kinds, halo_cuda_table_bytes() returns 0. */
cudaError_t halo_cuda_launch_table(const struct halo_cuda_call *calls, int count);
size_t halo_cuda_table_bytes(const struct halo_conv *conv, int channels);
void halo_cuda_table_prepare(void *ret, const struct halo_conv *conv, int channels);

/* Used if any of the calls has a region. halo_cuda_region_bytes() returns the size that
 * region_memory must have. halo_cuda_region_map() must be called before the launch; it sets
 * `wanted` of each call. halo_cuda_region_merge() must be called after the launch; it copies from
 * src everything that is not filtered. */
size_t halo_cuda_region_bytes(const struct halo_region *region, const struct halo_plane *like);
cudaError_t halo_cuda_region_map(struct halo_cuda_call *calls, int count);
cudaError_t halo_cuda_region_merge(const struct halo_cuda_call *calls, int count);

/* Sets *ret_compute to the compute capability for which the kernels that run on this device were
 * compiled, such as 90 for 9.0. This capability is the device's own, or a lower one if the driver
 * translated the kernels from PTX. An error means that no kernel can run. */
cudaError_t halo_cuda_probe(int *ret_compute);

/* Returns the stride of the intermediate plane in int32 elements. This plane's rows are padded so
 * that each of them starts at the boundary of a memory transaction. */
static inline ptrdiff_t halo_cuda_wide_stride(const struct halo_plane *p)
{
    return ((ptrdiff_t)p->width * p->channels + 31) / 32 * 32;
}

static inline size_t halo_cuda_wide_bytes(const struct halo_plane *p)
{
    return (size_t)halo_cuda_wide_stride(p) * p->height * sizeof(int32_t);
}

/* Returns a scratch size that is sufficient for every strategy that supports this convolution. */
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
