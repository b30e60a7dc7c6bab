/* SPDX-License-Identifier: BSD-2-Clause
 * The skeleton of the lectures' strategies: passes of a mask over planes, and their launches.
 *
 * A dense mask takes one pass over the source. A separable one takes a row pass from the source to
 * an intermediate plane of int32 elements, and a column pass from there. A strategy describes all:
 *
 *     template <class Pass>
 *     struct NAME {
 *         static constexpr int WIDTH, HEIGHT;   the tile of a block, in elements and rows
 *         static constexpr bool INCLUDES_HALO;  whether it is the input tile, or the output tile
 *         static constexpr int ACROSS, DOWN;    threads of a block
 *         static __device__ void run(const Pass &in, int e, int y);
 *     };
 *
 * run() computes the outputs of a block, the first of which is element e of row y. Pass is a
 * halo_plane_pass: where cells and weights come from, and where sums go. */
#ifndef HALO_PASSES_CUH
#define HALO_PASSES_CUH

#include <type_traits>

#include "kernels/cuda/mask_bank.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    HALO_MAX_SIDES = HALO_MAX_TAPS - 1, /* the halo on both sides, in pixels */
    HALO_MAX_CHANNELS = 2,
};

/* The intermediate plane between two passes. */
struct halo_wide {
    int32_t *data;
    ptrdiff_t stride; /* elements */
};

/* One plane of a launch, and the pass over it. */
struct halo_task {
    struct halo_plane src, dst;
    struct halo_wide wide;
    struct halo_pass pass;
    const void *prepared;
    struct halo_cuda_wanted wanted;
    int first_block; /* index of its first block in the launch */
    int across;      /* blocks side by side */
};

/* Passed by value to a kernel. */
struct halo_tasks {
    struct halo_task plane[HALO_CUDA_MAX_PLANES];
    int count;
};

enum halo_pass_kind { HALO_ROWS, HALO_COLUMNS, HALO_DENSE };

/* A pass over a plane, as a block sees it. */
template <enum halo_pass_kind KIND, typename SAMPLE, typename ACCUM>
struct halo_plane_pass {
    static constexpr bool ROWS = KIND == HALO_ROWS, COLUMNS = KIND == HALO_COLUMNS,
                          DENSE = KIND == HALO_DENSE;
    typedef ACCUM Accum;
    typedef std::conditional_t<COLUMNS, int32_t, SAMPLE> Cell; /* in shared memory */

    const struct halo_plane src, dst;
    const struct halo_wide wide;
    const struct halo_pass pass;
    const void *const prepared;
    const int channels, elements, height; /* of the plane; elements: of a row */
    const int radius_x, radius_y, halo;   /* the constant 0 where the pass has none */

    static struct halo_pass of(const struct halo_conv *conv, int slot)
    {
        struct halo_pass pass = {};
        pass.slot = slot;
        pass.radius_x = COLUMNS ? 0 : conv->radius_x;
        pass.radius_y = ROWS ? 0 : conv->radius_y;
        pass.shift = DENSE  ? conv->mask_bits
                     : ROWS ? conv->row_bits - conv->frac
                            : conv->col_bits + conv->frac;
        pass.round = DENSE ? conv->bias : pass.shift > 0 ? (int64_t)1 << (pass.shift - 1) : 0;
        pass.border = conv->border;
        /* In a column pass, what the row pass makes of it. */
        pass.ghost = conv->border_value << (COLUMNS ? conv->frac : 0);
        return pass;
    }

    __device__ explicit halo_plane_pass(const struct halo_task &task)
        : src(task.src), dst(task.dst), wide(task.wide), pass(task.pass), prepared(task.prepared),
          channels(src.channels), elements(src.width * src.channels), height(src.height),
          radius_x(COLUMNS ? 0 : pass.radius_x), radius_y(ROWS ? 0 : pass.radius_y),
          halo(radius_x * channels)
    {
    }

    __device__ bool inside(int e, int y) const
    {
        return e < elements && y < height;
    }

    __device__ const int32_t *weights() const /* row by row */
    {
        return &halo_mask_bank[pass.slot][COLUMNS ? HALO_COLUMN_WEIGHTS : HALO_ROW_WEIGHTS];
    }

    /* Element e of row y of the input, which is inside. */
    __device__ int cell(int e, int y) const
    {
        if constexpr (COLUMNS)
            return wide.data[y * wide.stride + e];
        else
            return halo_read<SAMPLE>(src, e, y);
    }

    /* The same for any cell; in a column pass, e is inside. */
    __device__ int input(int e, int y) const
    {
        if constexpr (!COLUMNS)
            return halo_input<SAMPLE>(src, pass, e, y);
        const int from_y = halo_border_index(y, height, pass.border);
        return from_y == HALO_GHOST ? pass.ghost : cell(e, from_y);
    }

