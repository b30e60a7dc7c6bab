/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy direct: what its kernels share. A warp takes a strip of 128 bytes of the picture, and
 * walks down it; pixels go from memory to registers and from there to the tensor cores.
 *
 *             lane g of 8:  16 bytes each
 *      row   +----+----+----+-- --+----+
 *      t = 0 |    |    |    |     |    |     A group of four rows: lane 4 g + t has the piece of 16
 *          1 |    |    |    |     |    |     bytes g of row t. Its neighbours' words come from the
 *          2 |    |    |    |     |    |     lanes beside it.
 *          3 |    |    |    |     |    |
 *            +----+----+----+-- --+----+
 *
 * Operands of the matrix products are laid out so that a lane reads only what it has: as k of an A
 * fragment is t and a number that is ours to choose, the window of a product are the words that the
 * four lanes of one g hold of some groups. A piece of the picture is so loaded once, without shared
 * memory and barriers, and there is nothing to wait for but the memory. */
#ifndef HALO_DIRECT_CUH
#define HALO_DIRECT_CUH

#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/tensor.cuh"

enum {
    HALO_PIECE = 16,
    HALO_STRIP = 8 * HALO_PIECE, /* bytes */
    HALO_GROUP = 4,              /* rows */
    HALO_MOST_SIDE = 2,          /* words of a neighbour's */
};

/* A lane's own 16 elements, with SIDE words of its neighbours on either side. */
template <int SIDE>
struct halo_piece {
    uint32_t word[4 + 2 * SIDE];
};

/* A piece on its way: before is valid in the first lane of a row, after in the last and where the
 * picture ends. */
template <int SIDE>
struct halo_raw_piece {
    uint4 own;
    uint32_t before[SIDE], after[SIDE];
};

/* Where a lane's pieces come from. */
struct halo_strip {
    int e, y; /* of its piece in the first group; the row may be outside */
    int g;
};

/* Where ghost cells left (0) and right (1) of the picture are copies of the 16 elements next to
 * them, and rows end with a whole piece, they are made in registers: word i of them is taken by
 * this selector from words base and base + 1 of the piece, or is constant where base is -1. */
struct halo_ghosts {
    bool near;               /* so it is; elsewhere they are loaded one by one */
    int slope, above, below; /* row y above or below the picture is row slope y + above or below */
    uint16_t selector[2][HALO_MOST_SIDE];
    int8_t base[2][HALO_MOST_SIDE];
};

static inline struct halo_ghosts halo_ghosts_of(const struct halo_plane &src,
                                                enum halo_border border, int side)
{
    const int elements = src.width * src.channels, log2_channels = src.channels - 1;
    struct halo_ghosts ret = {};
    const int last = src.height - 1;
    ret.near = elements % HALO_PIECE == 0 && last >= HALO_PIECE; /* no mask here is higher */
    ret.slope = border == HALO_BORDER_WRAP ? 1 : border == HALO_BORDER_REPLICATE ? 0 : -1;
    ret.above = border == HALO_BORDER_WRAP ? src.height : border == HALO_BORDER_REFLECT ? -1 : 0;
    ret.below = border == HALO_BORDER_WRAP        ? -src.height
                : border == HALO_BORDER_REPLICATE ? last
                : border == HALO_BORDER_REFLECT   ? 2 * last + 1
                                                  : 2 * last;
    for (int i = 0; i < 2 * side; i++) {
        const int right = i / side, word = i % side;
        const int first = right ? elements + 4 * word : 4 * (word - side);
        int from[4], least = HALO_PIECE;
        for (int b = 0; b < 4; b++) {
            const int x = halo_border_index((first + b) >> log2_channels, src.width, border);
            from[b] = x == HALO_GHOST ? HALO_GHOST
                                      : (x << log2_channels) + ((first + b) & log2_channels) -
                                            (right ? elements - HALO_PIECE : 0);
            least = from[b] < least ? from[b] : least;
        }
        const int base = least < 0 ? -1 : least / 4 > 2 ? 2 : least / 4;
        ret.base[right][word] = (int8_t)base;
        for (int b = 0; b < 4; b++) {
            if (border != HALO_BORDER_CONSTANT && (base < 0 || from[b] - 4 * base > 7))
                ret.near = false;
            ret.selector[right][word] |= ((from[b] - 4 * base) & 7) << 4 * b;
        }
    }
    return ret;
}

/* The same where some cells are ghosts. */
template <int SIDE>
struct halo_edge {
    bool first, last; /* this lane takes before, after from memory */
    int at;           /* how many of its 16 elements are in the picture, at most all */
    int before[4 * SIDE], after[4 * SIDE]; /* which elements */
    uint32_t constant[2][SIDE]; /* their bytes that are the border's constant instead: all ones */
};

