/* SPDX-License-Identifier: BSD-2-Clause
 * Which chains frames can be of (exam.h). */
#include "tests/proof/exam.h"

#include <libavutil/pixdesc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proof/example.h"
#include "tests/proof/heard.h"

enum {
    ASKED = 256,  /* that are not confirmed */
    BEHIND = 256, /* frames that one encoding may be behind another */
    LOUD = 20,    /* frames that are told of */
    SETS = 1 << PROOF_POOL,
};

struct proof_exam {
    struct proof_exam_settings set;
    struct proof_spec spec[PROOF_POOL];
    struct proof_judge *judge[PROOF_POOL]; /* NULL: not needed yet */
    struct proof_heard *heard;             /* NULL: nobody hears what the feed is told */
    struct proof_judge *expected; /* of the first, as the feed tells where it is; likewise */
    pthread_mutex_t lock;
    struct {
        uint64_t id;
        int spec;
    } asked[ASKED];
    int count;
    unsigned now, before; /* bits: chains that may be in force; that were until the last one was */
    unsigned number;
    int last;            /* that a frame was of */
    uint8_t *area[SETS]; /* of cells, NULL: not needed yet */
};

struct proof_exam *proof_exam_open(const struct proof_exam_settings *settings)
{
    struct proof_exam *e = calloc(1, sizeof *e);
    const enum proof_wish wish = settings->feed      ? PROOF_FEED
                                 : settings->resized ? PROOF_ALL_BLACK
                                                     : PROOF_TOLD;
    if (!e)
        abort();
    e->set = *settings;
    e->now = settings->foreign ? SETS - 1 : 1;
    e->number = settings->number + BEHIND;
    pthread_mutex_init(&e->lock, NULL);
    for (int i = 0; i < PROOF_POOL; i++)
        if (!proof_spec_make(&e->spec[i], settings->first + (unsigned)i, settings->width,
                             settings->height, wish, settings->folder)) {
            proof_exam_close(e);
            return NULL;
        }
    return e;
}

void proof_exam_close(struct proof_exam *e)
{
    if (!e)
        return;
    for (int i = 0; i < PROOF_POOL; i++) {
        proof_judge_close(e->judge[i]);
        proof_spec_finish(&e->spec[i]);
    }
    proof_judge_close(e->expected);
    for (int i = 0; i < SETS; i++)
        free(e->area[i]);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void proof_exam_hear(struct proof_exam *e, struct proof_heard *heard)
{
    e->heard = heard;
}

const struct proof_spec *proof_exam_spec(const struct proof_exam *e, int i)
{
    return &e->spec[i];
}

void proof_exam_ask(struct proof_exam *e, uint64_t id, int i)
{
    pthread_mutex_lock(&e->lock);
    if (e->count < ASKED) {
        e->asked[e->count].id = id;
        e->asked[e->count++].spec = i;
    }
    e->now |= 1u << i;
    pthread_mutex_unlock(&e->lock);
}

void proof_exam_confirm(struct proof_exam *e, uint64_t id)
{
    int at = 0, left = 0;
    pthread_mutex_lock(&e->lock);
    while (at < e->count && e->asked[at].id != id)
        at++;
    if (at < e->count) {
        e->before = e->now;
        e->now = 0;
        for (; at < e->count; at++) {
            e->now |= 1u << e->asked[at].spec;
            e->asked[left++] = e->asked[at];
        }
        e->count = left;
    }
    pthread_mutex_unlock(&e->lock);
}

static struct proof_judge *judge_of(struct proof_exam *e, int i)
{
    const struct proof_exam_settings *s = &e->set;
    if (!e->judge[i])
        e->judge[i] = proof_judge_open(&e->spec[i], s->format, s->range, s->width, s->height);
    return e->judge[i];
}

/* A frame of a shape that was made up while the source was away. */
static void see_other_shape(struct proof_exam *e, int i, const AVFrame *frame,
                            struct proof_verdict *ret)
{
    const bool scaled = frame->width != e->set.width || frame->height != e->set.height;
    struct proof_judge *j = proof_judge_open(&e->spec[i], frame->format, frame->color_range,
                                             frame->width, frame->height);
    proof_judge_hidden(j, frame, &(struct proof_raw){.scaled = scaled}, ret);
    proof_judge_close(j);
}

static bool fits(const struct proof_exam *e, const AVFrame *frame)
{
    const struct proof_exam_settings *s = &e->set;
    return frame->format == (int)s->format && frame->width == s->width &&
           frame->height == s->height;
}

bool proof_exam_takes(const struct proof_exam *e, const AVFrame *frame, bool raw)
{
    return (raw && !e->set.foreign) || fits(e, frame);
}

static int shades(const AVFrame *frame, int component)
{
    const int first = proof_sample_get(frame, component, 0, 0);
    int other = first;
    for (int y = 0; y < proof_component_height(frame, component); y++)
        for (int x = 0; x < proof_component_width(frame, component); x++) {
            const int value = proof_sample_get(frame, component, x, y);
            if (value != first && other != first && value != other)
                return 3;
            if (value != first)
                other = value;
        }
    return other == first ? 1 : 2;
}

bool proof_exam_is_card(const struct proof_exam *e, const AVFrame *frame)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    const bool solid = !proof_is_blank(frame, 0) || proof_is_dark(frame);
    bool ret = e->set.foreign && solid && shades(frame, 0) <= 2;
    for (int c = 1; ret && c < d->nb_components; c++)
        ret = shades(frame, c) <= (d->flags & AV_PIX_FMT_FLAG_RGB ? 2 : 1);
    return ret;
}

