/* SPDX-License-Identifier: BSD-2-Clause
 * The canary: a code in every unfiltered frame that no filtered frame can have, so that a checker
 * sees from any single frame whether it contains something of an unfiltered one.
 *
 * Each plane is a grid of cells: 8x8 samples of luma, 4x4 of chroma in 4:2:0, the same grid for all
 * planes; the planes of RGB are painted like luma. Each cell holds the sum of two patterns of the
 * finest frequencies, on a smooth ground:
 *
 *     mark   a chequer of single samples; its sign depends on plane and position alone, so it is
 *            known beforehand
 *     bit    columns of single samples, inverted after every two rows; its sign is a bit of a word
 *
 * A place is a window of 6x4 cells with one whole word: 16 bits of the frame's number and 8 check
 * bits. Words repeat over the plane, so every window of 6x4 cells contains one; five of them are
 * read: the middle and the corners.
 *
 * A cell's strength is its correlation with its mark: 1 as painted; if the unfiltered frame is
 * mixed with another one, its share of the mixture; and about 0 if a filter has removed the finest
 * frequencies (a blur, blocks of an even size). A cell of strength HALO_CANARY_LEAK anywhere is a
 * leak. The text on cards contains such frequencies, too; therefore, in a frame that may be a card,
 * only a block of 2x2 cells with the right signs and a strength of HALO_CANARY_LEAKING_BLOCK is a
 * leak. */
#ifndef HALO_CANARY_H
#define HALO_CANARY_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#define HALO_CANARY_LEAK          0.25f
#define HALO_CANARY_LEAKING_BLOCK 0.35f /* text on cards has 0.16 */

enum {
    HALO_CANARY_PLACES = 5,
    HALO_CANARY_PLANES = 3,
    HALO_CANARY_CELL = 8 /* width and height in luma samples */
};

/* Paints the whole frame, which has a native format (format.h) of any depth. Words hold number
 * modulo 65536. Every sample is odd, so if a filter produces only even samples (black is even in
 * every format), none of its output can be taken for an unfiltered sample. */
void halo_canary_paint(AVFrame *frame, unsigned number);

/* Returns one sample as painted; component is numbered as in AVPixFmtDescriptor. */
unsigned halo_canary_sample(enum AVPixelFormat format, int component, int x, int y,
                            unsigned number);

struct halo_canary_finding {
    float cell;      /* strength of the strongest cell */
    int plane, x, y; /* of that cell, its first sample */
    float block;     /* strength of the strongest block whose marks have the right signs */
    int words;       /* places with strong bits and a word whose check bits are right */
    int number;      /* in the first of these words; negative: no such word */
    bool plain;      /* without colours, top and bottom rows of one gray: perhaps a card */
    bool leaks;
};

/* A selection of cells. */
struct halo_canary_area {
    const uint8_t *meant; /* one for each cell, row by row; not 0: selected */
    int columns, rows;
};

/* Checks a frame, YUV or gray, with a byte for each sample and a plane for each component. area:
 * the cells that must not contain anything unfiltered; words are not read then. NULL: no cell may.
 * Any thread. */
void halo_canary_check(const AVFrame *frame, const struct halo_canary_area *area,
                       struct halo_canary_finding *ret);

#endif
