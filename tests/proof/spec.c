/* SPDX-License-Identifier: BSD-2-Clause
 * Chains by chance (spec.h), and their text. */
#include "tests/proof/spec.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_SIDE = 512,
    WRITTEN = 8, /* corners of a polygon */
    SEEN = 8,    /* the part of luma, one of so many samples, that tells a frame's number */
    TRIES = 2000,
};

unsigned proof_chance(struct proof_chance *chance, unsigned below)
{
    chance->state = chance->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(chance->state >> 33) % below;
}

bool proof_shape_is_relative(const struct proof_shape *s)
{
    return s->corners ? s->corner[0][0].relative : s->at[0].relative;
}

/* ---- by chance ---- */

int proof_from_to(struct proof_chance *chance, int least, int most)
{
    return least + (int)proof_chance(chance, (unsigned)(most - least + 1));
}

/* Along a side of that many pixels, at least least eighths of it: whole pixels, quarters of them,
 * any place, or a part of the side. */
static struct proof_length length(struct proof_chance *chance, int side, int least, int most)
{
    const unsigned unit = proof_chance(chance, 4);
    if (unit == 0)
        return (struct proof_length){proof_from_to(chance, least, most), true};
    const int step = unit == 1 ? PROOF_UNIT : unit == 2 ? PROOF_UNIT / 4 : 1;
    const int from = side * least * (PROOF_UNIT / PROOF_EIGHTHS) / step;
    const int to = side * most * (PROOF_UNIT / PROOF_EIGHTHS) / step;
    return (struct proof_length){proof_from_to(chance, from, to) * step, false};
}

static void choose_corners(struct proof_shape *s, const int side[2], struct proof_chance *chance)
{
    s->corners = proof_from_to(chance, 3, WRITTEN);
    for (int i = 0; i < s->corners; i++)
        for (int d = 0; d < 2; d++)
            s->corner[i][d] = length(chance, side[d], -2, PROOF_EIGHTHS + 2);
}

/* A blot, soft or hard, on nothing. */
static void choose_mask(struct proof_shape *s, bool soft, struct proof_chance *chance)
{
    s->mask_width = proof_from_to(chance, 1, PROOF_MASK);
    s->mask_height = proof_from_to(chance, 1, PROOF_MASK);
    const int x0 = proof_from_to(chance, 0, s->mask_width - 1),
              y0 = proof_from_to(chance, 0, s->mask_height - 1);
    const int x1 = proof_from_to(chance, x0, s->mask_width - 1),
              y1 = proof_from_to(chance, y0, s->mask_height - 1);
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++)
            s->mask[y * s->mask_width + x] = (uint8_t)(soft ? proof_from_to(chance, 0, 255) : 255);
}

static void choose_shape(struct proof_shape *s, enum proof_shape_kind kind, const int side[2],
                         bool soft, struct proof_chance *chance)
{
    *s = (struct proof_shape){.kind = kind};
    if (kind == PROOF_IMAGE)
        choose_mask(s, soft, chance);
    else if (kind == PROOF_POLYGON)
        choose_corners(s, side, chance);
    const bool large = proof_chance(chance, 3) == 0;
    for (int d = 0; d < 2 && kind < PROOF_POLYGON; d++) {
        s->at[d] = length(chance, side[d], -2, PROOF_EIGHTHS - 1);
        s->size[d] = length(chance, side[d], 0, large ? PROOF_EIGHTHS : 2);
        if (s->size[d].value == 0)
            s->size[d].value = 1;
    }
}

static void choose_step(struct proof_step *step, const int side[2], struct proof_chance *chance)
{
    static const int sizes[] = {4, 8, 10, 16}, feathers[] = {0, 0, 1, 5, 12};
    *step = (struct proof_step){.filter = (enum proof_filter)proof_chance(chance, 3)};
    step->size =
        step->filter == PROOF_BOX ? proof_from_to(chance, 3, 9) : sizes[proof_chance(chance, 4)];
    if (proof_chance(chance, 16) == 0)
        return;
    step->count = proof_from_to(chance, 1, PROOF_SHAPES);
    step->invert = proof_chance(chance, 3) == 0;
    step->feather = feathers[proof_chance(chance, 5)];
    const bool image = proof_chance(chance, 4) == 0; /* one, the last */
    const bool rects = proof_chance(chance, 3) == 0;
    for (int i = 0; i < step->count; i++)
        choose_shape(&step->shape[i],
                     image && i == step->count - 1 ? PROOF_IMAGE
                     : rects                       ? PROOF_RECT
                             : (enum proof_shape_kind)proof_chance(chance, PROOF_IMAGE),
                     side, !step->feather, chance);
}

/* ---- whether it will do ---- */

/* Each filter hides something of luma, and nothing in it is unsure on any plane that there is. */
static bool is_sound(const struct proof_step *step, const int side[2], uint8_t *shown, bool *soft)
{
    static const int planes[][2] = {{1, 1}, {1, 0}, {0, 0}};
    static _Thread_local uint8_t weights[MAX_SIDE * MAX_SIDE];
    const struct proof_region region = proof_step_region(step);
    bool ret = true, hides = false;
    for (size_t i = 0; i < sizeof planes / sizeof *planes; i++)
        ret &= proof_weights(&region, side[0], side[1], planes[i][0], planes[i][1], weights);
    for (int i = 0; i < side[0] * side[1]; i++) {
        hides |= weights[i] == 255;
        *soft |= weights[i] != 0 && weights[i] != 255;
        shown[i] &= weights[i] == 0;
    }
    return ret && hides;
}

