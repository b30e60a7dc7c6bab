/* SPDX-License-Identifier: BSD-2-Clause
 * Mattes, vectorised along the row by the compiler; compiled once for each instruction set. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/matte.h"

static inline int32_t between(const int32_t *nodes, const int32_t *on, int node, int at)
{
    return nodes[node] + ((on[node] * at + 64) >> 7);
}

/* Callers pass constants for `bytes`. */
static inline __attribute__((always_inline)) void fill(const struct halo_matte_run *run, int bytes)
{
    const int32_t *restrict slope = run->slope, *restrict base = run->base;
    const int32_t *restrict slope_on = run->slope_on, *restrict base_on = run->base_on;
    const int32_t *restrict node = run->node, *restrict across = run->across;
    const uint8_t *restrict luma8 = (const uint8_t *)run->luma + run->first;
    const uint16_t *restrict luma16 = (const uint16_t *)run->luma + run->first;
    uint8_t *restrict weight = run->weight + run->first;
    const int count = run->count, depth = run->depth, shift = run->shift;
    for (int i = 0; i < count; i++) {
        const int32_t a = between(slope, slope_on, node[i], across[i]);
        const int32_t b = between(base, base_on, node[i], across[i]);
        const int luma = bytes == 0 ? 0
                         : bytes == 1
                             ? luma8[i] << 4
                             : halo_matte_luma(halo_sample_value(luma16[i], depth, shift), depth);
        weight[i] = (uint8_t)halo_matte_weight(a, b, luma);
    }
}

void HALO_MATTE_NAME(run, HALO_ISA)(const struct halo_matte_run *run)
{
    if (!run->luma)
        fill(run, 0);
    else if (run->depth == 8)
        fill(run, 1);
    else
        fill(run, 2);
}

void HALO_MATTE_NAME(add, HALO_ISA)(const struct halo_plane *luma, int y, uint32_t *sums)
{
    const int width = luma->width, depth = luma->depth, shift = luma->shift;
    uint32_t *restrict to = sums;
    if (depth == 8) {
        const uint8_t *restrict from = halo_plane_row(luma, y);
        for (int x = 0; x < width; x++)
            to[x] += (uint32_t)from[x] << 4;
        return;
    }
    const uint16_t *restrict from = halo_plane_row(luma, y);
    for (int x = 0; x < width; x++)
        to[x] += (uint32_t)halo_matte_luma(halo_sample_value(from[x], depth, shift), depth);
}
