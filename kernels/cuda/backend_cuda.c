/* SPDX-License-Identifier: BSD-2-Clause
 * The CUDA backend: one device, one stream, and memory that grows and stays.
 *
 * A call packs the samples of all jobs into one pinned buffer, so that there is one copy up, one
 * copy down and one wait, whatever the strides of the pictures are. Planes lie one after the other
 * in each buffer, in the same places on the host and on the device:
 *
 *     pictures --rows--> up (pinned) --copy--> src (device) --kernels--> dst (device)
 *     pictures <--rows-- down (pinned) <--copy-- dst
 *
 * The masks of regions go up behind the pictures. dst is poisoned before the kernels run: a cell
 * that a kernel forgot is never an old picture. So is what lies between two passes, for regions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backends.h"
#include "kernels/cuda/backend_cuda.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/enqueue.h"
#include "kernels/cuda/lane.h"
#include "kernels/cuda/strategies.h"

enum {
    ALIGNMENT = 256, /* of planes and rows: whole memory transactions for a warp */
    POISON = 0xA5,
    KEPT_MASKS = 16, /* prepared ones on the device: more than the filters of a frame */
};

struct buffer {
    void *data;
    size_t size;
};

/* A mask as a strategy's kernels read it. conv is a copy: the key. */
struct kept_mask {
    const struct halo_cuda_strategy *strategy;
    struct halo_conv conv;
    int channels;
    struct buffer data; /* device memory */
    uint64_t last_use;
};

struct cuda_backend {
    struct halo_backend base;
    int device;
    int compute; /* see halo_cuda_probe */
    bool early;  /* see halo_cuda_call */
    struct kept_mask *masks[KEPT_MASKS];
    uint64_t uses;
    cudaStream_t stream;
    struct buffer up, down;      /* pinned host memory */
    struct buffer src, dst;      /* device memory */
    struct buffer wide, regions; /* device memory, scratch of the jobs of a launch */
    struct halo_cuda_lane lane;
    char error[200];
};

/* Of the last open that failed, which leaves no backend to ask. */
static _Thread_local char open_error[200];

/* Notes a failure. The runtime keeps errors until they are read: unread, this one would be taken
 * for a failure of the next launch. */
static int check(struct cuda_backend *c, cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return 0;
    snprintf(c->error, sizeof c->error, "%s: %s (%s)", what, cudaGetErrorString(status),
             cudaGetErrorName(status));
    (void)cudaGetLastError();
    return halo_cuda_errno(status);
}

static cudaError_t pinned_alloc(void **ret, size_t size)
{
    return cudaHostAlloc(ret, size, cudaHostAllocDefault);
}

/* Makes b at least size bytes; what it held is lost. Nothing on the stream uses it any more, since
 * every call ends with a wait. */
static cudaError_t grow(struct buffer *b, size_t size, cudaError_t (*alloc)(void **, size_t),
                        cudaError_t (*release)(void *))
{
    if (b->size >= size)
        return cudaSuccess;
    release(b->data);
    *b = (struct buffer){0};

    const cudaError_t status = alloc(&b->data, size);
    if (status == cudaSuccess)
        b->size = size;
    else
        b->data = NULL;
    return status;
}

