/* SPDX-License-Identifier: BSD-2-Clause
 * The canary: a code that is painted over every unfiltered frame and that no filtered frame can
 * contain, so that a checker can tell from any single frame whether it contains something of an
 * unfiltered one.
 *
 * Each plane is a grid of cells. A cell has 8x8 samples on luma and, in 4:2:0, 4x4 samples on
 * chroma, so all planes have the same grid; RGB planes are painted like luma. Each cell contains
 * the sum of two patterns with the highest spatial frequencies, on a smooth background:
 *
 *     mark   a chequerboard of single samples; its sign depends only on plane and position, so it
 *            is known in advance
 *     bit    columns one sample wide, inverted after every two rows; its sign is a bit of a word
 *
 * A place is a window of 6x4 cells that contains one whole word: 16 bits of the frame's number and
 * 8 check bits. Words repeat over the plane, so every 6x4 window contains one. Five places are
 * read: the middle and the corners.
 *
 * A cell's strength is its correlation with its mark: 1 as painted; about 0 if a filter (a blur, or
 * blocks of an even size) has removed the highest frequencies; and, if the unfiltered frame is
 * mixed with another one, its share of the mixture. A cell with a strength of HALO_CANARY_LEAK or
 * more, anywhere, is a leak. The text on cards contains such frequencies, too. In a frame that may
 * be a card, therefore, only a block of 2x2 cells with the right signs and a strength of
 * HALO_CANARY_LEAKING_BLOCK or more is a leak. */
#ifndef HALO_CANARY_H
#define HALO_CANARY_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#define HALO_CANARY_LEAK          0.25f
#define HALO_CANARY_LEAKING_BLOCK 0.35f /* blocks of a card's text have at most 0.16 */

enum {
    HALO_CANARY_PLACES = 5,
    HALO_CANARY_PLANES = 3,
    HALO_CANARY_CELL = 8 /* width and height in luma samples */
};

/* Paints the whole frame, which must have a native format (format.h) of any depth. Each word of the
 * code contains `number` modulo 65536. Every painted sample is odd, so if a filter produces only
 * even samples (black is even in every format), none of its output can be mistaken for an
 * unfiltered sample. */
void halo_canary_paint(AVFrame *frame, unsigned number);

/* Returns the value of one sample as halo_canary_paint() paints it. component is numbered as in
 * AVPixFmtDescriptor. */
unsigned halo_canary_sample(enum AVPixelFormat format, int component, int x, int y,
                            unsigned number);

struct halo_canary_finding {
    float cell;      /* strength of the strongest cell */
    int plane, x, y; /* plane and first sample of that cell */
    float block;     /* strength of the strongest block of 2x2 cells whose marks all have the
                        expected signs */
    int words;       /* number of places in the frame where a word with correct check bits was
                        read */
    int number;      /* the number in the first word that was read with correct check bits;
                        negative: no such word */
    bool plain;      /* the frame may be a card: no colours, and a single gray in the top and bottom
                        rows */
    bool leaks;
};

/* A selection of cells. */
struct halo_canary_area {
    const uint8_t *meant; /* one byte per cell, row by row; nonzero if selected */
    int columns, rows;
};

/* Searches a frame for anything unfiltered. The frame must be YUV or gray, with one byte per sample
 * and one plane per component. If area is NULL, all cells are checked, and the words of the code
 * are read in all places. If area is not NULL, only the cells that it selects are checked, and no
 * words are read. Any thread. */
void halo_canary_check(const AVFrame *frame, const struct halo_canary_area *area,
                       struct halo_canary_finding *ret);

#endif
