/* SPDX-License-Identifier: BSD-2-Clause
 * What a chain leaves of what its regions hide (disclosure.h). */
#include "pipeline/filter/disclosure.h"

#include <math.h>
#include <string.h>

enum { ALL_PLANES = 7, CHANNELS = 3, SHOWN = 60 };

#define INSTEAD "; use hide=cells or hide=solid"

static bool is_kind(const struct halo_filter *filter, const char *name)
{
    return !strcmp(filter->kind->name, name);
}

static bool covers_planes(const struct halo_filter *filter)
{
    return (filter->common.planes & ALL_PLANES) == ALL_PLANES;
}

static bool is_same_place(const struct halo_filter *a, const struct halo_filter *b)
{
    return a->shapes && b->shapes && !strcmp(a->common.region, b->common.region) &&
           a->common.invert == b->common.invert;
}

/* Whether filter f applies to all of the region of filter `place` (negative: to the frame). */
static bool applies(const struct halo_chain *chain, int f, int place)
{
    const struct halo_filter *filter = &chain->filter[f];
    return !filter->shapes || (place >= 0 && is_same_place(filter, &chain->filter[place]));
}

static void say(struct halo_disclosure *ret, enum halo_disclosure_kind kind, const char *words)
{
    ret->kind = kind;
    snprintf(ret->words, sizeof ret->words, "%s", words);
}

