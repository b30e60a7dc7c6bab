/* SPDX-License-Identifier: BSD-2-Clause
 * Cards: frames that are shown in place of missing frames. A card is a plain frame with text in the
 * middle, and shows nothing of any input. */
#ifndef HALO_CARD_H
#define HALO_CARD_H

#include <libavutil/frame.h>
#include <stdbool.h>

enum {
    HALO_CARD_LINES = 4,
    HALO_CARD_LETTERS = 64, /* in a line; the rest is cut off */
};

/* Lines are wrapped at blanks if the frame is narrow. Characters that are not printable ASCII are
 * shown as '?'. */
struct halo_card {
    bool black;                        /* black background; otherwise gray */
    const char *line[HALO_CARD_LINES]; /* from the top; NULL and "" are skipped */
};

/* Fills every sample of the frame. It must have a native format (format.h) and its range in
 * color_range, but can have any size. The text is drawn as large as possible; text that does not
 * fit at all is left out. Any thread may call this function, which cannot fail. */
void halo_card_draw(AVFrame *frame, const struct halo_card *card);

#endif
