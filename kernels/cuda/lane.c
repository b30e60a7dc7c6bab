/* SPDX-License-Identifier: BSD-2-Clause
 * One frame in flight (lane.h): everything is put on the backend's stream at once, and an event
 * marks the end.
 *
 * Planes lie on the device with the strides that they have on the host wherever kernels can take
 * those: then a plane is one plain copy, not one for each row. dst is poisoned before the kernels
 * run: a cell that a kernel forgot is never an old picture. */
#include "kernels/cuda/lane.h"

#include <errno.h>

#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/enqueue.h"
#include "kernels/cuda/lane_clock.h"

enum {
    ALIGNMENT = 256, /* of planes */
    STEP = 16,       /* of rows: what kernels load at once */
    POISON = 0xA5,
};

static size_t row_bytes(const struct halo_plane *p)
{
    return (size_t)p->width * (size_t)(p->channels * halo_plane_sample_bytes(p));
}

static size_t align(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* The host's stride where it will do. */
static struct halo_plane device_plane(const struct halo_plane *host)
{
    struct halo_plane ret = *host;
    const ptrdiff_t row = (ptrdiff_t)row_bytes(host);
    const bool fits =
        host->stride >= row && host->stride <= 2 * row + ALIGNMENT && host->stride % STEP == 0;
    ret.stride = fits ? host->stride : (ptrdiff_t)align((size_t)row, ALIGNMENT);
    return ret;
}

/* Whether kernels can use a plane of the caller's where it is. */
static bool is_aligned(const struct halo_plane *p)
{
    return (uintptr_t)p->data % ALIGNMENT == 0 && p->stride > 0 && p->stride % STEP == 0;
}

/* Takes the next plane out of the lane's memory; *at counts bytes even where there is none yet. */
static void place(struct halo_plane *plane, char *memory, size_t *at)
{
    plane->data = memory ? memory + *at : NULL;
    *at += align((size_t)plane->stride * (size_t)plane->height, ALIGNMENT);
}

static size_t lay_out(const struct halo_frame *frame, char *memory, struct halo_frame_places *ret)
{
    const int scratch = halo_frame_scratch(frame);
    size_t at = 0;
    for (int p = 0; p < frame->planes; p++) {
        const struct halo_frame_plane *plane = &frame->plane[p];
        ret->src[p] = plane->src;
        ret->dst[p] = plane->dst;
        if (!frame->src_on_device || !is_aligned(&plane->src)) {
            ret->src[p] = device_plane(&plane->src);
            place(&ret->src[p], memory, &at);
        }
        if (!frame->dst_on_device || !is_aligned(&plane->dst)) {
            ret->dst[p] = device_plane(&plane->dst);
            place(&ret->dst[p], memory, &at);
        }
        for (int i = 0; i < scratch; i++) {
            ret->scratch[i][p] = device_plane(&plane->dst);
            place(&ret->scratch[i][p], memory, &at);
        }
    }
    return at;
}

/* Copies the samples of one plane to another, of which one is on the device. A plane that is stored
 * upside down goes row by row. */
static cudaError_t copy_plane(const struct halo_plane *to, const struct halo_plane *from,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const size_t row = row_bytes(from);
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

static cudaError_t reserve(struct halo_cuda_lane *lane, size_t bytes)
{
    cudaError_t status = cudaSuccess;
    if (!lane->done)
        status =
            cudaEventCreateWithFlags(&lane->done, cudaEventDisableTiming | cudaEventBlockingSync);
    if (status != cudaSuccess || lane->size >= bytes)
        return status;
    cudaFree(lane->memory);
    lane->memory = NULL;
    lane->size = 0;
    status = cudaMalloc((void **)&lane->memory, bytes);
    if (status == cudaSuccess)
        lane->size = bytes;
    return status;
}

/* The lane's stream goes on when what `after` holds now is done. done is only needed later. */
static cudaError_t wait_for(struct halo_cuda_lane *lane, cudaStream_t after, cudaStream_t stream)
{
    const cudaError_t status = cudaEventRecord(lane->done, after);
    return status == cudaSuccess ? cudaStreamWaitEvent(stream, lane->done, 0) : status;
}

static cudaError_t upload(const struct halo_frame *frame, const struct halo_frame_places *places,
                          cudaStream_t stream)
{
    const enum cudaMemcpyKind kind =
        frame->src_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    cudaError_t status = cudaSuccess;
    for (int p = 0; p < frame->planes && status == cudaSuccess; p++) {
        const struct halo_plane *src = &frame->plane[p].src, *dst = &places->dst[p];
        if (places->src[p].data != src->data)
            status = copy_plane(&places->src[p], src, kind, stream);
        if (status == cudaSuccess)
            status = cudaMemsetAsync(dst->data, POISON, (size_t)dst->stride * (size_t)dst->height,
                                     stream);
    }
    return status;
}

static cudaError_t download(const struct halo_frame *frame, const struct halo_frame_places *places,
                            cudaStream_t stream)
{
    const enum cudaMemcpyKind kind =
        frame->dst_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
    cudaError_t status = cudaSuccess;
    for (int p = 0; p < frame->planes && status == cudaSuccess; p++) {
        const struct halo_plane *dst = &frame->plane[p].dst;
        if (places->dst[p].data != dst->data)
            status = copy_plane(dst, &places->dst[p], kind, stream);
    }
    return status;
}

static int enqueue_steps(struct halo_backend *b, const struct halo_frame *frame,
                         const struct halo_frame_places *places)
{
    struct halo_job jobs[HALO_MAX_PLANES];
    int ret = 0;
    for (int step = 0, count; ret == 0; step++) {
        if ((count = halo_frame_jobs(frame, places, step, jobs)) == 0)
            break;
        ret = halo_cuda_enqueue(b, jobs, count);
    }
    return ret;
}

static int mark(struct halo_backend *b, enum halo_cuda_mark which)
{
    struct halo_cuda_clock *clock = halo_cuda_lane_of(b)->clock;
    return halo_cuda_check(b, halo_cuda_clock_mark(clock, which, halo_cuda_stream(b)), "event");
}

static int enqueue_all(struct halo_backend *b, const struct halo_frame *frame)
{
    struct halo_cuda_lane *lane = halo_cuda_lane_of(b);
    const cudaStream_t stream = halo_cuda_stream(b);
    struct halo_frame_places places;
    int ret = halo_cuda_check(b, reserve(lane, lay_out(frame, NULL, &places)), "memory");
    if (ret < 0)
        return ret;
    lay_out(frame, lane->memory, &places);
    if (frame->src_on_device)
        ret = halo_cuda_check(b, wait_for(lane, frame->after, stream), "wait");
    halo_cuda_clock_count(lane->clock, frame, &places);
    if (ret == 0)
        ret = mark(b, HALO_CUDA_BEGIN);
    if (ret == 0)
        ret = halo_cuda_check(b, upload(frame, &places, stream), "upload");
    if (ret == 0)
        ret = mark(b, HALO_CUDA_UPLOADED);
    if (ret == 0)
        ret = enqueue_steps(b, frame, &places);
    if (ret == 0)
        ret = mark(b, HALO_CUDA_FILTERED);
    if (ret == 0)
        ret = halo_cuda_check(b, download(frame, &places, stream), "download");
    if (ret == 0)
        ret = mark(b, HALO_CUDA_DOWNLOADED);
    if (ret == 0)
        ret = halo_cuda_check(b, cudaEventRecord(lane->done, stream), "event");
    return ret;
}

int halo_cuda_submit(struct halo_backend *b, const struct halo_frame *frame)
{
    int ret = halo_cuda_make_current(b);
    if (ret == 0)
        ret = enqueue_all(b, frame);
    if (ret == 0)
        return 0;
    (void)cudaStreamSynchronize(halo_cuda_stream(b)); /* copies may still touch the host's memory */
    (void)cudaGetLastError();
    return ret == -ENOMEM ? -ENOMEM : -EIO;
}

int halo_cuda_finish(struct halo_backend *b)
{
    int ret = halo_cuda_make_current(b);
    if (ret == 0)
        ret = halo_cuda_check(b, cudaEventSynchronize(halo_cuda_lane_of(b)->done), "frame");
    return ret < 0 ? -EIO : 0;
}

void halo_cuda_measure(struct halo_backend *b)
{
    struct halo_cuda_lane *lane = halo_cuda_lane_of(b);
    if (!lane->clock && halo_cuda_make_current(b) == 0)
        lane->clock = halo_cuda_clock_create(halo_cuda_stream(b));
}

int halo_cuda_times(struct halo_backend *b, struct halo_frame_times *ret)
{
    const int code = halo_cuda_make_current(b);
    return code < 0 ? code : halo_cuda_clock_read(halo_cuda_lane_of(b)->clock, ret);
}

void halo_cuda_lane_close(struct halo_cuda_lane *lane)
{
    halo_cuda_clock_destroy(lane->clock);
    if (lane->done)
        cudaEventDestroy(lane->done);
    cudaFree(lane->memory);
}

void *halo_cuda_memory(size_t size)
{
    void *memory = NULL;
    if (cudaHostAlloc(&memory, size, cudaHostAllocPortable) == cudaSuccess)
        return memory;
    (void)cudaGetLastError();
    return NULL;
}

void halo_cuda_memory_free(void *memory)
{
    cudaFreeHost(memory);
    (void)cudaGetLastError();
}
