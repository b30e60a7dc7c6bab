/* SPDX-License-Identifier: BSD-2-Clause
 * The kernels of networks. Threads divide outputs, never the sum of one: each output is one chain
 * of fused multiply-adds in the order of net.h, so the bits are those of the reference.
 *
 * A convolution is the product of a matrix of weights and a matrix of values. A block computes a
 * tile of ROWS planes by COLUMNS cells, and each of its threads a part of it in registers. DEPTH
 * rows of both matrices are in shared memory at a time, in STAGES buffers: while one is used, the
 * others are filled. The cells of all frames are counted in one sequence, with each frame rounded
 * up to a multiple of four, so that four neighbours are always one load:
 *
 *                       cells: frame 0      | frame 1      | ...
 *                       values   [depth][COLUMNS]
 *     weights              |
 *     [depth][ROWS]  --  tile: OWN_ROWS x OWN_COLUMNS for each thread
 *
 * All other layers compute one output with each thread, depthwise ones several in a column. */
#include <math.h>
#include <type_traits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/net_launch.h"

/* ---- activations ---- */

typedef float number;
typedef int32_t whole;

static __device__ __forceinline__ number all(float x)
{
    return x;
}

static __device__ __forceinline__ number fused(number a, number b, number c)
{
    return __fmaf_rn(a, b, c);
}

static __device__ __forceinline__ number larger(number a, number b)
{
    return a > b ? a : b;
}

static __device__ __forceinline__ number smaller(number a, number b)
{
    return a < b ? a : b;
}

static __device__ __forceinline__ number pick(bool condition, number a, number b)
{
    return condition ? a : b;
}

static __device__ __forceinline__ whole as_whole(number x)
{
    return __float_as_int(x);
}

static __device__ __forceinline__ number as_number(whole x)
{
    return __int_as_float(x);
}

#define inline __device__ __forceinline__ /* the file's functions are for the device here */
#include "kernels/net/math_tmpl.h"
#undef inline

/* Most activations limit x; the others are the slow ones. */
static __device__ __forceinline__ bool is_slow(const halo_net_act &act)
{
    return act.kind == HALO_NET_LEAKY || act.kind == HALO_NET_HSWISH ||
           act.kind == HALO_NET_SIGMOID;
}

struct limits {
    float low, high;

    __device__ explicit limits(const halo_net_act &act)
        : low(act.kind == HALO_NET_RELU    ? 0.0f
              : act.kind == HALO_NET_CLAMP ? act.low
                                           : -INFINITY),
          high(act.kind == HALO_NET_CLAMP ? act.high : INFINITY)
    {
    }

    __device__ float apply(float x) const
    {
        return fminf(fmaxf(x, low), high) + 0.0f; /* zeros of either sign become +0 */
    }
};

static __device__ float activate_slowly(const halo_net_act &act, float x)
{
    if (act.kind == HALO_NET_LEAKY)
        return (x > 0.0f ? x : act.slope * x) + 0.0f;
    return (act.kind == HALO_NET_HSWISH ? net_hswish(x) : net_sigmoid(x)) + 0.0f;
}

static __device__ __forceinline__ float activate(const halo_net_act &act, float x)
{
    return is_slow(act) ? activate_slowly(act, x) : limits(act).apply(x);
}

/* ---- tensors ---- */

static __device__ __forceinline__ float *plane_of(const halo_net_batch &t, int frame, int plane)
{
    return t.data + frame * t.frame + plane * t.stride;
}

static __host__ __device__ inline int rounded_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

/* ---- launches ---- */

/* How much of a multiprocessor's memory is shared memory, in percent, and not a cache. The same for
 * all kernels, even for those that use none: to divide it in another way, a multiprocessor would
 * first have to be idle. */
enum { SHARED_PART = 45 };

template <class Launch>
static cudaError_t start(void (*kernel)(Launch), const Launch &launch, dim3 blocks, int threads,
                         const halo_net_queue *q)
{
    const cudaError_t status =
        cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, SHARED_PART);
    return status != cudaSuccess ? status
                                 : halo_launch(kernel, launch, blocks, threads, 0, &q->call);
}

/* ---- convolutions as products ---- */

/* N floats that are loaded and stored at once. */
template <int N>
struct alignas(N * sizeof(float)) floats {
    float at[N];
};

/* Copies N floats to shared memory, or zeros; later, if the device can. */
template <int N>
static __device__ __forceinline__ void copy_ahead(float *to, const float *from, bool there)
{
#if __CUDA_ARCH__ >= 800
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    if (N == 4)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                     "r"(there ? 16 : 0));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                     "n"(N * 4), "r"(there ? N * 4 : 0));
#else
    *(floats<N> *)to = there ? *(const floats<N> *)from : floats<N>{};
#endif
}

/* Ends a group of copies. */
static __device__ __forceinline__ void end_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

/* Waits until only so many groups are not there yet. */
template <int PENDING>
static __device__ __forceinline__ void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