    /* The input tile of a tile of outputs whose first one is element e of row y. */
    __device__ struct halo_tile tile(int e, int y, int width, int rows) const
    {
        return {e - halo, y - radius_y, width + 2 * halo, rows + 2 * radius_y};
    }

    /* Sums are proved to fit Accum, but not with the rounding constant and the bias: both are added
     * in 64 bits. >> of a negative number is arithmetic in nvcc, as the contract requires. */
    __device__ void write(int e, int y, Accum sum) const
    {
        const int64_t value = ((int64_t)sum + pass.round) >> pass.shift;
        if constexpr (ROWS)
            wide.data[y * wide.stride + e] = (int32_t)value;
        else
            halo_write<SAMPLE>(dst, e, y, value);
    }
};

/* The number of cells in the input tiles of WIDTH by HEIGHT outputs of the largest masks. */
template <class Pass, int WIDTH, int HEIGHT>
static __host__ __device__ constexpr int halo_max_cells()
{
    constexpr int ROW = (WIDTH + HALO_MAX_SIDES * HALO_MAX_CHANNELS) * HEIGHT;
    constexpr int COLUMN = WIDTH * (HEIGHT + HALO_MAX_SIDES);
    constexpr int SQUARE =
        (WIDTH + (HALO_MAX_DENSE - 1) * HALO_MAX_CHANNELS) * (HEIGHT + (HALO_MAX_DENSE - 1));
    static_assert(!Pass::DENSE || (ROW <= SQUARE && COLUMN <= SQUARE), "127x1 and 1x127");
    return Pass::ROWS ? ROW : Pass::COLUMNS ? COLUMN : SQUARE;
}

/* halo_load_tile() for any pass, by ACROSS by DOWN threads. A row pass has a thread for each row,
 * and a column pass for each column. */
template <int ACROSS, int DOWN, class Pass>
static __device__ inline void halo_load_cells(typename Pass::Cell *cells, const Pass &in,
                                              const struct halo_tile &tile)
{
    const int tx = threadIdx.x, ty = threadIdx.y, e = tile.e + tx, y = tile.y + ty;
    if constexpr (Pass::ROWS) {
        for (int i = tx; i < tile.columns && y < in.height; i += ACROSS)
            cells[ty * tile.columns + i] = (typename Pass::Cell)in.input(tile.e + i, y);
    } else if constexpr (Pass::COLUMNS) {
        for (int i = ty; e < in.elements && i < tile.rows; i += DOWN)
            cells[i * tile.columns + tx] = in.input(e, tile.y + i);
    } else {
        halo_load_tile(cells, tile, in.src, in.pass);
    }
}

/* The outputs of a block, in elements and rows. */
template <class Kernel, class Pass>
static __host__ __device__ inline int2 halo_outputs(const struct halo_pass &pass, int channels)
{
    const bool less_x = Kernel::INCLUDES_HALO && !Pass::COLUMNS;
    const bool less_y = Kernel::INCLUDES_HALO && !Pass::ROWS;
    return {Kernel::WIDTH - (less_x ? 2 * pass.radius_x * channels : 0),
            Kernel::HEIGHT - (less_y ? 2 * pass.radius_y : 0)};
}

/* The work of one block; block: its position in the plane. */
template <class Kernel, class Pass>
static __device__ inline void halo_run_block(const struct halo_task &task, const int2 block)
{
    const int2 outputs = halo_outputs<Kernel, Pass>(task.pass, task.src.channels);
    if (Pass::ROWS ? halo_block_unread(task.wanted, block, outputs.x, outputs.y)
                   : halo_block_outside(task.wanted, block, outputs.x, outputs.y))
        return;
    Kernel::run(Pass(task), block.x * outputs.x, block.y * outputs.y);
}

/* One plane, without a region, in its own grid. Separate parameters remain constant operands, and
 * loops are split by the border; as members of one struct they made kernels up to a fifth slower.
 * Regions are not checked: the check alone took up to a tenth of the time. */
template <class Kernel, class Pass>
static __global__ void halo_one_kernel(const struct halo_plane src, const struct halo_plane dst,
                                       const struct halo_wide wide, const struct halo_pass pass,
                                       const void *prepared)
{
    const struct halo_task task = {src, dst, wide, pass, prepared, {}, 0, 0};
    halo_run_block<Kernel, Pass>(task, make_int2(blockIdx.x, blockIdx.y));
}

/* Several planes, or one with a region: their blocks are numbered in one dimension. */
template <class Kernel, class Pass>
static __global__ void halo_many_kernel(const __grid_constant__ struct halo_tasks tasks)
{
    const struct halo_task &task = halo_plane_of(tasks);
    const int i = (int)blockIdx.x - task.first_block, y = i / task.across;
    halo_run_block<Kernel, Pass>(task, make_int2(i - y * task.across, y));
}