/* What a feed can tell. */
static void simplify(struct proof_step *step)
{
    int count = 0;
    for (int i = 0; i < step->count; i++)
        if (step->shape[i].kind != PROOF_IMAGE)
            step->shape[count++] = step->shape[i];
    step->count = count;
    step->feather = 0;
}

static bool choose(struct proof_spec *spec, const int side[2], enum proof_wish wish,
                   struct proof_chance *chance)
{
    static _Thread_local uint8_t shown[MAX_SIDE * MAX_SIDE];
    const int samples = side[0] * side[1];
    int seen = 0;
    bool sound = true, soft = false;
    memset(shown, 1, (size_t)samples);
    spec->count = wish == PROOF_FEED ? 1 : proof_from_to(chance, 1, PROOF_STEPS);
    for (int i = 0; i < spec->count && sound; i++) {
        choose_step(&spec->step[i], side, chance);
        if (wish == PROOF_FEED)
            simplify(&spec->step[i]);
        if (wish == PROOF_MOVING && (i == 0 || proof_chance(chance, 2) == 0))
            spec->step[i].by_feed = true, spec->step[i].count = 0;
        sound = is_sound(&spec->step[i], side, shown, &soft) &&
                (wish != PROOF_FEED || spec->step[i].count > 0);
    }
    for (int i = 0; i < samples; i++)
        seen += shown[i];
    const bool black = wish == PROOF_ALL_BLACK || wish == PROOF_FEED;
    const bool few = (black || wish == PROOF_TOLD) && seen < samples / SEEN;
    for (int i = 0; i < spec->count && (few || black); i++)
        spec->step[i].filter = PROOF_BLACK;
    return sound && !(few && soft);
}

/* ---- its text ---- */

__attribute__((format(printf, 2, 3))) static void say(struct proof_spec *spec, const char *format,
                                                      ...)
{
    const size_t at = strlen(spec->text);
    va_list args;
    va_start(args, format);
    vsnprintf(spec->text + at, sizeof spec->text - at, format, args);
    va_end(args);
}

static void say_length(struct proof_spec *spec, const struct proof_length *length)
{
    if (length->relative)
        say(spec, " %g%%", length->value * 100.0 / PROOF_EIGHTHS);
    else
        say(spec, " %.7f", (double)length->value / PROOF_UNIT);
}

static void say_shape(struct proof_spec *spec, const struct proof_shape *s, const char *mask)
{
    static const char *const names[] = {"rect", "ellipse", "polygon", "mask"};
    say(spec, "%s", names[s->kind]);
    if (s->kind == PROOF_IMAGE)
        say(spec, " %s", mask);
    for (int i = 0; i < s->corners; i++)
        for (int d = 0; d < 2; d++)
            say_length(spec, &s->corner[i][d]);
    for (int d = 0; d < 4 && s->kind < PROOF_POLYGON; d++)
        say_length(spec, d < 2 ? &s->at[d] : &s->size[d - 2]);
}

static bool write_mask(const struct proof_shape *s, const char *path)
{
    FILE *to = fopen(path, "wb");
    if (!to)
        return false;
    fprintf(to, "P5 %d %d 255\n", s->mask_width, s->mask_height);
    fwrite(s->mask, 1, (size_t)(s->mask_width * s->mask_height), to);
    return fclose(to) == 0;
}

static bool say_step(struct proof_spec *spec, int i, enum proof_wish wish, const char *folder)
{
    static atomic_int files;
    const struct proof_step *step = &spec->step[i];
    bool ret = true;
    say(spec, "%s", i ? "," : "");
    if (step->filter == PROOF_BLACK)
        say(spec, "solid=black");
    else if (step->filter == PROOF_BLOCKS)
        say(spec, "pixelize=w=%d:h=%d", step->size, step->size);
    else
        say(spec, "avgblur=sizeX=%d", step->size);
    if (wish == PROOF_FEED || step->by_feed)
        say(spec, ":region=feed");
    for (int k = 0; k < step->count && wish != PROOF_FEED; k++) {
        char *mask = spec->mask[i];
        if (step->shape[k].kind == PROOF_IMAGE && folder) {
            snprintf(mask, PROOF_MAX_PATH, "%s/mask-%d-%d.pgm", folder, (int)getpid(),
                     atomic_fetch_add(&files, 1));
            ret = write_mask(&step->shape[k], mask);
        }
        say(spec, "%s", k ? " + " : ":region=");
        say_shape(spec, &step->shape[k], mask);
    }
    if (step->invert)
        say(spec, ":invert=1");
    if (step->feather)
        say(spec, ":feather=%d", step->feather);
    return ret;
}

bool proof_spec_make(struct proof_spec *ret, unsigned number, int width, int height,
                     enum proof_wish wish, const char *folder)
{
    struct proof_chance chance = {number * 2654435761u + 99};
    const int side[2] = {width, height};
    *ret = (struct proof_spec){0};
    if (width > MAX_SIDE || height > MAX_SIDE)
        return false;
    for (int i = 0; i < TRIES && !choose(ret, side, wish, &chance); i++)
        *ret = (struct proof_spec){.step = {{.filter = PROOF_BLACK}}, .count = 1};
    bool fine = true;
    for (int i = 0; i < ret->count && fine; i++)
        fine = say_step(ret, i, wish, folder);
    return fine;
}

void proof_spec_finish(struct proof_spec *spec)
{
    for (int i = 0; i < spec->count; i++)
        if (*spec->mask[i])
            unlink(spec->mask[i]);
}