bool proof_exam_read(struct proof_exam_settings *ret, const char *text)
{
    char format[40];
    ret->foreign = true;
    if (sscanf(text, "%u:%39[a-z0-9]:%dx%d:%u", &ret->first, format, &ret->width, &ret->height,
               &ret->number) != 5)
        return false;
    ret->format = av_get_pix_fmt(format);
    ret->range = proof_range(ret->format);
    return ret->format != AV_PIX_FMT_NONE && ret->width > 0 && ret->height > 0;
}

/* Whichever frame it is: one of the next, or, where the source began again, of its first. One
 * that is blank is of any, or of none. */
static void see_number(struct proof_exam *e, int i, const AVFrame *frame, struct proof_verdict *ret)
{
    const unsigned first[] = {e->number - BEHIND, e->set.number};
    if (!e->set.feed && proof_is_blank(frame, 0)) {
        proof_judge_see(judge_of(e, i), frame, e->set.number, ret);
        return;
    }
    for (int k = 0; k < 2; k++) {
        unsigned number = first[k];
        if (e->set.feed)
            proof_judge_least(judge_of(e, i), frame, &number, ret);
        else
            proof_judge_find(judge_of(e, i), frame, &number, ret);
        if (!ret->wrong) {
            e->number = number;
            return;
        }
    }
}

/* By what the feed was told, which says of more samples what they must be. */
static void see_expected(struct proof_exam *e, const AVFrame *frame, struct proof_verdict *ret)
{
    struct proof_spec spec = e->spec[0];
    struct proof_verdict v;
    spec.step[0].by_feed = true;
    if (!e->expected)
        e->expected =
            proof_judge_open(&spec, e->set.format, e->set.range, e->set.width, e->set.height);
    if (proof_heard_judge(e->heard, e->expected, frame, frame->pts, e->number - 1, &v) ==
        PROOF_HEARD_UNKNOWN)
        return;
    *ret = v;
    ret->by_feed = true;
}

static void see_one(struct proof_exam *e, int i, const AVFrame *frame, struct proof_verdict *ret)
{
    struct proof_verdict other;
    if (!fits(e, frame)) {
        see_other_shape(e, i, frame, ret);
        return;
    }
    see_number(e, i, frame, ret);
    if (!ret->wrong && e->heard && frame->pts != AV_NOPTS_VALUE)
        see_expected(e, frame, ret);
    if (!ret->wrong || !e->set.resized)
        return;
    /* A feed tells of frames as they come out, whatever size they had. */
    proof_judge_hidden(judge_of(e, i), frame, &(struct proof_raw){.scaled = !e->set.feed}, &other);
    if (!other.wrong)
        *ret = other;
}

/* The first chain that explains the frame; in force or not. */
static int explain(struct proof_exam *e, const AVFrame *frame)
{
    struct proof_verdict v;
    for (int i = 0; i < PROOF_POOL; i++) {
        see_one(e, i, frame, &v);
        if (!v.wrong)
            return i;
    }
    return -1;
}

static void say(struct proof_exam *e, const AVFrame *frame)
{
    static atomic_int said;
    if (atomic_fetch_add(&said, 1) >= LOUD)
        return;
    printf("LEAK: %dx%d %s of a source of %dx%d %s%s%s, about picture %u; chains in force:\n",
           frame->width, frame->height, av_get_pix_fmt_name(frame->format), e->set.width,
           e->set.height, av_get_pix_fmt_name(e->set.format), e->set.resized ? ", resized" : "",
           e->set.feed ? ", a feed" : "", e->number);
    for (int i = 0; i < PROOF_POOL; i++)
        if (e->now >> i & 1)
            printf("    %u: %s\n", e->set.first + (unsigned)i, e->spec[i].text);
    fflush(stdout);
}

