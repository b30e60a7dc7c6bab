/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy tensor, separable masks of samples of 9 to 14 bits: tensor_separable.cu with integers.
 *
 *        input tile (words)                            a warp: two strips of 16 columns
 *      +--------------------------------+
 *      |      halo                      |      row pass      T^t = R P^t   R: 16 x K band of the
 *      |   +------------------------+   |                    row weights, P: 8 rows of pixels
 *      |   | warp 0 | warp 1 | ...  |   |      column pass   out = C T     C: 16 x K band of the
 *      |   |   |    |        |      |   |                    column weights
 *      |   +---v----+--------+------+   |
 *      |                                |      Bands of 16 rows are loaded into a ring in shared
 *      +--------------------------------+      memory. Their T stays in registers until the last
 *                                              band of outputs that needs it is done.
 *
 * Samples, T and weights are numbers of at most 16 bits: two bytes each, a high and a low digit. A
 * product of two such numbers is four products of digits, in three sums: high with high, the mixed
 * ones, low with low. Each is exact in 32 bits, and so is what they make together, modulo 2^32:
 * it is below that by the contract (accum I32), also for samples that keep their shift as low bits.
 *
 * A result of the first product (16 x by 8 y, a lane has two values of neighbouring y) is, four
 * bytes in a word, already an operand of the second: an element of k, 4t+i of 16 rows of T, is row
 * 2t+i for i < 2 and 2t+i+6 for the others. Row x of a strip: 8b + m is output 4 (m / 2) + 2b +
 * m % 2, so that a lane ends with four consecutive outputs. */
#include "kernels/cuda/deep_mask.cuh"
#include "kernels/cuda/tensor_separable.cuh"

enum { HIGH_HIGH, MIXED, LOW_LOW, SUMS };

/* Bytes between the rows of an input tile: room for the halo of this many steps, and an odd number
 * of 32 bytes, so that four rows lie in different banks. */
static constexpr __host__ __device__ int stride_of(int steps)
{
    const int left = (8 * steps - 8 + 7) / 8 * 8;
    const int width = (left + TILE_WIDTH - STRIP + 16 * steps) * 2;
    return (width + 31) / 32 % 2 ? (width + 31) / 32 * 32 : (width + 31) / 32 * 32 + 32;
}

/* One plane of a launch. */
struct deep_plane : halo_separable_plane {
    uint32_t ghost;                   /* as a word of the plane */
    int row_round, row_shift;         /* from the sums of words of the plane to T */
    int column_round, column_shift;   /* from the sums to words of the plane */
    uint32_t largest, low_bits, bits; /* largest, bits: of a word, in both halves; low_bits: of
                                       * its low byte, in all four bytes */
    const struct halo_deep_mask *mask;
};

struct deep_launch {
    struct deep_plane plane[HALO_CUDA_MAX_PLANES];
    int count;
};

/* sums = band values, where values[digit][first + s] is an operand of step s. */
template <int STEPS, int VALUES>
static __device__ inline void multiply(int (&sums)[SUMS][4],
                                       const uint32_t (&band)[HALO_DIGITS][2 * STEPS],
                                       const uint32_t (&values)[HALO_DIGITS][VALUES], int first,
                                       int round)
{
#pragma unroll
    for (int s = 0; s < STEPS; s += 2)
#pragma unroll
        for (int i = 0; i < HALO_DIGITS * HALO_DIGITS; i++) {
            const uint32_t(&a)[2 * STEPS] = band[i % 2];
            const uint32_t(&b)[VALUES] = values[i / 2];
            int(&sum)[4] = sums[i % 2 + i / 2];
            if (s == 0 && i != 2)
                halo_mma_u8u8_first(sum, a[0], a[1], a[2], a[3], b[first], b[first + 1],
                                    i == 3 ? round : 0);
            else if (s + 1 < STEPS)
                halo_mma_u8u8(sum, a[2 * s], a[2 * s + 1], a[2 * s + 2], a[2 * s + 3], b[first + s],
                              b[first + s + 1]);
            else
                halo_mma_u8u8_half(sum, a[2 * s], a[2 * s + 1], b[first + s]);
        }
}

