/* SPDX-License-Identifier: BSD-2-Clause
 * The definition of exp(), sigmoid() and hard-swish, for scalars, for vectors and for devices. The
 * file that includes this one defines before: number, float or a vector of floats, and whole, the
 * same of int32_t; fused(a, b, c), which is a * b + c, rounded once; all(x), the float x in each
 * lane; larger(a, b), which is a > b ? a : b; smaller(a, b), a < b ? a : b; pick(condition, a, b);
 * as_whole(a) and as_number(a), the same bits. */

/* exp(x), for x limited to -87 .. 88: always a normal number. x is n ln 2 + r with |r| < 0.35; then
 * 2^n times the sum of r^i / i! up to i = 7, of which the next summand would be below 6e-9. */
static inline number net_exp(number x)
{
    const number round = all(12582912.0f); /* 1.5 * 2^23: numbers of this size are whole */
    x = larger(smaller(x, all(88.0f)), all(-87.0f));
    const number sum = fused(x, all(0x1.715476p+0f), round); /* 1 / ln 2 */
    const number n = sum - round;
    number r = fused(n, all(-0x1.62e430p-1f), x); /* ln 2, rounded, and the rest of it */
    r = fused(n, all(0x1.05c610p-29f), r);
    number p = all(1.0f / 5040);
    p = fused(p, r, all(1.0f / 720));
    p = fused(p, r, all(1.0f / 120));
    p = fused(p, r, all(1.0f / 24));
    p = fused(p, r, all(1.0f / 6));
    p = fused(p, r, all(0.5f));
    p = fused(p, r, all(1.0f));
    p = fused(p, r, all(1.0f));
    /* The low bits of `sum` are n. */
    return as_number(as_whole(p) + (as_whole(sum) - as_whole(round)) * (1 << 23));
}

/* 1 / (1 + exp(-x)); without a large exp(), so the result is exact to a few units everywhere. */
static inline number net_sigmoid(number x)
{
    const number e = net_exp(smaller(x, -x));
    const number s = 1.0f / (1.0f + e);
    return pick(x < all(0.0f), e * s, s);
}

static inline number net_hswish(number x)
{
    const number gate = larger(smaller(x + 3.0f, all(6.0f)), all(0.0f));
    return x * gate * (1.0f / 6);
}
