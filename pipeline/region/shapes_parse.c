/* SPDX-License-Identifier: BSD-2-Clause
 * Parses shapes as users write them (shapes.h). Columns are counted from 1, in bytes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/option.h"
#include "pipeline/region/mask_image.h"
#include "pipeline/region/shapes_private.h"

#define BLANKS " \n\t\r"
#define SHAPES "(rect, ellipse, polygon, mask, feed, faces, people, or background)"

enum { MAX_NUMBER = 32, SHOWN = 40 };

struct reader {
    const char *text;
    size_t at;
    struct halo_shapes *to;
    struct halo_error *err;
};

static const char *const words[] = {"rect", "ellipse", "polygon", "mask",
                                    "feed", "faces",   "people",  "background"};
enum { MASK = 3, SUPPLIED = 4, WORDS = 8 };

static void skip_blanks(struct reader *r)
{
    r->at += strspn(r->text + r->at, BLANKS);
}

/* The number of bytes up to the next blank, plus sign or end. */
static size_t word_length(const struct reader *r)
{
    return strcspn(r->text + r->at, BLANKS "+");
}

static int fail_at(const struct reader *r, const char *what)
{
    const size_t length = word_length(r);
    const int shown = length < SHOWN ? (int)length : SHOWN;
    if (length == 0)
        return halo_fail(r->err, -EINVAL, "column %zu: %s is missing here", r->at + 1, what);
    return halo_fail(r->err, -EINVAL, "column %zu: found %.*s instead of %s", r->at + 1, shown,
                     r->text + r->at, what);
}

static bool is_number_next(const struct reader *r)
{
    const char c = r->text[r->at];
    return c && strchr("0123456789.-", c);
}

/* Reads a length: "10%", "12.5". */
static int read_length(struct reader *r, const char *what, struct halo_length *ret)
{
    char text[MAX_NUMBER];
    skip_blanks(r);
    const size_t length = word_length(r);
    const bool relative = length > 0 && r->text[r->at + length - 1] == '%';
    const size_t digits = length - relative;
    if (!is_number_next(r) || digits >= sizeof text)
        return fail_at(r, what);
    memcpy(text, r->text + r->at, digits);
    text[digits] = '\0';
    double v;
    if (halo_parse_real(text, &v))
        return fail_at(r, what);
    const double most = relative ? 100 * HALO_MAX_PARTS : HALO_MAX_LENGTH;
    if (fabs(v) > most)
        return halo_fail(r->err, -ERANGE, "column %zu: %s exceeds the limit of %g%s", r->at + 1,
                         text, most, relative ? "%" : "");
    *ret = (struct halo_length){relative ? v / 100 : v, relative};
    r->at += length;
    return 0;
}

/* Reads a width or height: 0 is refused because it would hide nothing. */
static int read_size(struct reader *r, const char *what, struct halo_length *ret)
{
    skip_blanks(r);
    const size_t at = r->at;
    const int code = read_length(r, what, ret);
    if (code == 0 && ret->value <= 0)
        return halo_fail(r->err, -EINVAL, "column %zu: %s must be greater than 0", at + 1, what);
    return code;
}

static int read_box(struct reader *r, struct halo_shape *shape)
{
    int code = read_length(r, "x (in pixels, or as a percentage such as 10%)", &shape->x);
    if (code == 0)
        code = read_length(r, "y (in pixels, or as a percentage such as 10%)", &shape->y);
    if (code == 0)
        code = read_size(r, "a width", &shape->width);
    return code ? code : read_size(r, "a height", &shape->height);
}

static int read_corners(struct reader *r, struct halo_shape *shape)
{
    shape->corner = calloc(HALO_MAX_CORNERS, sizeof *shape->corner);
    if (!shape->corner)
        return halo_fail(r->err, -ENOMEM, "out of memory");
    for (skip_blanks(r); is_number_next(r) || shape->corners < 3; skip_blanks(r)) {
        struct halo_length corner[2];
        if (shape->corners == HALO_MAX_CORNERS)
            return halo_fail(r->err, -EINVAL, "column %zu: a polygon may have at most %d corners",
                             r->at + 1, HALO_MAX_CORNERS);
        int code = read_length(r, "x of a corner (a polygon has at least 3 corners)", &corner[0]);
        if (code == 0)
            code = read_length(r, "y of a corner", &corner[1]);
        if (code)
            return code;
        memcpy(shape->corner[shape->corners++], corner, sizeof corner);
    }
    return 0;
}