static size_t align(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The plane as it lies in one of our buffers. */
static struct halo_plane packed(const struct halo_plane *p, const struct buffer *b, size_t offset)
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

/* Samples only: what lies between rows belongs to the caller. Strides may be negative. */
static void copy_rows(const struct halo_plane *to, const struct halo_plane *from)
{
    const size_t bytes = halo_plane_row_bytes(from);
    const char *in = from->data;
    char *out = to->data;

    for (int y = 0; y < from->height; y++)
        memcpy(out + y * to->stride, in + y * from->stride, bytes);
}

/* A copy is the source inside and outside. */
static const struct halo_region *region_of(const struct halo_job *job)
{
    return job->conv->kind == HALO_CONV_COPY ? NULL : job->region;
}

static size_t mask_bytes(const struct halo_job *job)
{
    const struct halo_region *region = region_of(job);
    return region && region->mask.data ? packed_bytes(&region->mask) : 0;
}

/* Scratch for the most that any launch may need: its planes run at the same time. */
static size_t wide_bytes(const struct halo_job *jobs, int count)
{
    size_t most = 0;
    for (int first = 0; first < count; first++) {
        size_t bytes = 0;
        for (int i = first; i < count && i < first + HALO_CUDA_MOST_PLANES; i++)
            bytes += halo_cuda_scratch_bytes(jobs[i].conv, &jobs[i].src);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Device memory that the kernels of these jobs need beside the planes. */
static cudaError_t reserve_scratch(struct cuda_backend *c, const struct halo_job *jobs, int count)
{
    const size_t wide = wide_bytes(jobs, count);
    size_t regions = 0;
    for (int i = 0; i < count; i++)
        regions += region_of(&jobs[i]) ? halo_cuda_region_bytes(jobs[i].region, &jobs[i].src) : 0;

    cudaError_t status = cudaSuccess;
    if (c->wide.size < wide || c->regions.size < regions)
        status = cudaStreamSynchronize(c->stream);
    if (status == cudaSuccess)
        status = grow(&c->wide, wide, cudaMalloc, cudaFree);
    return status == cudaSuccess ? grow(&c->regions, regions, cudaMalloc, cudaFree) : status;
}

static int reserve(struct cuda_backend *c, const struct halo_job *jobs, int count,
                   size_t *ret_bytes, size_t *ret_mask_bytes)
{
    size_t bytes = 0, masks = 0;
    for (int i = 0; i < count; i++) {
        bytes += packed_bytes(&jobs[i].src);
        masks += mask_bytes(&jobs[i]);
    }

    cudaError_t status = grow(&c->up, bytes + masks, pinned_alloc, cudaFreeHost);
    if (status == cudaSuccess)
        status = grow(&c->down, bytes, pinned_alloc, cudaFreeHost);
    if (status == cudaSuccess)
        status = grow(&c->src, bytes + masks, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = grow(&c->dst, bytes, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = reserve_scratch(c, jobs, count);
    *ret_bytes = bytes;
    *ret_mask_bytes = masks;
    return check(c, status, "memory");
}

static bool cuda_has(const struct halo_backend *b, const struct halo_strategy *strategy)
{
    return ((const struct halo_cuda_strategy *)strategy)->compute <=
           ((const struct cuda_backend *)b)->compute;
}

/* The place of a mask that is kept, or of the one longest unused. */
static int mask_place(const struct cuda_backend *c, const struct halo_cuda_strategy *s,
                      const struct halo_conv *conv, int channels, bool *ret_found)
{
    int oldest = 0;
    for (int i = 0; i < KEPT_MASKS; i++) {
        const struct kept_mask *m = c->masks[i];
        *ret_found = m && m->strategy == s && m->channels == channels &&
                     !memcmp(&m->conv, conv, sizeof *conv);
        if (*ret_found)
            return i;
        if (!m || (c->masks[oldest] && m->last_use < c->masks[oldest]->last_use))
            oldest = i;
    }
    return oldest;
}

/* Waits for the stream, so that a mask can be taken out of the hands of its last reader. The copy
 * is on the stream too: a plain cudaMemcpy from memory that is not pinned may return before its
 * bytes are there, and the kernels' stream would not wait for it. */
static int upload_mask(struct cuda_backend *c, struct kept_mask *m, size_t bytes)
{
    void *host = malloc(bytes);
    if (!host)
        return check(c, cudaErrorMemoryAllocation, "mask");
    m->strategy->prepare(host, &m->conv, m->channels);
    cudaError_t status = cudaStreamSynchronize(c->stream);
    if (status == cudaSuccess)
        status = grow(&m->data, bytes, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(m->data.data, host, bytes, cudaMemcpyHostToDevice, c->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(c->stream); /* some GPUs read host when its turn comes */
    free(host);
    return check(c, status, "mask");
}

/* *ret_mask is NULL where the strategy needs none. */
static int prepared_mask(struct cuda_backend *c, const struct halo_cuda_strategy *s,
                         const struct halo_conv *conv, int channels, const void **ret_mask)
{
    const size_t bytes = s->prepared_bytes ? s->prepared_bytes(conv, channels) : 0;
    *ret_mask = NULL;
    if (bytes == 0)
        return 0;

    bool found;
    const int place = mask_place(c, s, conv, channels, &found);
    if (!c->masks[place])
        c->masks[place] = calloc(1, sizeof *c->masks[place]);
    struct kept_mask *m = c->masks[place];
    if (!m)
        return check(c, cudaErrorMemoryAllocation, "mask");
    if (!found) {
        m->strategy = NULL;
        struct kept_mask fresh = {s, *conv, channels, m->data, 0};
        const int rc = upload_mask(c, &fresh, bytes);
        m->data = fresh.data;
        if (rc < 0)
            return rc;
        *m = fresh;
    }
    m->last_use = ++c->uses;
    *ret_mask = m->data.data;
    return 0;
}

/* Calls of one strategy, the work of their regions around it. */
static int launch_calls(struct cuda_backend *c, const struct halo_cuda_strategy *s,
                        struct halo_cuda_call *calls, int count)
{
    int rc = check(c, halo_cuda_region_map(calls, count), "region");
    if (rc == 0)
        rc = check(c, s->launch(calls, count), s->base.name);
    return rc == 0 ? check(c, halo_cuda_region_merge(calls, count), "region") : rc;
}

/* Jobs whose planes lie in device memory, onto the stream; neighbours of one strategy together. The
 * scratch is one for all launches: on one stream they run one after the other. */
static int launch(struct cuda_backend *c, const struct halo_job *jobs, int count)
{
    for (int first = 0, planes; first < count; first += planes) {
        const struct halo_cuda_strategy *s = NULL;
        struct halo_cuda_call calls[HALO_CUDA_MOST_PLANES];
        char *wide = c->wide.data, *region_memory = c->regions.data;
        for (planes = 0; planes < HALO_CUDA_MOST_PLANES && first + planes < count; planes++) {
            const struct halo_job *job = &jobs[first + planes];
            const int channels = job->src.channels;
            const struct halo_cuda_strategy *own =
                (const struct halo_cuda_strategy *)halo_backend_choose(
                    &c->base, job); /* base is its first member */
            if (planes > 0 && own != s)
                break;
            s = own;
            calls[planes] = (struct halo_cuda_call){
                .conv = job->conv,
                .src = job->src,
                .dst = job->dst,
                .wide = (int32_t *)wide,
                .region = region_of(job),
                .region_memory = region_memory,
                .stream = c->stream,
                .early = c->early,
                .chained = c->compute >= 90,
            };
            wide += halo_cuda_scratch_bytes(job->conv, &job->src);
            if (calls[planes].region)
                region_memory += halo_cuda_region_bytes(job->region, &job->src);
            const int rc = prepared_mask(c, s, job->conv, channels, &calls[planes].prepared);
            if (rc < 0)
                return rc;
        }
        const int rc = launch_calls(c, s, calls, planes);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* What a kernel forgot is then no old picture. Row passes leave gaps where a region does. */
static int poison(struct cuda_backend *c, const struct halo_job *jobs, int count, size_t bytes)
{
    bool gaps = false;
    for (int i = 0; i < count; i++)
        gaps |= region_of(&jobs[i]) != NULL;
    cudaError_t status = cudaMemsetAsync(c->dst.data, POISON, bytes, c->stream);
    if (status == cudaSuccess && gaps)
        status = cudaMemsetAsync(c->wide.data, POISON, c->wide.size, c->stream);
    return check(c, status, "poison");
}

/* Masks begin at mask_offset of src. */
static int launch_packed(struct cuda_backend *c, const struct halo_job *jobs, int count,
                         size_t mask_offset)
{
    size_t offset = 0;
    for (int first = 0, planes; first < count; first += planes) {
        struct halo_job device[HALO_CUDA_MOST_PLANES];
        struct halo_region regions[HALO_CUDA_MOST_PLANES];
        for (planes = 0; planes < HALO_CUDA_MOST_PLANES && first + planes < count; planes++) {
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
        const int rc = launch(c, device, planes);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int halo_cuda_enqueue(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    struct cuda_backend *c = (struct cuda_backend *)b;
    cudaError_t status = cudaSetDevice(c->device);
    if (status == cudaSuccess)
        status = reserve_scratch(c, jobs, count);
    const int rc = check(c, status, "memory");
    return rc < 0 ? rc : launch(c, jobs, count);
}

struct halo_cuda_lane *halo_cuda_lane_of(struct halo_backend *b)
{
    return &((struct cuda_backend *)b)->lane;
}

int halo_cuda_make_current(struct halo_backend *b)
{
    struct cuda_backend *c = (struct cuda_backend *)b;
    return check(c, cudaSetDevice(c->device), "device");
}

void halo_cuda_set_early(struct halo_backend *b, bool early)
{
    struct cuda_backend *c = (struct cuda_backend *)b;
    c->early = early && c->compute >= 90;
}

cudaStream_t halo_cuda_stream(const struct halo_backend *b)
{
    return ((const struct cuda_backend *)b)->stream;
}

int halo_cuda_check(struct halo_backend *b, cudaError_t status, const char *what)
{
    return check((struct cuda_backend *)b, status, what);
}

static int copy(struct cuda_backend *c, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind, const char *what)
{
    return check(c, cudaMemcpyAsync(to, from, bytes, kind, c->stream), what);
}

static int run(struct cuda_backend *c, const struct halo_job *jobs, int count)
{
    size_t bytes, masks, offset = 0;
    int rc = reserve(c, jobs, count, &bytes, &masks);
    if (rc < 0)
        return rc;

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
    rc = copy(c, c->src.data, c->up.data, bytes + masks, cudaMemcpyHostToDevice, "upload");
    if (rc == 0)
        rc = poison(c, jobs, count, bytes);
    if (rc == 0)
        rc = launch_packed(c, jobs, count, bytes);
    if (rc == 0)
        rc = copy(c, c->down.data, c->dst.data, bytes, cudaMemcpyDeviceToHost, "download");

    /* Wait also after a failure: the next call, or close, will touch this memory. */
    const cudaError_t waited = cudaStreamSynchronize(c->stream);
    if (rc < 0) {
        (void)cudaGetLastError();
        return rc;
    }
    return check(c, waited, "kernels");
}

static int cuda_convolve(struct halo_backend *b, const struct halo_job *jobs, int count)
{
    struct cuda_backend *c = (struct cuda_backend *)b;
    int rc = halo_cuda_make_current(b);
    if (rc == 0)
        rc = run(c, jobs, count);
    if (rc < 0) {
        halo_cuda_examine(b);
        return rc == -ENOMEM ? -ENOMEM : -EIO;
    }

    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_plane down = packed(&jobs[i].dst, &c->down, offset);
        copy_rows(&jobs[i].dst, &down);
        offset += packed_bytes(&jobs[i].dst);
    }
    return 0;
}

static void cuda_close(struct halo_backend *b)
{
    struct cuda_backend *c = (struct cuda_backend *)b;

    if (!halo_cuda_is_lost() && cudaSetDevice(c->device) == cudaSuccess) {
        if (c->stream)
            cudaStreamDestroy(c->stream);
        cudaFreeHost(c->up.data);
        cudaFreeHost(c->down.data);
        cudaFree(c->src.data);
        cudaFree(c->dst.data);
        cudaFree(c->wide.data);
        cudaFree(c->regions.data);
        halo_cuda_lane_close(&c->lane);
        for (int i = 0; i < KEPT_MASKS; i++)
            cudaFree(c->masks[i] ? c->masks[i]->data.data : NULL);
    }
    for (int i = 0; i < KEPT_MASKS; i++)
        free(c->masks[i]);
    (void)cudaGetLastError();
    free(c);
}

/* A stream of its own, before or behind those of other streams of video. */
static cudaError_t make_stream(struct cuda_backend *c, bool live)
{
    int last = 0, first = 0;
    const cudaError_t status = cudaDeviceGetStreamPriorityRange(&last, &first);
    return status != cudaSuccess ? status
                                 : cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking,
                                                                live ? first : last);
}

/* An integrated device computes in the host's memory. */
static cudaError_t choose_mapped(struct cuda_backend *c, const struct halo_backend_settings *s)
{
    int integrated = 0, possible = 0;
    cudaError_t status = cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, c->device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&possible, cudaDevAttrCanMapHostMemory, c->device);
    c->lane.mapped =
        possible && (s->mapped == HALO_MAPPED_AUTO ? integrated : s->mapped == HALO_MAPPED_ON);
    return status;
}

/* Why there is no device: nothing to have; a driver that must be renewed; or something that may
 * pass, such as a fabric that is still coming up. */
static int code_of_none(cudaError_t status)
{
    int driver = 0;
    switch (status) {
    case cudaErrorNoDevice:
    case cudaErrorStubLibrary:
        return -ENODEV;
    case cudaErrorInsufficientDriver:
        return cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0 ? -ENOTSUP : -ENODEV;
    default:
        return -EIO;
    }
}

static int cuda_open(struct halo_backend **ret, const struct halo_backend_settings *settings)
{
    int devices = 0;
    const cudaError_t counted = cudaGetDeviceCount(&devices);
    (void)cudaGetLastError();
    snprintf(open_error, sizeof open_error, "%s",
             counted == cudaSuccess ? "no such device" : cudaGetErrorString(counted));
    if (halo_cuda_is_lost())
        return -EIO;
    if (counted != cudaSuccess)
        return code_of_none(counted);
    if (settings->device >= devices)
        return -ENODEV;

    struct cuda_backend *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->base.ops = &halo_backend_cuda;
    c->device = settings->device;

    cudaError_t status = cudaSetDevice(c->device);
    if (status == cudaSuccess)
        status = halo_cuda_probe(&c->compute);
    halo_cuda_set_early(&c->base, true);
    if (status == cudaSuccess)
        status = choose_mapped(c, settings);
    if (status == cudaSuccess)
        status = make_stream(c, settings->live);
    if (status == cudaSuccess) {
        halo_cuda_set_memory_device(c->device);
        *ret = &c->base;
        return 0;
    }
    const int rc = check(c, status, "open");
    memcpy(open_error, c->error, sizeof open_error);
    cuda_close(&c->base);
    return rc;
}

const char *halo_cuda_error_text(const struct halo_backend *b)
{
    return b ? ((const struct cuda_backend *)b)->error : open_error;
}

static void cuda_identify(const struct halo_backend *b, char *text, size_t size)
{
    halo_cuda_identify(((const struct cuda_backend *)b)->device, text, size);
}

const struct halo_backend_ops halo_backend_cuda = {
    .name = "cuda",
    .strategies = halo_cuda_strategies,
    .describe = halo_cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .convolve = cuda_convolve,
    .identify = cuda_identify,
    .has = cuda_has,
    .time = halo_cuda_time,
    .submit = halo_cuda_submit,
    .finish = halo_cuda_finish,
    .memory = halo_cuda_memory,
    .memory_free = halo_cuda_memory_free,
    .error_text = halo_cuda_error_text,
    .is_lost = halo_cuda_is_lost,
    .least_loaded = halo_cuda_least_loaded,
};
