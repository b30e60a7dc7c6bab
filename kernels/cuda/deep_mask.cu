/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor: a separable mask for samples of more than 8 bits, in bytes.
 * tensor_separable_deep.cu describes which element of k and which output each byte of a word
 * belongs to. */
#include "kernels/cuda/deep_mask.cuh"

size_t halo_cuda_tensor_separable_deep_bytes(const struct halo_conv *conv, int channels)
{
    (void)conv;
    (void)channels;
    return sizeof(struct halo_deep_mask);
}

/* One direction of a mask, spread over interleaved channels. */
struct spread {
    const int32_t *weights;
    int radius, channels;
};

/* The weight of element e; see halo_deep_bits. */
static uint32_t weight_at(const struct spread &mask, int e)
{
    if (e < 0 || e > 2 * mask.radius * mask.channels || e % mask.channels != 0)
        return 0;
    return mask.radius == 0 ? 1u << 15 : (uint32_t)mask.weights[e / mask.channels];
}

/* Two bytes: the digits of the weights of elements e and e + 1. */
static uint32_t digits_of(const struct spread &mask, int digit, int e)
{
    const int shift = digit == HALO_HIGH ? 8 : 0;
    return (weight_at(mask, e) >> shift & 255) | (weight_at(mask, e + 1) >> shift & 255) << 8;
}

void halo_cuda_tensor_separable_deep_prepare(void *ret, const struct halo_conv *conv, int channels)
{
    struct halo_deep_mask *mask = (struct halo_deep_mask *)ret;
    const struct spread row = {conv->row, conv->radius_x, channels};
    const struct spread column = {conv->col, conv->radius_y, 1};
    const int radius_e = conv->radius_x * channels, halo_e = (radius_e + 3) / 4 * 4;

    for (int i = 0; i < HALO_DIGITS * 2 * HALO_DEEP_STEPS * 32; i++) {
        const int lane = i % 32, g = lane / 4, t = lane % 4;
        const int word = i / 32 % (2 * HALO_DEEP_STEPS), step = word / 2, lower = word % 2;
        const int digit = i / 32 / (2 * HALO_DEEP_STEPS);
        const int e = 16 * step + radius_e - halo_e + 4 * t - 4 * (g / 2) - 2 * lower - g % 2;
        const int y = 16 * step + 2 * t - 8 * lower - g;
        mask->row[digit][word][lane] = digits_of(row, digit, e) | digits_of(row, digit, e + 2)
                                                                      << 16;
        mask->column[digit][word][lane] =
            digits_of(column, digit, y) | digits_of(column, digit, y + 8) << 16;
    }
}