/* Whether a strip of so many rows has no ghost cells: most have none. The same in all lanes. */
template <int SIDE>
static __device__ inline bool halo_strip_is_inside(int strip_e, int first_y, int rows,
                                                   const struct halo_plane &src)
{
    return strip_e >= 4 * SIDE && strip_e + HALO_STRIP + 4 * SIDE <= src.width * src.channels &&
           first_y >= 0 && first_y + rows <= src.height;
}

template <int SIDE>
static __device__ inline struct halo_edge<SIDE> halo_edge_of(const struct halo_strip &strip,
                                                             const struct halo_plane &src,
                                                             enum halo_border border) {
    struct halo_edge<SIDE> edge;
    const int left = src.width * src.channels - strip.e;
    edge.at = min(left, (int)HALO_PIECE);
    edge.first = strip.g == 0;
    edge.last = left > 0 && (strip.g == 7 || left <= HALO_PIECE);
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        edge.constant[0][i] = edge.constant[1][i] = 0;
#pragma unroll
    for (int b = 0; b < 8 * SIDE; b++) {
        const int n = b / 2, start = b % 2 ? strip.e + edge.at : strip.e - 4 * SIDE;
        const int from = halo_border_element(start + n, src, border);
        (b % 2 ? edge.after : edge.before)[n] = max(from, 0);
        edge.constant[b % 2][n / 4] |= from == HALO_GHOST ? 0xffu << n % 4 * 8 : 0;
    }
    return edge;
}

/* The group-th piece of a strip that is inside. */
template <int SIDE>
static __device__ inline struct halo_raw_piece<SIDE> halo_load_inside(
    const struct halo_strip &strip, int group, const struct halo_plane &src) {
    const uint8_t *from =
        (const uint8_t *)src.data + (strip.y + group * HALO_GROUP) * src.stride + strip.e;
    struct halo_raw_piece<SIDE> ret;
    ret.own = *(const uint4 *)from;
    const uint32_t *beside = (const uint32_t *)(from + (strip.g == 0 ? -4 * SIDE : HALO_PIECE));
    const bool at_end = strip.g == 0 || strip.g == 7;
    if (SIDE == 1) {
        ret.before[0] = at_end ? *beside : 0;
    } else {
        const uint2 two = at_end ? *(const uint2 *)beside : make_uint2(0, 0);
        ret.before[0] = two.x, ret.before[SIDE - 1] = two.y;
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        ret.after[i] = ret.before[i];
    return ret;
}

static __device__ inline uint32_t
halo_load_four(const uint8_t *row, const int *elements, uint32_t constant, uint32_t ghosts)
{
    uint32_t v = 0;
#pragma unroll
    for (int b = 0; b < 4; b++)
        v |= (uint32_t)row[elements[b]] << 8 * b;
    return (v & ~constant) | (ghosts & constant);
}

/* The same of any strip, without branches: all loads of a strip are under way at once. What lies
 * between the end of a row and the next multiple of 16 may be read. */
template <int SIDE>
static __device__ inline struct halo_raw_piece<SIDE> halo_load_edge(
    const struct halo_strip &strip, const struct halo_edge<SIDE> &edge, int group,
    const struct halo_plane &src, enum halo_border border, uint32_t ghost) {
    const int y = halo_border_index(strip.y + group * HALO_GROUP, src.height, border);
    const uint32_t outside = y == HALO_GHOST ? ~0u : 0, ghosts = ghost * 0x01010101u;
    const uint8_t *row = (const uint8_t *)src.data + max(y, 0) * src.stride;
    struct halo_raw_piece<SIDE> ret;
    ret.own = *(const uint4 *)(row + (edge.at > 0 ? strip.e : 0));
    if (outside)
        ret.own = make_uint4(ghosts, ghosts, ghosts, ghosts);
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        ret.before[i] =
            halo_load_four(row, edge.before + 4 * i, edge.constant[0][i] | outside, ghosts);
        ret.after[i] =
            halo_load_four(row, edge.after + 4 * i, edge.constant[1][i] | outside, ghosts);
    }
    return ret;
}

/* Puts the cells in after, which follow the picture's last element, where they belong: from byte at
 * of own on. */
template <int SIDE>
static __device__ inline void halo_append(struct halo_raw_piece<SIDE> &piece, int at)
{
    uint32_t words[4 + SIDE] = {piece.own.x, piece.own.y, piece.own.z, piece.own.w};
#pragma unroll
    for (int i = 0; i < 4 + SIDE; i++) {
        const int skip = 4 * i - at; /* bytes of after that are before this word */
        const uint32_t one = skip < 4 ? piece.after[0] : piece.after[SIDE - 1];
        const uint32_t next = SIDE == 2 && skip < 4 ? piece.after[SIDE - 1] : 0;
        if (skip >= 0)
            words[i] = __funnelshift_r(one, next, 8 * skip);
        else if (skip > -4)
            words[i] = (words[i] & ((1u << -8 * skip) - 1)) | one << -8 * skip;
    }
    piece.own = make_uint4(words[0], words[1], words[2], words[3]);
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        piece.after[i] = words[4 + i];
}

