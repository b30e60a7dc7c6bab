/* SPDX-License-Identifier: BSD-2-Clause
 * One frame in flight (lane.h): all its work is enqueued on the backend's stream at once, and an
 * event marks the end.
 *
 * Planes on the device have the same strides as on the host if kernels support them: then a plane
 * is one plain copy, instead of one for each row. If the device has no memory of its own, a copy
 * would be from the memory to itself: then kernels access those planes of the host in place that
 * are page-locked and aligned. The planes that steps write are poisoned before the kernels run: a
 * cell that a kernel misses never shows an old frame. This happens before the upload, so that
 * nothing delays copies; only scratch that is written for the second time is poisoned later. */
#include "kernels/cuda/lane.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/enqueue.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/lane_clock.h"
#include "kernels/cuda/plane_copies.h"
#include "kernels/fault.h"

enum {
    ALIGNMENT = 256, /* of planes */
    STEP = 16,       /* of rows: the size of one load of a kernel */
    SCRATCH = 2,     /* planes that steps use in turn */
};

static size_t align(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* The plane for the device, with the host's stride if possible. */
static struct halo_plane device_plane(const struct halo_plane *host)
{
    struct halo_plane ret = *host;
    const ptrdiff_t row = (ptrdiff_t)halo_plane_row_bytes(host);
    const bool fits =
        host->stride >= row && host->stride <= 2 * row + ALIGNMENT && host->stride % STEP == 0;
    ret.stride = fits ? host->stride : (ptrdiff_t)align((size_t)row, ALIGNMENT);
    return ret;
}

/* The memory of a frame's planes; in_place: the caller's planes are used without copies. */
struct lay {
    struct halo_frame_places at;
    bool src_in_place[HALO_MAX_PLANES], dst_in_place[HALO_MAX_PLANES];
};

/* Whether kernels can use the caller's plane in place. */
static bool is_aligned(const struct halo_plane *p)
{
    return (uintptr_t)p->data % ALIGNMENT == 0 && p->stride > 0 && p->stride % STEP == 0;
}

/* The same for a plane on the host; *ret has the device's pointer to it. */
static bool map(const struct halo_cuda_lane *lane, const struct halo_plane *host,
                struct halo_plane *ret)
{
    void *data;
    if (!lane->mapped || !is_aligned(host))
        return false;
    if (cudaHostGetDevicePointer(&data, host->data, 0) != cudaSuccess) {
        (void)cudaGetLastError(); /* ordinary memory */
        return false;
    }
    *ret = *host;
    ret->data = data;
    return true;
}

/* Finds the caller's planes that need no copy. Kernels write whole steps: a row that ends within a
 * step is only safe in the lane's own memory. */
static void find_in_place(const struct halo_cuda_lane *lane, const struct halo_frame *frame,
                          struct lay *ret)
{
    for (int p = 0; p < frame->planes; p++) {
        const struct halo_plane *src = &frame->plane[p].src, *dst = &frame->plane[p].dst;
        ret->at.src[p] = *src;
        ret->at.dst[p] = *dst;
        ret->src_in_place[p] = frame->src_on_device ? !frame->plane[p].gather && is_aligned(src)
                                                    : map(lane, src, &ret->at.src[p]);
        ret->dst_in_place[p] = frame->dst_on_device ? is_aligned(dst)
                                                    : halo_plane_row_bytes(dst) % STEP == 0 &&
                                                          map(lane, dst, &ret->at.dst[p]);
    }
}

static size_t plane_bytes(const struct halo_plane *p)
{
    return (size_t)p->stride * (size_t)p->height;
}

/* Places the next plane in the lane's memory; *at counts bytes, even if no memory is allocated
 * yet. */
static void place(struct halo_plane *plane, char *memory, size_t *at)
{
    plane->data = memory ? memory + *at : NULL;
    *at += align(plane_bytes(plane), ALIGNMENT);
}

/* Call after find_in_place(): places the other planes in the lane's memory, first sources, then
 * destinations and scratch, so that the planes that are poisoned are adjacent. Returns the number
 * of bytes. */
static size_t lay_out(const struct halo_frame *frame, char *memory, struct lay *ret)
{
    const int scratch = halo_frame_scratch(frame);
    size_t at = 0;
    for (int p = 0; p < frame->planes; p++) {
        const struct halo_frame_plane *plane = &frame->plane[p];
        if (!ret->src_in_place[p]) {
            ret->at.src[p] = device_plane(plane->gather ? &plane->dst : &plane->src);
            place(&ret->at.src[p], memory, &at);
        }
    }
    for (int p = 0; p < frame->planes; p++)
        if (!ret->dst_in_place[p]) {
            ret->at.dst[p] = device_plane(&frame->plane[p].dst);
            place(&ret->at.dst[p], memory, &at);
        }
    for (int p = 0; p < frame->planes; p++)
        for (int i = 0; i < scratch; i++) {
            ret->at.scratch[i][p] = device_plane(&frame->plane[p].dst);
            place(&ret->at.scratch[i][p], memory, &at);
        }
    return at;
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

/* Makes the lane's stream wait for the work that is on `after` now. Uses the event `done`, which is
 * needed only later. */
static cudaError_t wait_for(struct halo_cuda_lane *lane, cudaStream_t after, cudaStream_t stream)
{
    const cudaError_t status = cudaEventRecord(lane->done, after);
    return status == cudaSuccess ? cudaStreamWaitEvent(stream, lane->done, 0) : status;
}

/* Poisons planes in the lane's memory; adjacent planes in one call, because each call costs the
 * host microseconds and causes a gap on the device. */
static cudaError_t fill(const struct halo_plane *const *planes, int count, cudaStream_t stream)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++) {
        char *data = planes[i]->data;
        size_t bytes = plane_bytes(planes[i]);
        while (i + 1 < count && planes[i + 1]->data == data + align(bytes, ALIGNMENT))
            bytes = align(bytes, ALIGNMENT) + plane_bytes(planes[++i]);
        status = cudaMemsetAsync(data, HALO_POISON, bytes, stream);
    }
    return status;
}

