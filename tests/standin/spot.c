/* SPDX-License-Identifier: BSD-2-Clause
 * A place for each number (spot.h). */
#include "tests/standin/spot.h"

#include <stdint.h>

#include "pipeline/base/canary.h"

static uint32_t mix(uint32_t h)
{
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
}

/* Cells of the last column and row may be cut off. */
static int whole_cells(int pixels)
{
    return pixels / HALO_CANARY_CELL;
}

struct spot spot_of(unsigned number, int width, int height, unsigned stay)
{
    const int columns = whole_cells(width), rows = whole_cells(height);
    struct spot ret = {.columns = columns / 4 < 2 ? 2 : columns / 4,
                       .rows = rows / 4 < 2 ? 2 : rows / 4};
    const uint32_t h = mix(number % 65536 / stay + 1);
    ret.column = (int)(h % (unsigned)(columns - ret.columns + 1));
    ret.row = (int)(h / 4096 % (unsigned)(rows - ret.rows + 1));
    return ret;
}
