/* SPDX-License-Identifier: BSD-2-Clause
 * The canary: a code in every raw picture that no filtered picture can have, so that a checker sees
 * from any picture alone whether something of a raw one is in it.
 *
 * Each plane is a grid of cells: 8x8 samples of luma, 4x4 of chroma in 4:2:0, the same grid for
 * all; the planes of RGB are painted as luma is. In a cell two patterns of the finest frequencies
 * lie over each other, on a smooth ground:
 *
 *     mark   a chequer of single samples, its sign by plane and place alone: known beforehand
 *     bit    columns of single samples that turn every other row, its sign one bit of a word
 *
 * A place is 6x4 cells with one whole word: 16 bits of the picture's number, 8 that check them.
 * Words repeat over the plane, so every window of 6x4 cells has one: five are read, the middle and
 * the corners.
 *
 * A cell's strength is the correlation with its mark: 1 as painted, the share of the raw picture
 * where it is mixed with another, and about 0 where a filter has taken away the finest frequencies
 * (a blur, blocks of an even size). A cell of strength HALO_CANARY_LEAK anywhere is a leak. Words
 * on cards have such frequencies of their own, so where a picture may be a card it takes a block of
 * 2x2 cells with the right signs, of strength HALO_CANARY_LEAKING_BLOCK. */
#ifndef HALO_CANARY_H
#define HALO_CANARY_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#define HALO_CANARY_LEAK          0.25f
#define HALO_CANARY_LEAKING_BLOCK 0.35f /* words on cards have 0.16 */

enum {
    HALO_CANARY_PLACES = 5,
    HALO_CANARY_PLANES = 3,
    HALO_CANARY_CELL = 8 /* samples of luma, both ways */
};

/* Over the whole of a picture in a native format (format.h), whatever its depth; the rest of number
 * is its value modulo 65536. Every sample is odd, so that no filter whose samples are even (black
 * is in every format) leaves one that could be a raw one. */
void halo_canary_paint(AVFrame *frame, unsigned number);

/* One sample of it; component: as FFmpeg counts them. */
unsigned halo_canary_sample(enum AVPixelFormat format, int component, int x, int y,
                            unsigned number);

struct halo_canary_finding {
    float cell;      /* strength of the strongest cell */
    int plane, x, y; /* of that cell, its first sample */
    float block;     /* strength of the strongest block, by the marks' own signs */
    int words;       /* whole ones, of places whose bits are strong enough to be some */
    int number;      /* that the first of those says; negative: there is none */
    bool plain;      /* without colours, its edges of one gray: perhaps a card */
    bool leaks;
};

/* Cells of a picture, in rows. */
struct halo_canary_area {
    const uint8_t *meant; /* not 0: there nothing may be */
    int columns, rows;
};

/* Of a picture, YUV or gray, with a byte for each sample and a plane for each component. area:
 * cells where nothing may be; words are not looked at then. NULL: nothing may be anywhere. Any
 * thread. */
void halo_canary_check(const AVFrame *frame, const struct halo_canary_area *area,
                       struct halo_canary_finding *ret);

#endif