/* Finds the scratch planes that the step will write. */
static int find_scratch(const struct halo_frame *frame, const struct halo_frame_places *places,
                        int step, const struct halo_plane **ret)
{
    int count = 0;
    for (int p = 0; p < frame->planes; p++)
        if ((ret[count] = halo_frame_scratch_of(frame, places, step, p)))
            count++;
    return count;
}

/* Poisons dst, and scratch for the first steps that write it; for a dst in the caller's memory,
 * only its rows. */
static cudaError_t poison(const struct halo_frame *frame, const struct lay *lay,
                          cudaStream_t stream)
{
    const struct halo_plane *own[(1 + SCRATCH) * HALO_MAX_PLANES];
    int count = 0;
    cudaError_t status = cudaSuccess;
    for (int p = 0; p < frame->planes && status == cudaSuccess; p++) {
        const struct halo_plane *dst = &lay->at.dst[p];
        if (!lay->dst_in_place[p])
            own[count++] = dst;
        else
            status = cudaMemset2DAsync(dst->data, (size_t)dst->stride, HALO_POISON,
                                       halo_plane_row_bytes(dst), (size_t)dst->height, stream);
    }
    for (int step = 0; step < SCRATCH; step++)
        count += find_scratch(frame, &lay->at, step, &own[count]);
    return status == cudaSuccess ? fill(own, count, stream) : status;
}

