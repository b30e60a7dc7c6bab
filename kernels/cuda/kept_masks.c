/* SPDX-License-Identifier: BSD-2-Clause
 * Prepared masks on the device: the last ones are kept, and found by everything from which they
 * were made. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/backend_private.h"

/* The index of a kept mask, or of the least recently used one. */
static int mask_place(const struct halo_cuda_backend *c, const struct halo_cuda_strategy *s,
                      const struct halo_conv *conv, int channels, bool *ret_found)
{
    int oldest = 0;
    for (int i = 0; i < HALO_CUDA_KEPT_MASKS; i++) {
        const struct halo_cuda_kept_mask *m = c->masks[i];
        *ret_found = m && m->strategy == s && m->channels == channels &&
                     !memcmp(&m->conv, conv, sizeof *conv);
        if (*ret_found)
            return i;
        if (!m || (c->masks[oldest] && m->last_use < c->masks[oldest]->last_use))
            oldest = i;
    }
    return oldest;
}

/* Waits for the stream, so that no kernel still reads the mask that is replaced. The copy is
 * enqueued on the stream, too: a plain cudaMemcpy from memory that is not pinned may return before
 * its bytes have arrived, and the kernels' stream would not wait for it. */
static int upload_mask(struct halo_cuda_backend *c, struct halo_cuda_kept_mask *m, size_t bytes)
{
    void *host = malloc(bytes);
    if (!host)
        return halo_cuda_check(&c->base, cudaErrorMemoryAllocation, "mask");
    m->strategy->prepare(host, &m->conv, m->channels);
    cudaError_t status = cudaStreamSynchronize(c->stream);
    if (status == cudaSuccess)
        status = halo_cuda_grow(&m->data, bytes, cudaMalloc, cudaFree);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(m->data.data, host, bytes, cudaMemcpyHostToDevice, c->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(c->stream); /* some GPUs read the host memory only when the
                                                    * copy runs */
    free(host);
    return halo_cuda_check(&c->base, status, "mask");
}

int halo_cuda_prepared_mask(struct halo_cuda_backend *c, const struct halo_cuda_strategy *s,
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
    struct halo_cuda_kept_mask *m = c->masks[place];
    if (!m)
        return halo_cuda_check(&c->base, cudaErrorMemoryAllocation, "mask");
    if (!found) {
        m->strategy = NULL;
        struct halo_cuda_kept_mask fresh = {s, *conv, channels, m->data, 0};
        const int code = upload_mask(c, &fresh, bytes);
        m->data = fresh.data;
        if (code < 0)
            return code;
        *m = fresh;
    }
    m->last_use = ++c->uses;
    *ret_mask = m->data.data;
    return 0;
}

void halo_cuda_free_masks(struct halo_cuda_backend *c)
{
    for (int i = 0; i < HALO_CUDA_KEPT_MASKS; i++)
        cudaFree(c->masks[i] ? c->masks[i]->data.data : NULL);
}

void halo_cuda_forget_masks(struct halo_cuda_backend *c)
{
    for (int i = 0; i < HALO_CUDA_KEPT_MASKS; i++)
        free(c->masks[i]);
}
