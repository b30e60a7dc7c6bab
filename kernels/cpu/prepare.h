/* SPDX-License-Identifier: BSD-2-Clause
 * prepare_tmpl.c, built for several instruction sets. */
#ifndef HALO_CPU_PREPARE_H
#define HALO_CPU_PREPARE_H

#include "kernels/net/prepare.h"

/* Rows of samples, for TAPS and SCALE. */
struct halo_prepare_rows {
    const void *row[2]; /* the first samples of two rows; the second one may be any with weight 0 */
    int32_t weight[2];
    int samples; /* of all channels */
    int depth, shift;
};

/* The steps of prepare.h, along rows. */
struct halo_prepare_steps {
    /* Adds weighted rows to the sums, or begins them. */
    void (*add)(const struct halo_prepare_rows *rows, uint32_t *sums, bool begin);
    /* Every channels-th sum becomes a value of 16 bits, minus 32768. */
    void (*narrow)(const uint32_t *sums, int channels, int count, int depth, int16_t *values);
    /* values has HALO_PREPARE_TAPS elements more than the axis has samples. */
    void (*across)(const struct halo_prepare_axis *axis, const int16_t *values, uint16_t *ret);
    void (*colour)(const struct halo_prepare_copy *copy, uint16_t *const value[3], int count,
                   uint8_t *const ret[3]);
    void (*element)(const uint16_t *value, int count, float gain, float offset, float *ret);
};

extern const struct halo_prepare_steps halo_prepare_steps_base, halo_prepare_steps_v3,
    halo_prepare_steps_v4;

#define HALO_PREPARE_NAME_(isa) halo_prepare_steps_##isa
#define HALO_PREPARE_NAME(isa)  HALO_PREPARE_NAME_(isa)

/* Returns the bytes of scratch memory for rows of so many pixels and channels: their sums, a row of
 * values, and the scaled row of each component, in 16 and in 8 bits. */
static inline size_t halo_prepare_scratch(int samples, int channels)
{
    const size_t row = (size_t)samples + HALO_PREPARE_TAPS;
    return row * (size_t)channels * sizeof(uint32_t) + row * sizeof(int16_t) +
           3 * HALO_PREPARE_MAX_SIDE * (sizeof(uint16_t) + sizeof(uint8_t));
}

/* Return -EINVAL if the arguments do not fit the plan, otherwise 0. */
int halo_prepare_copy_check(const struct halo_prepare_copy *copy,
                            const struct halo_prepare_component *component,
                            const struct halo_prepare_small *small);
int halo_prepare_input_check(const struct halo_prepare_input *input,
                             const struct halo_prepare_small *small, const int at[2]);

#endif