template <int ROWS_, int COLUMNS_, int OWN_ROWS_, int OWN_COLUMNS_, int DEPTH_>
struct tile {
    static constexpr int ROWS = ROWS_, COLUMNS = COLUMNS_, OWN_ROWS = OWN_ROWS_,
                         OWN_COLUMNS = OWN_COLUMNS_, DEPTH = DEPTH_, STAGES = 4;
    static constexpr int ACROSS = COLUMNS / OWN_COLUMNS, DOWN = ROWS / OWN_ROWS,
                         THREADS = ACROSS * DOWN;
    /* A warp covers about a square of threads, and so loads few different floats. */
    static constexpr int WARP_DOWN = DOWN % 4 == 0   ? 4
                                     : DOWN % 2 == 0 ? 2
                                                     : 1,
                         WARP_ACROSS = 32 / WARP_DOWN;
    static_assert(ACROSS % WARP_ACROSS == 0 && THREADS % 32 == 0, "whole warps");
    /* A thread's columns are in groups, which are ACROSS * WIDE columns apart. */
    static constexpr int WIDE = OWN_COLUMNS < 4 ? OWN_COLUMNS : 4, GROUPS = OWN_COLUMNS / WIDE;
    static constexpr int TALL = OWN_ROWS % 4 == 0 ? 4 : 2;

    struct buffer {
        float weights[DEPTH][ROWS], values[DEPTH][COLUMNS];
    };

    /* A thread's first row and column. */
    static __device__ __forceinline__ int row()
    {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return (warp / (ACROSS / WARP_ACROSS) * WARP_DOWN + lane / WARP_ACROSS) * OWN_ROWS;
    }

    static __device__ __forceinline__ int column()
    {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        return (warp % (ACROSS / WARP_ACROSS) * WARP_ACROSS + lane % WARP_ACROSS) * WIDE;
    }
};

struct dense_launch {
    halo_net_dense d;
    int frames;
    int across; /* tiles side by side: blocks of the same cells are neighbours */
};

/* Number of columns of a product, of all frames. */
static __host__ __device__ inline int columns_of(const halo_net_product &p, int frames)
{
    return rounded_up(p.width * p.height, 4) * frames;
}

/* Loaders have copies of all that they need: members of a kernel's parameter would be read again
 * for each copy. */
template <class Tile>
struct weight_loader {
    static constexpr int QUADS = Tile::ROWS / 4, COUNT = QUADS * Tile::DEPTH;
    const float *from;
    int depth, rows, rows_left;

    __device__ weight_loader(const halo_net_dense &d, const halo_net_product &p, int row0)
        : from(p.weights + row0), depth(p.depth), rows(d.rows), rows_left(d.rows - row0)
    {
    }

    __device__ __forceinline__ void load(typename Tile::buffer &to, int k0) const
    {
#pragma unroll
        for (int first = 0; first < COUNT; first += Tile::THREADS) {
            const int i = first + (int)threadIdx.x, k = i / QUADS, row = i % QUADS * 4;
            const bool there = k0 + k < depth && row < rows_left;
            if (first + Tile::THREADS > COUNT && i >= COUNT)
                break;
            copy_ahead<4>(&to.weights[k][row], from + (there ? (k0 + k) * rows + row : 0), there);
        }
    }
};

/* Loads the columns of one thread, four neighbouring pixels in every STEP-th row of a buffer. */
template <class Tile>
struct pixel_loader {
    static constexpr int ACROSS = Tile::COLUMNS / 4, STEP = Tile::THREADS / ACROSS;
    static_assert(Tile::THREADS % ACROSS == 0, "a thread loads the same columns of all rows");
    const float *base;
    int depth; /* 0: outside */
    int stride;

    __device__ pixel_loader(const halo_net_dense &d, const halo_net_product &p, int frames,
                            int column0)
        : base(d.in.data), depth(0), stride((int)d.in.stride)
    {
        const int column = column0 + (int)threadIdx.x % ACROSS * 4;
        const int each = rounded_up(p.width * p.height, 4), frame = column / each;
        if (frame >= frames)
            return;
        base += frame * d.in.frame + (column - frame * each);
        depth = p.depth;
    }

    __device__ __forceinline__ void load(typename Tile::buffer &to, int k0) const
    {
        const int column = threadIdx.x % ACROSS * 4;
#pragma unroll
        for (int first = 0; first < Tile::DEPTH; first += STEP) {
            const int i = first + (int)threadIdx.x / ACROSS;
            const bool there = k0 + i < depth;
            if (first + STEP > Tile::DEPTH && i >= Tile::DEPTH)
                break;
            copy_ahead<4>(&to.values[i][column], base + (there ? (k0 + i) * stride : 0), there);
        }
    }
};

/* The same for any cells: EACH columns, which are ACROSS apart. */
template <class Tile>
struct cell_loader {
    static constexpr int EACH = Tile::COLUMNS > Tile::THREADS ? Tile::COLUMNS / Tile::THREADS : 1;
    static constexpr int ACROSS = Tile::COLUMNS / EACH, STEP = Tile::THREADS / ACROSS;
    static_assert(Tile::THREADS % ACROSS == 0, "a thread loads the same columns of all rows");
    const halo_net_tap *taps;
    int depth;
    unsigned width, height;
    const float *base[EACH];
    int x[EACH], y[EACH];

