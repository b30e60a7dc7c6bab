/* SPDX-License-Identifier: BSD-2-Clause
 * A synchronous call. It packs the samples of all jobs into one pinned buffer, so that it needs one
 * copy up, one copy down and one wait, whatever the strides of the planes are. Each buffer contains
 * the planes one after the other, at the same offsets on the host and on the device:
 *
 *     planes   --rows--> up (pinned) --copy--> src (device) --kernels--> dst (device)
 *     planes   <--rows-- down (pinned) <--copy-- dst
 *
 * The masks of regions follow the planes in the upload. dst is poisoned before the kernels run, so
 * that a cell that a kernel misses never shows an old frame; with regions, so is the memory between
 * two passes. */
#include <errno.h>
#include <string.h>

#include "kernels/cuda/backend_private.h"

enum {
    ALIGNMENT = 256, /* of planes and rows: complete memory transactions for a warp */
    POISON = 0xA5,
};

static cudaError_t pinned_alloc(void **ret, size_t size)
{
    return cudaHostAlloc(ret, size, cudaHostAllocDefault);
}

static size_t align(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The plane as it is packed in a buffer. */
static struct halo_plane packed(const struct halo_plane *p, const struct halo_cuda_buffer *b,
                                size_t offset)
{
    struct halo_plane ret = *p;
    ret.data = (char *)b->data + offset;
    ret.stride = (ptrdiff_t)align(halo_plane_row_bytes(p));
    return ret;
}

static size_t packed_bytes(const struct halo_plane *p)
{
    return align(halo_plane_row_bytes(p)) * p->height;
}

/* Copies only samples: the bytes between rows belong to the caller. Strides may be negative. */
static void copy_rows(const struct halo_plane *to, const struct halo_plane *from)
{
    const size_t bytes = halo_plane_row_bytes(from);
    const char *in = from->data;
    char *out = to->data;

    for (int y = 0; y < from->height; y++)
        memcpy(out + y * to->stride, in + y * from->stride, bytes);
}

static size_t mask_bytes(const struct halo_job *job)
{
    const struct halo_region *region = halo_cuda_region_of(job);
    return region && region->mask.data ? packed_bytes(&region->mask) : 0;
}

static int reserve(struct halo_cuda_backend *c, const struct halo_job *jobs, int count,
                   size_t *ret_bytes, size_t *ret_mask_bytes)
{
    size_t bytes = 0, masks = 0;
    for (int i = 0; i < count; i++) {
        bytes += packed_bytes(&jobs[i].src);
        masks += mask_bytes(&jobs[i]);
    }

    cudaError_t status = halo_cuda_grow(&c->up, bytes + masks, pinned_alloc, cudaFreeHost);
    if (status == cudaSuccess)
        status = halo_cuda_grow(&c->down, bytes, pinned_alloc, cudaFreeHost);
    if (status == cudaSuccess)
        status = halo_cuda_grow(&c->src, bytes + masks, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = halo_cuda_grow(&c->dst, bytes, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = halo_cuda_reserve_scratch(c, jobs, count);
    *ret_bytes = bytes;
    *ret_mask_bytes = masks;
    return halo_cuda_check(&c->base, status, "memory");
}

/* Cells that a kernel misses then never show an old frame. With a region, row passes leave gaps,
 * too. */
static int poison(struct halo_cuda_backend *c, const struct halo_job *jobs, int count, size_t bytes)
{
    bool gaps = false;
    for (int i = 0; i < count; i++)
        gaps |= halo_cuda_region_of(&jobs[i]) != NULL;
    cudaError_t status = cudaMemsetAsync(c->dst.data, POISON, bytes, c->stream);
    if (status == cudaSuccess && gaps)
        status = cudaMemsetAsync(c->wide.data, POISON, c->wide.size, c->stream);
    return halo_cuda_check(&c->base, status, "poison");
}

/* Masks begin at mask_offset of src. */
static int launch_packed(struct halo_cuda_backend *c, const struct halo_job *jobs, int count,
                         size_t mask_offset)
{
    size_t offset = 0;
    for (int first = 0, planes; first < count; first += planes) {
        struct halo_job device[HALO_CUDA_MAX_PLANES];
        struct halo_region regions[HALO_CUDA_MAX_PLANES];
        for (planes = 0; planes < HALO_CUDA_MAX_PLANES && first + planes < count; planes++) {
            device[planes] = jobs[first + planes];
            device[planes].src = packed(&device[planes].src, &c->src, offset);
            device[planes].dst = packed(&device[planes].dst, &c->dst, offset);
            offset += packed_bytes(&device[planes].src);
            if (mask_bytes(&device[planes]) > 0) {
                struct halo_region *region = &regions[planes];
                *region = *device[planes].region;
                region->mask = packed(&region->mask, &c->src, mask_offset);
                device[planes].region = region;
                mask_offset += packed_bytes(&region->mask);
            }
        }
        const int code = halo_cuda_launch_jobs(c, device, planes);
        if (code < 0)
            return code;
    }
    return 0;
}

static int copy(struct halo_cuda_backend *c, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind, const char *what)
{
    return halo_cuda_check(&c->base, cudaMemcpyAsync(to, from, bytes, kind, c->stream), what);
}

static int run(struct halo_cuda_backend *c, const struct halo_job *jobs, int count)
{
    size_t bytes, masks, offset = 0;
    int code = reserve(c, jobs, count, &bytes, &masks);
    if (code < 0)
        return code;

    for (int i = 0; i < count; i++) {
        const struct halo_plane up = packed(&jobs[i].src, &c->up, offset);
        copy_rows(&up, &jobs[i].src);
        offset += packed_bytes(&jobs[i].src);
    }
    for (int i = 0; i < count; i++) {
        if (mask_bytes(&jobs[i]) == 0)
            continue;
        const struct halo_plane *mask = &jobs[i].region->mask;
        const struct halo_plane up = packed(mask, &c->up, offset);
        copy_rows(&up, mask);
        offset += packed_bytes(mask);
    }
    code = copy(c, c->src.data, c->up.data, bytes + masks, cudaMemcpyHostToDevice, "upload");
    if (code == 0)
        code = poison(c, jobs, count, bytes);
    if (code == 0)
        code = launch_packed(c, jobs, count, bytes);
    if (code == 0)
        code = copy(c, c->down.data, c->dst.data, bytes, cudaMemcpyDeviceToHost, "download");

    /* Wait also after a failure: the next call, or close, will access this memory. */
    const cudaError_t waited = cudaStreamSynchronize(c->stream);
    if (code < 0) {
        (void)cudaGetLastError();
        return code;
    }
    return halo_cuda_check(&c->base, waited, "kernels");
}

int halo_cuda_convolve(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    struct halo_cuda_backend *c = (struct halo_cuda_backend *)b;
    int code = halo_cuda_make_current(b);
    if (code == 0)
        code = run(c, jobs, count);
    if (code < 0) {
        halo_cuda_examine(b);
        return code == -ENOMEM ? -ENOMEM : -EIO;
    }

    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_plane down = packed(&jobs[i].dst, &c->down, offset);
        copy_rows(&jobs[i].dst, &down);
        offset += packed_bytes(&jobs[i].dst);
    }
    return 0;
}
