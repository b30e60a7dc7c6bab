/* SPDX-License-Identifier: BSD-2-Clause
 * Cards: frames that are shown in place of missing ones. A plain frame with text in the middle, and
 * nothing of any input. */
#ifndef HALO_CARD_H
#define HALO_CARD_H

#include <libavutil/frame.h>
#include <stdbool.h>

enum {
    HALO_CARD_LINES = 4,
    HALO_CARD_LETTERS = 64, /* of a line; the rest is cut off */
};

/* Lines are wrapped at blanks if the frame is narrow. Characters that are not printable ASCII are
 * shown as '?'. */
struct halo_card {
    bool black;                        /* black background; otherwise gray */
    const char *line[HALO_CARD_LINES]; /* from the top; NULL and "" are left out */
};

/* Fills every sample of the frame, which has a native format (format.h), any size, and its range in
 * color_range. The text is as large as the room allows; text for which there is no room at all is
 * left out. Any thread; does not fail. */
void halo_card_draw(AVFrame *frame, const struct halo_card *card);

#endif
