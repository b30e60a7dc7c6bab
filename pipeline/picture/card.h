/* SPDX-License-Identifier: BSD-2-Clause
 * Cards: what stands where no picture can be shown. A plain picture with some words in the middle,
 * and nothing of any input. */
#ifndef HALO_CARD_H
#define HALO_CARD_H

#include <libavutil/frame.h>
#include <stdbool.h>

enum {
    HALO_CARD_LINES = 4,
    HALO_CARD_LETTERS = 64, /* of a line; more are cut */
};

/* Lines are broken at blanks where the picture is narrow. Letters that are not printable ASCII show
 * as '?'. */
struct halo_card {
    bool black;                        /* else gray */
    const char *line[HALO_CARD_LINES]; /* from the top; those that are NULL or "" are left out */
};

/* Fills every sample of the picture, which has a native format (format.h), any size, and its range
 * in color_range. The words are as large as there is room for; what has no room at all is left out.
 * Any thread; does not fail. */
void halo_card_draw(AVFrame *frame, const struct halo_card *card);

#endif