static cudaError_t upload(const struct halo_frame *frame, const struct lay *lay,
                          cudaStream_t stream)
{
    struct halo_cuda_plane_copies copies = {
        frame->src_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, stream};
    cudaError_t status = cudaSuccess;
    for (int p = 0; p < frame->planes && status == cudaSuccess; p++) {
        const struct halo_frame_plane *plane = &frame->plane[p];
        if (plane->gather)
            status = halo_cuda_gather(&lay->at.src[p], &plane->src, plane->gather, stream);
        else if (!lay->src_in_place[p])
            status = halo_cuda_copy_plane(&copies, &lay->at.src[p], &plane->src);
    }
    return status == cudaSuccess ? halo_cuda_copy_end(&copies) : status;
}

static cudaError_t download(const struct halo_frame *frame, const struct lay *lay,
                            cudaStream_t stream)
{
    struct halo_cuda_plane_copies copies = {
        frame->dst_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, stream};
    cudaError_t status = cudaSuccess;
    for (int p = 0; p < frame->planes && status == cudaSuccess; p++)
        if (!lay->dst_in_place[p])
            status = halo_cuda_copy_plane(&copies, &frame->plane[p].dst, &lay->at.dst[p]);
    return status == cudaSuccess ? halo_cuda_copy_end(&copies) : status;
}

/* Makes a job with a mask use *region, whose mask is on the device. */
static int bring_mask(struct halo_backend *b, struct halo_job *job, struct halo_region *region)
{
    if (!job->region || !job->region->mask.data)
        return 0;
    *region = *job->region;
    job->region = region;
    return halo_cuda_check(b,
                           halo_cuda_region_mask(&halo_cuda_lane_of(b)->masks, region->number,
                                                 &region->mask, halo_cuda_stream(b)),
                           "region");
}

/* Poisons the scratch of a step, unless it was poisoned together with dst. */
static int poison_scratch(struct halo_backend *b, const struct halo_frame *frame,
                          const struct halo_frame_places *places, int step)
{
    const struct halo_plane *scratch[HALO_MAX_PLANES];
    if (step < SCRATCH)
        return 0;
    const int count = find_scratch(frame, places, step, scratch);
    return halo_cuda_check(b, fill(scratch, count, halo_cuda_stream(b)), "poison");
}

static int enqueue_steps(struct halo_backend *b, const struct halo_frame *frame,
                         const struct halo_frame_places *places)
{
    struct halo_job jobs[HALO_MAX_PLANES];
    struct halo_region regions[HALO_MAX_PLANES];
    int code = 0;
    if (halo_fault(b->ops->name, "skip"))
        return 0;
    for (int step = 0, count; code == 0; step++) {
        if ((count = halo_frame_jobs(frame, places, step, jobs)) == 0)
            break;
        code = poison_scratch(b, frame, places, step);
        if (halo_fault(b->ops->name, "step"))
            continue;
        halo_cuda_region_masks_step(&halo_cuda_lane_of(b)->masks, step == 0);
        for (int i = 0; i < count && code == 0; i++)
            code = bring_mask(b, &jobs[i], &regions[i]);
        if (code == 0)
            code = halo_cuda_enqueue(b, jobs, count);
    }
    return code;
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
    struct lay lay;
    find_in_place(lane, frame, &lay);
    int code = halo_cuda_check(b, reserve(lane, lay_out(frame, NULL, &lay)), "memory");
    if (code < 0)
        return code;
    lay_out(frame, lane->memory, &lay);
    if (frame->src_on_device)
        code = halo_cuda_check(b, wait_for(lane, frame->after, stream), "wait");
    halo_cuda_clock_count(lane->clock, frame, &lay.at);
    if (code == 0)
        code = halo_cuda_check(b, poison(frame, &lay, stream), "poison");
    if (code == 0)
        code = mark(b, HALO_CUDA_BEGIN);
    if (code == 0)
        code = halo_cuda_check(b, upload(frame, &lay, stream), "upload");
    if (code == 0)
        code = mark(b, HALO_CUDA_UPLOADED);
    if (code == 0)
        code = enqueue_steps(b, frame, &lay.at);
    if (code == 0)
        code = mark(b, HALO_CUDA_FILTERED);
    if (code == 0)
        code = halo_cuda_check(b, download(frame, &lay, stream), "download");
    if (code == 0)
        code = mark(b, HALO_CUDA_DOWNLOADED);
    if (code == 0)
        code = halo_cuda_check(b, cudaEventRecord(lane->done, stream), "event");
    return code;
}