    __device__ cell_loader(const halo_net_dense &d, const halo_net_product &p, int frames,
                           int column0)
        : taps(p.taps), depth(p.depth), width(d.in.width), height(d.in.height)
    {
        const int each = rounded_up(p.width * p.height, 4);
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int column = column0 + (int)threadIdx.x % ACROSS + e * ACROSS;
            const int frame = column / each, cell = column - frame * each;
            const bool inside = frame < frames && cell < p.width * p.height;
            y[e] = inside ? cell / p.width * d.stride_y : -HALO_NET_MAX_SIDE; /* far outside */
            x[e] = inside ? cell % p.width * d.stride_x : 0;
            base[e] = d.in.data;
            if (inside)
                base[e] += frame * d.in.frame + (ptrdiff_t)y[e] * d.in.width + x[e];
        }
    }

    __device__ __forceinline__ void load(typename Tile::buffer &to, int k0) const
    {
        const int column = threadIdx.x % ACROSS;
#pragma unroll
        for (int first = 0; first < Tile::DEPTH; first += STEP) {
            const int i = first + (int)threadIdx.x / ACROSS;
            const bool one = k0 + i < depth;
            if (first + STEP > Tile::DEPTH && i >= Tile::DEPTH)
                break;
            const int2 tap = __ldg((const int2 *)&taps[one ? k0 + i : 0]);
            const int tap_x = (int16_t)tap.y, tap_y = tap.y >> 16;
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const bool there =
                    one && (unsigned)(y[e] + tap_y) < height && (unsigned)(x[e] + tap_x) < width;
                copy_ahead<1>(&to.values[i][column + e * ACROSS], base[e] + (there ? tap.x : 0),
                              there);
            }
        }
    }
};

/* Continues the chains of a thread by DEPTH terms. */
template <class Tile>
static __device__ __forceinline__ void multiply(float (&acc)[Tile::OWN_ROWS][Tile::OWN_COLUMNS],
                                                const typename Tile::buffer &from, int row,
                                                int column)
{
#pragma unroll
    for (int k = 0; k < Tile::DEPTH; k++) {
        float weight[Tile::OWN_ROWS], value[Tile::OWN_COLUMNS];
#pragma unroll
        for (int i = 0; i < Tile::OWN_ROWS; i += Tile::TALL)
            *(floats<Tile::TALL> *)&weight[i] =
                *(const floats<Tile::TALL> *)&from.weights[k][row + i];
#pragma unroll
        for (int g = 0; g < Tile::GROUPS; g++)
            *(floats<Tile::WIDE> *)&value[g * Tile::WIDE] =
                *(const floats<Tile::WIDE> *)&from
                     .values[k][column + g * Tile::ACROSS * Tile::WIDE];
#pragma unroll
        for (int i = 0; i < Tile::OWN_ROWS; i++)
#pragma unroll
            for (int j = 0; j < Tile::OWN_COLUMNS; j++)
                acc[i][j] = __fmaf_rn(weight[i], value[j], acc[i][j]);
    }
}

/* Stores a thread's part of a tile. The cells are the pixels of the result, one after the other. */
template <class Tile>
static __device__ __forceinline__ void store(const dense_launch &launch,
                                             float (&acc)[Tile::OWN_ROWS][Tile::OWN_COLUMNS],
                                             int row, int column)
{
    constexpr int WIDE = Tile::WIDE;
    const halo_net_dense &d = launch.d;
    const int each = rounded_up(d.out.width * d.out.height, 4);
    const limits act(d.act);
#pragma unroll
    for (int g = 0; g < Tile::GROUPS; g++) {
        const int at = column + g * Tile::ACROSS * WIDE, frame = at / each;
        if (frame >= launch.frames)
            continue;
        float *to = plane_of(d.out, frame, row) + (at - frame * each);
        const float *other = plane_of(d.add, frame, row) + (at - frame * each);
#pragma unroll
        for (int i = 0; i < Tile::OWN_ROWS; i++) {
            if (row + i >= d.planes)
                break;
            floats<WIDE> sum = {};
            if (d.add.data)
                sum = *(const floats<WIDE> *)(other + i * d.add.stride);
#pragma unroll
            for (int j = 0; j < WIDE; j++)
                sum.at[j] = act.apply(acc[i][g * WIDE + j] + 0.0f + sum.at[j]);
            *(floats<WIDE> *)(to + i * d.out.stride) = sum;
        }
        /* Again in a loop, which is small, and what it reads is still in a cache. */
        if (is_slow(d.act))
#pragma unroll 1
            for (int i = 0; i < Tile::OWN_ROWS && row + i < d.planes; i++)
#pragma unroll 1
                for (int j = 0; j < WIDE; j++)
                    to[i * d.out.stride + j] = activate_slowly(d.act, to[i * d.out.stride + j]);
    }
}

/* The same for cells that are apart. */
template <class Tile>
static __device__ __forceinline__ void scatter(const dense_launch &launch,
                                               const halo_net_product &p,
                                               float (&acc)[Tile::OWN_ROWS][Tile::OWN_COLUMNS],
                                               int row, int column)
{
    const halo_net_dense &d = launch.d;
    const int each = rounded_up(p.width * p.height, 4);
    const limits act(d.act);
#pragma unroll
    for (int j = 0; j < Tile::OWN_COLUMNS; j++) {
        const int at = column + j / Tile::WIDE * Tile::ACROSS * Tile::WIDE + j % Tile::WIDE;
        const int frame = at / each, cell = at - frame * each;
        if (frame >= launch.frames || cell >= p.width * p.height)
            continue;
        const int y = cell / p.width * d.step_y + p.top, x = cell % p.width * d.step_x + p.left;
        float *const first = plane_of(d.out, frame, 0) + (ptrdiff_t)y * d.out.width + x;
#pragma unroll
        for (int i = 0; i < Tile::OWN_ROWS; i++)
            if (row + i < d.planes)
                first[(row + i) / d.side * d.out.stride + (row + i) % d.side] =
                    act.apply(acc[i][j]);
        if (is_slow(d.act))
#pragma unroll 1
            for (int i = row; i < row + Tile::OWN_ROWS && i < d.planes; i++) {
                float *const to = &first[i / d.side * d.out.stride + i % d.side];
                *to = activate_slowly(d.act, *to);
            }
    }
}

