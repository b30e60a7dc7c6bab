/* SPDX-License-Identifier: BSD-2-Clause
 * Frozen cells (gate_cells.h). */
#include "pipeline/gate/gate_cells.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <math.h>
#include <string.h>

#include "kernels/cells.h"
#include "pipeline/gate/frozen.h"
#include "pipeline/gate/noise.h"

enum {
    CELLS = HALO_MAX_CELLS * HALO_MAX_CELLS,
    CHANNELS = 2, /* of a plane, at most */
    SPARE = 4     /* luma pixels past the feather: two samples of chroma */
};

struct frozen {
    uint64_t track; /* 0: free */
    uint64_t used;  /* the last frame that hid it */
    uint16_t *value[HALO_MAX_PLANES];
};

struct table {
    struct halo_filter_cells cells; /* cells.cells is 0: the filter draws none */
    struct frozen *frozen;
    uint16_t *values;
};

struct halo_gate_cells {
    const struct halo_chain *chain;
    struct table table[HALO_MAX_FILTERS];
    uint64_t frames;
    const struct halo_cells_frame *frame;
    bool asked, readable; /* the frame's planes */
    struct halo_plane plane[HALO_MAX_PLANES];
    struct halo_hidden own, *all; /* all: NULL: nobody asks */
    struct halo_frozen *kept;     /* NULL: the tables are used */
};

static size_t values_of(const struct table *t)
{
    return (size_t)(t->cells.cells * t->cells.cells) * CHANNELS;
}

static bool make_table(struct table *t)
{
    t->frozen = av_calloc(HALO_FROZEN_TRACKS, sizeof *t->frozen);
    t->values = av_calloc(HALO_FROZEN_TRACKS * HALO_MAX_PLANES * values_of(t), sizeof *t->values);
    if (!t->frozen || !t->values)
        return false;
    for (int i = 0; i < HALO_FROZEN_TRACKS; i++)
        for (int p = 0; p < HALO_MAX_PLANES; p++)
            t->frozen[i].value[p] = t->values + (size_t)(i * HALO_MAX_PLANES + p) * values_of(t);
    return true;
}

int halo_gate_cells_create(struct halo_gate_cells **ret, const struct halo_chain *chain,
                           struct halo_hidden *all, struct halo_frozen *kept)
{
    *ret = NULL;
    if (!halo_chain_has_cells(chain) && !halo_chain_has_means(chain))
        return 0;
    struct halo_gate_cells *cells = av_mallocz(sizeof *cells);
    if (!cells)
        return -ENOMEM;
    cells->chain = chain;
    cells->all = all;
    cells->kept = kept;
    bool fine = true;
    for (int f = 0; f < chain->count; f++) {
        struct table *t = &cells->table[f];
        if (!halo_filter_cells(&chain->filter[f], &t->cells))
            t->cells.cells = 0;
        else
            fine = fine && make_table(t);
    }
    if (fine) {
        *ret = cells;
        return 0;
    }
    halo_gate_cells_destroy(cells);
    return -ENOMEM;
}

void halo_gate_cells_destroy(struct halo_gate_cells *cells)
{
    for (int f = 0; cells && f < cells->chain->count; f++) {
        av_free(cells->table[f].frozen);
        av_free(cells->table[f].values);
    }
    av_free(cells);
}

void halo_gate_cells_begin(struct halo_gate_cells *cells, const struct halo_cells_frame *frame)
{
    if (!cells)
        return;
    cells->frames++;
    cells->frame = frame;
    cells->asked = cells->readable = false;
}

/* ---- the values of a track ---- */

struct sums {
    uint64_t sum[CELLS][CHANNELS];
    uint32_t count[CELLS];
};

