/* SPDX-License-Identifier: BSD-2-Clause
 * Source "test:" (source_test.h): a moving pattern. */
#include "pipeline/input/source_test.h"

#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <libavutil/parseutils.h>
#include <stddef.h>
#include <string.h>

#include "config/option.h"
#include "pipeline/base/av_version.h"
#include "pipeline/base/canary.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/frame_pool.h"
#include "pipeline/frame/raw_frame_private.h"

enum {
    MAX_RATE = 1000, /* frames per second */
    MAX_SIDE = 16384,
    BARS = 8, /* colour bars across the frame */
};

struct settings {
    char *size, *rate, *format, *other;
    double duration; /* seconds; negative: no end */
    int canary;      /* number of the first frame; negative: no canary */
    int every;       /* frames of one size */
};

enum { SIZES = 2 };

struct halo_test_source {
    enum AVPixelFormat format;
    int width[SIZES], height[SIZES]; /* equal, unless two sizes alternate */
    int every;
    AVRational rate;
    int64_t next, count; /* negative count: endless */
    int canary;          /* negative: no canary */
    struct halo_frame_pool *pool[SIZES];
};

static const struct halo_option options[] = {
    {"size", "s", HALO_OPTION_STRING, offsetof(struct settings, size), 0, 0, 0, NULL, "WxH",
     "size of the frames"},
    {"rate", "r", HALO_OPTION_STRING, offsetof(struct settings, rate), 0, 0, 0, NULL, "N",
     "frames per second"},
    {"duration", "d", HALO_OPTION_TIME, offsetof(struct settings, duration), -1, 0, 1e9, NULL, NULL,
     "time after which the source ends (default: it never ends)"},
    {"canary", NULL, HALO_OPTION_INT, offsetof(struct settings, canary), -1, 0, 65535, NULL, "N",
     "draw a code into every frame, so that a leak of unfiltered frames can be detected; the codes "
     "count up from this number"},
    {"format", NULL, HALO_OPTION_STRING, offsetof(struct settings, format), 0, 0, 0, NULL, "NAME",
     "FFmpeg's name of a pixel format that is filtered without conversion; must be yuv420p unless "
     "canary is set"},
    {"other", NULL, HALO_OPTION_STRING, offsetof(struct settings, other), 0, 0, 0, NULL, "WxH",
     "second frame size, which alternates with the first"},
    {"every", NULL, HALO_OPTION_INT, offsetof(struct settings, every), 100, 1, 1e9, NULL, "N",
     "number of frames after which the size changes"},
    {NULL},
};

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
    int code = copy ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    for (word = copy ? strtok_r(copy, ":", &rest) : NULL; word && code >= 0;
         word = strtok_r(NULL, ":", &rest))
        code = set_one(set, word, err);
    av_free(copy);
    return code;
}

static int apply_size(struct halo_test_source *t, int i, const char *name, const char *size,
                      struct halo_error *err)
{
    if (av_parse_video_size(&t->width[i], &t->height[i], size) < 0 || t->width[i] > MAX_SIDE ||
        t->height[i] > MAX_SIDE)
        return halo_fail_usage(err, "test:%s=%.80s: must be a size such as 640x480 or hd720", name,
                               size);
    return 0;
}

static int apply_format(struct halo_test_source *t, const struct settings *set,
                        struct halo_error *err)
{
    t->format = set->format ? av_get_pix_fmt(set->format) : AV_PIX_FMT_YUV420P;
    t->canary = set->canary;
    if (!halo_format_is_native(t->format))
        return halo_fail_usage(
            err, "test:format=%.80s: must be a format that is filtered without conversion",
            set->format);
    if (t->canary < 0 && t->format != AV_PIX_FMT_YUV420P)
        return halo_fail_usage(err, "test:format=%.80s: formats other than yuv420p need canary=N",
                               set->format);
    return 0;
}

static int apply(struct halo_test_source *t, const struct settings *set, struct halo_error *err)
{
    const char *size = set->size ? set->size : "640x480";
    int code = apply_size(t, 0, "size", size, err);
    if (code >= 0)
        code = apply_size(t, 1, "other", set->other ? set->other : size, err);
    if (code >= 0)
        code = apply_format(t, set, err);
    if (code >= 0 && (av_parse_video_rate(&t->rate, set->rate ? set->rate : "25") < 0 ||
                      av_cmp_q(t->rate, (AVRational){MAX_RATE, 1}) > 0))
        code = halo_fail_usage(err, "test:rate=%.80s: must be above 0 and at most %d", set->rate,
                               MAX_RATE);
    if (code < 0)
        return code;
    t->every = set->every;
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
    int code = parse(&set, input + strlen("test:"), err);
    if (code >= 0)
        code = apply(t, &set, err);
    halo_options_finish(options, &set);
    for (int i = 0; i < SIZES && code >= 0 && memory; i++) {
        t->pool[i] = halo_frame_pool_create(memory, t->format, t->width[i], t->height[i]);
        if (!t->pool[i])
            code = halo_fail(err, -ENOMEM, "out of memory for frames of %dx%d", t->width[i],
                             t->height[i]);
    }
    if (code < 0)
        halo_test_source_destroy(t);
    else
        *ret = t;
    return code;
}

void halo_test_source_destroy(struct halo_test_source *t)
{
    if (!t)
        return;
    for (int i = 0; i < SIZES; i++)
        halo_frame_pool_destroy(t->pool[i]);
    av_free(t);
}

static enum AVColorRange range_of(enum AVPixelFormat format)
{
    return halo_format_plain(format) != format || halo_format_is_rgb(format) ? AVCOL_RANGE_JPEG
                                                                             : AVCOL_RANGE_MPEG;
}

static enum AVColorSpace space_of(enum AVPixelFormat format)
{
    return halo_format_is_rgb(format) ? AVCOL_SPC_RGB : AVCOL_SPC_SMPTE170M;
}

void halo_test_source_describe(const struct halo_test_source *t, AVStream *stream)
{
    AVCodecParameters *par = stream->codecpar;
    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = AV_CODEC_ID_RAWVIDEO;
    par->format = t->format;
    par->width = t->width[0];
    par->height = t->height[0];
    par->color_range = range_of(t->format);
    par->color_space = space_of(t->format);
    par->sample_aspect_ratio = stream->sample_aspect_ratio = (AVRational){1, 1};
    stream->time_base = av_inv_q(t->rate);
    stream->avg_frame_rate = stream->r_frame_rate = t->rate;
}

/* Drifting nested squares, under a chequerboard of single samples. */
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

/* Colour bars that move to the left. */
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

int halo_test_source_read(struct halo_test_source *t, struct halo_raw_frame **ret)
{
    if (t->next == t->count)
        return 0;
    struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
    AVFrame *f = raw ? halo_frame_pool_get(t->pool[t->next / t->every % SIZES], false) : NULL;
    if (!f) {
        av_free(raw);
        return -ENOMEM;
    }
    draw(t, f);
    f->color_range = range_of(t->format);
    f->colorspace = space_of(t->format);
    f->sample_aspect_ratio = (AVRational){1, 1};
    f->pts = t->next++;
    halo_av_frame_set_duration(f, 1);
    raw->frame = f;
    raw->format = t->format;
    *ret = raw;
    return 1;
}
