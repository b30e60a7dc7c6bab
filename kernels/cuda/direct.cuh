/* SPDX-License-Identifier: BSD-2-Clause
 * Strategy direct: how pixels are loaded into registers. A warp processes a strip of the plane, 128
 * bytes wide, from top to bottom.
 *
 *             lane g of 8:  16 bytes each
 *      row   +----+----+----+-- --+----+
 *      t = 0 |    |    |    |     |    |     A group of four rows: lane 4 g + t has the piece of 16
 *          1 |    |    |    |     |    |     bytes g of row t, and from the lanes beside it the
 *          2 |    |    |    |     |    |     words next to it.
 *          3 |    |    |    |     |    |
 *            +----+----+----+-- --+----+
 *
 * Ghost cells left and right of the plane are made from the piece next to them if possible
 * ("near"), because strips with ghost cells are few and must not be slower than the others;
 * otherwise they are loaded one by one. */
#ifndef HALO_DIRECT_CUH
#define HALO_DIRECT_CUH

#include "kernels/cuda/tensor.cuh"
#include "kernels/cuda/tile.cuh"

enum {
    HALO_PIECE = 16,
    HALO_STRIP = 8 * HALO_PIECE, /* bytes */
    HALO_GROUP = 4,              /* rows */
    HALO_BESIDE = 4,             /* elements on each side: no mask of this strategy reaches
                                  * further */
    HALO_LOW = 16,               /* ghosts are never near in a plane with fewer rows */
};

/* The 16 elements of a lane, and one word from the neighbour on each side. */
struct halo_piece {
    uint32_t word[6];
};

/* A piece that is being loaded: `before` is valid in the first lane of a row, `after` in the last
 * lane and at the end of the plane. */
struct halo_raw_piece {
    uint4 own;
    uint32_t before, after;
};

/* Where a lane's pieces come from. */
struct halo_strip {
    int e, y; /* position of its piece in the first group; the row may be outside */
    int g;
};

/* Near ghosts. Those on the left (0) and right (1) are bytes of words base and base + 1 of the
 * adjacent piece, or the constant if base is -1. Row y above or below the plane is row slope * y +
 * above, or + below. Rows consist of complete pieces. */
struct halo_ghosts {
    bool near;
    int slope, above, below;
    int base[2];
    uint32_t selector[2];
};

/* The input of a kernel. */
struct halo_picture {
    struct halo_plane plane;
    int elements; /* in a row */
    enum halo_border border;
    uint32_t constant; /* the border's constant, four times */
    struct halo_ghosts ghosts;
};

/* Computes one side. Returns false if its ghosts are not near. */
static inline bool halo_near_side(struct halo_ghosts *ghosts, const struct halo_picture &frame,
                                  int right)
{
    const int elements = frame.elements, log2_channels = frame.plane.channels - 1;
    int from[HALO_BESIDE], least = HALO_PIECE;
    for (int b = 0; b < HALO_BESIDE; b++) {
        const int e = right ? elements + b : b - HALO_BESIDE;
        const int x = halo_border_index(e >> log2_channels, frame.plane.width, frame.border);
        from[b] = (x << log2_channels) + (e & log2_channels) - (right ? elements - HALO_PIECE : 0);
        least = from[b] < least ? from[b] : least;
    }
    const int base = least / 4 > 2 ? 2 : least / 4;
    ghosts->base[right] = frame.border == HALO_BORDER_CONSTANT ? -1 : base;
    ghosts->selector[right] = 0;
    for (int b = 0; b < HALO_BESIDE; b++) {
        const int byte = from[b] - 4 * base;
        ghosts->selector[right] |= (byte & 7) << 4 * b;
        if (frame.border != HALO_BORDER_CONSTANT && (least < 0 || byte > 7))
            return false;
    }
    return true;
}

