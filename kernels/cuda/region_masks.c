/* SPDX-License-Identifier: BSD-2-Clause
 * Masks of regions, kept by their numbers (region_masks.h). A slot that is reused for another mask
 * may still be read by an earlier step: on one stream, the copy runs after that step. The work of
 * the current step is not enqueued yet, so its slots are not reused. */
#include "kernels/cuda/region_masks.h"

#include "kernels/cuda/plane_copies.h"

enum {
    STEP = 16,  /* of rows: the size of one load of a kernel */
    RECENT = 4, /* frames: gates that share a lane all use it within this number */
};

/* Every plane of a step can always have a slot that no other plane of the step uses. */
_Static_assert((int)HALO_KEPT_REGIONS >= (int)HALO_MAX_PLANES,
               "each mask of a step must have a slot");

static bool is_held(const struct halo_cuda_region_masks *masks,
                    const struct halo_cuda_region_mask *m)
{
    return m->size && m->step == masks->step;
}

/* Whether slot a is better than b for another mask. The order of preference: a slot that this step
 * does not need; among these, one that was used, but not by a recent frame, because otherwise masks
 * that change with every frame would fill all slots; an empty one; the older one. */
static bool is_better(const struct halo_cuda_region_masks *masks,
                      const struct halo_cuda_region_mask *a, const struct halo_cuda_region_mask *b)
{
    const bool a_held = is_held(masks, a), b_held = is_held(masks, b);
    const bool a_over = a->size && a->used + RECENT < masks->frame;
    const bool b_over = b->size && b->used + RECENT < masks->frame;
    return a_held != b_held ? b_held : a_over != b_over ? a_over : a->used < b->used;
}

/* The slot that holds the mask, or otherwise a slot for it. */
static struct halo_cuda_region_mask *find(struct halo_cuda_region_masks *masks, uint64_t number,
                                          const struct halo_plane *like, bool *ret_found)
{
    struct halo_cuda_region_mask *best = &masks->kept[0];
    for (int i = 0; i < HALO_KEPT_REGIONS; i++) {
        struct halo_cuda_region_mask *m = &masks->kept[i];
        *ret_found = number && m->number == number && m->plane.width == like->width &&
                     m->plane.height == like->height;
        if (*ret_found)
            return m;
        if (is_better(masks, m, best))
            best = m;
    }
    return best;
}

static cudaError_t grow(struct halo_cuda_region_mask *m, size_t bytes, cudaStream_t stream)
{
    if (m->size >= bytes)
        return cudaSuccess;
    /* waits for its readers */
    cudaError_t status = m->size ? cudaStreamSynchronize(stream) : cudaSuccess;
    cudaFree(m->plane.data);
    m->plane.data = NULL;
    m->size = 0;
    if (status == cudaSuccess)
        status = cudaMalloc(&m->plane.data, bytes);
    if (status == cudaSuccess)
        m->size = bytes;
    return status;
}

static cudaError_t bring(struct halo_cuda_region_mask *m, const struct halo_plane *mask,
                         cudaStream_t stream)
{
    struct halo_cuda_plane_copies copies = {cudaMemcpyHostToDevice, stream};
    struct halo_plane plane = *mask;
    plane.stride = (mask->width + STEP - 1) / STEP * STEP;
    m->number = 0;
    cudaError_t status = grow(m, (size_t)plane.stride * (size_t)plane.height, stream);
    if (status != cudaSuccess)
        return status;
    plane.data = m->plane.data;
    m->plane = plane;
    status = halo_cuda_copy_plane(&copies, &plane, mask);
    return status == cudaSuccess ? halo_cuda_copy_end(&copies) : status;
}

cudaError_t halo_cuda_region_mask(struct halo_cuda_region_masks *masks, uint64_t number,
                                  struct halo_plane *mask, cudaStream_t stream)
{
    bool found;
    struct halo_cuda_region_mask *m = find(masks, number, mask, &found);
    const cudaError_t status = found ? cudaSuccess : bring(m, mask, stream);
    if (status != cudaSuccess)
        return status;
    m->number = number;
    m->used = masks->frame;
    m->step = masks->step;
    *mask = m->plane;
    return cudaSuccess;
}

void halo_cuda_region_masks_step(struct halo_cuda_region_masks *masks, bool first)
{
    masks->step++;
    masks->frame += first;
}

void halo_cuda_region_masks_free(struct halo_cuda_region_masks *masks)
{
    for (int i = 0; i < HALO_KEPT_REGIONS; i++)
        cudaFree(masks->kept[i].plane.data);
}