/* Why a filter that is neither hide nor solid has no bound. */
static const char *weakness_of(const struct halo_filter *filter)
{
    static const struct {
        const char *name, *why;
    } rows[] = {
        {"gblur", "a blur can be undone in part, and more so from many frames of a video" INSTEAD},
        {"pixelize",
         "its blocks do not move with objects, so many frames together show more than one" INSTEAD},
        {"null", "it changes nothing" INSTEAD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_kind(filter, rows[i].name) || (i == 0 && strstr(filter->kind->name, "blur")))
            return rows[i].why;
    return "it keeps outlines or sharpens" INSTEAD;
}

/* The first filter that is not bounded and comes before filter f; negative: none. */
static int unbounded_before(const struct halo_chain *chain, int f)
{
    for (int i = 0; i < f; i++)
        if (!chain->filter[i].kind->bounded && !is_kind(&chain->filter[i], "null"))
            return i;
    return -1;
}

/* Whether detectors or a feed find what the filter shows, and no other filter hides it. */
static bool shows_objects(const struct halo_chain *chain, int f)
{
    const struct halo_filter *filter = &chain->filter[f];
    const struct halo_shapes *mine = filter->shapes;
    if (!mine || mine->from == HALO_SHAPES_WRITTEN || !halo_filter_inverts(filter))
        return false;
    for (int i = 0; i < chain->count; i++) {
        const struct halo_filter *other = &chain->filter[i];
        const bool same = other->shapes && !halo_filter_inverts(other) &&
                          (other->shapes->from == mine->from ||
                           (halo_shapes_finds(other->shapes) == halo_shapes_finds(mine) &&
                            halo_shapes_finds(mine)));
        if ((same || !other->shapes) && other->kind->bounded && covers_planes(other))
            return false;
    }
    return true;
}

static bool is_in(const struct halo_length *length, bool relative)
{
    return length->relative == relative || length->value == 0;
}

/* Whether there is a gap from the end of one interval to the beginning of the other. */
static bool are_apart(const struct halo_length *a, const struct halo_length *a_size,
                      const struct halo_length *b, const struct halo_length *b_size)
{
    const bool relative = a_size->relative;
    const double gap = relative ? 0.05 : 8; /* edges are rounded to pixels and chroma samples */
    return is_in(a, relative) && is_in(b, relative) && is_in(b_size, relative) &&
           (a->value + a_size->value + gap <= b->value ||
            b->value + b_size->value + gap <= a->value);
}

/* Whether no frame has both of these shapes in one place, as far as this can be known without the
 * frame's size. */
static bool are_disjoint(const struct halo_shape *a, const struct halo_shape *b)
{
    return a->kind <= HALO_SHAPE_ELLIPSE && b->kind <= HALO_SHAPE_ELLIPSE &&
           (are_apart(&a->x, &a->width, &b->x, &b->width) ||
            are_apart(&a->y, &a->height, &b->y, &b->height));
}

static bool is_written(const struct halo_filter *filter)
{
    return filter->shapes && filter->shapes->from == HALO_SHAPES_WRITTEN;
}

/* In how many shapes of b the content of a place that a hides can be, as far as this can be known
 * without the frame's size; at least 1 if the shapes of b are supplied. */
static int count_over(const struct halo_filter *a, const struct halo_filter *b)
{
    int most = 0;
    if (!is_written(b))
        return 1;
    if (!is_written(a) || a->common.invert)
        return b->shapes->count;
    for (int i = 0; i < a->shapes->count; i++) {
        int over = 0;
        for (int k = 0; k < b->shapes->count; k++)
            over += (a == b && i == k) || !are_disjoint(&a->shapes->shape[i], &b->shapes->shape[k]);
        most = over > most ? over : most;
    }
    return most;
}

static double bits_of(const struct halo_filter_cells *c)
{
    return c->levels ? c->cells * c->cells * log2((double)c->levels) * CHANNELS
                     : halo_filter_cells_epsilon(c) * M_LOG2E;
}

/* Rounded up. */
static void write_bits(double bits, char *ret, size_t size)
{
    const int decimals = bits < 10 ? 2 : 0;
    const double unit = bits < 10 ? 100 : 1;
    snprintf(ret, size, "%.*f", decimals, ceil(bits * unit - 1e-9) / unit);
}

static void say_bits(struct halo_disclosure *ret, const char *what, double others)
{
    char bits[24], more[24], times[64] = "", over[80] = "";
    write_bits(ret->bits, bits, sizeof bits);
    write_bits(others, more, sizeof more);
    if (ret->bits < 10)
        snprintf(times, sizeof times, "; a guess is right at most %.2f times as often",
                 ceil(exp2(ret->bits) * 100) / 100);
    if (others > 0)
        snprintf(over, sizeof over, "; %s of them only if cells of other shapes overlap it", more);
    snprintf(ret->words, sizeof ret->words,
             "at most %s bits for each object (%s%s%s; more each time it is lost and found again, "
             "and where other objects overlap it)",
             bits, what, times, over);
}

/* Cells are those of the frame that enters the chain, so an object can also be in the cells of
 * another shape that lies over it. */
static void say_cells(const struct halo_chain *chain, int place, struct halo_disclosure *ret)
{
    struct halo_filter_cells cells;
    char what[80] = "cells";
    double own = 0;
    for (int i = 0; i < chain->count; i++) {
        const struct halo_filter *filter = &chain->filter[i];
        if (!halo_filter_cells(filter, &cells))
            continue;
        const int over = place >= 0 ? count_over(&chain->filter[place], filter) : 1;
        if (over == 0)
            continue;
        ret->kind = HALO_DISCLOSURE_BITS;
        ret->bits += over * bits_of(&cells);
        if (applies(chain, i, place)) {
            if (cells.levels)
                snprintf(what, sizeof what, "%d x %d cells of %d levels in %d channels",
                         cells.cells, cells.cells, cells.levels, CHANNELS);
            else
                snprintf(what, sizeof what, "%d x %d cells with noise, epsilon %g", cells.cells,
                         cells.cells, halo_filter_cells_epsilon(&cells));
            own += bits_of(&cells);
        }
    }
    if (ret->kind == HALO_DISCLOSURE_BITS)
        say_bits(ret, what, ret->bits - own);
}

/* What is left where filter f is the first that hides, and all planes. */
static void judge_hidden(const struct halo_chain *chain, int place, int f,
                         struct halo_disclosure *ret)
{
    const int before = unbounded_before(chain, f);
    say(ret, HALO_DISCLOSURE_NOTHING, "nothing");
    say_cells(chain, place, ret);
    if (place >= 0 && shows_objects(chain, place)) {
        say(ret, HALO_DISCLOSURE_MORE, "detected regions are shown, and everything else is hidden");
    } else if (before >= 0) {
        ret->kind = HALO_DISCLOSURE_MORE;
        snprintf(ret->words, sizeof ret->words,
                 "no bound: filter %d, %s, runs before filter %d, %s, and may spread the region's "
                 "content beyond its edge; put hide and solid first",
                 before + 1, chain->filter[before].kind->name, f + 1, chain->filter[f].kind->name);
    }
}

static void judge(const struct halo_chain *chain, int place, struct halo_disclosure *ret)
{
    int partly = -1, weak = -1;
    *ret = (struct halo_disclosure){.filter = place};
    if (place < 0)
        snprintf(ret->where, sizeof ret->where, "the whole frame");
    else
        snprintf(ret->where, sizeof ret->where, "region=%.*s%s", SHOWN,
                 chain->filter[place].common.region,
                 chain->filter[place].common.invert ? ":invert=1" : "");
    for (int f = 0; f < chain->count; f++) {
        const struct halo_filter *filter = &chain->filter[f];
        if (!applies(chain, f, place))
            continue;
        if (filter->kind->bounded && covers_planes(filter)) {
            judge_hidden(chain, place, f, ret);
            return;
        }
        if (filter->kind->bounded)
            partly = partly < 0 ? f : partly;
        else
            weak = weak < 0 ? f : weak;
    }
    ret->kind = HALO_DISCLOSURE_MORE;
    if (weak < 0)
        snprintf(ret->words, sizeof ret->words,
                 "no bound: filter %d, %s, leaves planes unchanged (planes=%d)", partly + 1,
                 chain->filter[partly].kind->name, chain->filter[partly].common.planes);
    else
        snprintf(ret->words, sizeof ret->words, "no bound: filter %d, %s: %s", weak + 1,
                 chain->filter[weak].kind->name, weakness_of(&chain->filter[weak]));
}

int halo_chain_disclosure(const struct halo_chain *chain, struct halo_disclosure *ret)
{
    int count = 0;
    for (int f = 0; f < chain->count; f++) {
        bool again = !chain->filter[f].shapes;
        for (int i = 0; i < f && !again; i++)
            again = is_same_place(&chain->filter[i], &chain->filter[f]);
        if (!again)
            judge(chain, f, &ret[count++]);
    }
    if (count == 0)
        judge(chain, -1, &ret[count++]);
    return count;
}

int halo_disclosure_print(const char *text, const char *prefix, FILE *to, struct halo_error *err)
{
    struct halo_disclosure disclosure[HALO_MAX_FILTERS];
    struct halo_chain *chain;
    const int code = halo_chain_parse(&chain, text, err);
    if (code < 0)
        return code;
    const int count = halo_chain_disclosure(chain, disclosure);
    halo_chain_destroy(chain);
    bool bounded = true;
    for (int i = 0; i < count; i++) {
        fprintf(to, "%s%s: %s\n", prefix, disclosure[i].where, disclosure[i].words);
        bounded &= disclosure[i].kind != HALO_DISCLOSURE_MORE;
    }
    return bounded;
}