static inline struct halo_picture halo_frame_of(const struct halo_cuda_call *call)
{
    struct halo_picture frame = {};
    frame.plane = call->src;
    frame.elements = call->src.width * call->src.channels;
    frame.border = call->conv->border;
    frame.constant = call->conv->border_value * 0x01010101u;

    struct halo_ghosts *ghosts = &frame.ghosts;
    const int height = call->src.height;
    switch (frame.border) {
    case HALO_BORDER_REPLICATE:
        ghosts->below = height - 1;
        break;
    case HALO_BORDER_REFLECT:
        ghosts->slope = -1, ghosts->above = -1, ghosts->below = 2 * height - 1;
        break;
    case HALO_BORDER_REFLECT101:
        ghosts->slope = -1, ghosts->below = 2 * height - 2;
        break;
    case HALO_BORDER_WRAP:
        ghosts->slope = 1, ghosts->above = height, ghosts->below = -height;
        break;
    default:
        break;
    }
    ghosts->near = frame.elements % HALO_PIECE == 0 && height >= HALO_LOW &&
                   halo_near_side(ghosts, frame, 0) && halo_near_side(ghosts, frame, 1);
    return frame;
}

/* The kind of a strip: the same in all lanes of a warp. */
enum halo_strip_kind {
    HALO_STRIP_INSIDE, /* no ghost cells: most strips */
    HALO_STRIP_NEAR,
    HALO_STRIP_ANY,
};

static __device__ inline enum halo_strip_kind halo_strip_kind_of(int strip_e, int first_y, int rows,
                                                                 const struct halo_picture &frame)
{
    if (strip_e >= HALO_BESIDE && strip_e + HALO_STRIP + HALO_BESIDE <= frame.elements &&
        first_y >= 0 && first_y + rows <= frame.plane.height)
        return HALO_STRIP_INSIDE;
    return frame.ghosts.near ? HALO_STRIP_NEAR : HALO_STRIP_ANY;
}

/* Loads piece number `group` of a strip. */
static __device__ inline struct halo_raw_piece halo_load_inside(const struct halo_strip &strip,
                                                                int group,
                                                                const struct halo_picture &frame)
{
    const ptrdiff_t stride = frame.plane.stride;
    const uint8_t *from =
        (const uint8_t *)frame.plane.data + (strip.y + group * HALO_GROUP) * stride + strip.e;
    const bool at_end = strip.g == 0 || strip.g == 7;
    struct halo_raw_piece ret;
    ret.own = *(const uint4 *)from;
    ret.before = at_end ? *(const uint32_t *)(from + (strip.g == 0 ? -4 : HALO_PIECE)) : 0;
    ret.after = ret.before;
    return ret;
}

/* As above, but nothing left or right of the plane is loaded. */
static __device__ inline struct halo_raw_piece halo_load_near(const struct halo_strip &strip,
                                                              int group,
                                                              const struct halo_picture &frame)
{
    const struct halo_plane &src = frame.plane;
    const struct halo_ghosts &ghosts = frame.ghosts;
    const int left = frame.elements - strip.e, y = strip.y + group * HALO_GROUP;
    /* Not if the whole piece is to the right of the plane: it may be after the end of its
     * memory. */
    const bool beside =
        left > 0 && (strip.g == 0 ? strip.e > 0 : strip.g == 7 && left > HALO_PIECE);
    const bool outside = y < 0 || y >= src.height;
    const bool constant = outside && frame.border == HALO_BORDER_CONSTANT;
    const int row = outside ? ghosts.slope * y + (y < 0 ? ghosts.above : ghosts.below) : y;
    /* Rows further below are not used, but their addresses must be valid. */
    const uint8_t *from =
        (const uint8_t *)src.data + min(max(row, 0), src.height - 1) * src.stride + strip.e;

    const uint32_t word = frame.constant;
    struct halo_raw_piece ret = {make_uint4(word, word, word, word), word, word};
    if (left > 0 && !constant)
        ret.own = *(const uint4 *)from;
    if (beside && !constant)
        ret.before = *(const uint32_t *)(from + (strip.g == 0 ? -4 : HALO_PIECE));
    ret.after = ret.before;
    return ret;
}

