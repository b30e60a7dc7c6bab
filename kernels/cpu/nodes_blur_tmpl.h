/* SPDX-License-Identifier: BSD-2-Clause
 * nodes_tmpl.c: the blur, of BLOCK neighbouring nodes at once. The two nodes at each distance are
 * added before they are multiplied by their weight; their sums have at most 22 bits. */

enum { LANES = 16, HALF = LANES / 2, BLOCK = 2 * LANES };

typedef uint32_t nodes_vec __attribute__((vector_size(4 * LANES), may_alias));
typedef nodes_vec nodes_unaligned __attribute__((aligned(4)));
/* signed, because some CPUs have vector instructions that convert between doubles and signed
 * integers, but none for unsigned integers */
typedef int32_t half_vec __attribute__((vector_size(4 * HALF), may_alias));
typedef double wide_vec __attribute__((vector_size(8 * HALF)));

static inline nodes_vec at(const uint32_t *p)
{
    return *(const nodes_unaligned *)p;
}

/* For sums below 2^31. */
static void blur_narrow(uint32_t *to, const uint32_t *nodes, ptrdiff_t stride, const int32_t *side,
                        int reach, int bits)
{
    const nodes_vec round = (1u << (bits - 1)) - (nodes_vec){0};
    nodes_vec a = at(nodes) * (uint32_t)side[0] + round;
    nodes_vec b = at(nodes + LANES) * (uint32_t)side[0] + round;
    for (int i = 1; i <= reach; i++) {
        const uint32_t *before = nodes - i * stride, *after = nodes + i * stride;
        a += (at(before) + at(after)) * (uint32_t)side[i];
        b += (at(before + LANES) + at(after + LANES)) * (uint32_t)side[i];
    }
    *(nodes_unaligned *)to = a >> bits;
    *(nodes_unaligned *)(to + LANES) = b >> bits;
}

/* Sums of nodes after the end of the line may wrap, because nothing reads them. */
static inline wide_vec wide(const uint32_t *before, const uint32_t *after)
{
    typedef uint32_t unaligned __attribute__((vector_size(4 * HALF), aligned(4), may_alias));
    const half_vec sum = (half_vec)(*(const unaligned *)before + *(const unaligned *)after);
    return __builtin_convertvector(sum, wide_vec);
}

static inline void put_wide(uint32_t *to, wide_vec sum, double unit)
{
    typedef half_vec unaligned __attribute__((aligned(4)));
    *(unaligned *)to = __builtin_convertvector(sum * unit + 0.5, half_vec);
}

/* Blurs with sums that may be large but stay below 2^50, so doubles hold them exactly. The centre
 * node is added to itself, and the result is multiplied by half the centre's weight. */
static void blur_wide(uint32_t *to, const uint32_t *nodes, ptrdiff_t stride, const int32_t *side,
                      int reach, int bits)
{
    const double unit = 1.0 / (INT64_C(1) << bits);
    wide_vec a = wide(nodes, nodes) * (0.5 * side[0]);
    wide_vec b = wide(nodes + HALF, nodes + HALF) * (0.5 * side[0]);
    wide_vec c = wide(nodes + 2 * HALF, nodes + 2 * HALF) * (0.5 * side[0]);
    wide_vec d = wide(nodes + 3 * HALF, nodes + 3 * HALF) * (0.5 * side[0]);
    for (int i = 1; i <= reach; i++) {
        const uint32_t *before = nodes - i * stride, *after = nodes + i * stride;
        const double w = side[i];
        a += wide(before, after) * w;
        b += wide(before + HALF, after + HALF) * w;
        c += wide(before + 2 * HALF, after + 2 * HALF) * w;
        d += wide(before + 3 * HALF, after + 3 * HALF) * w;
    }
    put_wide(to, a, unit);
    put_wide(to + HALF, b, unit);
    put_wide(to + 2 * HALF, c, unit);
    put_wide(to + 3 * HALF, d, unit);
}