/* Value i of the sums, as a number. */
static __device__ inline uint32_t joined(const int (&sums)[SUMS][4], int i)
{
    return ((uint32_t)sums[HIGH_HIGH][i] << 16) + ((uint32_t)sums[MIXED][i] << 8) +
           (uint32_t)sums[LOW_LOW][i];
}

/* Packs two words of 16 bits; the two functions below extract the bytes of two such pairs. */
static __device__ inline uint32_t pair_of(uint32_t low, uint32_t high)
{
    return __byte_perm(low, high, 0x5410);
}

static __device__ inline uint32_t low_bytes(uint32_t pair0, uint32_t pair1)
{
    return __byte_perm(pair0, pair1, 0x6420);
}

static __device__ inline uint32_t high_bytes(uint32_t pair0, uint32_t pair1)
{
    return __byte_perm(pair0, pair1, 0x7531);
}

/* Computes 8 rows of T for both strips: ret[strip][half of the strip] has two rows of an output
 * column. */
template <int STEPS>
static __device__ inline void row_pass(uint32_t (&ret)[2][2], const uint8_t *cells,
                                       const uint32_t (&band)[HALO_DIGITS][2 * STEPS],
                                       const struct deep_plane &plane)
{
    uint32_t pixels[HALO_DIGITS][STEPS + 1];
#pragma unroll
    for (int s = 0; s <= STEPS; s++) {
        const uint2 four = *(const uint2 *)(cells + 2 * STRIP * s);
        const uint32_t a = __vminu2(four.x, plane.largest), b = __vminu2(four.y, plane.largest);
        pixels[HALO_HIGH][s] = high_bytes(a, b);
        pixels[HALO_LOW][s] = low_bytes(a, b) & plane.low_bits;
    }
#pragma unroll
    for (int strip = 0; strip < 2; strip++) {
        int sums[SUMS][4];
        multiply<STEPS>(sums, band, pixels, strip, plane.row_round);
#pragma unroll
        for (int i = 0; i < 2; i++)
            ret[strip][i] = pair_of(joined(sums, 2 * i) >> plane.row_shift,
                                    joined(sums, 2 * i + 1) >> plane.row_shift);
    }
}

/* Computes the next 16 rows of outputs; wide[step][strip][half of the strip][digit] is T, beginning
 * at their first row. */
template <int STEPS>
static __device__ inline void column_pass(struct halo_lane_out &out,
                                          const uint32_t (&wide)[STEPS][2][2][HALO_DIGITS],
                                          const uint32_t (&band)[HALO_DIGITS][2 * STEPS],
                                          const struct deep_plane &plane)
{
    uint32_t pairs[2][2][2]; /* row, strip, half of the strip */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t values[HALO_DIGITS][STEPS];
#pragma unroll
        for (int j = 0; j < HALO_DIGITS * STEPS; j++)
            values[j % 2][j / 2] = wide[j / 2][i / 2][i % 2][j % 2];
        int sums[SUMS][4];
        multiply<STEPS>(sums, band, values, 0, plane.column_round);
#pragma unroll
        for (int row = 0; row < 2; row++)
            pairs[row][i / 2][i % 2] = pair_of(joined(sums, 2 * row) >> plane.column_shift,
                                               joined(sums, 2 * row + 1) >> plane.column_shift) &
                                       plane.bits;
    }
#pragma unroll
    for (int row = 0; row < 2; row++, halo_next_row(out))
#pragma unroll
        for (int strip = 0; strip < 2; strip++)
            if (out.rows_left[strip] > 0)
                *(uint2 *)(out.at + 2 * STRIP * strip) =
                    make_uint2(pairs[row][strip][0], pairs[row][strip][1]);
}

