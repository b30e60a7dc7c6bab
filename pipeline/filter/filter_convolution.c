/* SPDX-License-Identifier: BSD-2-Clause
 * convolution: any mask, one for each plane. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "config/base/number.h"
#include "pipeline/filter/filter.h"

enum { MODE_SQUARE, MODE_ROW, MODE_COLUMN };

enum { MAX_WEIGHTS = HALO_MAX_DENSE * HALO_MAX_DENSE, MAX_BIAS = 65535, MAX_WORD = 64 };

struct settings {
    char *mask[HALO_MAX_PLANES];  /* NULL: the identity */
    double rdiv[HALO_MAX_PLANES]; /* 0: 1 over the sum of the weights */
    double bias[HALO_MAX_PLANES]; /* code values of the plane's depth */
    int mode[HALO_MAX_PLANES];
};

struct mask {
    double weight[MAX_WEIGHTS];
    int width, height;
};

static const char *const modes[] = {
    [MODE_SQUARE] = "square", [MODE_ROW] = "row", [MODE_COLUMN] = "column", NULL};

#define AT(field) offsetof(struct settings, field)
#define ALPHA     "; accepted for compatibility with FFmpeg, but has no effect: alpha is not kept"
/* clang-format off */
#define MASK(p, note)                                                                              \
    {#p "m", NULL, HALO_OPTION_STRING, AT(mask[p]), .argument = "MASK",                            \
     .help = "weights of plane " #p ", row by row (default: the identity)" note}
#define RDIV(p, note)                                                                              \
    {#p "rdiv", NULL, HALO_OPTION_RATIO, AT(rdiv[p]), 0, 0, INT_MAX,                               \
     .help = "factor for the plane's weights, such as 1/16; 0 means the reciprocal of their "      \
             "sum" note}
#define BIAS(p, note)                                                                              \
    {#p "bias", NULL, HALO_OPTION_REAL, AT(bias[p]), 0, -MAX_BIAS, MAX_BIAS,                       \
     .help = "value added to each sample, in code values at the video's bit depth" note}
#define MODE(p, note)                                                                              \
    {#p "mode", NULL, HALO_OPTION_CHOICE, AT(mode[p]), MODE_SQUARE, .choices = modes,              \
     .help = "the layout of the mask" note}
/* clang-format on */

static const struct halo_option options[] = {
    MASK(0, ""), MASK(1, ""),    MASK(2, ""), MASK(3, ALPHA), RDIV(0, ""), RDIV(1, ""),
    RDIV(2, ""), RDIV(3, ALPHA), BIAS(0, ""), BIAS(1, ""),    BIAS(2, ""), BIAS(3, ALPHA),
    MODE(0, ""), MODE(1, ""),    MODE(2, ""), MODE(3, ALPHA), {NULL},
};

static const char *const positional[] = {"0m",    "1m",    "2m",    "3m",    "0rdiv", "1rdiv",
                                         "2rdiv", "3rdiv", "0bias", "1bias", "2bias", "3bias",
                                         "0mode", "1mode", "2mode", "3mode", NULL};

/* Reads up to MAX_WEIGHTS weights; *count is the number of weights in the text. */
static int read_weights(const char *text, int plane, double *weight, int *count,
                        struct halo_error *err)
{
    *count = 0;
    for (;;) {
        while (isspace((unsigned char)*text))
            text++;
        if (!*text)
            return 0;
        size_t length = 0;
        while (text[length] && !isspace((unsigned char)text[length]))
            length++;
        char word[MAX_WORD];
        double v;
        const bool fits = length < sizeof word;
        memcpy(word, text, fits ? length : 0);
        word[fits ? length : 0] = '\0';
        if (halo_parse_ratio(word, &v))
            return halo_fail_usage(
                err, "%dm: weight %d is %.*s, but must be a number such as 3, 0.5 or 1/9", plane,
                *count + 1, (int)(fits ? length : MAX_WORD), text);
        if (*count < MAX_WEIGHTS)
            weight[*count] = v;
        ++*count;
        text += length;
    }
}

/* Sets the mask's width and height from its number of weights. */
static int shape(struct mask *m, int mode, int plane, int count, struct halo_error *err)
{
    if (mode != MODE_SQUARE) {
        if (count % 2 == 0)
            return halo_fail_usage(err, "%dm has %d weights, but a %s needs an odd number", plane,
                                   count, modes[mode]);
        if (count > HALO_MAX_TAPS)
            return halo_fail_usage(err, "%dm has %d weights, but a %s may have at most %d", plane,
                                   count, modes[mode], HALO_MAX_TAPS);
        m->width = mode == MODE_ROW ? count : 1;
        m->height = mode == MODE_ROW ? 1 : count;
        return 0;
    }
    int side = 1;
    while (side <= HALO_MAX_DENSE && side * side < count)
        side += 2;
    if (side > HALO_MAX_DENSE)
        return halo_fail_usage(err,
                               "%dm has %d weights, but a square mask may have at most %d (%dx%d)",
                               plane, count, MAX_WEIGHTS, HALO_MAX_DENSE, HALO_MAX_DENSE);
    if (side * side != count)
        return halo_fail_usage(
            err,
            "%dm has %d weight%s, but a square mask with odd sides needs 1, 9, 25, "
            "49 ... (for a single row, set %dmode=row)",
            plane, count, count == 1 ? "" : "s", plane);
    m->width = m->height = side;
    return 0;
}

static int read_mask(struct mask *m, const struct settings *s, int plane, struct halo_error *err)
{
    if (!s->mask[plane]) {
        m->width = m->height = 1;
        m->weight[0] = 1;
        return 0;
    }
    int count;
    const int code = read_weights(s->mask[plane], plane, m->weight, &count, err);
    return code ? code : shape(m, s->mode[plane], plane, count, err);
}

static int check(const void *settings, const struct halo_option **ret_at, struct halo_error *err)
{
    struct mask m;
    for (int p = 0; p < HALO_MAX_PLANES; p++) {
        const int code = read_mask(&m, settings, p, err);
        if (code) {
            *ret_at = &options[p]; /* the masks are the first rows */
            return code;
        }
    }
    return 0;
}

/* 1 over the sum of the weights, or 1 if the sum is 0, with a tolerance for rounding errors. */
static double default_rdiv(const struct mask *m)
{
    double sum = 0, size = 0;
    for (int i = 0; i < m->width * m->height; i++) {
        sum += m->weight[i];
        size += fabs(m->weight[i]);
    }
    return fabs(sum) <= 1e-9 * size ? 1 : 1 / sum;
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const int p = plane->index;
    struct mask m;
    int code = read_mask(&m, s, p, err);
    if (code)
        return code;
    ret->passes = 1;
    if (!s->mask[p] && s->rdiv[p] == 0 && s->bias[p] == 0)
        return halo_conv_copy(&ret->conv, &plane->target);

    const double rdiv = s->rdiv[p] != 0 ? s->rdiv[p] : default_rdiv(&m);
    for (int i = 0; i < m.width * m.height; i++)
        m.weight[i] *= rdiv;
    code = halo_conv_dense(&ret->conv, m.weight, m.width, m.height, s->bias[p], &plane->target);
    if (code)
        return halo_fail(err, code,
                         "%dm cannot be computed with an error of at most one code value: its "
                         "weights, multiplied by %drdiv (%g), are too large",
                         p, p, rdiv);
    return 0;
}

const struct halo_filter_kind halo_filter_convolution = {
    .name = "convolution",
    .about =
        "one mask per plane: any odd size up to 63x63, or a row or column of up to 127 weights",
    .example = "convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=1/16",
    .effect = HALO_EFFECT_UNDOABLE,
    .notes =
        "Mask 0m is for plane 0, 1m for plane 1, and so on. A plane without a mask passes\n"
        "unchanged: to filter chroma, set 1m and 2m, too. Masks are not scaled for smaller chroma\n"
        "planes: each weight applies to one sample of the mask's plane. Weights are numbers or\n"
        "fractions such as 1/9, separated by blanks; enclose the list in single quotes. If rdiv\n"
        "is 0 and the sum of the weights is 0, the factor is 1.\n",
    .options = options,
    .positional = positional,
    .settings_size = sizeof(struct settings),
    .check = check,
    .plan = plan,
};