/* Word i of the ghosts on one side, from the piece beside them. */
static __device__ inline uint32_t halo_ghost_word(const uint4 &own,
                                                  const struct halo_ghosts &ghosts, int right,
                                                  int i, uint32_t constant)
{
    const int base = ghosts.base[right][i];
    const uint32_t low = base == 0 ? own.x : base == 1 ? own.y : base == 2 ? own.z : constant;
    const uint32_t high = base == 0 ? own.y : base == 1 ? own.z : base == 2 ? own.w : constant;
    return __byte_perm(low, high, ghosts.selector[right][i]);
}

/* All pieces of a strip whose ghosts are near; returns last. */
template <int SIDE, int LOADS>
static __device__ inline bool halo_load_near(struct halo_raw_piece<SIDE> (&ret)[LOADS],
                                             const struct halo_strip &strip,
                                             const struct halo_plane &src,
                                             const struct halo_ghosts &ghosts,
                                             enum halo_border border, uint32_t ghost)
{
    const int left = src.width * src.channels - strip.e;
    const bool begins = strip.e == 0, ends = left == HALO_PIECE;
    const bool beside = strip.g == 0 ? !begins : strip.g == 7 && left > HALO_PIECE;
    const uint32_t constant = ghost * 0x01010101u;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int y = strip.y + i * HALO_GROUP;
        const bool outside = y < 0 || y >= src.height;
        const int mapped = outside ? ghosts.slope * y + (y < 0 ? ghosts.above : ghosts.below) : y;
        const bool ghost_row = outside && border == HALO_BORDER_CONSTANT;
        const uint8_t *from =
            (const uint8_t *)src.data + min(max(mapped, 0), src.height - 1) * src.stride + strip.e;
        const uint32_t *words = (const uint32_t *)(from + (strip.g == 0 ? -4 * SIDE : HALO_PIECE));
        ret[i].own = make_uint4(constant, constant, constant, constant);
        if (left > 0 && !ghost_row)
            ret[i].own = *(const uint4 *)from;
#pragma unroll
        for (int k = 0; k < SIDE; k++)
            ret[i].before[k] = beside && !ghost_row ? words[k] : constant;
    }
#pragma unroll
    for (int i = 0; i < LOADS; i++)
#pragma unroll
        for (int k = 0; k < SIDE; k++) {
            ret[i].after[k] =
                ends ? halo_ghost_word(ret[i].own, ghosts, 1, k, constant) : ret[i].before[k];
            if (begins)
                ret[i].before[k] = halo_ghost_word(ret[i].own, ghosts, 0, k, constant);
        }
    return strip.g == 7 || ends;
}

/* All pieces of any strip with ghost cells; returns last. */
template <int SIDE, int LOADS>
static __device__ inline bool halo_load_edges(struct halo_raw_piece<SIDE> (&ret)[LOADS],
                                              const struct halo_strip &strip,
                                              const struct halo_plane &src, enum halo_border border,
                                              uint32_t ghost)
{
    const struct halo_edge<SIDE> edge = halo_edge_of<SIDE>(strip, src, border);
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        ret[i] = halo_load_edge<SIDE>(strip, edge, i, src, border, ghost);
    if (edge.last && edge.at < HALO_PIECE)
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            halo_append<SIDE>(ret[i], edge.at);
    return edge.last;
}

/* Adds what the neighbours have; all lanes. first, last: as in halo_edge. */
template <int SIDE>
static __device__ inline struct halo_piece<SIDE> halo_complete(
    const struct halo_raw_piece<SIDE> &raw, bool first, bool last) {
    const uint32_t own[4] = {raw.own.x, raw.own.y, raw.own.z, raw.own.w};
    struct halo_piece<SIDE> ret;
#pragma unroll
    for (int i = 0; i < 4; i++)
        ret.word[SIDE + i] = own[i];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        const uint32_t before = __shfl_up_sync(0xffffffff, own[4 - SIDE + i], 4);
        const uint32_t after = __shfl_down_sync(0xffffffff, own[i], 4);
        ret.word[i] = first ? raw.before[i] : before;
        ret.word[SIDE + 4 + i] = last ? raw.after[i] : after;
    }
    return ret;
}

/* Where this kernel was started before the one before it on the stream has ended (halo_launch), it
 * waits here for that end; then the next may be started. Before the first access to a plane, and
 * planes are read by plain loads: they may have been written while this kernel was there. All of a
 * kernel's blocks that have work call this, so whatever was enqueued before has ended, too. */
static __device__ inline void
halo_wait_for_kernel_before()
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* early: while the kernel before it is at work; its start then costs no time. */
template <class Launch>
static inline cudaError_t halo_launch(void (*kernel)(Launch), const Launch &launch, dim3 blocks,
                                      int threads, bool early, cudaStream_t stream)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early;
    return cudaLaunchKernelEx(&config, kernel, launch);
}

#endif