/* Starts loading one band of the tile into its place in the ring. */
template <int RING, int STRIDE>
static __device__ inline void load_band(uint8_t *cells, int band, struct halo_tile tile,
                                        const struct deep_plane &plane)
{
    const int left = tile.rows - 16 * band;
    cells += band % RING * (16 * STRIDE);
    tile.y += 16 * band;
    tile.rows = 16;
    if (halo_is_inside(tile, plane.src)) {
        halo_load_rows<uint16_t, THREADS, 16>({cells, STRIDE, tile}, 0, plane.src);
    } else {
        tile.rows = min(left, 16); /* unused rows have weights of 0 */
        halo_load_edge<uint16_t, THREADS>({cells, STRIDE, tile}, plane.src, plane.border,
                                          plane.ghost);
    }
}

/* BLOCKS: number of blocks per multiprocessor for which the compiler limits registers. RING: number
 * of bands of the input tile that fit in shared memory, of which all except one are being loaded;
 * 0: all bands fit. */
template <int STEPS, int TILE_HEIGHT, int BLOCKS, int RING, class Launch>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    deep_kernel(const __grid_constant__ Launch launch)
{
    constexpr int BANDS = TILE_HEIGHT / 16 + STEPS - 1, STRIDE = stride_of(STEPS);
    constexpr int PLACES = RING ? RING : BANDS, AHEAD = RING ? RING - 1 : BANDS;

    extern __shared__ uint4 shared[];
    uint8_t *cells = (uint8_t *)shared;

    halo_wait_for_kernel_before();
    const struct deep_plane &plane = halo_plane_of(launch);
    const int block = blockIdx.x - plane.first_block;
    const int tile_x = block % plane.blocks_x * TILE_WIDTH;
    const int tile_y = block / plane.blocks_x * TILE_HEIGHT;
    const enum halo_share share = halo_begin_tile<2, TILE_WIDTH, TILE_HEIGHT, THREADS>(
        launch, plane, plane.src, tile_x, tile_y);
    if (share == HALO_SHARE_NONE)
        return;
    const struct halo_tile tile = halo_tile_around<uint16_t>(
        tile_x, tile_y, TILE_WIDTH, TILE_HEIGHT, plane.halo_e, plane.radius_y);
    if constexpr (RING == 0)
        halo_load_bands<uint16_t, THREADS, BANDS>({cells, STRIDE, tile}, plane.src, plane.border,
                                                  plane.ghost);
    else
        for (int band = 0; band < AHEAD; band++) {
            load_band<RING, STRIDE>(cells, band, tile, plane);
            halo_copy_commit();
        }

    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int warp_x = threadIdx.x / 32 * WARP_WIDTH;
    uint32_t row_band[HALO_DIGITS][2 * STEPS], column_band[HALO_DIGITS][2 * STEPS];
#pragma unroll
    for (int i = 0; i < HALO_DIGITS * 2 * STEPS; i++) {
        row_band[i % 2][i / 2] = plane.mask->row[i % 2][i / 2][lane];
        column_band[i % 2][i / 2] = plane.mask->column[i % 2][i / 2][lane];
    }

    const uint8_t *lane_cells =
        cells + g * STRIDE + (tile_x - tile.e - plane.halo_e + warp_x + 4 * t) * 2;
    struct halo_lane_out out = halo_lane_out_of<uint16_t>(plane.dst, tile_x + warp_x, tile_y, lane);

    uint32_t wide[STEPS][2][2][HALO_DIGITS];
#pragma unroll 1
    for (int band = 0; band < BANDS; band++) {
        /* Each iteration ends with a group, even if it is empty, so that the number under way is
         * always the same. After the barrier no thread reads the previous band: its place is
         * free. */
        halo_copy_wait<AHEAD - 1>();
        __syncthreads();
        if constexpr (RING != 0)
            if (band + AHEAD < BANDS)
                load_band<RING, STRIDE>(cells, band + AHEAD, tile, plane);
        halo_copy_commit();

#pragma unroll
        for (int i = 0; i < (STEPS - 1) * 8; i++)
            wide[i / 8][i / 4 % 2][i / 2 % 2][i % 2] = wide[i / 8 + 1][i / 4 % 2][i / 2 % 2][i % 2];
        uint32_t pairs[2][2][2]; /* half of the band, strip, half of the strip */
#pragma unroll
        for (int half = 0; half < 2; half++)
            row_pass<STEPS>(pairs[half], lane_cells + (band % PLACES * 16 + half * 8) * STRIDE,
                            row_band, plane);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t a = pairs[0][i / 2][i % 2], b = pairs[1][i / 2][i % 2];
            wide[STEPS - 1][i / 2][i % 2][HALO_HIGH] = high_bytes(a, b);
            wide[STEPS - 1][i / 2][i % 2][HALO_LOW] = low_bytes(a, b);
        }
        if (band >= STEPS - 1)
            column_pass<STEPS>(out, wide, column_band, plane);
    }
    halo_finish_tile<2, TILE_WIDTH, TILE_HEIGHT, THREADS>(share, launch, plane, plane.src, tile_x,
                                                          tile_y);
}

