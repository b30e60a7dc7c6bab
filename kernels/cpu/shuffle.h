/* SPDX-License-Identifier: BSD-2-Clause
 * SHUFFLE(A, B, LANES...): a vector of those lanes of the vectors A and B; B's numbers follow A's.
 * The lanes are integers of 32 bits, the numbers constants. */
#ifndef HALO_SHUFFLE_H
#define HALO_SHUFFLE_H

#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else /* GCC before 12 */
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif

#endif