/* The same if two rows are pixels side by side (side is 2), and a row has whole quads of cells: two
 * cells are four floats. */
template <class Tile>
static __device__ __forceinline__ void interleave(const dense_launch &launch,
                                                  const halo_net_product &p,
                                                  float (&acc)[Tile::OWN_ROWS][Tile::OWN_COLUMNS],
                                                  int row, int column)
{
    const halo_net_dense &d = launch.d;
    const int each = p.width * p.height;
    const limits act(d.act);
#pragma unroll
    for (int j = 0; j < Tile::OWN_COLUMNS; j += 2) {
        const int at = column + j / Tile::WIDE * Tile::ACROSS * Tile::WIDE + j % Tile::WIDE;
        const int frame = at / each, cell = at - frame * each;
        if (frame >= launch.frames)
            continue;
        const int y = cell / p.width * d.step_y + p.top, x = cell % p.width * 2;
        float *const to = plane_of(d.out, frame, row / 2) + (ptrdiff_t)y * d.out.width + x;
#pragma unroll
        for (int i = 0; i < Tile::OWN_ROWS; i += 2) {
            if (row + i >= d.planes)
                break;
            *(floats<4> *)(to + i / 2 * d.out.stride) = {
                act.apply(acc[i][j]), act.apply(acc[i + 1][j]), act.apply(acc[i][j + 1]),
                act.apply(acc[i + 1][j + 1])};
        }
    }
}

template <class Tile, bool POINTWISE>
static __global__ void __launch_bounds__(Tile::THREADS)
    dense_kernel(const __grid_constant__ dense_launch launch)
{
    __shared__ alignas(16) typename Tile::buffer buffers[Tile::STAGES];
    const halo_net_dense &d = launch.d;
    const halo_net_product &p = d.products[blockIdx.y];
    const int row0 = (int)blockIdx.x % launch.across * Tile::ROWS;
    const int column0 = (int)blockIdx.x / launch.across * Tile::COLUMNS;
    if (column0 >= columns_of(p, launch.frames))
        return;
    const int row = Tile::row(), column = Tile::column();
    const int depth = p.depth;
    const weight_loader<Tile> weights(d, p, row0);
    const std::conditional_t<POINTWISE, pixel_loader<Tile>, cell_loader<Tile>> values(
        d, p, launch.frames, column0);

    float acc[Tile::OWN_ROWS][Tile::OWN_COLUMNS];
#pragma unroll
    for (int i = 0; i < Tile::OWN_ROWS; i++) {
        const float bias = row0 + row + i < d.rows ? __ldg(&d.bias[row0 + row + i]) : 0.0f;
#pragma unroll
        for (int j = 0; j < Tile::OWN_COLUMNS; j++)
            acc[i][j] = bias;
    }
    /* Weights do not depend on the kernel before. */
    for (int s = 0; s < Tile::STAGES - 1; s++)
        weights.load(buffers[s], s * Tile::DEPTH);
    halo_wait_for_kernel_before();
    for (int s = 0; s < Tile::STAGES - 1; s++) {
        values.load(buffers[s], s * Tile::DEPTH);
        end_copies();
    }
    for (int k0 = 0, stage = 0; k0 < depth; k0 += Tile::DEPTH) {
        const int before = stage ? stage - 1 : Tile::STAGES - 1;
        const int ahead = k0 + (Tile::STAGES - 1) * Tile::DEPTH;
        wait_for_copies<Tile::STAGES - 2>();
        __syncthreads(); /* the buffer is filled, and the one before it is no longer used */
        if (ahead < depth) {
            weights.load(buffers[before], ahead);
            values.load(buffers[before], ahead);
        }
        end_copies();
        multiply<Tile>(acc, buffers[stage], row, column);
        stage = stage + 1 < Tile::STAGES ? stage + 1 : 0;
    }
    if (d.step_x == 1 && d.step_y == 1)
        store<Tile>(launch, acc, row0 + row, column0 + column);
    else if (POINTWISE && d.side == 2 && p.width % 4 == 0 && !is_slow(d.act))
        interleave<Tile>(launch, p, acc, row0 + row, column0 + column);
    else /* transposed */
        scatter<Tile>(launch, p, acc, row0 + row, column0 + column);
}

/* ---- the choice of a tile ---- */

struct tile_row {
    bool pointwise;
    int lone;     /* cycles for a term of a chain if a multiprocessor has one block, on an H200 */
    int resident; /* blocks that a multiprocessor can have */
    int rows, columns, own_rows, own_columns, depth, threads;
    void (*kernel)(dense_launch launch);
};

