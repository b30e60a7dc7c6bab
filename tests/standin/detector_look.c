/* SPDX-License-Identifier: BSD-2-Clause
 * What the stand-in detector finds (detector.h). */
#include <libavutil/frame.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/base/canary.h"
#include "tests/standin/detector.h"
#include "tests/standin/spot.h"

enum {
    GRID = 2,           /* every second pixel of every second row is looked at */
    LEAST = 6,          /* such pixels belong to a mark, at least */
    GRID_MAX = 1 << 20, /* pixels of the grid */
};

/* A pixel's place on the grid, and the rectangle that the search has covered. */
struct area {
    int left, top, right, bottom, pixels;
};

/* Scalers and encoders change the colour, most at the edges. */
static bool is_magenta(const struct detector_frame *f, int x, int y)
{
    const uint8_t *p = f->data + ((size_t)y * f->width + x) * f->channels;
    const int red = p[f->blue_first ? 2 : 0], blue = p[f->blue_first ? 0 : 2];
    return f->channels == 3 && red > 160 && blue > 160 && p[1] < 110;
}

/* Covers what is connected with place `from` of the grid, and forgets it. */
static struct area cover(uint8_t *grid, int *stack, int columns, int rows, int from)
{
    struct area ret = {from % columns, from / columns, from % columns, from / columns, 0};
    int depth = 0;
    stack[depth++] = from;
    grid[from] = 0;
    while (depth) {
        const int at = stack[--depth], x = at % columns, y = at / columns;
        const int near[4] = {x > 0 ? at - 1 : -1, x < columns - 1 ? at + 1 : -1,
                             y > 0 ? at - columns : -1, y < rows - 1 ? at + columns : -1};
        ret.left = x < ret.left ? x : ret.left;
        ret.right = x > ret.right ? x : ret.right;
        ret.top = y < ret.top ? y : ret.top;
        ret.bottom = y > ret.bottom ? y : ret.bottom;
        ret.pixels++;
        for (int i = 0; i < 4; i++)
            if (near[i] >= 0 && grid[near[i]])
                grid[near[i]] = 0, stack[depth++] = near[i];
    }
    return ret;
}

static int find_marks(const struct detector_frame *f, double score, struct detector_box *box)
{
    static uint8_t grid[GRID_MAX];
    static int stack[GRID_MAX];
    const int columns = f->inside[2] / GRID, rows = f->inside[3] / GRID;
    int count = 0;
    for (int i = 0; i < columns * rows; i++)
        grid[i] =
            is_magenta(f, f->inside[0] + i % columns * GRID, f->inside[1] + i / columns * GRID);
    for (int i = 0; i < columns * rows && count < DETECTOR_BOXES; i++) {
        if (!grid[i])
            continue;
        const struct area a = cover(grid, stack, columns, rows, i);
        if (a.pixels < LEAST)
            continue;
        box[count++] = (struct detector_box){
            (double)a.left * GRID / f->inside[2], (double)a.top * GRID / f->inside[3],
            (double)(a.right - a.left + 1) * GRID / f->inside[2],
            (double)(a.bottom - a.top + 1) * GRID / f->inside[3], score};
    }
    return count;
}

/* A frame without a legible number has everything hidden. */
static int find_spot(const struct detector_frame *f, const struct detector_looker *l,
                     struct detector_box *box)
{
    AVFrame *frame = av_frame_alloc();
    struct halo_canary_finding finding = {.number = -1};
    if (frame && f->channels == 1) {
        frame->format = AV_PIX_FMT_GRAY8;
        frame->width = f->inside[2];
        frame->height = f->inside[3];
        frame->data[0] = (uint8_t *)f->data + (size_t)f->inside[1] * f->width + f->inside[0];
        frame->linesize[0] = f->width;
        halo_canary_check(frame, NULL, &finding);
    }
    av_frame_free(&frame);
    const int width = f->stream_width, height = f->stream_height;
    *box = (struct detector_box){0, 0, 1, 1, l->score};
    if (finding.number >= 0) {
        const struct spot s = spot_of((unsigned)finding.number, width, height, l->stay);
        *box = (struct detector_box){(double)s.column * HALO_CANARY_CELL / width,
                                     (double)s.row * HALO_CANARY_CELL / height,
                                     (double)s.columns * HALO_CANARY_CELL / width,
                                     (double)s.rows * HALO_CANARY_CELL / height, l->score};
    }
    return 1;
}

static int find_rows(const struct detector_frame *f, const struct detector_looker *l,
                     struct detector_box *box)
{
    int count = 0;
    for (int i = 0; i < l->rows && count < DETECTOR_BOXES; i++)
        if (llabs(l->row[i].time - f->time) <= l->within)
            box[count++] = l->row[i].box;
    return count;
}

int detector_find(const struct detector_looker *l, const struct detector_frame *f,
                  struct detector_box box[DETECTOR_BOXES])
{
    int count = 0;
    switch (l->look) {
    case LOOK_MARK:
        count = find_marks(f, l->score, box);
        break;
    case LOOK_SPOT:
        count = find_spot(f, l, box);
        break;
    case LOOK_ALL:
        box[count++] = (struct detector_box){0, 0, 1, 1, l->score};
        break;
    case LOOK_ROWS:
        count = find_rows(f, l, box);
        break;
    case LOOK_NONE:
        break;
    }
    for (int i = 0; i < l->always_count && count < DETECTOR_BOXES; i++)
        box[count++] = l->always[i];
    return count;
}

void detector_read_rows(struct detector_looker *l, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[200];
    long long time;
    if (!file) {
        perror(path);
        exit(64);
    }
    while (fgets(line, sizeof line, file)) {
        struct detector_box b = {.score = l->score};
        if (sscanf(line, "%lld %lf %lf %lf %lf %lf", &time, &b.x, &b.y, &b.width, &b.height,
                   &b.score) < 5)
            continue;
        l->row = realloc(l->row, (size_t)(l->rows + 1) * sizeof *l->row);
        if (!l->row)
            abort();
        l->row[l->rows++] = (struct detector_row){time, b};
    }
    fclose(file);
}
