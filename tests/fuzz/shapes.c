/* SPDX-License-Identifier: BSD-2-Clause
 * Fuzz target: regions, parsed and drawn. To fuzz, leave replay.c out and build with clang
 * -fsanitize=fuzzer,address,undefined; run it on a copy of corpus/shapes. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/region/shapes.h"
#include "tests/fuzz/fuzz.h"

static const struct halo_shape_canvas canvases[] = {
    {.frame_width = 61, .frame_height = 33, .width = 61, .height = 33},
    {.frame_width = 61,
     .frame_height = 33,
     .log2_sub_x = 1,
     .log2_sub_y = 1,
     .width = 31,
     .height = 17,
     .invert = true},
    {.frame_width = 61,
     .frame_height = 33,
     .log2_sub_x = 1,
     .width = 31,
     .height = 33,
     .feather = 9.5},
    {.frame_width = 1, .frame_height = 1, .width = 1, .height = 1, .feather = 512, .invert = true},
};

/* hidden says whether a weight is not 0, where all that is inside is one shape. */
static void check_hidden(const struct halo_drawn_region *region,
                         const struct halo_shape_canvas *canvas, bool hidden)
{
    uint8_t row[64];
    bool any = false;
    for (int y = 0; y < canvas->height; y++) {
        halo_region_row(&region->region, y, canvas->width, row);
        for (int x = 0; x < canvas->width; x++)
            any |= row[x] != 0;
    }
    if (any && !hidden)
        abort();
}

static void draw(const struct halo_shapes *shapes, struct halo_drawn_region *region)
{
    for (size_t i = 0; i < sizeof canvases / sizeof *canvases; i++) {
        bool hidden;
        double width, height;
        if (halo_shapes_draw(shapes->shape, shapes->count, &canvases[i], region, &hidden) < 0)
            abort();
        check_hidden(region, &canvases[i], hidden);
        halo_shapes_size(shapes->shape, shapes->count, 61, 33, &width, &height);
        if (!(width > 0 && width <= 61 && height > 0 && height <= 33))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct halo_shapes *shapes = NULL;
    struct halo_drawn_region region = {0};
    struct halo_error err = {0};
    if (!text)
        return 0;
    if (halo_shapes_parse(&shapes, text, &err) < 0) {
        if (!err.text[0] || strpbrk(err.text, "\n\r\033") || shapes)
            abort();
    } else {
        draw(shapes, &region);
        halo_shapes_destroy(shapes);
    }
    halo_drawn_region_finish(&region);
    free(text);
    return 0;
}
