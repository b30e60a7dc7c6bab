/* SPDX-License-Identifier: BSD-2-Clause
 * Display matrices that rotate by right angles (display.h). */
#include "pipeline/base/display.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/base/av_version.h"

enum {
    ONE = 1 << 16,
    ONE_W = 1 << 30,
    SLIP = 4 /* tolerance, in units of 1 / ONE: a quarter of a pixel in 4096 */
};

static bool is_near(int32_t v, int32_t wanted)
{
    return llabs((int64_t)v - wanted) <= SLIP;
}

static bool is_unit(int32_t v)
{
    return is_near(v, ONE) || is_near(v, -ONE);
}

/* The matrix also moves the rotated frame back into view: those numbers are ignored, because
 * players place the frame themselves. */
static int display_of(const void *matrix, size_t size)
{
    int32_t m[9];
    if (!matrix)
        return 0;
    if (size < sizeof m)
        return HALO_DISPLAY_UNKNOWN;
    memcpy(m, matrix, sizeof m);
    if (m[2] || m[5] || m[8] != ONE_W)
        return HALO_DISPLAY_UNKNOWN;
    if (is_unit(m[0]) && is_unit(m[4]) && is_near(m[1], 0) && is_near(m[3], 0))
        return (m[0] < 0 ? HALO_DISPLAY_X : 0) | (m[4] < 0 ? HALO_DISPLAY_Y : 0);
    if (is_unit(m[1]) && is_unit(m[3]) && is_near(m[0], 0) && is_near(m[4], 0))
        return HALO_DISPLAY_SIDEWAYS | (m[1] < 0 ? HALO_DISPLAY_X : 0) |
               (m[3] < 0 ? HALO_DISPLAY_Y : 0);
    return HALO_DISPLAY_UNKNOWN;
}

int halo_display_of_stream(const AVStream *stream)
{
    size_t size = 0;
    const uint8_t *matrix = halo_av_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return display_of(matrix, size);
}

int halo_display_of_frame(const AVFrame *frame)
{
    const AVFrameSideData *side = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return side ? display_of(side->data, side->size) : -1;
}

int halo_display_back(int turn)
{
    if (!(turn & HALO_DISPLAY_SIDEWAYS))
        return turn;
    return HALO_DISPLAY_SIDEWAYS | (turn & HALO_DISPLAY_X ? HALO_DISPLAY_Y : 0) |
           (turn & HALO_DISPLAY_Y ? HALO_DISPLAY_X : 0);
}

const char *halo_display_words(int turn)
{
    static const char *const words[HALO_DISPLAYS + 1] = {
        "left as they are",
        "mirrored left to right",
        "mirrored top to bottom",
        "rotated by 180 degrees",
        "mirrored left to right and then rotated by 270 degrees clockwise",
        "rotated by 270 degrees clockwise",
        "rotated by 90 degrees clockwise",
        "mirrored left to right and then rotated by 90 degrees clockwise",
        "rotated by an angle that is not a multiple of 90 degrees, or scaled",
    };
    return words[turn];
}
