/* SPDX-License-Identifier: BSD-2-Clause
 * Extracts one channel from a plane with several (gather.h): a thread reads eight samples one by
 * one, from cache lines that it shares with its neighbours, and writes them at once.
 *
 *     src  U V U V U V U V | U V ...      dst  U U U U U U U U | ...
 *          thread 0          thread 1          thread 0          thread 1 */
#include "kernels/cuda/gather.h"

#include <cuda_runtime.h>

enum { THREADS = 128, SAMPLES = 8 };

struct gather {
    struct halo_plane dst, src;
    int step;
};

/* Eight samples in the layout of dst: 8 or 16 bytes. */
template <class Word>
struct alignas(SAMPLES * sizeof(Word)) chunk {
    Word sample[SAMPLES];
};

template <class Word>
static __global__ void __launch_bounds__(THREADS) gather_kernel(const __grid_constant__ gather g)
{
    const int x = (int)(blockIdx.x * THREADS + threadIdx.x) * SAMPLES;
    if (x >= g.dst.width)
        return;
    for (int y = blockIdx.y; y < g.dst.height; y += gridDim.y) {
        const Word *from = (const Word *)((const char *)g.src.data + y * g.src.stride);
        chunk<Word> out = {};
        for (int i = 0; i < SAMPLES && x + i < g.dst.width; i++) {
            const Word word = from[(int64_t)(x + i) * g.step];
            out.sample[i] =
                sizeof(Word) == 1
                    ? word
                    : (Word)(halo_sample_value(word, g.dst.depth, g.src.shift) << g.dst.shift);
        }
        *(chunk<Word> *)((char *)g.dst.data + y * g.dst.stride + x * sizeof(Word)) = out;
    }
}

cudaError_t halo_cuda_gather(const struct halo_plane *dst, const struct halo_plane *src, int step,
                             cudaStream_t stream)
{
    const gather g = {*dst, *src, step};
    const int across = (dst->width + THREADS * SAMPLES - 1) / (THREADS * SAMPLES);
    const dim3 blocks(across, dst->height < 65535 ? dst->height : 65535);
    if (dst->depth <= 8)
        gather_kernel<uint8_t><<<blocks, THREADS, 0, stream>>>(g);
    else
        gather_kernel<uint16_t><<<blocks, THREADS, 0, stream>>>(g);
    return cudaGetLastError();
}
