/* SPDX-License-Identifier: BSD-2-Clause
 * Source "test:" (source_test.h): a moving pattern. */
#include "pipeline/source_test.h"

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <libavutil/parseutils.h>
#include <stddef.h>
#include <string.h>

#include "config/option.h"
#include "pipeline/canary.h"
#include "pipeline/decode.h"
#include "pipeline/picture_pool.h"
#include "pipeline/raw_picture.h"

enum {
    MOST_RATE = 1000, /* pictures a second */
    MOST_SIDE = 16384,
    BARS = 8, /* of colour, across the picture */
};

static const enum AVPixelFormat FORMAT = AV_PIX_FMT_YUV420P;

struct settings {
    char *size, *rate;
    double duration; /* seconds; negative: no end */
    int canary;      /* number of the first picture; negative: none is painted */
};

struct halo_test_source {
    int width, height;
    AVRational rate;
    int64_t next, count; /* count negative: no end */
    int canary;          /* negative: none */
    struct halo_picture_pool *pool;
};

static const struct halo_option options[] = {
    {"size", "s", HALO_OPTION_STRING, offsetof(struct settings, size), 0, 0, 0, NULL, "WxH",
     "of the pictures"},
    {"rate", "r", HALO_OPTION_STRING, offsetof(struct settings, rate), 0, 0, 0, NULL, "N",
     "pictures a second"},
    {"duration", "d", HALO_OPTION_TIME, offsetof(struct settings, duration), -1, 0, 1e9, NULL, NULL,
     "until it ends"},
    {"canary", NULL, HALO_OPTION_INT, offsetof(struct settings, canary), -1, 0, 65535, NULL, "N",
     "a code in every picture, from this number on, which leak checkers find"},
    {NULL},
};

bool halo_test_source_is(const char *input)
{
    return !strncmp(input, "test:", 5);
}

static int set_one(struct settings *set, char *word, struct halo_error *err)
{
    char *value = strchr(word, '=');
    const size_t length = value ? (size_t)(value - word) : strlen(word);
    const struct halo_option *row = halo_option_find(options, word, length);
    char near[HALO_NEAREST_WORDS];
    if (!row)
        return halo_fail_usage(err, "test: has no option %.*s%s", (int)length, word,
                               halo_option_nearest_words(near, options, word, length));
    return halo_option_set(row, set, value ? value + 1 : "", err);
}

static int parse(struct settings *set, const char *text, struct halo_error *err)
{
    char *copy = av_strdup(text), *rest, *word;
    int ret = copy ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    for (word = copy ? strtok_r(copy, ":", &rest) : NULL; word && ret >= 0;
         word = strtok_r(NULL, ":", &rest))
        ret = set_one(set, word, err);
    av_free(copy);
    return ret;
}

static int apply(struct halo_test_source *t, const struct settings *set, struct halo_error *err)
{
    if (av_parse_video_size(&t->width, &t->height, set->size ? set->size : "640x480") < 0 ||
        t->width > MOST_SIDE || t->height > MOST_SIDE)
        return halo_fail_usage(err, "test:size=%.80s: must be a size such as 640x480 or hd720",
                               set->size);
    if (av_parse_video_rate(&t->rate, set->rate ? set->rate : "25") < 0 ||
        av_cmp_q(t->rate, (AVRational){MOST_RATE, 1}) > 0)
        return halo_fail_usage(err, "test:rate=%.80s: must be above 0 and at most %d", set->rate,
                               MOST_RATE);
    t->canary = set->canary;
    t->count = set->duration < 0 ? -1 : (int64_t)(set->duration * av_q2d(t->rate) + 0.5);
    return 0;
}

