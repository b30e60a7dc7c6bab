/* SPDX-License-Identifier: BSD-2-Clause
 * Whether the judge of samples is to be trusted (exact.h). */
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/error.h"
#include "pipeline/base/canary.h"
#include "tests/proof/exact.h"
#include "tests/proof/example.h"

/* Leaks, made in what is right: out. NULL: there is no place for one. */
struct leak {
    const struct proof_example *e;
    struct proof_chance *chance;
    AVFrame *out;
    const AVFrame *raw, *old; /* of this number, of one before */
    int component;
};

static int weight_at(const struct leak *l, int step, int component, int x, int y)
{
    return proof_judge_weights(l->e->judge, step,
                               component)[y * proof_component_width(l->out, component) + x];
}

static bool is_hidden(const struct leak *l, int component, int x, int y)
{
    int most = 0;
    for (int s = 0; s < l->e->spec.count; s++) {
        const int weight = weight_at(l, s, component, x, y);
        most = weight > most ? weight : most;
    }
    return most == 255;
}

static void show(const struct leak *l, const AVFrame *from, int component, int x, int y)
{
    proof_sample_set(l->out, component, x, y, proof_sample_get(from, component, x, y));
}

typedef bool chooser(const struct leak *l, int component, int x, int y, int at);

/* Every hidden sample that is chosen; at: a number of the leak's. */
static void show_all(const struct leak *l, const AVFrame *from, chooser *choose, int at)
{
    for (int c = 0; c < av_pix_fmt_desc_get(l->out->format)->nb_components; c++)
        for (int y = 0; y < proof_component_height(l->out, c); y++)
            for (int x = 0; x < proof_component_width(l->out, c); x++)
                if ((l->component < 0 || c == l->component) && is_hidden(l, c, x, y) &&
                    choose(l, c, x, y, at))
                    show(l, from, c, x, y);
}

static bool any(const struct leak *l, int c, int x, int y, int at)
{
    (void)l, (void)c, (void)x, (void)y, (void)at;
    return true;
}

static bool in_row(const struct leak *l, int c, int x, int y, int at)
{
    (void)l, (void)c, (void)x;
    return y == at;
}

static bool in_column(const struct leak *l, int c, int x, int y, int at)
{
    (void)l, (void)c, (void)y;
    return x == at;
}

static bool is_one(const struct leak *l, int c, int x, int y, int at)
{
    return y * proof_component_width(l->out, c) + x == at;
}

static bool in_field(const struct leak *l, int c, int x, int y, int at)
{
    (void)l, (void)c, (void)x;
    return y % 2 == at;
}

/* Whose neighbour in that direction is not hidden: the region is a sample too small there. */
static bool at_edge(const struct leak *l, int c, int x, int y, int at)
{
    static const int by[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    const int u = x + by[at % 4][0], v = y + by[at % 4][1];
    return u >= 0 && v >= 0 && u < proof_component_width(l->out, c) &&
           v < proof_component_height(l->out, c) && !is_hidden(l, c, u, v);
}

/* Chroma with the weights of the luma samples at its upper left corners. */
static bool by_point(const struct leak *l, int c, int x, int y, int at)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(l->out->format);
    const bool less = proof_component_width(l->out, c) < l->out->width ||
                      proof_component_height(l->out, c) < l->out->height;
    (void)at;
    return less && !is_hidden(l, 0, x << d->log2_chroma_w, y << d->log2_chroma_h);
}

/* With the weights of the same region in a frame of another width, read as if they were this
 * one's. */
static bool by_other_size(const struct leak *l, int c, int x, int y, int at)
{
    const int width = proof_component_width(l->out, c);
    const int place = y * (l->out->width + l->e->other_width) / 2 + x;
    (void)at;
    return !is_hidden(l, c, place % width, place / width % proof_component_height(l->out, c));
}

/* A hidden sample by chance: its place, or -1. */
static int place(struct leak *l)
{
    const int components = av_pix_fmt_desc_get(l->out->format)->nb_components;
    l->component = (int)proof_chance(l->chance, (unsigned)components);
    const int width = proof_component_width(l->out, l->component);
    const int samples = width * proof_component_height(l->out, l->component);
    const int first = (int)proof_chance(l->chance, (unsigned)samples);
    for (int i = 0; i < samples; i++) {
        const int at = (first + i) % samples;
        if (is_hidden(l, l->component, at % width, at / width))
            return at;
    }
    return -1;
}

/* Of a sample, as little as can be, towards the raw one. */
static void lean(struct leak *l, int at)
{
    const int width = proof_component_width(l->out, l->component);
    const int x = at % width, y = at / width;
    const int raw = proof_sample_get(l->raw, l->component, x, y);
    const int now = proof_sample_get(l->out, l->component, x, y);
    proof_sample_set(l->out, l->component, x, y, now + (raw > now) - (raw < now));
}