static atomic_bool lost;

bool halo_cuda_is_lost(void)
{
    return atomic_load(&lost);
}

/* A device error remains in its context, and every call returns it. */
void halo_cuda_examine(struct halo_backend *b)
{
    if (cudaStreamSynchronize(halo_cuda_stream(b)) != cudaSuccess)
        atomic_store(&lost, true);
    (void)cudaGetLastError();
}

int halo_cuda_submit(struct halo_backend *b, const struct halo_frame *frame)
{
    int code = halo_cuda_make_current(b);
    if (code == 0)
        code = enqueue_all(b, frame);
    if (code == 0)
        return 0;
    halo_cuda_examine(b); /* also waits: copies may still access the host's memory */
    return code == -ENOMEM && !halo_cuda_is_lost() ? -ENOMEM : -EIO;
}

int halo_cuda_finish(struct halo_backend *b)
{
    int code = halo_cuda_make_current(b);
    if (code == 0)
        code = halo_cuda_check(b, cudaEventSynchronize(halo_cuda_lane_of(b)->done), "frame");
    if (code < 0)
        halo_cuda_examine(b);
    return code < 0 ? -EIO : 0;
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
    halo_cuda_region_masks_free(&lane->masks);
}

static atomic_int memory_device;

void halo_cuda_set_memory_device(int device)
{
    atomic_store(&memory_device, device);
}

/* Describes the memory; in the page before it. */
struct locked {
    size_t size; /* including that page */
    bool registered;
};

enum { PAGE = 4096 };

/* The driver serves one thread at a time. It takes about ten times as long to provide pages as to
 * lock pages that exist already. Child processes do not inherit these pages: a page that is shared
 * with a child moves when it is written to. */
static cudaError_t lock_pages(struct locked **ret, size_t size)
{
    struct locked *locked =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (locked == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    (void)madvise(locked, size, MADV_DONTFORK);
    *locked = (struct locked){size, true};
    const cudaError_t status = cudaHostRegister((char *)locked + PAGE, size - PAGE,
                                                cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (status == cudaSuccess)
        *ret = locked;
    else
        munmap(locked, size);
    return status;
}

/* For devices that cannot use pages which their driver did not provide. */
static cudaError_t allocate_pages(struct locked **ret, size_t size)
{
    (void)cudaGetLastError();
    const cudaError_t status =
        cudaHostAlloc((void **)ret, size, cudaHostAllocPortable | cudaHostAllocMapped);
    if (status == cudaSuccess)
        **ret = (struct locked){size, false};
    return status;
}

void *halo_cuda_memory(size_t size)
{
    const size_t whole = align(size, PAGE) + PAGE;
    struct locked *locked = NULL;
    if (halo_cuda_is_lost())
        return NULL;
    cudaError_t status = cudaSetDevice(atomic_load(&memory_device));
    if (status == cudaSuccess)
        status = lock_pages(&locked, whole);
    if (status != cudaSuccess && status != cudaErrorMemoryAllocation)
        status = allocate_pages(&locked, whole);
    if (status == cudaSuccess)
        return (char *)locked + PAGE;
    (void)cudaGetLastError();
    return NULL;
}

/* Memory of a lost device is not freed: the device may still write to it, and the call might never
 * return. */
void halo_cuda_memory_free(void *memory)
{
    struct locked *locked = (struct locked *)((char *)memory - PAGE);
    if (halo_cuda_is_lost())
        return;
    if (!locked->registered)
        cudaFreeHost(locked);
    else if (cudaHostUnregister(memory) == cudaSuccess)
        munmap(locked, locked->size);
    (void)cudaGetLastError();
}
