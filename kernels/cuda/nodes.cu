/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy nodes: DECIMATED. The two kernels at its ends read and write whole planes (nodes_gather,
 * nodes_spread); the two here blur what is step_x * step_y times smaller.
 *
 *      |<- reach ->| nodes of a block |<- reach ->|      A block has its nodes and their halo in
 *      +-----------+------------------+-----------+      shared memory. A thread computes four
 *      | h h h h h | o o o o o o o o  | h h h h h |      neighbours, along the row or down the
 *      +-----------+------------------+-----------+      column: it reads a cell once for all. */
#include "kernels/cuda/nodes.cuh"
#include "kernels/cuda/tile.cuh"

namespace
{
enum {
    OWN = 4,           /* nodes of a thread; a vector of 16 bytes */
    ROW_WIDTH = 32,    /* threads of a block of the row pass, along the row */
    ROW_HEIGHT = 4,    /* and down */
    COLUMN_WIDTH = 32, /* the same of the column pass */
    COLUMN_HEIGHT = 4,
    MAX_SHARED = 48 << 10, /* bytes that a block can have without opt-in */
};

/* Accum: uint32_t if the sums are below 2^31, otherwise uint64_t. */
template <typename Accum>
static __device__ inline uint32_t finish(Accum sum, int bits)
{
    return (uint32_t)((sum + ((Accum)1 << (bits - 1))) >> bits);
}

/* The number of vectors of cells that a thread's nodes reach; the last one may be used in part. */
static __host__ __device__ inline int vectors(int reach)
{
    return (2 * reach + OWN + OWN - 1) / OWN;
}

/* Writes both sides of a mask between vectors of zeros, for cells that the mask has not reached yet
 * or has left. Then cell i contributes to node o with weight number OWN + i - o. */
static __device__ inline void unfold(int32_t *to, const int32_t *side, int reach)
{
    const int first = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = first; i < (vectors(reach) + 1) * OWN; i += blockDim.x * blockDim.y) {
        const int distance = abs(i - OWN - reach);
        to[i] = distance <= reach ? side[distance] : 0;
    }
}

/* The sums of OWN nodes; cells(i) is vector i of their cells. */
template <typename Accum, typename Cells>
static __device__ inline uint4 blur(const int4 *weights, int reach, int bits, Cells cells)
{
    Accum sums[OWN] = {};
    int4 before = weights[0];
#pragma unroll 2
    for (int i = 0; i < vectors(reach); i++) {
        const int4 after = weights[i + 1];
        const uint4 v = cells(i);
        const uint32_t w[2 * OWN] = {
            (uint32_t)before.x, (uint32_t)before.y, (uint32_t)before.z, (uint32_t)before.w,
            (uint32_t)after.x,  (uint32_t)after.y,  (uint32_t)after.z,  (uint32_t)after.w,
        };
#pragma unroll
        for (int o = 0; o < OWN; o++) {
            sums[o] += (Accum)w[OWN - o] * v.x;
            sums[o] += (Accum)w[OWN + 1 - o] * v.y;
            sums[o] += (Accum)w[OWN + 2 - o] * v.z;
            sums[o] += (Accum)w[OWN + 3 - o] * v.w;
        }
        before = after;
    }
    return make_uint4(finish(sums[0], bits), finish(sums[1], bits), finish(sums[2], bits),
                      finish(sums[3], bits));
}