template <bool POINTWISE, class Tile>
static constexpr tile_row row_of(int lone, int resident)
{
    return {POINTWISE,         lone,
            resident,          Tile::ROWS,
            Tile::COLUMNS,     Tile::OWN_ROWS,
            Tile::OWN_COLUMNS, Tile::DEPTH,
            Tile::THREADS,     dense_kernel<Tile, POINTWISE>};
}

static const tile_row tiles[] = {
    row_of<true, tile<96, 128, 8, 8, 8>>(233, 3),  row_of<true, tile<64, 128, 8, 8, 8>>(115, 4),
    row_of<true, tile<48, 128, 8, 8, 8>>(113, 5),  row_of<true, tile<32, 128, 8, 8, 8>>(109, 8),
    row_of<true, tile<24, 128, 6, 8, 8>>(91, 10),  row_of<true, tile<16, 256, 8, 4, 8>>(76, 6),
    row_of<true, tile<32, 64, 4, 4, 16>>(45, 8),   row_of<true, tile<32, 32, 4, 4, 16>>(37, 13),
    row_of<true, tile<16, 32, 2, 2, 32>>(20, 8),   row_of<true, tile<16, 16, 2, 2, 32>>(16, 12),
    row_of<false, tile<64, 128, 8, 8, 8>>(150, 4), row_of<false, tile<32, 128, 8, 8, 8>>(150, 8),
    row_of<false, tile<24, 128, 6, 8, 8>>(130, 9), row_of<false, tile<32, 64, 4, 4, 16>>(70, 8),
    row_of<false, tile<16, 16, 2, 2, 32>>(30, 12),
};

/* About how many cycles the product takes: what the chains take if few blocks share a
 * multiprocessor, what the instructions take if many do, or what loading takes. The constants were
 * fitted to measurements on an H200. */
static double cycles_of(const tile_row &t, const halo_net_dense &d, const halo_net_queue &q)
{
    const double efficiency = 0.6, start = 10 /* in terms */, last = 0.15, bytes_per_cycle = 1500;
    const double own = t.own_rows * t.own_columns, loads = t.own_rows + t.own_columns;
    const double term = t.rows * t.columns / (128 * efficiency) * (own + loads) / own;
    const int depth = d.products[0].depth;
    double blocks = 0;
    for (int i = 0; i < d.product_count; i++)
        blocks += (columns_of(d.products[i], q.frames) + t.columns - 1) / t.columns;
    blocks *= (d.planes + t.rows - 1) / t.rows;
    const double each = blocks / q.processors; /* multiprocessor */
    const double most = each < t.resident ? ceil(each) : each;
    const double lone = t.lone * (each < t.resident ? 1 : each / t.resident);
    const double tail = each < t.resident ? 0 : last * t.resident * term;
    const double time = (rounded_up(depth, t.depth) + start) * (fmax(lone, most * term) + tail);
    const double loading = blocks * depth * (t.rows + t.columns) * 4 / bytes_per_cycle;
    return fmax(time, loading) + time / 64; /* so that equal ones differ */
}

cudaError_t halo_net_launch_dense(const halo_net_dense *d, const halo_net_queue *q)
{
    const tile_row *best = NULL;
    double least = 0;
    for (const tile_row &t : tiles) {
        const double cycles = t.pointwise == d->pointwise ? cycles_of(t, *d, *q) : 0;
        if (t.pointwise == d->pointwise && (!best || cycles < least)) {
            best = &t;
            least = cycles;
        }
    }
    const dense_launch launch = {*d, q->frames, (d->planes + best->rows - 1) / best->rows};
    int columns = 0;
    for (int i = 0; i < d->product_count; i++) {
        const int own = (columns_of(d->products[i], q->frames) + best->columns - 1) / best->columns;
        columns = own > columns ? own : columns;
    }
    if (columns == 0)
        return cudaSuccess;
    return start(best->kernel, launch, dim3(columns * launch.across, d->product_count),
                 best->threads, q);
}

/* ---- depthwise convolutions ---- */

enum { THREADS = 256 };

struct other_launch {
    halo_net_other o;
    int count; /* threads that have work, for each frame */
};

/* A thread computes RUN outputs, one below the other. Neighbours have the next column, or plane. */
template <int KERNEL, int STRIDE, int RUN>
static __global__ void __launch_bounds__(THREADS)
    depthwise_kernel(const __grid_constant__ other_launch launch)
{
    const halo_net_other &o = launch.o;
    const int id = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (id >= launch.count)
        return;
    const int width = o.out.width, height = o.out.height, runs = (height + RUN - 1) / RUN;
    const int run = id / width, x = id - run * width;
    const int plane = run / runs, first = (run - plane * runs) * RUN;

    float weight[KERNEL][KERNEL], acc[RUN];
#pragma unroll
    for (int i = 0; i < KERNEL * KERNEL; i++)
        weight[i / KERNEL][i % KERNEL] = __ldg(&o.weights[plane * KERNEL * KERNEL + i]);
    const float bias = __ldg(&o.bias[plane]);
#pragma unroll
    for (int r = 0; r < RUN; r++)
        acc[r] = bias;

    halo_wait_for_kernel_before();
    const halo_net_batch &in = o.in[0];
    const int x0 = x * STRIDE - o.left, y0 = first * STRIDE - o.top;
    const float *from = plane_of(in, blockIdx.y, plane) + (ptrdiff_t)y0 * in.width + x0;
#pragma unroll
    for (int row = 0; row < (RUN - 1) * STRIDE + KERNEL; row++) {
        const bool there = (unsigned)(y0 + row) < (unsigned)in.height;
        float value[KERNEL];
#pragma unroll
        for (int j = 0; j < KERNEL; j++)
            value[j] = there && (unsigned)(x0 + j) < (unsigned)in.width
                           ? from[(ptrdiff_t)row * in.width + j]
                           : 0.0f;
#pragma unroll
        for (int r = 0; r < RUN; r++) {
            const int i = row - r * STRIDE;
            if (i >= 0 && i < KERNEL)
#pragma unroll
                for (int j = 0; j < KERNEL; j++)
                    acc[r] = __fmaf_rn(weight[i][j], value[j], acc[r]);
        }
    }
    float *to = plane_of(o.out, blockIdx.y, plane) + (ptrdiff_t)first * width + x;
#pragma unroll
    for (int r = 0; r < RUN; r++)
        if (first + r < height)
            to[(ptrdiff_t)r * width] = activate(o.act, acc[r]);
}

