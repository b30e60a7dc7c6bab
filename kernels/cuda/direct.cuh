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

#include "kernels/cuda/direct_ghosts.cuh"
#include "kernels/cuda/launch.cuh"

/* Whether a strip of so many rows has no ghost cells: most have none. The same in all lanes. */
template <int SIDE>
static __device__ inline bool halo_strip_is_inside(int strip_e, int first_y, int rows,
                                                   const struct halo_picture &picture)
{
    return strip_e >= 4 * SIDE && strip_e + HALO_STRIP + 4 * SIDE <= halo_row_elements(picture) &&
           first_y >= 0 && first_y + rows <= picture.plane.height;
}

/* The group-th piece of a strip that is inside. */
template <int SIDE>
static __device__ inline halo_raw_piece<SIDE> halo_load_inside(const struct halo_strip &strip,
                                                               int group,
                                                               const struct halo_picture &picture)
{
    const struct halo_plane &src = picture.plane;
    const uint8_t *from =
        (const uint8_t *)src.data + (strip.y + group * HALO_GROUP) * src.stride + strip.e;
    halo_raw_piece<SIDE> ret;
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

/* What kind of a strip it is: the same in all lanes of a warp. */
enum halo_strip_kind {
    HALO_STRIP_INSIDE, /* no ghost cells: most are so */
    HALO_STRIP_NEAR,   /* ghost cells as in halo_ghosts */
    HALO_STRIP_ANY,
};

/* Where the pieces of a strip come from. */
template <int SIDE>
struct halo_source {
    struct halo_strip strip;
    uint32_t constant;    /* four of the border's cells */
    halo_edge<SIDE> edge; /* HALO_STRIP_ANY */
};

template <int SIDE, enum halo_strip_kind KIND>
static __device__ inline halo_source<SIDE> halo_source_of(const struct halo_picture &picture,
                                                          const struct halo_strip &strip)
{
    halo_source<SIDE> source;
    source.strip = strip;
    source.constant = picture.ghost * 0x01010101u;
    if (KIND == HALO_STRIP_ANY)
        source.edge = halo_edge_of<SIDE>(strip, picture);
    return source;
}

/* The group-th piece. */
template <int SIDE, enum halo_strip_kind KIND>
static __device__ inline halo_raw_piece<SIDE> halo_load(const halo_source<SIDE> &source, int group,
                                                        const struct halo_picture &picture)
{
    return KIND == HALO_STRIP_INSIDE ? halo_load_inside<SIDE>(source.strip, group, picture)
           : KIND == HALO_STRIP_NEAR
               ? halo_load_near<SIDE>(source.strip, group, picture, source.constant)
               : halo_load_any<SIDE>(source.strip, source.edge, group, picture, source.constant);
}

/* Waits for a piece and adds what the neighbours have; all lanes. */
template <int SIDE, enum halo_strip_kind KIND>
static __device__ inline halo_piece<SIDE> halo_complete(halo_raw_piece<SIDE> raw,
                                                        const halo_source<SIDE> &source,
                                                        const struct halo_picture &picture)
{
    const bool first = source.strip.g == 0;
    bool last = source.strip.g == 7;
    if (KIND == HALO_STRIP_NEAR) {
        halo_add_near<SIDE>(raw, source.strip, picture, source.constant);
        last = last || source.strip.e + HALO_PIECE == halo_row_elements(picture);
    }
    if (KIND == HALO_STRIP_ANY) {
        if (source.edge.last && source.edge.at < HALO_PIECE)
            halo_append<SIDE>(raw, source.edge.at);
        last = source.edge.last;
    }
    const uint32_t own[4] = {raw.own.x, raw.own.y, raw.own.z, raw.own.w};
    halo_piece<SIDE> ret;
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

#endif
