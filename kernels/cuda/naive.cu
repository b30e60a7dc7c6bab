/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy naive: the lectures' untiled kernel, mask in constant memory.
 *
 *        2 radius + 1
 *      +-------------+
 *      | . . . . . . |      One thread computes one output and reads every tap from global
 *      | . . . . . . |      memory; neighbouring threads read nearly the same cells again. Each
 *      | . . . o . . |      weight is the same for all threads: a broadcast from constant cache.
 *      | . . . . . . |      Ghost cells are found at every tap.
 *      +-------------+
 *
 * Separable masks take two passes with int32 elements in between. */
#include "kernels/cuda/gradient.cuh"
#include "kernels/cuda/passes.cuh"

enum { BLOCK_WIDTH = 32, BLOCK_HEIGHT = 8 };

template <class Pass>
struct naive {
    static constexpr int WIDTH = BLOCK_WIDTH, HEIGHT = BLOCK_HEIGHT;
    static constexpr int ACROSS = BLOCK_WIDTH, DOWN = BLOCK_HEIGHT;
    static constexpr bool INCLUDES_HALO = false;
    typedef typename Pass::Accum Accum;

    static __device__ inline void run(const Pass &in, int e, int y)
    {
        e += threadIdx.x;
        y += threadIdx.y;
        if (!in.inside(e, y))
            return;
        const int32_t *weights = in.weights();
        Accum sum = 0;
        for (int j = -in.radius_y; j <= in.radius_y; j++)
            for (int i = -in.radius_x; i <= in.radius_x; i++)
                sum += (Accum)*weights++ * in.input(e + i * in.channels, y + j);
        in.write(e, y, sum);
    }
};

/* Both masks of a gradient; Accum is the type of the squares. */
struct naive_gradient {
    static constexpr int WIDTH = BLOCK_WIDTH, HEIGHT = BLOCK_HEIGHT;
    static constexpr int ACROSS = BLOCK_WIDTH, DOWN = BLOCK_HEIGHT;

    template <typename Sample, typename Accum>
    static __device__ inline void run(const struct halo_plane &src, const struct halo_plane &dst,
                                      const struct halo_pass &pass, const struct halo_root &root,
                                      const struct halo_gradient_masks &masks)
    {
        const int e = blockIdx.x * BLOCK_WIDTH + threadIdx.x;
        const int y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
        if (e >= src.width * src.channels || y >= src.height)
            return;
        const int *of_a = masks.a, *of_b = masks.b;
        int a = 0, b = 0;
        for (int j = -1; j <= 1; j++) {
            for (int i = -1; i <= 1; i++) {
                const int p = halo_input<Sample>(src, pass, e + i * src.channels, y + j);
                a += *of_a++ * p;
                b += *of_b++ * p;
            }
        }
        halo_write<Sample>(dst, e, y, halo_root_finish<Accum>(a, b, root));
    }
};

static cudaError_t launch_kind(const struct halo_cuda_call *calls, int count)
{
    switch (calls->conv->kind) {
    case HALO_CONV_PIXELIZE:
        return halo_cuda_launch_pixelize(calls, count);
    case HALO_CONV_SOLID:
        return halo_cuda_launch_solid(calls, count);
    case HALO_CONV_CELLS:
        return halo_cuda_launch_cells(calls, count);
    case HALO_CONV_TABLE:
        return halo_cuda_launch_table(calls, count);
    case HALO_CONV_GRADIENT:
        return halo_launch_gradients<naive_gradient>(calls, count);
    default:
        return halo_launch_passes<naive>(calls, count);
    }
}

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    switch (conv->kind) {
    case HALO_CONV_COPY:
    case HALO_CONV_SEPARABLE:
    case HALO_CONV_DENSE:
    case HALO_CONV_GRADIENT:
    case HALO_CONV_PIXELIZE:
    case HALO_CONV_SOLID:
    case HALO_CONV_CELLS:
    case HALO_CONV_TABLE:
        return true;
    case HALO_CONV_BOX:
    case HALO_CONV_DECIMATED:
        return false;
    }
    return false;
}

const struct halo_cuda_strategy halo_cuda_naive = {
    .base = {"naive",
             "untiled: reads every tap from global memory and the mask from constant memory", can},
    .launch = halo_launch_each<launch_kind>,
    .prepared_bytes = halo_cuda_table_bytes,
    .prepare = halo_cuda_table_prepare,
};
