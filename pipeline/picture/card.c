/* SPDX-License-Identifier: BSD-2-Clause
 * Draws cards (card.h). */
#include "pipeline/picture/card.h"

#include <stdint.h>
#include <string.h>

#include "pipeline/picture/card_font.h"
#include "pipeline/picture/format.h"

enum {
    ROWS = 12,                      /* rows of text after wrapping */
    ADVANCE = HALO_FONT_WIDTH + 1,  /* dots from letter to letter */
    LEADING = HALO_FONT_HEIGHT + 3, /* dots from row to row */
    WIDE = 140,                     /* the preferred size of the whole frame, in dots */
    HIGH = 90,
};

struct row {
    const char *at;
    int length;
};

/* The arrangement of the text. A dot of a letter is a square with sides of `dot` samples. */
struct layout {
    char text[HALO_CARD_LINES][HALO_CARD_LETTERS + 1];
    int lines;
    struct row row[ROWS];
    int rows;
    bool cut, broken; /* some text is left out; a word is split between two rows */
    int dot;
};

/* Writes one letter for each character, however many bytes it has. */
static void clean(char *ret, const char *text)
{
    int length = 0;
    for (const uint8_t *c = (const uint8_t *)text; *c && length < HALO_CARD_LETTERS; c++)
        if ((*c & 0xc0) != 0x80) /* UTF-8: not a continuation byte */
            ret[length++] = *c < ' ' || *c > '~' ? '?' : (char)*c;
    ret[length] = '\0';
}

/* The number of letters of the text that fit into a row of so many columns. */
static int fit(const char *text, int columns, bool *ret_broken)
{
    const int length = (int)strlen(text);
    *ret_broken = false;
    if (length <= columns)
        return length;
    for (int at = columns; at > 0; at--)
        if (text[at] == ' ')
            return at;
    *ret_broken = true;
    return columns;
}

static void break_lines(struct layout *to, int columns, int most)
{
    to->rows = 0;
    to->broken = false;
    to->cut = columns <= 0;
    for (int i = 0; i < to->lines && !to->cut; i++) {
        const char *at = to->text[i];
        while (*at && !(to->cut = to->rows == most)) {
            bool broken;
            const int length = fit(at, columns, &broken);
            to->row[to->rows++] = (struct row){at, length};
            to->broken |= broken;
            at += length;
            at += *at == ' ';
        }
    }
}

static void try_dot(struct layout *to, int width, int height, int dot)
{
    const int most = height / (LEADING * dot);
    to->dot = dot;
    break_lines(to, width / (ADVANCE * dot), most < ROWS ? most : ROWS);
}

/* Chooses the largest dots with which all text fits without splitting words, if possible. */
static void lay_out(struct layout *to, int width, int height)
{
    const int wide = width / WIDE, high = height / HIGH;
    const int best = wide < 1 || high < 1 ? 1 : wide < high ? wide : high;
    int dot = best;
    try_dot(to, width, height, dot);
    while ((to->cut || to->broken) && 2 * (dot - 1) >= best)
        try_dot(to, width, height, --dot);
    if (to->broken || to->cut)
        try_dot(to, width, height, dot = best);
    while (to->cut && dot > 1)
        try_dot(to, width, height, --dot);
}

static void fill(const struct halo_plane *plane, int x, int y, int width, int height, int value)
{
    const int sample = value << plane->shift;
    for (int row = y; row < y + height; row++) {
        uint8_t *line = plane->data + row * plane->stride;
        if (plane->depth <= 8)
            memset(line + x, sample, (size_t)width);
        else
            for (int i = x; i < x + width; i++)
                ((uint16_t *)(void *)line)[i] = (uint16_t)sample;
    }
}

/* Draws the dots of a letter. */
static void draw_letter(const struct halo_plane *plane, char letter, int x, int y, int dot,
                        int value)
{
    const uint8_t *glyph = halo_font[letter - HALO_FONT_FIRST];
    for (int row = 0; row < HALO_FONT_HEIGHT; row++)
        for (int column = 0; column < HALO_FONT_WIDTH; column++)
            if (glyph[row] >> (HALO_FONT_WIDTH - 1 - column) & 1)
                fill(plane, x + column * dot, y + row * dot, dot, dot, value);
}

static void draw_words(const struct halo_plane *plane, const struct layout *words, int value)
{
    const int dot = words->dot;
    int y = (plane->height - (words->rows * LEADING - (LEADING - HALO_FONT_HEIGHT)) * dot) / 2;
    for (int i = 0; i < words->rows; i++, y += LEADING * dot) {
        const struct row *row = &words->row[i];
        int x = (plane->width - (row->length * ADVANCE - 1) * dot) / 2;
        for (int c = 0; c < row->length; c++, x += ADVANCE * dot)
            draw_letter(plane, row->at[c], x, y, dot, value);
    }
}

static bool is_full(const AVFrame *frame)
{
    return frame->color_range == AVCOL_RANGE_JPEG || halo_format_is_rgb(frame->format) ||
           halo_format_plain(frame->format) != (enum AVPixelFormat)frame->format;
}

void halo_card_draw(AVFrame *frame, const struct halo_card *card)
{
    struct layout words = {.lines = 0};
    const bool rgb = halo_format_is_rgb(frame->format), full = is_full(frame);
    for (int i = 0; i < HALO_CARD_LINES; i++)
        if (card->line[i])
            clean(words.text[words.lines++], card->line[i]);
    lay_out(&words, frame->width, frame->height);
    for (int p = 0; p < halo_format_planes(frame->format); p++) {
        const struct halo_plane plane = halo_format_plane(frame, p);
        const bool bears = rgb || p == 0;
        const int ground = card->black && bears ? (full ? 0 : 16) : 128;
        const int more = plane.depth - 8;
        fill(&plane, 0, 0, plane.width * plane.channels, plane.height, ground << more);
        if (bears)
            draw_words(&plane, &words, (full ? 255 : 235) << more);
    }
}