static void fill(struct deep_plane *plane, const struct halo_cuda_call *call)
{
    const struct halo_conv *conv = call->conv;
    const int shift = call->src.shift;

    halo_separable_fill(plane, call);
    plane->ghost = (uint32_t)conv->border_value << shift;

    const int to_output = halo_deep_bits(conv->col_bits, conv->radius_y) + conv->frac;
    plane->row_shift = halo_deep_bits(conv->row_bits, conv->radius_x) - conv->frac + shift;
    plane->row_round = 1 << (plane->row_shift - 1);
    plane->column_shift = to_output - shift;
    plane->column_round = 1 << (to_output - 1);
    const uint32_t shifted_out = (1u << shift) - 1;
    plane->largest = ((uint32_t)halo_sample_max(conv->depth) << shift | shifted_out) * 0x00010001u;
    plane->bits = (0xffff & ~shifted_out) * 0x00010001u;
    plane->low_bits = (0xff & ~shifted_out) * 0x01010101u;
    plane->mask = (const struct halo_deep_mask *)call->prepared;
}

template <int STEPS, int TILE_HEIGHT, int BLOCKS, int RING>
static cudaError_t launch_steps(struct deep_launch *launch, const struct halo_cuda_call *call)
{
    constexpr int bytes = stride_of(STEPS) * 16 * (RING ? RING : TILE_HEIGHT / 16 + STEPS - 1);
    return halo_separable_launch(
        deep_kernel<STEPS, TILE_HEIGHT, BLOCKS, RING, deep_launch>,
        deep_kernel<STEPS, TILE_HEIGHT, BLOCKS, RING, halo_selecting<deep_launch>>, launch,
        TILE_HEIGHT, bytes, call);
}

/* Whether a block can have this much shared memory: smaller GPUs give it 99 KB. */
static bool has_shared(int bytes)
{
    int device = 0, most = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess &&
           bytes <= most;
}

/* Uses a whole wide tile if shared memory has room for it. */
template <int STEPS, int TILE_HEIGHT>
static cudaError_t launch_wide(struct deep_launch *launch, const struct halo_cuda_call *call)
{
    return has_shared(stride_of(STEPS) * (TILE_HEIGHT + 16 * (STEPS - 1)))
               ? launch_steps<STEPS, TILE_HEIGHT, 2, 0>(launch, call)
               : launch_steps<STEPS, 128, 2, 4>(launch, call);
}

cudaError_t halo_cuda_tensor_separable_deep(const struct halo_cuda_call *calls, int count)
{
    struct deep_launch launch;
    launch.count = count;
    for (int i = 0; i < count; i++)
        fill(&launch.plane[i], &calls[i]);
    switch (halo_separable_steps(launch)) { /* the fastest on an H200 */
    case 2:
        return launch_steps<2, 64, 4, 0>(&launch, calls);
    case 3:
        return launch_steps<3, 128, 4, 0>(&launch, calls);
    case 4:
        return launch_steps<4, 64, 3, 0>(&launch, calls);
    case 5:
        return launch_steps<5, 128, 3, 0>(&launch, calls);
    case 6:
        return launch_wide<6, 128>(&launch, calls);
    case 7:
        return launch_wide<7, 96>(&launch, calls);
    case 8:
        return launch_steps<8, 128, 2, 4>(&launch, calls);
    case 9:
        return launch_steps<9, 128, 2, 4>(&launch, calls);
    }
    return cudaErrorInvalidValue;
}
