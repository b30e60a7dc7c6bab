/* SPDX-License-Identifier: BSD-2-Clause
 * The border rule: which input cell's value a ghost cell has. Compiled by the C compiler and
 * nvcc. */
#ifndef HALO_BORDER_H
#define HALO_BORDER_H

#ifdef __CUDACC__
#define HALO_HOST_DEVICE __host__ __device__
#else
#define HALO_HOST_DEVICE
#endif

enum halo_border {
    HALO_BORDER_CONSTANT,   /* v v v | a b c d | v v v */
    HALO_BORDER_REPLICATE,  /* a a a | a b c d | d d d */
    HALO_BORDER_REFLECT,    /* c b a | a b c d | d c b */
    HALO_BORDER_REFLECT101, /* d c b | a b c d | c b a */
    HALO_BORDER_WRAP,       /* b c d | a b c d | a b c */
    HALO_BORDER_COUNT,
};

enum { HALO_GHOST = -1 };

/* Returns the index in [0, size) of the cell whose sample is used for index i, or HALO_GHOST if the
 * border's constant is used instead. i may be any distance outside of the plane: if the mask is
 * wider than the plane, reflections repeat as often as necessary. Requires size >= 1 and |i| <
 * 2^29. */
static inline HALO_HOST_DEVICE int halo_border_index(int i, int size, enum halo_border border)
{
    if (i >= 0 && i < size)
        return i;
    if (border == HALO_BORDER_CONSTANT)
        return HALO_GHOST;
    if (border == HALO_BORDER_REPLICATE || size == 1)
        return i < 0 ? 0 : size - 1;

    const int period = border == HALO_BORDER_WRAP      ? size
                       : border == HALO_BORDER_REFLECT ? 2 * size
                                                       : 2 * size - 2;
    int m = i % period;
    if (m < 0)
        m += period;
    if (m < size)
        return m;
    return border == HALO_BORDER_REFLECT ? period - 1 - m : period - m;
}

#endif
