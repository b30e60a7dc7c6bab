/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy direct (direct.cuh): pieces of the picture with ghost cells, the quick way and any. */
#ifndef HALO_DIRECT_GHOSTS_CUH
#define HALO_DIRECT_GHOSTS_CUH

#include "kernels/cuda/tensor.cuh"
#include "kernels/cuda/tile.cuh"

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

/* What a kernel reads, and its ghost cells. */
struct halo_picture {
    struct halo_plane plane;
    enum halo_border border;
    int ghost; /* HALO_BORDER_CONSTANT */
    struct halo_ghosts ghosts;
};

static inline struct halo_picture halo_picture_of(const struct halo_cuda_call *call, int side)
{
    const enum halo_border border = call->conv->border;
    return {call->src, border, call->conv->border_value, halo_ghosts_of(call->src, border, side)};
}

static __device__ inline int halo_row_elements(const struct halo_picture &picture)
{
    return picture.plane.width * picture.plane.channels;
}

/* The same where some cells are ghosts. */
template <int SIDE>
struct halo_edge {
    bool first, last; /* this lane takes before, after from memory */
    int at;           /* how many of its 16 elements are in the picture, at most all */
    int before[4 * SIDE], after[4 * SIDE]; /* which elements */
    uint32_t constant[2][SIDE]; /* their bytes that are the border's constant instead: all ones */
};

template <int SIDE>
static __device__ inline halo_edge<SIDE> halo_edge_of(const struct halo_strip &strip,
                                                      const struct halo_picture &picture)
{
    halo_edge<SIDE> edge;
    const int left = halo_row_elements(picture) - strip.e;
    edge.at = min(left, (int)HALO_PIECE);
    edge.first = strip.g == 0;
    edge.last = left > 0 && (strip.g == 7 || left <= HALO_PIECE);
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        edge.constant[0][i] = edge.constant[1][i] = 0;
#pragma unroll
    for (int b = 0; b < 8 * SIDE; b++) {
        const int n = b / 2, start = b % 2 ? strip.e + edge.at : strip.e - 4 * SIDE;
        const int from = halo_border_element(start + n, picture.plane, picture.border);
        (b % 2 ? edge.after : edge.before)[n] = max(from, 0);
        edge.constant[b % 2][n / 4] |= from == HALO_GHOST ? 0xffu << n % 4 * 8 : 0;
    }
    return edge;
}

static __device__ inline uint32_t halo_load_four(const uint8_t *row, const int *elements,
                                                 uint32_t ghost_bytes, uint32_t constant)
{
    uint32_t v = 0;
#pragma unroll
    for (int b = 0; b < 4; b++)
        v |= (uint32_t)row[elements[b]] << 8 * b;
    return (v & ~ghost_bytes) | (constant & ghost_bytes);
}

/* The same of any strip, without branches: all loads of a strip are under way at once. What lies
 * between the end of a row and the next multiple of 16 may be read. */
template <int SIDE>
static __device__ inline halo_raw_piece<SIDE> halo_load_any(const struct halo_strip &strip,
                                                            const halo_edge<SIDE> &edge, int group,
                                                            const struct halo_picture &picture,
                                                            uint32_t constant)
{
    const struct halo_plane &src = picture.plane;
    const int y = halo_border_index(strip.y + group * HALO_GROUP, src.height, picture.border);
    const uint32_t outside = y == HALO_GHOST ? ~0u : 0;
    const uint8_t *row = (const uint8_t *)src.data + max(y, 0) * src.stride;
    halo_raw_piece<SIDE> ret;
    ret.own = *(const uint4 *)(row + (edge.at > 0 ? strip.e : 0));
    if (outside)
        ret.own = make_uint4(constant, constant, constant, constant);
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        ret.before[i] =
            halo_load_four(row, edge.before + 4 * i, edge.constant[0][i] | outside, constant);
        ret.after[i] =
            halo_load_four(row, edge.after + 4 * i, edge.constant[1][i] | outside, constant);
    }
    return ret;
}

/* Puts the cells in after, which follow the picture's last element, where they belong: from byte at
 * of own on. */
template <int SIDE>
static __device__ inline void halo_append(halo_raw_piece<SIDE> &piece, int at)
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

/* The group-th piece of a strip whose ghosts are near; they are added by halo_add_near. */
template <int SIDE>
static __device__ inline halo_raw_piece<SIDE> halo_load_near(const struct halo_strip &strip,
                                                             int group,
                                                             const struct halo_picture &picture,
                                                             uint32_t constant)
{
    const struct halo_plane &src = picture.plane;
    const struct halo_ghosts &ghosts = picture.ghosts;
    const int left = halo_row_elements(picture) - strip.e;
    const bool beside = strip.g == 0 ? strip.e > 0 : strip.g == 7 && left > HALO_PIECE;
    const int y = strip.y + group * HALO_GROUP;
    const bool outside = y < 0 || y >= src.height;
    const int mapped = outside ? ghosts.slope * y + (y < 0 ? ghosts.above : ghosts.below) : y;
    const bool ghost_row = outside && picture.border == HALO_BORDER_CONSTANT;
    const uint8_t *from =
        (const uint8_t *)src.data + min(max(mapped, 0), src.height - 1) * src.stride + strip.e;
    const uint32_t *words = (const uint32_t *)(from + (strip.g == 0 ? -4 * SIDE : HALO_PIECE));

    halo_raw_piece<SIDE> ret;
    ret.own = make_uint4(constant, constant, constant, constant);
    if (left > 0 && !ghost_row)
        ret.own = *(const uint4 *)from;
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        ret.before[i] = beside && !ghost_row ? words[i] : constant;
        ret.after[i] = ret.before[i];
    }
    return ret;
}

/* Once the piece is there. */
template <int SIDE>
static __device__ inline void halo_add_near(halo_raw_piece<SIDE> &piece,
                                            const struct halo_strip &strip,
                                            const struct halo_picture &picture, uint32_t constant)
{
    const bool begins = strip.e == 0;
    const bool ends = strip.e + HALO_PIECE == halo_row_elements(picture);
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        if (begins)
            piece.before[i] = halo_ghost_word(piece.own, picture.ghosts, 0, i, constant);
        if (ends)
            piece.after[i] = halo_ghost_word(piece.own, picture.ghosts, 1, i, constant);
    }
}

#endif