/* The same for planes whose rows consist of whole quads: RUN outputs below each other in each of
 * four columns. LEFT: the padding. */
template <int KERNEL, int STRIDE, int LEFT, int RUN>
static __global__ void __launch_bounds__(THREADS)
    depthwise_quad_kernel(const __grid_constant__ other_launch launch)
{
    enum { SPAN = 3 * STRIDE + KERNEL }; /* columns that are read, the first one at -LEFT */
    const halo_net_other &o = launch.o;
    const int id = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (id >= launch.count)
        return;
    const int across = o.out.width / 4, height = o.out.height, runs = (height + RUN - 1) / RUN;
    const int run = id / across, x = (id - run * across) * 4;
    const int plane = run / runs, first = (run - plane * runs) * RUN;

    float weight[KERNEL][KERNEL], acc[RUN][4];
#pragma unroll
    for (int i = 0; i < KERNEL * KERNEL; i++)
        weight[i / KERNEL][i % KERNEL] = __ldg(&o.weights[plane * KERNEL * KERNEL + i]);
    const float bias = __ldg(&o.bias[plane]);
#pragma unroll
    for (int i = 0; i < RUN * 4; i++)
        acc[i / 4][i % 4] = bias;

    halo_wait_for_kernel_before();
    const halo_net_batch &in = o.in[0];
    const int x0 = x * STRIDE, y0 = first * STRIDE - o.top;
    const float *from = plane_of(in, blockIdx.y, plane) + (ptrdiff_t)y0 * in.width + x0;
#pragma unroll
    for (int row = 0; row < (RUN - 1) * STRIDE + KERNEL; row++, from += in.width) {
        const bool there = (unsigned)(y0 + row) < (unsigned)in.height;
        float value[SPAN];
#pragma unroll
        for (int j = 0; j < SPAN; j++)
            if (j < LEFT || j >= LEFT + 4 * STRIDE) {
                const bool inside = there && (unsigned)(x0 + j - LEFT) < (unsigned)in.width;
                value[j] = inside ? from[j - LEFT] : 0.0f;
            }
#pragma unroll
        for (int q = 0; q < STRIDE; q++) {
            const bool inside = there && x0 + 4 * q < in.width;
            floats<4> quad = {};
            if (inside)
                quad = *(const floats<4> *)(from + 4 * q);
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (LEFT + 4 * q + j < SPAN)
                    value[LEFT + 4 * q + j] = quad.at[j];
        }
#pragma unroll
        for (int r = 0; r < RUN; r++) {
            const int i = row - r * STRIDE;
            if (i >= 0 && i < KERNEL)
#pragma unroll
                for (int j = 0; j < KERNEL; j++)
#pragma unroll
                    for (int c = 0; c < 4; c++)
                        acc[r][c] = __fmaf_rn(weight[i][j], value[c * STRIDE + j], acc[r][c]);
        }
    }
    float *to = plane_of(o.out, blockIdx.y, plane) + (ptrdiff_t)first * o.out.width + x;
    const limits act(o.act);
#pragma unroll
    for (int r = 0; r < RUN; r++) {
        if (first + r >= height)
            break;
        floats<4> quad;
#pragma unroll
        for (int c = 0; c < 4; c++)
            quad.at[c] = is_slow(o.act) ? activate_slowly(o.act, acc[r][c]) : act.apply(acc[r][c]);
        *(floats<4> *)(to + r * o.out.width) = quad;
    }
}

/* Launches a kernel with a thread for each run of `wide` columns and `run` rows. */
static cudaError_t launch_runs(void (*kernel)(other_launch), int wide, int run,
                               const halo_net_other *o, const halo_net_queue *q)
{
    const int runs = (o->out.height + run - 1) / run;
    const other_launch launch = {*o, o->out.planes * (o->out.width / wide) * runs};
    const dim3 blocks((launch.count + THREADS - 1) / THREADS, q->frames);
    return start(kernel, launch, blocks, THREADS, q);
}