static void add_up(struct sums *sums, const struct halo_plane *p, const struct halo_conv *conv,
                   const struct halo_rect *box)
{
    const int x1 = halo_cell_sample(box->x1, conv->step_x), n = conv->cells;
    const int y1 = halo_cell_sample(box->y1, conv->step_y);
    memset(sums, 0, sizeof *sums);
    for (int y = halo_cell_sample(box->y0, conv->step_y); y < y1 && y < p->height; y++) {
        const int row = n * halo_cell_of(y * conv->step_y, box->y0, box->y1, n);
        for (int x = halo_cell_sample(box->x0, conv->step_x); x < x1 && x < p->width; x++) {
            const int at = row + halo_cell_of(x * conv->step_x, box->x0, box->x1, n);
            for (int ch = 0; ch < p->channels; ch++)
                sums->sum[at][ch] += (uint64_t)halo_sample_at(p, x * p->channels + ch, y);
            sums->count[at]++;
        }
    }
}

static uint16_t middle_of(uint64_t sum, uint32_t count, int levels, int depth)
{
    const uint64_t all = UINT64_C(1) << depth, wanted = (uint64_t)levels;
    const uint64_t q = count ? sum * wanted / (count * all) : wanted / 2;
    return (uint16_t)((2 * q + 1) * all / (2 * wanted));
}

static uint16_t noisy(uint64_t sum, uint32_t count, int64_t noise, int depth)
{
    const int64_t most = (INT64_C(1) << depth) - 1;
    const int64_t mean = count ? (int64_t)((2 * sum + count) / (2 * count)) : most / 2;
    const int64_t value = mean + noise;
    return (uint16_t)(value < 0 ? 0 : value > most ? most : value);
}

/* How the values of one object are taken. */
struct taking {
    const struct halo_filter_cells *kind;
    int values; /* how many the object has, in all planes */
    struct halo_random random;
};

/* One value of a cell. Returns 0, or -errno without random numbers. */
static int take_value(struct taking *t, uint64_t sum, uint32_t count, int depth, uint16_t *ret)
{
    const uint64_t most = (UINT64_C(1) << depth) - 1;
    int64_t noise;
    if (t->kind->levels) {
        *ret = middle_of(sum, count, t->kind->levels, depth);
        return 0;
    }
    const int code = halo_noise_draw(&t->random, (uint64_t)t->kind->millieps,
                                     (uint64_t)t->values * most * HALO_MILLIEPS, &noise);
    if (code == 0)
        *ret = noisy(sum, count, noise, depth);
    return code;
}

/* The values of one plane. */
static int take_values(struct taking *t, const struct halo_plane *plane, const struct sums *sums,
                       uint16_t *ret)
{
    int code = 0;
    for (int i = 0; i < t->kind->cells * t->kind->cells; i++)
        for (int ch = 0; code == 0 && ch < plane->channels; ch++)
            code = take_value(t, sums->sum[i][ch], sums->count[i], plane->depth,
                              &ret[CHANNELS * i + ch]);
    return code;
}

const struct halo_plane *halo_gate_cells_planes(struct halo_gate_cells *cells)
{
    if (!cells->asked)
        cells->readable = cells->frame->planes(cells->frame->arg, cells->plane);
    cells->asked = true;
    return cells->readable ? cells->plane : NULL;
}

static void count(struct halo_gate_cells *cells, const struct taking *t)
{
    const double epsilon = halo_filter_cells_epsilon(t->kind);
    const double bits =
        t->kind->levels ? t->values * log2((double)t->kind->levels) : epsilon * M_LOG2E;
    if (cells->kept) {
        cells->kept->shown++;
        cells->kept->bits += bits;
        cells->kept->epsilons += epsilon;
    }
    halo_hidden_add(&cells->own, bits, epsilon);
    if (cells->all)
        halo_hidden_add(cells->all, bits, epsilon);
}

