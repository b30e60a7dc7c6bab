/* SPDX-License-Identifier: BSD-2-Clause
 * Copies of planes (plane_copies.h). */
#include "kernels/cuda/plane_copies.h"

/* Largest number of copies in one call. With an older runtime, the driver may be too old for that
 * call. */
enum { LIMIT = CUDART_VERSION >= 13000 ? HALO_MAX_PLANES : 0 };

static bool is_locked(const void *host)
{
    struct cudaPointerAttributes a;
    if (cudaPointerGetAttributes(&a, host) == cudaSuccess)
        return a.type == cudaMemoryTypeHost;
    (void)cudaGetLastError();
    return false;
}

static bool can_wait(const struct halo_cuda_plane_copies *copies, const struct halo_plane *to,
                     const struct halo_plane *from)
{
    if (copies->count >= LIMIT || to->stride != from->stride || to->stride <= 0)
        return false;
    return (copies->kind == cudaMemcpyHostToDevice && is_locked(from->data)) ||
           (copies->kind == cudaMemcpyDeviceToHost && is_locked(to->data));
}

static cudaError_t copy_together(const struct halo_cuda_plane_copies *copies)
{
#if CUDART_VERSION >= 13000
    struct cudaMemcpyAttributes in_order = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    size_t first = 0; /* index of the first copy with these attributes */
    return cudaMemcpyBatchAsync(copies->to, copies->from, copies->size, (size_t)copies->count,
                                &in_order, &first, 1, copies->stream);
#else
    (void)copies;
    return cudaErrorNotSupported;
#endif
}

/* Copies a plane; row by row if it is stored upside down. */
static cudaError_t copy_now(const struct halo_plane *to, const struct halo_plane *from,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const size_t row = halo_plane_row_bytes(from);
    const size_t rows = (size_t)from->height;
    if (to->stride == from->stride && to->stride > 0)
        return cudaMemcpyAsync(to->data, from->data, (size_t)to->stride * (rows - 1) + row, kind,
                               stream);
    if (to->stride > 0 && from->stride > 0)
        return cudaMemcpy2DAsync(to->data, (size_t)to->stride, from->data, (size_t)from->stride,
                                 row, rows, kind, stream);
    cudaError_t status = cudaSuccess;
    for (int y = 0; y < from->height && status == cudaSuccess; y++)
        status = cudaMemcpyAsync((char *)to->data + y * to->stride,
                                 (const char *)from->data + y * from->stride, row, kind, stream);
    return status;
}

cudaError_t halo_cuda_copy_plane(struct halo_cuda_plane_copies *copies, const struct halo_plane *to,
                                 const struct halo_plane *from)
{
    if (can_wait(copies, to, from)) {
        const size_t rows = (size_t)from->height;
        copies->to[copies->count] = to->data;
        copies->from[copies->count] = from->data;
        copies->size[copies->count++] =
            (size_t)from->stride * (rows - 1) + halo_plane_row_bytes(from);
        return cudaSuccess;
    }
    return copy_now(to, from, copies->kind, copies->stream);
}

cudaError_t halo_cuda_copy_end(struct halo_cuda_plane_copies *copies)
{
    cudaError_t status = cudaSuccess;
    if (copies->count == 1)
        status = cudaMemcpyAsync(copies->to[0], copies->from[0], copies->size[0], copies->kind,
                                 copies->stream);
    else if (copies->count > 1)
        status = copy_together(copies);
    copies->count = 0;
    return status;
}