static const char *const ways[] = {
    "a whole raw picture",
    "an older raw picture",
    "one component",
    "one sample",
    "one sample of an older picture",
    "one sample by the least step",
    "one row",
    "one column",
    "every second row",
    "a column at the left of a region",
    "a column at the right of a region",
    "a row at the top of a region",
    "a row at the bottom of a region",
    "chroma by the weights of single samples of luma",
    "the weights of another size",
    "what is shown is older",
};
enum { WAYS = sizeof ways / sizeof *ways };

static void make_leak(int way, struct leak *l)
{
    const int at = place(l), component = l->component;
    const int width = proof_component_width(l->out, component);
    l->component = -1;
    if (way == 0 || way == 1)
        show_all(l, way ? l->old : l->raw, any, 0);
    else if (way == 8)
        show_all(l, l->raw, in_field, (int)proof_chance(l->chance, 2));
    else if (way >= 9 && way <= 12)
        show_all(l, l->raw, at_edge, (int[]){1, 0, 3, 2}[way - 9]);
    else if (way == 13)
        show_all(l, l->raw, by_point, 0);
    else if (way == 14)
        show_all(l, l->raw, by_other_size, 0);
    l->component = component;
    if (at < 0)
        return;
    if (way == 2)
        show_all(l, l->raw, any, 0);
    else if (way == 3 || way == 4)
        show_all(l, way == 4 ? l->old : l->raw, is_one, at);
    else if (way == 5)
        lean(l, at);
    else if (way == 6)
        show_all(l, l->raw, in_row, at / width);
    else if (way == 7)
        show_all(l, l->raw, in_column, at % width);
}

static AVFrame *new_frame(const struct proof_example *e)
{
    AVFrame *f = av_frame_alloc();
    f->format = e->format;
    f->width = e->width;
    f->height = e->height;
    if (av_frame_get_buffer(f, 0) < 0)
        exit(HALO_EXIT_FAILED);
    return f;
}

static bool is_same(const struct proof_example *e, const AVFrame *a, const AVFrame *b)
{
    for (int c = 0; c < av_pix_fmt_desc_get(e->format)->nb_components; c++)
        for (int y = 0; y < proof_component_height(a, c); y++)
            for (int x = 0; x < proof_component_width(a, c); x++)
                if (proof_sample_get(a, c, x, y) != proof_sample_get(b, c, x, y))
                    return false;
    return true;
}

struct found {
    long made, found, unmade, alarms;
};

/* Makes a leak of that way in that case, and looks. */
static void check_one(const struct proof_example *e, int way, struct proof_chance *chance,
                      struct found *ret)
{
    struct proof_verdict v;
    AVFrame *right = new_frame(e), *out = new_frame(e), *raw = new_frame(e);
    AVFrame *old = new_frame(e);
    const unsigned number = proof_chance(chance, 60000);
    struct leak l = {.e = e, .chance = chance, .out = out, .raw = raw, .old = old};
    halo_canary_paint(raw, number);
    halo_canary_paint(old, number + 1 + proof_chance(chance, 5000));
    proof_judge_make(e->judge, number, right);
    proof_judge_make(e->judge, number, out);
    proof_judge_see(e->judge, right, number, &v);
    ret->alarms += v.wrong != 0;
    if (way == WAYS - 1)
        proof_judge_make(e->judge, number + 1 + proof_chance(chance, 5000), out);
    else
        make_leak(way, &l);
    if (is_same(e, right, out)) {
        ret->unmade++;
    } else {
        ret->made++;
        proof_judge_see(e->judge, out, number, &v);
        ret->found += v.wrong != 0;
    }
    av_frame_free(&right);
    av_frame_free(&out);
    av_frame_free(&raw);
    av_frame_free(&old);
}

bool proof_exact_check(unsigned seed, long cases, const char *folder)
{
    struct proof_chance chance = {seed};
    struct found of[WAYS] = {{0}};
    long alarms = 0;
    bool ret = true;
    for (unsigned i = 0, more = 1; more; i++) {
        struct proof_example e;
        more = 0;
        proof_example_open(&e, seed * 100003u + i, PROOF_ANY, folder);
        for (int way = 0; way < WAYS; way++)
            if (of[way].made < cases && i < (unsigned)cases * 20)
                check_one(&e, way, &chance, &of[way]), more = 1;
        proof_example_close(&e);
    }
    printf("the judge of samples, leaks on purpose:\n");
    for (int way = 0; way < WAYS; way++) {
        printf("    %5ld of %ld found: %s\n", of[way].found, of[way].made, ways[way]);
        alarms += of[way].alarms;
        ret &= of[way].found == of[way].made && of[way].made >= cases;
    }
    printf("false alarms: %ld\n", alarms);
    return ret && alarms == 0;
}