static const struct depthwise_row {
    int kernel, stride, left; /* left: -1: any */
    int wide, run;
    void (*kernel_of)(other_launch launch);
} depthwise_rows[] = {
    {3, 1, 1, 4, 4, depthwise_quad_kernel<3, 1, 1, 4>},
    {3, 2, 0, 4, 2, depthwise_quad_kernel<3, 2, 0, 2>},
    {3, 2, 1, 4, 2, depthwise_quad_kernel<3, 2, 1, 2>},
    {5, 1, 2, 4, 4, depthwise_quad_kernel<5, 1, 2, 4>},
    {5, 2, 1, 4, 2, depthwise_quad_kernel<5, 2, 1, 2>},
    {5, 2, 2, 4, 2, depthwise_quad_kernel<5, 2, 2, 2>},
    {3, 1, -1, 1, 4, depthwise_kernel<3, 1, 4>},
    {3, 2, -1, 1, 4, depthwise_kernel<3, 2, 4>},
    {5, 1, -1, 1, 4, depthwise_kernel<5, 1, 4>},
    {5, 2, -1, 1, 4, depthwise_kernel<5, 2, 4>},
};

cudaError_t halo_net_launch_depthwise(const halo_net_other *o, const halo_net_queue *q)
{
    if (o->kernel_x != o->kernel_y || o->stride_x != o->stride_y)
        return halo_net_launch_other(o, q);
    for (const depthwise_row &row : depthwise_rows)
        if (row.kernel == o->kernel_x && row.stride == o->stride_x &&
            (row.left < 0 || row.left == o->left) && o->in[0].width % row.wide == 0 &&
            o->out.width % row.wide == 0)
            return launch_runs(row.kernel_of, row.wide, row.run, o, q);
    return halo_net_launch_other(o, q);
}

/* ---- other layers: one output, before its activation ---- */

struct place {
    int frame, plane, y, x;
};

/* The value of a tap, which is 0 in the padding. */
static __device__ float tap(const halo_net_batch &in, const place &at, int y, int x)
{
    const bool inside = (unsigned)y < (unsigned)in.height && (unsigned)x < (unsigned)in.width;
    return inside ? plane_of(in, at.frame, at.plane)[(ptrdiff_t)y * in.width + x] : 0.0f;
}

static __device__ float depthwise(const halo_net_other &o, const place &at)
{
    const float *w = o.weights + (ptrdiff_t)at.plane * o.kernel_x * o.kernel_y;
    float acc = o.bias[at.plane];
    for (int i = 0; i < o.kernel_y; i++)
        for (int j = 0; j < o.kernel_x; j++)
            acc = __fmaf_rn(
                *w++,
                tap(o.in[0], at, at.y * o.stride_y - o.top + i, at.x * o.stride_x - o.left + j),
                acc);
    return acc;
}

/* The second tensor's value for a pixel: a plane of 1x1 has one for all. */
static __device__ float second(const halo_net_other &o, const place &at)
{
    const halo_net_batch &t = o.in[1];
    return tap(t, at, t.height == o.out.height ? at.y : 0, t.width == o.out.width ? at.x : 0);
}

static __device__ float concat(const halo_net_other &o, place at)
{
    const halo_net_batch *in = o.in;
    for (; at.plane >= in->planes; in++)
        at.plane -= in->planes;
    return tap(*in, at, at.y, at.x);
}

static __device__ float maxpool(const halo_net_other &o, const place &at)
{
    const halo_net_batch &in = o.in[0];
    const int y0 = at.y * o.stride_y - o.top, x0 = at.x * o.stride_x - o.left;
    float most = -INFINITY; /* a window is never entirely in the padding */
    for (int y = max(y0, 0); y < min(y0 + o.kernel_y, in.height); y++)
        for (int x = max(x0, 0); x < min(x0 + o.kernel_x, in.width); x++)
            most = larger(tap(in, at, y, x), most);
    return most;
}

/* Between which two pixels of `n` the centre of pixel x of `of` lies, a and b, and where. */
struct between {
    int a, b;
    float part;

    __device__ between(int x, int of, int n)
    {
        const int twice = max((2 * x + 1) * n - of, 0);
        a = twice / (2 * of);
        b = min(a + 1, n - 1);
        part = __fdiv_rn((float)(twice - a * 2 * of), (float)(2 * of));
    }
};

static __device__ float mix(float a, float b, float part)
{
    return __fmaf_rn(part, __fsub_rn(b, a), a);
}

static __device__ float resize(const halo_net_other &o, const place &at)
{
    const halo_net_batch &in = o.in[0];
    if (o.nearest)
        return tap(in, at, at.y * in.height / o.out.height, at.x * in.width / o.out.width);
    const between down(at.y, o.out.height, in.height), across(at.x, o.out.width, in.width);
    return mix(mix(tap(in, at, down.a, across.a), tap(in, at, down.a, across.b), across.part),
               mix(tap(in, at, down.b, across.a), tap(in, at, down.b, across.b), across.part),
               down.part);
}

static __device__ float depth_to_space(const halo_net_other &o, const place &at)
{
    const int block = o.block, group = at.y % block * block + at.x % block;
    const place from = {at.frame, group * o.out.planes + at.plane, 0, 0};
    return tap(o.in[0], from, at.y / block, at.x / block);
}

