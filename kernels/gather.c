/* SPDX-License-Identifier: BSD-2-Clause
 * Extracts one channel from a plane with several, on the host (gather.h). */
#include "kernels/gather.h"

/* Callers pass step as a constant, so that a separate loop is compiled for each. */
static inline void gather_bytes(uint8_t *to, const uint8_t *from, int width, int step)
{
    for (int x = 0; x < width; x++)
        to[x] = from[x * step];
}

static inline void gather_words(uint16_t *to, const uint16_t *from, const struct halo_plane *dst,
                                int shift, int step)
{
    for (int x = 0; x < dst->width; x++)
        to[x] = (uint16_t)(halo_sample_value(from[x * step], dst->depth, shift) << dst->shift);
}

void halo_gather(const struct halo_plane *dst, const struct halo_plane *src, int step)
{
    for (int y = 0; y < dst->height; y++) {
        char *to = (char *)dst->data + y * dst->stride;
        const char *from = (const char *)src->data + y * src->stride;
        if (dst->depth <= 8 && step == 2)
            gather_bytes((uint8_t *)to, (const uint8_t *)from, dst->width, 2);
        else if (dst->depth <= 8)
            gather_bytes((uint8_t *)to, (const uint8_t *)from, dst->width, step);
        else if (step == 1)
            gather_words((uint16_t *)to, (const uint16_t *)from, dst, src->shift, 1);
        else if (step == 2)
            gather_words((uint16_t *)to, (const uint16_t *)from, dst, src->shift, 2);
        else
            gather_words((uint16_t *)to, (const uint16_t *)from, dst, src->shift, step);
    }
}