/* The ghosts on one side, from the adjacent piece. */
static __device__ inline uint32_t halo_near_ghosts(const uint4 &own, int right,
                                                   const struct halo_picture &frame)
{
    const int base = frame.ghosts.base[right];
    const uint32_t constant = frame.constant;
    const uint32_t low = base == 0 ? own.x : base == 1 ? own.y : base == 2 ? own.z : constant;
    const uint32_t high = base == 0 ? own.y : base == 1 ? own.z : base == 2 ? own.w : constant;
    return __byte_perm(low, high, frame.ghosts.selector[right]);
}

/* Four elements from element e on, which may be outside. */
static __device__ inline uint32_t halo_load_cells(const uint8_t *row, int e,
                                                  const struct halo_picture &frame)
{
    uint32_t cells = 0;
#pragma unroll
    for (int b = 0; b < 4; b++) {
        const int from = halo_border_element(e + b, frame.plane, frame.border);
        const uint32_t cell = row[max(from, 0)];
        cells |= (from == HALO_GHOST ? frame.constant & 0xff : cell) << 8 * b;
    }
    return cells;
}

/* Loads a complete piece with its ghosts. The bytes between the end of a row and the next multiple
 * of 16 may be read. */
static __device__ inline struct halo_raw_piece halo_load_any(const struct halo_strip &strip,
                                                             int group,
                                                             const struct halo_picture &frame)
{
    const uint32_t word = frame.constant;
    struct halo_raw_piece ret = {make_uint4(word, word, word, word), word, word};
    const int left = frame.elements - strip.e, at = min(left, (int)HALO_PIECE);
    const int y = halo_border_index(strip.y + group * HALO_GROUP, frame.plane.height, frame.border);
    if (y == HALO_GHOST || left <= 0)
        return ret;

    const uint8_t *row = (const uint8_t *)frame.plane.data + y * frame.plane.stride;
    ret.own = *(const uint4 *)(row + strip.e);
    ret.before = halo_load_cells(row, strip.e - 4, frame);
    const uint32_t follow = halo_load_cells(row, strip.e + at, frame);
    uint32_t words[5] = {ret.own.x, ret.own.y, ret.own.z, ret.own.w, follow};
#pragma unroll
    for (int i = 0; i < 5; i++) {
        const int bits = 8 * (at - 4 * i); /* bits of this word that are in the plane */
        if (bits <= 0)
            words[i] = bits > -32 ? follow >> -bits : 0;
        else if (bits < 32)
            words[i] = (words[i] & ((1u << bits) - 1)) | follow << bits;
    }
    ret.own = make_uint4(words[0], words[1], words[2], words[3]);
    ret.after = words[4];
    return ret;
}

template <enum halo_strip_kind KIND>
static __device__ inline struct halo_raw_piece halo_load(const struct halo_strip &strip, int group,
                                                         const struct halo_picture &frame)
{
    return KIND == HALO_STRIP_INSIDE ? halo_load_inside(strip, group, frame)
           : KIND == HALO_STRIP_NEAR ? halo_load_near(strip, group, frame)
                                     : halo_load_any(strip, group, frame);
}

/* Waits for a piece and adds the words of the neighbours; called by all lanes. */
template <enum halo_strip_kind KIND>
static __device__ inline struct halo_piece halo_complete(const struct halo_raw_piece &raw,
                                                         const struct halo_strip &strip,
                                                         const struct halo_picture &frame)
{
    const bool ends = KIND != HALO_STRIP_INSIDE && strip.e + HALO_PIECE >= frame.elements;
    uint32_t before = raw.before, after = raw.after;
    if (KIND == HALO_STRIP_NEAR && strip.e == 0)
        before = halo_near_ghosts(raw.own, 0, frame);
    if (KIND == HALO_STRIP_NEAR && ends)
        after = halo_near_ghosts(raw.own, 1, frame);
    const uint32_t up = __shfl_up_sync(0xffffffff, raw.own.w, 4);
    const uint32_t down = __shfl_down_sync(0xffffffff, raw.own.x, 4);
    return {{strip.g == 0 ? before : up, raw.own.x, raw.own.y, raw.own.z, raw.own.w,
             strip.g == 7 || ends ? after : down}};
}

#endif