template <template <class> class Strategy, enum halo_pass_kind KIND, typename Sample,
          typename Accum>
static inline void halo_launch_pass(const struct halo_cuda_call *calls, int count, const int *slots)
{
    typedef halo_plane_pass<KIND, Sample, Accum> Pass;
    typedef Strategy<Pass> Kernel;
    struct halo_tasks tasks = {{}, count};
    dim3 grid, threads(Kernel::ACROSS, Kernel::DOWN);
    int blocks = 0;
    for (int i = 0; i < count; i++) {
        const struct halo_cuda_call &c = calls[i];
        const struct halo_wide wide = {c.wide, halo_cuda_wide_stride(&c.src)};
        const struct halo_pass pass = Pass::of(c.conv, slots[i]);
        const int2 outputs = halo_outputs<Kernel, Pass>(pass, c.src.channels);
        grid = halo_grid(c.src, outputs.x, outputs.y);
        tasks.plane[i] = {c.src, c.dst, wide, pass, c.prepared, c.wanted, blocks, (int)grid.x};
        blocks += (int)(grid.x * grid.y);
    }
    const struct halo_task &one = tasks.plane[0];
    if (count == 1 && !one.wanted.flags)
        halo_one_kernel<Kernel, Pass><<<grid, threads, 0, calls->stream>>>(
            one.src, one.dst, one.wide, one.pass, one.prepared);
    else
        halo_many_kernel<Kernel, Pass><<<blocks, threads, 0, calls->stream>>>(tasks);
}

template <template <class> class Strategy, typename Sample, typename Accum>
static inline cudaError_t halo_launch_typed(const struct halo_cuda_call *calls, int count,
                                            const int *slots)
{
    if (calls->conv->kind == HALO_CONV_DENSE) {
        halo_launch_pass<Strategy, HALO_DENSE, Sample, Accum>(calls, count, slots);
    } else {
        halo_launch_pass<Strategy, HALO_ROWS, Sample, Accum>(calls, count, slots);
        halo_launch_pass<Strategy, HALO_COLUMNS, Sample, Accum>(calls, count, slots);
    }
    return cudaGetLastError();
}

/* Launches planes that are alike. Their kernels read the bank, except for prepared masks. */
template <template <class> class Strategy>
static cudaError_t halo_launch_passes(const struct halo_cuda_call *calls, int count)
{
    const bool bank = !calls->prepared, wide = calls->conv->accum == HALO_ACCUM_I64;
    int slots[HALO_CUDA_MAX_PLANES] = {};
    if (calls->conv->kind == HALO_CONV_COPY)
        return halo_cuda_launch_copy(calls, count);

    const cudaStream_t stream = calls->stream;
    cudaError_t status =
        bank ? halo_mask_slots_acquire(&halo_mask_slots, stream, count, slots) : cudaSuccess;
    if (status != cudaSuccess)
        return status;
    for (int i = 0; bank && i < count && status == cudaSuccess; i++)
        status = halo_mask_fill(calls[i].conv, slots[i], stream);
    if (status == cudaSuccess && halo_plane_sample_bytes(&calls->src) == 1)
        status = wide ? halo_launch_typed<Strategy, uint8_t, int64_t>(calls, count, slots)
                      : halo_launch_typed<Strategy, uint8_t, int32_t>(calls, count, slots);
    else if (status == cudaSuccess)
        status = wide ? halo_launch_typed<Strategy, uint16_t, int64_t>(calls, count, slots)
                      : halo_launch_typed<Strategy, uint16_t, int32_t>(calls, count, slots);
    const cudaError_t freed =
        bank ? halo_mask_slots_release(&halo_mask_slots, stream, count, slots) : cudaSuccess;
    return status != cudaSuccess ? status : freed;
}

/* Whether two planes use the same kernels: the same kind, and sizes of samples and sums. */
static inline bool halo_alike(const struct halo_cuda_call &a, const struct halo_cuda_call &b)
{
    return a.conv->kind == b.conv->kind &&
           halo_plane_sample_bytes(&a.src) == halo_plane_sample_bytes(&b.src) &&
           (a.conv->accum == HALO_ACCUM_I64) == (b.conv->accum == HALO_ACCUM_I64);
}

/* Calls launch for each run of calls that are alike. */
template <cudaError_t (*launch)(const struct halo_cuda_call *calls, int count)>
static cudaError_t halo_launch_each(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int first = 0, next; first < count && status == cudaSuccess; first = next) {
        for (next = first + 1; next < count && halo_alike(calls[first], calls[next]);)
            next++;
        status = launch(&calls[first], next - first);
    }
    return status;
}

#endif