/* The rest of the text is the file's path. */
static int read_mask(struct reader *r, struct halo_shape *shape)
{
    skip_blanks(r);
    size_t length = strlen(r->text + r->at);
    while (length > 0 && strchr(BLANKS, r->text[r->at + length - 1]))
        length--;
    if (length == 0)
        return fail_at(r, "an image's path");
    char *path = strndup(r->text + r->at, length);
    if (!path)
        return halo_fail(r->err, -ENOMEM, "out of memory");
    struct halo_error inner = {0};
    const int code = halo_mask_image_find(&shape->mask, path, &inner);
    free(path);
    if (code)
        return halo_fail(r->err, code, "column %zu: %s", r->at + 1, inner.text);
    r->at += strlen(r->text + r->at);
    return 0;
}

static int read_supplied(struct reader *r, int kind)
{
    skip_blanks(r);
    if (r->to->count > 0 || r->text[r->at])
        return halo_fail(r->err, -EINVAL, "column %zu: %s cannot be combined with other shapes",
                         r->at + 1, words[kind]);
    r->to->from = (enum halo_shapes_from)(HALO_SHAPES_FEED + kind - SUPPLIED);
    return 0;
}

static int unknown(const struct reader *r, size_t length)
{
    char word[SHOWN + 1], near[HALO_NEAREST_WORDS];
    const size_t shown = length < SHOWN ? length : SHOWN;
    memcpy(word, r->text + r->at, shown);
    word[shown] = '\0';
    halo_nearest_words(near, word, words, WORDS);
    return halo_fail(r->err, -EINVAL, "column %zu: unknown shape %s%s", r->at + 1, word,
                     near[0] ? near : " " SHAPES);
}

static int read_shape(struct reader *r)
{
    const size_t length = word_length(r);
    if (length == 0 || is_number_next(r))
        return fail_at(r, "a shape " SHAPES);
    int kind = 0;
    while (kind < WORDS &&
           (strlen(words[kind]) != length || memcmp(words[kind], r->text + r->at, length) != 0))
        kind++;
    if (kind == WORDS)
        return unknown(r, length);
    if (r->to->count == HALO_MAX_SHAPES)
        return halo_fail(r->err, -EINVAL, "column %zu: at most %d shapes are allowed", r->at + 1,
                         HALO_MAX_SHAPES);
    r->at += length;
    if (kind >= SUPPLIED)
        return read_supplied(r, kind);
    struct halo_shape *shape = &r->to->shape[r->to->count++];
    shape->kind = (enum halo_shape_kind)kind;
    return kind == MASK                 ? read_mask(r, shape)
           : kind == HALO_SHAPE_POLYGON ? read_corners(r, shape)
                                        : read_box(r, shape);
}

static int read_shapes(struct reader *r)
{
    skip_blanks(r);
    for (;;) {
        const int code = read_shape(r);
        if (code)
            return code;
        skip_blanks(r);
        if (!r->text[r->at])
            return 0;
        if (r->text[r->at] == '+') {
            r->at++;
            skip_blanks(r);
        }
    }
}

int halo_shapes_parse(struct halo_shapes **ret, const char *text, struct halo_error *err)
{
    struct reader r = {.text = text, .err = err};
    r.to = calloc(1, sizeof *r.to);
    if (r.to)
        r.to->shape = calloc(HALO_MAX_SHAPES, sizeof *r.to->shape);
    const int code =
        r.to && r.to->shape ? read_shapes(&r) : halo_fail(err, -ENOMEM, "out of memory");
    if (code) {
        halo_shapes_destroy(r.to);
        return code;
    }
    *ret = r.to;
    return 0;
}