static bool freeze(struct halo_gate_cells *cells, const struct halo_gate_plan *plan, int f,
                   const struct halo_conv *conv, const struct halo_rect *box, struct frozen *ret)
{
    struct taking t = {.kind = &cells->table[f].cells};
    struct sums sums;
    int code = 0;
    if (!halo_gate_cells_planes(cells))
        return false;
    for (int p = 0; p < plan->planes; p++)
        if (conv[p].kind == HALO_CONV_CELLS)
            t.values += t.kind->cells * t.kind->cells * cells->plane[p].channels;
    for (int p = 0; p < plan->planes && code == 0; p++) {
        if (conv[p].kind != HALO_CONV_CELLS)
            continue;
        add_up(&sums, &cells->plane[p], &conv[p], box);
        code = take_values(&t, &cells->plane[p], &sums, ret->value[p]);
    }
    halo_random_finish(&t.random);
    if (code == 0)
        count(cells, &t);
    return code == 0;
}

/* The track, or the entry that was used longest ago; *ret_found says which. */
static struct frozen *find(const struct table *t, uint64_t track, bool *ret_found)
{
    struct frozen *oldest = &t->frozen[0];
    for (int i = 0; i < HALO_FROZEN_TRACKS; i++) {
        struct frozen *frozen = &t->frozen[i];
        if ((*ret_found = frozen->track == track))
            return frozen;
        if (frozen->used < oldest->used)
            oldest = frozen;
    }
    return oldest;
}

/* ---- frames ---- */

struct seen {
    uint64_t track;
    struct halo_rect box;
};

static void join(struct halo_rect *a, const struct halo_rect *b)
{
    a->x0 = b->x0 < a->x0 ? b->x0 : a->x0;
    a->y0 = b->y0 < a->y0 ? b->y0 : a->y0;
    a->x1 = b->x1 > a->x1 ? b->x1 : a->x1;
    a->y1 = b->y1 > a->y1 ? b->y1 : a->y1;
}

/* The tracks of a frame, in the order of their first shapes, and their boxes. */
static int collect(int width, int height, const struct halo_verdict_shapes *shapes, bool written,
                   struct seen *ret)
{
    int count = 0;
    for (int i = 0; i < shapes->count; i++) {
        const struct halo_shape *shape = &shapes->shape[i];
        const uint64_t track = written ? (uint64_t)i + 1 : shape->track;
        struct halo_rect box;
        int at = 0;
        if (!track || shape->kind == HALO_SHAPE_MASK ||
            !halo_shape_pixels(shape, width, height, &box))
            continue;
        while (at < count && ret[at].track != track)
            at++;
        if (at < count)
            join(&ret[at].box, &box);
        else
            ret[count++] = (struct seen){track, box};
    }
    return count;
}

/* The values of an object that are kept outside of the gate. */
static bool find_kept(struct halo_gate_cells *cells, const struct halo_gate_plan *plan, int f,
                      const struct halo_conv *conv, const struct seen *seen, struct frozen *ret)
{
    struct halo_frozen *kept = cells->kept;
    const size_t each = values_of(&cells->table[f]);
    struct halo_frozen_object *object = halo_frozen_find(kept, f, seen->track);
    bool fine = object && (size_t)object->count == HALO_MAX_PLANES * each;
    for (int p = 0; fine && p < HALO_MAX_PLANES; p++)
        ret->value[p] = kept->value + object->value + (size_t)p * each;
    if (fine && kept->mode == HALO_FROZEN_TAKE && object->frame == kept->frame && !object->taken)
        object->taken = freeze(cells, plan, f, conv, &seen->box, ret);
    fine = fine && object->taken;
    kept->missing |= !fine;
    return fine;
}

static const struct frozen *values_for(struct halo_gate_cells *cells,
                                       const struct halo_gate_plan *plan, int f,
                                       const struct halo_conv *conv, const struct seen *seen)
{
    bool found;
    struct frozen *frozen = find(&cells->table[f], seen->track, &found);
    if (!found) {
        frozen->track = 0;
        if (!freeze(cells, plan, f, conv, &seen->box, frozen))
            return NULL;
        frozen->track = seen->track;
    }
    frozen->used = cells->frames;
    return frozen;
}

static bool is_large(const struct halo_rect *box, int least)
{
    return box->x1 - box->x0 >= least && box->y1 - box->y0 >= least;
}