static __device__ float value_of(const halo_net_other &o, const place &at)
{
    switch (o.kind) {
    case HALO_NET_DEPTHWISE:
        return depthwise(o, at);
    case HALO_NET_ADD:
        return __fadd_rn(tap(o.in[0], at, at.y, at.x), second(o, at));
    case HALO_NET_MUL:
        return __fmul_rn(tap(o.in[0], at, at.y, at.x), second(o, at));
    case HALO_NET_CONCAT:
        return concat(o, at);
    case HALO_NET_PAD:
        return at.plane < o.in[0].planes ? tap(o.in[0], at, at.y - o.top, at.x - o.left) : 0.0f;
    case HALO_NET_MAXPOOL:
        return maxpool(o, at);
    case HALO_NET_RESIZE:
        return resize(o, at);
    case HALO_NET_DEPTH_TO_SPACE:
        return depth_to_space(o, at);
    default: /* HALO_NET_ACT */
        return tap(o.in[0], at, at.y, at.x);
    }
}

static __global__ void __launch_bounds__(THREADS)
    other_kernel(const __grid_constant__ other_launch launch)
{
    const halo_net_other &o = launch.o;
    const int pixel = (int)(blockIdx.x * THREADS + threadIdx.x);
    halo_wait_for_kernel_before();
    if (pixel >= launch.count)
        return;
    const int y = pixel / o.out.width, plane = blockIdx.y, frame = blockIdx.z;
    const place at = {frame, plane, y, pixel - y * o.out.width};
    plane_of(o.out, frame, plane)[pixel] = activate(o.act, value_of(o, at));
}

/* Sums of tensors of the same size, four pixels with each thread. */
static __global__ void __launch_bounds__(THREADS)
    add_kernel(const __grid_constant__ other_launch launch)
{
    const halo_net_other &o = launch.o;
    const int pixel = (int)(blockIdx.x * THREADS + threadIdx.x) * 4;
    halo_wait_for_kernel_before();
    if (pixel >= launch.count)
        return;
    floats<4> sum = *(const floats<4> *)(plane_of(o.in[0], blockIdx.z, blockIdx.y) + pixel);
    const floats<4> b = *(const floats<4> *)(plane_of(o.in[1], blockIdx.z, blockIdx.y) + pixel);
#pragma unroll
    for (int i = 0; i < 4; i++)
        sum.at[i] = activate(o.act, sum.at[i] + b.at[i]);
    *(floats<4> *)(plane_of(o.out, blockIdx.z, blockIdx.y) + pixel) = sum;
}

/* A block for each plane. Each row is summed in 16 lanes, whose sums are added in pairs of distance
 * 8, 4, 2 and 1; then the rows, by one thread. */
static __global__ void __launch_bounds__(THREADS)
    mean_kernel(const __grid_constant__ other_launch launch)
{
    enum { LANES = 16, ROWS = 4 * THREADS / LANES };
    __shared__ float sums[ROWS];
    const halo_net_batch &in = launch.o.in[0];
    const int lane = threadIdx.x % LANES;
    halo_wait_for_kernel_before();
    const float *plane = plane_of(in, blockIdx.y, blockIdx.x);
    float sum = 0.0f;
    for (int y0 = 0; y0 < in.height; y0 += ROWS) {
        const int rows = min(in.height - y0, (int)ROWS);
        for (int y = threadIdx.x / LANES; y < ROWS; y += THREADS / LANES) { /* whole warps */
            float own = 0.0f;
            for (int x = lane; y < rows && x < in.width; x += LANES)
                own += plane[(ptrdiff_t)(y0 + y) * in.width + x];
            for (int distance = LANES / 2; distance > 0; distance /= 2)
                own += __shfl_down_sync(0xffffffff, own, distance, LANES);
            if (lane == 0)
                sums[y] = own;
        }
        __syncthreads();
        for (int y = 0; y < rows && threadIdx.x == 0; y++)
            sum += sums[y];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *plane_of(launch.o.out, blockIdx.y, blockIdx.x) =
            activate(launch.o.act, __fmul_rn(sum, launch.o.scale));
}

cudaError_t halo_net_launch_other(const halo_net_other *o, const halo_net_queue *q)
{
    const other_launch launch = {*o, o->out.width * o->out.height};
    if (o->kind == HALO_NET_MEAN)
        return start(mean_kernel, launch, dim3(o->out.planes, q->frames), THREADS, q);
    const bool add = o->kind == HALO_NET_ADD && o->in[1].width == o->out.width &&
                     o->in[1].height == o->out.height;
    const int each = add ? 4 * THREADS : THREADS;
    const dim3 blocks((launch.count + each - 1) / each, o->out.planes, q->frames);
    return start(add ? add_kernel : other_kernel, launch, blocks, THREADS, q);
}

static __global__ void __launch_bounds__(THREADS)
    softmax2_kernel(const __grid_constant__ halo_net_batch t)
{
    const int pixel = (int)(blockIdx.x * THREADS + threadIdx.x);
    halo_wait_for_kernel_before();
    if (pixel >= t.width * t.height)
        return;
    float *first = plane_of(t, blockIdx.z, 2 * blockIdx.y) + pixel, *second = first + t.stride;
    const float a = *first, b = *second;
    *first = net_sigmoid(__fsub_rn(a, b)) + 0.0f;
    *second = net_sigmoid(__fsub_rn(b, a)) + 0.0f;
}

cudaError_t halo_net_launch_softmax2(const halo_net_batch *t, const halo_net_queue *q)
{
    const dim3 blocks((t->width * t->height + THREADS - 1) / THREADS, t->planes / 2, q->frames);
    return start(softmax2_kernel, *t, blocks, THREADS, q);
}