/* R to T, including the lines of R above and below the plane; blockIdx.z is the channel. */
template <typename Accum>
static __global__ void __launch_bounds__(ROW_WIDTH *ROW_HEIGHT)
    rows_kernel(const struct halo_nodes nodes, int channels)
{
    extern __shared__ int4 shared[];
    const struct halo_axis &x = nodes.x;
    const int length = ROW_WIDTH + vectors(x.reach); /* vectors */
    int4 *line_cells = shared + vectors(x.reach) + 1 + threadIdx.y * length;
    uint32_t *cells = (uint32_t *)line_cells;
    const int first = blockIdx.x * ROW_WIDTH * OWN, channel = blockIdx.z;
    const int line = blockIdx.y * ROW_HEIGHT + threadIdx.y;
    const int lines = nodes.y.count + 2 * nodes.y.margin;

    halo_nodes_wait();
    unfold((int32_t *)shared, nodes.row, x.reach);
    const uint32_t *r = nodes.r + min(line, lines - 1) * nodes.r_stride + channel;
#pragma unroll 8
    for (int i = threadIdx.x; i < length * OWN; i += ROW_WIDTH) {
        const int k = first + i - x.reach + x.margin;
        cells[i] = r[min(max(k, 0), x.count + 2 * x.margin - 1) * channels];
    }
    __syncthreads();
    const int k = first + threadIdx.x * OWN;
    if (line >= lines || k >= x.count)
        return;
    const uint4 *own = (const uint4 *)line_cells + threadIdx.x;
    const uint4 sums = blur<Accum>(shared, x.reach, x.bits, [=](int i) { return own[i]; });
    uint32_t *t = nodes.t + line * nodes.t_stride + k * channels + channel;
    t[0] = sums.x;
    if (k + 1 < x.count)
        t[channels] = sums.y;
    if (k + 2 < x.count)
        t[2 * channels] = sums.z;
    if (k + 3 < x.count)
        t[3 * channels] = sums.w;
}

/* T to U. Reads directly from T if the halo is too high for shared memory. */
template <typename Accum, bool TILE>
static __global__ void __launch_bounds__(COLUMN_WIDTH *COLUMN_HEIGHT)
    columns_kernel(const struct halo_nodes nodes, int elements)
{
    extern __shared__ int4 shared[];
    const struct halo_axis &y = nodes.y;
    uint32_t *cells = (uint32_t *)(shared + vectors(y.reach) + 1);
    const int e = blockIdx.x * COLUMN_WIDTH + threadIdx.x;
    const int first = blockIdx.y * COLUMN_HEIGHT * OWN, lines = y.count + 2 * y.margin;

    halo_nodes_wait();
    unfold((int32_t *)shared, nodes.column, y.reach);
    const uint32_t *t = nodes.t + min(e, elements - 1);
    const ptrdiff_t stride = nodes.t_stride;
    const auto from_t = [=](int line) { return t[min(max(line, 0), lines - 1) * stride]; };
    const int top = first - y.reach + y.margin; /* the line of the tile's first cell */
    if (TILE) {
#pragma unroll 8
        for (int i = threadIdx.y; i < (COLUMN_HEIGHT + vectors(y.reach)) * OWN; i += COLUMN_HEIGHT)
            cells[i * COLUMN_WIDTH + threadIdx.x] = from_t(top + i);
    }
    __syncthreads();
    const int l = first + threadIdx.y * OWN;
    if (e >= elements || l >= y.count)
        return;

    const uint32_t *own = cells + threadIdx.y * OWN * COLUMN_WIDTH + threadIdx.x;
    const uint4 sums = blur<Accum>(shared, y.reach, y.bits, [=](int i) {
        if (!TILE) {
            const int line = top + (threadIdx.y + i) * OWN;
            return make_uint4(from_t(line), from_t(line + 1), from_t(line + 2), from_t(line + 3));
        }
        const uint32_t *c = own + i * OWN * COLUMN_WIDTH;
        return make_uint4(c[0], c[COLUMN_WIDTH], c[2 * COLUMN_WIDTH], c[3 * COLUMN_WIDTH]);
    });
    uint32_t *u = nodes.u + l * stride + e;
    u[0] = sums.x;
    if (l + 1 < y.count)
        u[stride] = sums.y;
    if (l + 2 < y.count)
        u[2 * stride] = sums.z;
    if (l + 3 < y.count)
        u[3 * stride] = sums.w;
}

static struct halo_axis axis(int pixels, int step, int reach, int bits, enum halo_border border)
{
    struct halo_axis a = {};
    a.step = step;
    while (1 << a.log2_step < step)
        a.log2_step++;
    a.count = step == 1 ? pixels : (pixels - 1) / step + 2;
    a.margin = border <= HALO_BORDER_REPLICATE && reach > 0 ? 1 : reach;
    a.reach = reach;
    a.bits = bits;
    a.node_bits = step == 1 ? 0 : 2 * a.log2_step + 1;
    a.pixel_bits = step == 1 ? 0 : a.log2_step + 1;
    return a;
}

static ptrdiff_t padded(int elements)
{
    return (elements + 31) / 32 * 32;
}