void halo_gate_cells_draw(struct halo_gate_cells *cells, const struct halo_gate_plan *plan, int f,
                          const struct halo_verdict_shapes *shapes, bool written,
                          struct halo_conv *ret)
{
    struct seen seen[HALO_MAX_SHAPES];
    const int count = collect(plan->input.width, plan->input.height, shapes, written, seen);
    const int least = cells->table[f].cells.least;
    const int reach = (int)ceil(plan->chain->filter[f].common.feather) + SPARE;
    for (int p = 0; p < plan->planes; p++) {
        ret[p] = plan->filter[f].level[0][p].conv;
        ret[p].reach = reach;
    }
    for (int i = 0; i < count; i++) {
        const struct halo_rect *box = &seen[i].box;
        const struct frozen *frozen = NULL;
        struct frozen kept;
        if (is_large(box, least) && cells->kept)
            frozen = find_kept(cells, plan, f, ret, &seen[i], &kept) ? &kept : NULL;
        else if (is_large(box, least))
            frozen = values_for(cells, plan, f, ret, &seen[i]);
        for (int p = 0; frozen && p < plan->planes; p++)
            if (ret[p].kind == HALO_CONV_CELLS) /* without room, it is solid */
                (void)halo_conv_add_cells(&ret[p], box, frozen->value[p]);
    }
}

/* Remembers the track as a gate would, and adds it if a gate would take its values now. */
static int plan_track(struct halo_gate_cells *cells, int f, uint64_t track, bool written)
{
    bool found;
    struct frozen *frozen = find(&cells->table[f], track, &found);
    frozen->track = track;
    frozen->used = cells->frames;
    return found ? 0
                 : halo_frozen_add(cells->kept, f, track,
                                   (int)(HALO_MAX_PLANES * values_of(&cells->table[f])), written);
}

/* Whether written shapes are large enough depends on how the frame is displayed. */
static int plan_written(struct halo_gate_cells *cells, int f, const struct halo_shapes *shapes)
{
    int code = 0;
    for (int i = 0; i < shapes->count && code >= 0; i++)
        code = plan_track(cells, f, (uint64_t)i + 1, true);
    return code;
}

static int plan_filter(struct halo_gate_cells *cells, int f, int width, int height,
                       const struct halo_verdict *verdict)
{
    struct seen seen[HALO_MAX_SHAPES];
    const struct halo_filter *filter = &cells->chain->filter[f];
    if (!cells->table[f].cells.cells || !filter->shapes)
        return 0;
    if (filter->shapes->from == HALO_SHAPES_WRITTEN)
        return plan_written(cells, f, filter->shapes);
    const struct halo_verdict_shapes *shapes = halo_filter_verdict(filter, verdict);
    const int count = shapes ? collect(width, height, shapes, false, seen) : 0;
    int code = 0;
    for (int i = 0; i < count && code >= 0; i++)
        if (is_large(&seen[i].box, cells->table[f].cells.least))
            code = plan_track(cells, f, seen[i].track, false);
    return code;
}

int halo_gate_cells_plan(struct halo_gate_cells *cells, int width, int height,
                         const struct halo_verdict *verdict)
{
    int code = 0;
    cells->frames++;
    for (int f = 0; f < cells->chain->count && code >= 0; f++)
        code = plan_filter(cells, f, width, height, verdict);
    return code;
}

const struct halo_verdict_shapes *halo_filter_verdict(const struct halo_filter *filter,
                                                      const struct halo_verdict *verdict)
{
    const enum halo_find find =
        filter->shapes->from == HALO_SHAPES_FACES ? HALO_FIND_FACES : HALO_FIND_PEOPLE;
    return halo_verdict_get(verdict, find, halo_filter_inverts(filter));
}

struct halo_hidden_counts halo_gate_cells_hidden(const struct halo_gate_cells *cells)
{
    return cells ? halo_hidden_read(&cells->own) : (struct halo_hidden_counts){0};
}
