/* SPDX-License-Identifier: BSD-2-Clause
 * Cards: frames that are shown in place of missing frames. A card is a plain frame with text in the
 * middle, and shows nothing of any input. */
#ifndef HALO_CARD_H
#define HALO_CARD_H

#include <libavutil/frame.h>
#include <stdbool.h>

enum {
    HALO_CARD_LINES = 4,
    HALO_CARD_LETTERS = 64, /* maximum number of characters in a line; the rest is cut off */
};

/* The text of a card. If the frame is narrow, lines are wrapped at spaces. Characters that are not
 * printable ASCII are shown as '?'. */
struct halo_card {
    bool black;                        /* true: black background; false: gray */
    const char *line[HALO_CARD_LINES]; /* from the top; NULL and "" are skipped */
};

/* Fills every sample of the frame. The frame can have any size, but its format must be native
 * (format.h), and its color_range must be set. The text is drawn as large as possible; text that
 * does not fit at all is left out. Any thread may call this function, which cannot fail. */
void halo_card_draw(AVFrame *frame, const struct halo_card *card);

#endif