/* Computes all members except the pointers. */
static struct halo_nodes plan(const struct halo_conv *c, const struct halo_plane *p)
{
    struct halo_nodes n = {};
    n.x = axis(p->width, c->step_x, c->reach_x, c->row_bits, c->border);
    n.y = axis(p->height, c->step_y, c->reach_y, c->col_bits, c->border);
    n.border = c->border;
    n.ghost = c->border_value;
    n.frac = c->frac;
    n.wide = c->accum == HALO_ACCUM_I64;
    n.r_stride = padded((n.x.count + 2 * n.x.margin) * p->channels);
    n.t_stride = padded(n.x.count * p->channels);
    return n;
}

static size_t lines(const struct halo_nodes *n)
{
    return n->y.count + 2 * n->y.margin;
}

template <typename Accum>
static cudaError_t smooth(const struct halo_cuda_call *call, const struct halo_nodes *n)
{
    const int channels = call->src.channels, elements = n->x.count * channels;
    const int wide = ROW_WIDTH * OWN, high = COLUMN_HEIGHT * OWN;
    const dim3 rows((n->x.count + wide - 1) / wide, ((int)lines(n) + ROW_HEIGHT - 1) / ROW_HEIGHT,
                    channels);
    const size_t row_weights = (vectors(n->x.reach) + 1) * sizeof(int4);
    const size_t row_cells = ROW_HEIGHT * (ROW_WIDTH + vectors(n->x.reach)) * sizeof(int4);
    cudaError_t status = halo_nodes_launch(
        call, n, rows_kernel<Accum>, {rows, dim3(ROW_WIDTH, ROW_HEIGHT), row_weights + row_cells},
        *n, channels);
    if (status != cudaSuccess)
        return status;

    const dim3 block(COLUMN_WIDTH, COLUMN_HEIGHT);
    const dim3 columns((elements + COLUMN_WIDTH - 1) / COLUMN_WIDTH,
                       (n->y.count + high - 1) / high);
    const size_t weights = (vectors(n->y.reach) + 1) * sizeof(int4);
    const size_t tile = COLUMN_WIDTH * (COLUMN_HEIGHT + vectors(n->y.reach)) * sizeof(int4);
    if (weights + tile <= MAX_SHARED)
        return halo_nodes_launch(call, n, columns_kernel<Accum, true>,
                                 {columns, block, weights + tile}, *n, elements);
    return halo_nodes_launch(call, n, columns_kernel<Accum, false>, {columns, block, weights}, *n,
                             elements);
}

static cudaError_t filter(const struct halo_cuda_call *call)
{
    struct halo_nodes n = plan(call->conv, &call->src);
    n.r = n.u = (uint32_t *)call->wide;
    n.t = n.r + n.r_stride * lines(&n);
    n.row = (const int32_t *)call->prepared;
    n.column = n.row + n.x.reach + 1;

    int compute;
    cudaError_t status = halo_cuda_probe(&compute);
    n.overlap = status == cudaSuccess && compute >= 90;
    if (status == cudaSuccess)
        status = halo_nodes_gather(call, &n);
    if (status == cudaSuccess)
        status = n.wide ? smooth<uint64_t>(call, &n) : smooth<uint32_t>(call, &n);
    return status == cudaSuccess ? halo_nodes_spread(call, &n) : status;
}
} // namespace

static cudaError_t launch(const struct halo_cuda_call *calls, int count)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < count && status == cudaSuccess; i++)
        status = filter(&calls[i]);
    return status;
}

size_t halo_cuda_nodes_scratch(const struct halo_conv *conv, const struct halo_plane *plane)
{
    const struct halo_nodes n = plan(conv, plane);
    return (n.r_stride + n.t_stride) * lines(&n) * sizeof(uint32_t);
}

static size_t prepared_bytes(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return (conv->reach_x + 1 + conv->reach_y + 1) * sizeof conv->mask[0];
}

static void prepare(void *ret, const struct halo_conv *conv, int channels)
{
    memcpy(ret, conv->mask, prepared_bytes(conv, channels));
}

static bool can(const struct halo_conv *conv, int channels)
{
    (void)channels;
    return conv->kind == HALO_CONV_DECIMATED;
}

const struct halo_cuda_strategy halo_cuda_nodes = {
    .base = {"nodes",
             "wide Gaussians, computed on a smaller plane; each pixel is read and written once",
             can},
    .launch = launch,
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
};
