/* SPDX-License-Identifier: BSD-2-Clause
 * Every sample is judged (judge.h). */
#include "tests/proof/judge.h"

#include <libavutil/common.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/base/canary.h"

enum {
    NUMBERS = 65536,
    PROBES = 24,    /* samples that are shown, of luma */
    MAX_TRIED = 20, /* numbers */
    UNKNOWN = -1,
    DARK = 20, /* limited range's black, and what an encoder makes of it; of 8 bits */
};

struct component {
    int width, height, log2_x, log2_y, black;
    uint8_t *weight[PROOF_STEPS];
    int *now, *next; /* samples; UNKNOWN: nothing can be said */
};

struct proof_judge {
    struct proof_spec spec;
    enum AVPixelFormat format;
    int width, height, components;
    struct component component[PROOF_COMPONENTS];
    int probe[PROBES][2], probes;
};

/* ---- samples in memory ---- */

static bool is_chroma(const AVPixFmtDescriptor *d, int component)
{
    return component > 0 && !(d->flags & AV_PIX_FMT_FLAG_RGB);
}

static uint8_t *sample_at(const AVFrame *f, int component, int x, int y)
{
    const AVComponentDescriptor *c = &av_pix_fmt_desc_get(f->format)->comp[component];
    return f->data[c->plane] + (ptrdiff_t)y * f->linesize[c->plane] + (ptrdiff_t)x * c->step +
           c->offset;
}

int proof_sample_get(const AVFrame *f, int component, int x, int y)
{
    const AVComponentDescriptor *c = &av_pix_fmt_desc_get(f->format)->comp[component];
    const uint8_t *at = sample_at(f, component, x, y);
    return c->depth > 8 ? AV_RL16(at) >> c->shift : *at;
}

void proof_sample_set(AVFrame *f, int component, int x, int y, int value)
{
    const AVComponentDescriptor *c = &av_pix_fmt_desc_get(f->format)->comp[component];
    uint8_t *at = sample_at(f, component, x, y);
    if (c->depth > 8)
        AV_WL16(at, (unsigned)value << c->shift);
    else
        *at = (uint8_t)value;
}

int proof_component_width(const AVFrame *f, int component)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
    return is_chroma(d, component) ? AV_CEIL_RSHIFT(f->width, d->log2_chroma_w) : f->width;
}

int proof_component_height(const AVFrame *f, int component)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f->format);
    return is_chroma(d, component) ? AV_CEIL_RSHIFT(f->height, d->log2_chroma_h) : f->height;
}

static int spread(const AVFrame *f, int component)
{
    int least = INT_MAX, most = 0;
    for (int y = 0; y < proof_component_height(f, component); y++)
        for (int x = 0; x < proof_component_width(f, component); x++) {
            const int value = proof_sample_get(f, component, x, y);
            least = FFMIN(least, value);
            most = FFMAX(most, value);
        }
    return most - least;
}

bool proof_is_blank(const AVFrame *frame, int slack)
{
    bool ret = true;
    for (int c = 0; ret && c < av_pix_fmt_desc_get(frame->format)->nb_components; c++)
        ret = spread(frame, c) <= slack;
    return ret;
}

bool proof_is_dark(const AVFrame *frame)
{
    return proof_sample_get(frame, 0, 0, 0) >>
           (av_pix_fmt_desc_get(frame->format)->comp[0].depth - 8) <= DARK;
}

/* ---- what is asked for ---- */

static bool is_full(enum AVPixelFormat format, enum AVColorRange range)
{
    return format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P ||
           format == AV_PIX_FMT_YUVJ444P || range == AVCOL_RANGE_JPEG;
}

static int black_of(const AVPixFmtDescriptor *d, int component, bool full)
{
    const int depth = d->comp[0].depth;
    return is_chroma(d, component)                  ? 1 << (depth - 1)
           : full || d->flags & AV_PIX_FMT_FLAG_RGB ? 0
                                                    : 16 << (depth - 8);
}

static void *room(size_t count, size_t size)
{
    void *ret = calloc(count, size);
    if (!ret)
        abort();
    return ret;
}

