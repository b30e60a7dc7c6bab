/* SPDX-License-Identifier: BSD-2-Clause
 * The spot: the place in a numbered frame that stands for a face. Frames carry the number in their
 * canary (pipeline/base/canary.h). The spot's place is a pseudo-random function of the number, so a
 * verdict about another frame has it somewhere else. */
#ifndef HALO_STANDIN_SPOT_H
#define HALO_STANDIN_SPOT_H

/* A rectangle in cells of the canary. */
struct spot {
    int column, row, columns, rows;
};

/* Where the spot is in frame `number` of a stream of width x height pixels, each at least 48. It
 * stays in one place for `stay` frames (1 or more), and covers about a quarter of the width and of
 * the height. */
struct spot spot_of(unsigned number, int width, int height, unsigned stay);

#endif