static void say_wrong(struct proof_exam *e, const AVFrame *frame, const struct proof_verdict *v)
{
    say(e, frame);
    const int other = explain(e, frame);
    if (other >= 0)
        printf("    it is of %u, which is not in force\n", e->set.first + (unsigned)other);
    else
        printf("    %ld samples, the first %d,%d of component %d with weight %d: %d, not %d\n",
               v->wrong, v->x, v->y, v->component, v->weight, v->got, v->want);
    fflush(stdout);
}

void proof_exam_say(struct proof_exam *e, const AVFrame *frame)
{
    pthread_mutex_lock(&e->lock);
    say(e, frame);
    pthread_mutex_unlock(&e->lock);
}

void proof_exam_see(struct proof_exam *e, const AVFrame *frame, struct proof_verdict *ret)
{
    struct proof_verdict v;
    bool seen = false;
    *ret = (struct proof_verdict){0};
    pthread_mutex_lock(&e->lock);
    for (int k = 0; k < PROOF_POOL && !(seen && !ret->wrong); k++) {
        const int i = (e->last + k) % PROOF_POOL;
        if (!(e->now >> i & 1))
            continue;
        see_one(e, i, frame, &v);
        if (!seen || v.wrong < ret->wrong)
            *ret = v;
        seen = true;
        if (!v.wrong)
            e->last = i;
    }
    if (ret->wrong && proof_is_blank(frame, 0)) /* filters that were skipped write nothing */
        *ret = (struct proof_verdict){.blank = true};
    else if (ret->wrong)
        say_wrong(e, frame, ret);
    pthread_mutex_unlock(&e->lock);
}

/* ---- cells ---- */

/* Whether one step or another hides all samples of luma in a box, which may reach out of the
 * frame. What hides a sample of luma hides the chroma over it. */
static bool hides(struct proof_exam *e, int spec, int x0, int y0, int x1, int y1)
{
    const struct proof_judge *j = judge_of(e, spec);
    for (int y = y0 < 0 ? 0 : y0; y < y1 && y < e->set.height; y++)
        for (int x = x0 < 0 ? 0 : x0; x < x1 && x < e->set.width; x++) {
            bool hidden = false;
            for (int s = 0; s < e->spec[spec].count; s++)
                hidden |= proof_judge_weights(j, s, 0)[y * e->set.width + x] == 255;
            if (!hidden)
                return false;
        }
    return true;
}

/* Of luma; what a chain makes of a frame that is black already stays so. */
static bool is_black(struct proof_exam *e, int spec)
{
    const struct proof_judge *j = judge_of(e, spec);
    bool ret = true;
    for (int at = 0; ret && at < e->set.width * e->set.height; at++) {
        bool black = false;
        for (int s = 0; s < e->spec[spec].count; s++)
            black |= e->spec[spec].step[s].filter == PROOF_BLACK &&
                     proof_judge_weights(j, s, 0)[at] == 255;
        ret = black;
    }
    return ret;
}

bool proof_exam_may_be_black(struct proof_exam *e)
{
    bool ret = e->set.feed || e->set.resized;
    pthread_mutex_lock(&e->lock);
    for (int i = 0; !ret && i < PROOF_POOL; i++)
        ret = (e->now | e->before) >> i & 1 && is_black(e, i);
    pthread_mutex_unlock(&e->lock);
    return ret;
}

static uint8_t *make_area(struct proof_exam *e, unsigned set, int columns, int rows)
{
    const int cell = HALO_CANARY_CELL;
    uint8_t *ret = calloc((size_t)columns * (size_t)rows + 1, 1);
    if (!ret)
        abort();
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            bool meant = true;
            for (int i = 0; i < PROOF_POOL; i++)
                if (set >> i & 1)
                    meant = meant && hides(e, i, (x - 1) * cell, (y - 1) * cell, (x + 2) * cell,
                                           (y + 2) * cell);
            ret[y * columns + x] = meant;
        }
    return ret;
}

void proof_exam_area(struct proof_exam *e, const AVFrame *frame, struct halo_canary_area *ret)
{
    *ret = (struct halo_canary_area){0};
    if (frame->width != e->set.width || frame->height != e->set.height)
        return;
    ret->columns = e->set.width / HALO_CANARY_CELL;
    ret->rows = e->set.height / HALO_CANARY_CELL;
    pthread_mutex_lock(&e->lock);
    const unsigned set = e->now | e->before;
    if (!e->area[set])
        e->area[set] = make_area(e, set, ret->columns, ret->rows);
    ret->meant = e->area[set];
    pthread_mutex_unlock(&e->lock);
}