static void open_component(struct proof_judge *j, int i, bool full)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(j->format);
    struct component *c = &j->component[i];
    c->log2_x = is_chroma(d, i) ? d->log2_chroma_w : 0;
    c->log2_y = is_chroma(d, i) ? d->log2_chroma_h : 0;
    c->width = AV_CEIL_RSHIFT(j->width, c->log2_x);
    c->height = AV_CEIL_RSHIFT(j->height, c->log2_y);
    c->black = black_of(d, i, full);
    const size_t samples = (size_t)c->width * (size_t)c->height;
    c->now = room(samples, sizeof *c->now);
    c->next = room(samples, sizeof *c->next);
    for (int s = 0; s < j->spec.count; s++) {
        c->weight[s] = room(samples, 1);
        const struct proof_region region = proof_step_region(&j->spec.step[s]);
        proof_weights(&region, j->width, j->height, c->log2_x, c->log2_y, c->weight[s]);
    }
}

/* Samples of luma from all over the frame that no step changes; frame: which are odd in that. */
static void choose_probes(struct proof_judge *j, const AVFrame *frame)
{
    const struct component *c = &j->component[0];
    const int samples = c->width * c->height, step = 2503 % samples; /* a prime */
    j->probes = 0;
    for (int i = 0, at = 0; i < samples && j->probes < PROBES; i++, at = (at + step) % samples) {
        const int x = at % c->width, y = at / c->width;
        bool shown = !frame || proof_sample_get(frame, 0, x, y) % 2;
        for (int s = 0; s < j->spec.count; s++)
            shown &= c->weight[s][at] == 0;
        if (!shown)
            continue;
        j->probe[j->probes][0] = x;
        j->probe[j->probes++][1] = y;
    }
}

struct proof_judge *proof_judge_open(const struct proof_spec *spec, enum AVPixelFormat format,
                                     enum AVColorRange range, int width, int height)
{
    struct proof_judge *j = room(1, sizeof *j);
    j->spec = *spec;
    j->format = format;
    j->width = width;
    j->height = height;
    j->components = av_pix_fmt_desc_get(format)->nb_components;
    for (int i = 0; i < j->components; i++)
        open_component(j, i, is_full(format, range));
    choose_probes(j, NULL);
    return j;
}

void proof_judge_close(struct proof_judge *j)
{
    if (!j)
        return;
    for (int i = 0; i < j->components; i++) {
        struct component *c = &j->component[i];
        for (int s = 0; s < PROOF_STEPS; s++)
            free(c->weight[s]);
        free(c->now);
        free(c->next);
    }
    free(j);
}

bool proof_judge_expect(struct proof_judge *j, const struct proof_region expected[2])
{
    bool ret = true;
    for (int s = 0; s < j->spec.count; s++) {
        const struct proof_step *step = &j->spec.step[s];
        struct proof_region region = expected[step->invert];
        region.invert = step->invert;
        region.feather = step->feather;
        region.spill = step->spill;
        for (int i = 0; i < j->components && step->by_feed; i++) {
            struct component *c = &j->component[i];
            ret &= proof_weights(&region, j->width, j->height, c->log2_x, c->log2_y, c->weight[s]);
        }
    }
    choose_probes(j, NULL);
    return ret;
}

const uint8_t *proof_judge_weights(const struct proof_judge *j, int step, int component)
{
    return j->component[component].weight[step];
}

/* ---- filters ---- */

/* The mean of a window, of which what lies out of the plane is the nearest in it; halves upward. */
static int mean_of_box(const struct component *c, int x, int y, int across, int down)
{
    const int area = (2 * across + 1) * (2 * down + 1);
    long sum = 0;
    for (int v = y - down; v <= y + down; v++)
        for (int u = x - across; u <= x + across; u++)
            sum += c->now[av_clip(v, 0, c->height - 1) * c->width + av_clip(u, 0, c->width - 1)];
    return (int)((sum + area / 2) / area);
}

/* The same of what the plane has of a block. */
static int mean_of_block(const struct component *c, int x, int y, int across, int down)
{
    const int x0 = x / across * across, y0 = y / down * down;
    const int x1 = FFMIN(x0 + across, c->width), y1 = FFMIN(y0 + down, c->height);
    const int area = (x1 - x0) * (y1 - y0);
    long sum = 0;
    for (int v = y0; v < y1; v++)
        for (int u = x0; u < x1; u++)
            sum += c->now[v * c->width + u];
    return (int)((sum + area / 2) / area);
}