int halo_test_source_create(struct halo_test_source **ret, const char *input,
                            struct halo_memory *memory, struct halo_error *err)
{
    struct halo_test_source *t = av_mallocz(sizeof *t);
    struct settings set;
    if (!t)
        return halo_fail(err, -ENOMEM, "out of memory");
    halo_options_init(options, &set);
    int r = parse(&set, input + strlen("test:"), err);
    if (r >= 0)
        r = apply(t, &set, err);
    halo_options_finish(options, &set);
    if (r >= 0 && memory &&
        !(t->pool = halo_picture_pool_create(memory, FORMAT, t->width, t->height)))
        r = halo_fail(err, -ENOMEM, "out of memory for pictures of %dx%d", t->width, t->height);
    if (r < 0)
        halo_test_source_destroy(t);
    else
        *ret = t;
    return r;
}

void halo_test_source_destroy(struct halo_test_source *t)
{
    if (!t)
        return;
    halo_picture_pool_destroy(t->pool);
    av_free(t);
}

void halo_test_source_describe(const struct halo_test_source *t, AVStream *stream)
{
    AVCodecParameters *par = stream->codecpar;
    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = AV_CODEC_ID_RAWVIDEO;
    par->format = FORMAT;
    par->width = t->width;
    par->height = t->height;
    par->color_range = AVCOL_RANGE_MPEG;
    par->color_space = AVCOL_SPC_SMPTE170M;
    par->sample_aspect_ratio = stream->sample_aspect_ratio = (AVRational){1, 1};
    stream->time_base = av_inv_q(t->rate);
    stream->avg_frame_rate = stream->r_frame_rate = t->rate;
}

/* Squares within squares that drift, under a chequer of single samples. */
static void draw_luma(AVFrame *f, unsigned n)
{
    for (int y = 0; y < f->height; y++) {
        uint8_t *row = f->data[0] + (ptrdiff_t)y * f->linesize[0];
        for (int x = 0; x < f->width; x++) {
            const unsigned squares = ((unsigned)x + 2 * n) ^ ((unsigned)y + n);
            const unsigned chequer = ((unsigned)x ^ (unsigned)y ^ n) & 1;
            row[x] = (uint8_t)(16 + (squares & 127) + chequer * 80);
        }
    }
}

/* Bars of colour that go to the left. */
static void draw_chroma(AVFrame *f, unsigned n)
{
    static const uint8_t u[BARS] = {128, 16, 166, 54, 202, 90, 240, 128};
    static const uint8_t v[BARS] = {128, 146, 16, 34, 222, 240, 110, 128};
    const int width = AV_CEIL_RSHIFT(f->width, 1), height = AV_CEIL_RSHIFT(f->height, 1);
    const uint8_t *const colours[] = {u, v};
    for (int p = 1; p < 3; p++) {
        uint8_t *first = f->data[p];
        for (int x = 0; x < width; x++)
            first[x] = colours[p - 1][((unsigned)x + n) * BARS / (unsigned)width % BARS];
        for (int y = 1; y < height; y++)
            memcpy(first + (ptrdiff_t)y * f->linesize[p], first, (size_t)width);
    }
}

static void draw(const struct halo_test_source *t, AVFrame *f)
{
    if (t->canary >= 0) {
        halo_canary_paint(f, (unsigned)(t->canary + t->next));
        return;
    }
    draw_luma(f, (unsigned)t->next);
    draw_chroma(f, (unsigned)t->next);
}

int halo_test_source_read(struct halo_test_source *t, struct halo_raw_picture **ret)
{
    if (t->next == t->count)
        return 0;
    struct halo_raw_picture *raw = av_mallocz(sizeof *raw);
    AVFrame *f = raw ? halo_picture_pool_get(t->pool, false) : NULL;
    if (!f) {
        av_free(raw);
        return -ENOMEM;
    }
    draw(t, f);
    f->color_range = AVCOL_RANGE_MPEG;
    f->colorspace = AVCOL_SPC_SMPTE170M;
    f->sample_aspect_ratio = (AVRational){1, 1};
    f->pts = t->next++;
    f->pkt_duration = 1;
    raw->frame = f;
    raw->format = FORMAT;
    *ret = raw;
    return 1;
}
