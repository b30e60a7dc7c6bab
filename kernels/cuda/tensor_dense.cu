/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, dense masks: prepares them in the layout of the kernels (tensor_dense.cuh). */
#include "kernels/cuda/dense_plan.cuh"

/* The next number of steps for which kernels are compiled. */
static int steps_for(int needed)
{
    return needed < 2 ? 2 : needed <= 5 ? needed : 9;
}

struct halo_dense_plan halo_dense_plan_of(const struct halo_conv *conv, int channels)
{
    struct halo_dense_plan plan = {};
    plan.common_shift = conv->mask_zeros < conv->mask_bits ? conv->mask_zeros : conv->mask_bits;
    const int32_t low = conv->mask_least >> plan.common_shift;
    const int32_t high = conv->mask_most >> plan.common_shift;
    /* The low digit is -128 .. 127, the high one the rest. */
    plan.digits = low >= -128 && high <= 127                           ? 1
                  : low >= -128 * 256 - 128 && high <= 127 * 256 + 127 ? 2
                                                                       : 0;
    plan.radius_e = conv->radius_x * channels;
    plan.halo_e = (plan.radius_e + 3) / 4 * 4;
    plan.steps = steps_for((plan.halo_e + plan.radius_e + 16 + 15) / 16);
    plan.wide = conv->accum == HALO_ACCUM_I64;
    return plan;
}

bool halo_cuda_tensor_dense_can(const struct halo_conv *conv, int channels)
{
    return halo_dense_plan_of(conv, channels).digits > 0;
}

size_t halo_cuda_tensor_dense_bytes(const struct halo_conv *conv, int channels)
{
    const struct halo_dense_plan plan = halo_dense_plan_of(conv, channels);
    const size_t row_words =
        (size_t)plan.digits * HALO_DENSE_OFFSETS * halo_dense_table_words(plan.steps);
    return (2 * conv->radius_y + 1) * row_words * sizeof(uint32_t);
}

void halo_cuda_tensor_dense_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    const struct halo_dense_plan plan = halo_dense_plan_of(conv, channels);
    const int words = halo_dense_table_words(plan.steps), columns = 2 * conv->radius_x + 1;
    int8_t *bytes = (int8_t *)ret;

    for (int j = 0; j < 2 * conv->radius_y + 1; j++)
        for (int d = 0; d < plan.digits; d++)
            for (int offset = 0; offset < HALO_DENSE_OFFSETS; offset++)
                for (int i = 0; i < 4 * words; i++) {
                    /* Distance from the first tap, in elements. */
                    const int e =
                        i - 4 * HALO_DENSE_BEFORE - offset - (plan.halo_e - plan.radius_e);
                    int w = 0;
                    if (e >= 0 && e <= 2 * plan.radius_e && e % channels == 0)
                        w = conv->mask[j * columns + e / channels] >> plan.common_shift;
                    const int low = (int8_t)(w & 255);
                    *bytes++ = (int8_t)(d + 1 == plan.digits ? low : (w - low) / 256);
                }
}

/* Launches together as many calls as one kernel can process: those that are like the first. */
cudaError_t halo_cuda_tensor_dense(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0, run; i < count && status == cudaSuccess; i += run) {
        const struct halo_cuda_call *first = &calls[i];
        const struct halo_dense_plan plan = halo_dense_plan_of(first->conv, first->src.channels);
        for (run = 1; i + run < count; run++) {
            const struct halo_cuda_call *next = &first[run];
            const struct halo_dense_plan own = halo_dense_plan_of(next->conv, next->src.channels);
            if (own.steps != plan.steps || own.digits != plan.digits || own.wide != plan.wide)
                break;
        }
        status = first->conv->depth == 8 ? halo_cuda_tensor_dense_8(first, run)
                                         : halo_cuda_tensor_dense_16(first, run);
    }
    return status;
}