static int filtered(const struct proof_step *step, const struct component *c, int x, int y)
{
    switch (step->filter) {
    case PROOF_BLACK:
        return c->black;
    case PROOF_BLOCKS:
        return mean_of_block(c, x, y, FFMAX(step->size >> c->log2_x, 1),
                             FFMAX(step->size >> c->log2_y, 1));
    default:
        return mean_of_box(c, x, y, (step->size + c->log2_x) >> c->log2_x,
                           (step->size + c->log2_y) >> c->log2_y);
    }
}

static void filter(const struct proof_step *step, const uint8_t *weights, struct component *c)
{
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            const int at = y * c->width + x, m = weights[at];
            const int f = m ? filtered(step, c, x, y) : 0;
            c->next[at] = (m * f + (255 - m) * c->now[at] + 127) / 255;
        }
    FFSWAP(int *, c->now, c->next);
}

static void make(struct proof_judge *j, unsigned number)
{
    for (int i = 0; i < j->components; i++) {
        struct component *c = &j->component[i];
        for (int y = 0; y < c->height; y++)
            for (int x = 0; x < c->width; x++)
                c->now[y * c->width + x] = (int)halo_canary_sample(j->format, i, x, y, number);
        for (int s = 0; s < j->spec.count; s++)
            filter(&j->spec.step[s], c->weight[s], c);
    }
}

/* How far a raw sample reaches, in samples of a component; 0 where its size is not known. */
static int reach_of(int size, int raw_size, int log2)
{
    const int step = 1 << log2;
    const int pixels = raw_size ? FFMAX(3 * step * size / raw_size, 3 * step) : 0;
    return size == raw_size ? 0 : (FFMIN(pixels, size) + step - 1) / step;
}

/* The largest weight so near. */
static void enlarge(const struct component *c, const uint8_t *weight, int by_x, int by_y, int *ret)
{
    for (int at = 0; at < c->width * c->height; at++) {
        const int x = at % c->width, row = at - x;
        ret[at] = 0;
        for (int u = FFMAX(x - by_x, 0); u <= FFMIN(x + by_x, c->width - 1); u++)
            ret[at] = FFMAX(ret[at], weight[row + u]);
    }
    for (int x = 0; x < c->width; x++) {
        int column[1 << 10];
        for (int y = 0; y < c->height; y++)
            column[y] = ret[y * c->width + x];
        for (int y = 0; y < c->height; y++)
            for (int v = FFMAX(y - by_y, 0); v <= FFMIN(y + by_y, c->height - 1); v++)
                ret[y * c->width + x] = FFMAX(ret[y * c->width + x], column[v]);
    }
}

/* Without the raw frame: what one colour hides is known, whatever has been there. Other filters
 * may reach a little farther than they must. */
static void make_known(struct proof_judge *j, const struct proof_raw *raw)
{
    for (int i = 0; i < j->components; i++) {
        struct component *c = &j->component[i];
        const int samples = c->width * c->height;
        const int across = raw->scaled ? reach_of(j->width, raw->width, c->log2_x) : 0;
        const int down = raw->scaled ? reach_of(j->height, raw->height, c->log2_y) : 0;
        for (int at = 0; at < samples; at++)
            c->now[at] = UNKNOWN;
        for (int s = 0; s < j->spec.count; s++) {
            const struct proof_step *step = &j->spec.step[s];
            const bool black = step->filter == PROOF_BLACK, far = raw->scaled && !raw->width;
            const int more = black || !raw->scaled ? 0 : far ? samples : 2;
            enlarge(c, c->weight[s], across + more, down + more, c->next);
            for (int at = 0; at < samples; at++) {
                const int m = raw->scaled && proof_step_has_pixels(step) ? 255 : c->next[at];
                if (m)
                    c->now[at] = m == 255 && black ? c->black : UNKNOWN;
            }
        }
    }
}

void proof_judge_make(struct proof_judge *j, unsigned number, AVFrame *ret)
{
    make(j, number);
    for (int i = 0; i < j->components; i++) {
        const struct component *c = &j->component[i];
        for (int y = 0; y < c->height; y++)
            for (int x = 0; x < c->width; x++)
                proof_sample_set(ret, i, x, y, c->now[y * c->width + x]);
    }
}

/* ---- judging ---- */

static int most_weight(const struct proof_judge *j, const struct component *c, int at)
{
    int ret = 0;
    for (int s = 0; s < j->spec.count; s++)
        ret = FFMAX(ret, c->weight[s][at]);
    return ret;
}

static void judge_sample(const struct proof_judge *j, int i, int x, int y, int got,
                         struct proof_verdict *ret)
{
    const struct component *c = &j->component[i];
    const int at = y * c->width + x, weight = most_weight(j, c, at), want = c->now[at];
    if (want == UNKNOWN)
        return;
    ret->hidden += weight == 255;
    ret->shown += weight == 0 && want % 2; /* as raw samples are */
    ret->soft += weight != 0 && weight != 255;
    if (got == want || ret->wrong++)
        return;
    ret->component = i;
    ret->x = x;
    ret->y = y;
    ret->got = got;
    ret->want = want;
    ret->weight = weight;
}

/* With what was made. */
static void compare(const struct proof_judge *j, const AVFrame *frame, struct proof_verdict *ret)
{
    *ret = (struct proof_verdict){0};
    if (frame->format != (int)j->format || frame->width != j->width || frame->height != j->height) {
        ret->wrong = 1;
        return;
    }
    for (int i = 0; i < j->components; i++)
        for (int y = 0; y < j->component[i].height; y++)
            for (int x = 0; x < j->component[i].width; x++)
                judge_sample(j, i, x, y, proof_sample_get(frame, i, x, y), ret);
}

void proof_judge_see(struct proof_judge *j, const AVFrame *frame, unsigned number,
                     struct proof_verdict *ret)
{
    make(j, number);
    compare(j, frame, ret);
}

void proof_judge_hidden(struct proof_judge *j, const AVFrame *frame, const struct proof_raw *raw,
                        struct proof_verdict *ret)
{
    make_known(j, raw);
    compare(j, frame, ret);
}

/* wrong: of the probes that may be. */
static bool fits(const struct proof_judge *j, const AVFrame *frame, unsigned number, int wrong)
{
    for (int i = 0; i < j->probes && wrong >= 0; i++) {
        const int x = j->probe[i][0], y = j->probe[i][1];
        wrong -= (unsigned)proof_sample_get(frame, 0, x, y) !=
                 halo_canary_sample(j->format, 0, x, y, number);
    }
    return wrong >= 0;
}

/* Where it is odd, and so is not the colour's. */
static void make_least(struct proof_judge *j, const AVFrame *frame, unsigned number)
{
    for (int i = 0; i < j->components; i++) {
        struct component *c = &j->component[i];
        for (int y = 0; y < c->height; y++)
            for (int x = 0; x < c->width; x++) {
                const int at = y * c->width + x;
                const bool raw = c->weight[0][at] == 0 && proof_sample_get(frame, i, x, y) % 2;
                c->now[at] = raw ? (int)halo_canary_sample(j->format, i, x, y, number) : c->black;
            }
    }
}

/* Tries numbers that fit so well. False: none is right, and the best is in ret, if any fits. */
static bool try_numbers(struct proof_judge *j, const AVFrame *frame, bool least, int wrong,
                        unsigned *number, struct proof_verdict *ret)
{
    struct proof_verdict v;
    const unsigned first = *number;
    int tried = 0;
    for (unsigned i = 0; i < NUMBERS && tried < MAX_TRIED; i++) {
        const unsigned n = (first + i) % NUMBERS;
        if (!fits(j, frame, n, wrong))
            continue;
        if (least)
            make_least(j, frame, n);
        else
            make(j, n);
        compare(j, frame, &v);
        if (!tried++ || v.wrong < ret->wrong) {
            *ret = v;
            *number = n + 1;
        }
        if (!v.wrong)
            return true;
    }
    return false;
}

/* First those by which all that is shown is right; then it is only told what is wrong. */
static void find(struct proof_judge *j, const AVFrame *frame, bool least, unsigned *number,
                 struct proof_verdict *ret)
{
    *ret = (struct proof_verdict){.wrong = 1};
    if (!try_numbers(j, frame, least, 0, number, ret))
        try_numbers(j, frame, least, PROBES / 8, number, ret);
}

void proof_judge_find(struct proof_judge *j, const AVFrame *frame, unsigned *number,
                      struct proof_verdict *ret)
{
    find(j, frame, false, number, ret);
}

void proof_judge_least(struct proof_judge *j, const AVFrame *frame, unsigned *number,
                       struct proof_verdict *ret)
{
    *ret = (struct proof_verdict){.wrong = 1};
    if (frame->format != (int)j->format || frame->width != j->width || frame->height != j->height)
        return;
    choose_probes(j, frame);
    find(j, frame, true, number, ret);
}
