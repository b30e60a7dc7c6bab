/* SPDX-License-Identifier: BSD-2-Clause
 * Chains that pass frames unfiltered: which ones they are, and that a live stream has them
 * only where privacy is off. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/filter/disclosure.h"
#include "pipeline/filter/privacy.h"
#include "pipeline/gate/gate.h"
#include "pipeline/stream/live.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/filter/judge.h"

static int admit(const char *text, enum halo_privacy privacy, struct halo_error *err)
{
    struct halo_chain *chain = NULL;
    const int code = halo_chain_admit(&chain, text, privacy, err);
    assert_true((code == 0) == (chain != NULL));
    halo_chain_destroy(chain);
    return code;
}

static void open_chains(void **state)
{
    static const char *const chains[] = {
        "null",
        "none",
        "null,null",
        " null ",
        "gblur=sigma=0",
        "gblur=sigma=5:planes=0",
        "gblur=sigma=5:planes=8",
        "null,gblur=sigma=0,null",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct halo_error err = {0};
        assert_int_equal(admit(chains[i], HALO_PRIVACY_STRICT, &err), -EINVAL);
        assert_true(err.usage);
        assert_non_null(strstr(err.text, "privacy: off"));
        assert_int_equal(admit(chains[i], HALO_PRIVACY_CHANGED, NULL), -EINVAL);
        assert_int_equal(admit(chains[i], HALO_PRIVACY_OFF, NULL), 0);
    }
}

/* Chains that are not null and hide nothing, on some plane or in some region; and words of the
 * refusal. */
static const struct {
    const char *chain, *says;
} idle[] = {
    {"gblur=sigma=0.25", "luma keeps all its detail"},
    {"convolution=0m='0 0 0 0 1 0 0 0 0'", "luma keeps all its detail"},
    {"convolution=0m='2':0rdiv=1/2", "luma keeps all its detail"},
    {"convolution=0bias=0.3", "luma keeps all its detail"},
    {"unsharp=la=0.001", "luma keeps all its detail"},
    {"discblur=radius=0.5001", "luma keeps all its detail"},
    {"gblur=sigma=5:planes=4", "luma passes unchanged"},
    {"gblur=sigma=5:planes=1", "chroma (plane 1) passes unchanged"},
    {"gblur=sigma=5:planes=3", "chroma (plane 2) passes unchanged"},
    {"boxblur=lr=8:cp=0", "chroma (plane 1) passes unchanged"},
    {"pixelize=w=16:h=16:p=6", "luma passes unchanged"},
    {"convolution=0m='0 0 0 0 0 1 0 0 0'", "luma keeps all its detail"}, /* by a sample */
    {"convolution=0m='1 0 0 0 0':0mode=row", "luma keeps all its detail"},
    {"convolution=0m='-1':0rdiv=1:0bias=255", "luma keeps all its detail"},
    {"convolution=0m='-1':0rdiv=1:0bias=255,convolution=0m='-1':0rdiv=1:0bias=255",
     "luma keeps all its detail"},
    {"convolution=0m='1':0rdiv=1/8", "luma keeps all its detail"}, /* levels are left out */
    {"convolution=0m='0 0 0 0 0 1 0 0 0',convolution=0m='0 0 0 1 0 0 0 0 0'",
     "luma keeps all its detail"},
    {"unsharp", "luma is sharpened"},
    {"unsharp=la=5:ca=5", "luma is sharpened"},
    {"unsharp=la=-2:ca=-2", "luma keeps all"},
    {"unsharp=la=-0.5:ca=-0.5", "luma keeps all"},
    {"unsharp=la=-0.8:lx=5:ly=3", "luma keeps all"}, /* a fifth of each pixel */
    {"unsharp=la=-0.6:lx=23:ly=23:ca=-0.6:cx=23:cy=23", "luma keeps all"},
    {"convolution=0m='1 0 1':0mode=row", "luma keeps 9"}, /* twice */
    {"convolution=0m='0.05':0rdiv=1:0bias=120", "luma keeps 99 %"},
    {"convolution=0m='0.001':0rdiv=1:0bias=127.4", "luma keeps 94 %"}, /* two levels */
    {"convolution=0m='1 1 1 1 1 1 1 1 1':1m='1 1 1 1 1 1 1 1 1':2m='1 1 1 1 1 1 1 1 1'",
     "luma keeps 96 % of its fine detail, which an inverse filter can restore, but at most 70 % "
     "is "},
    {"avgblur", "luma keeps 97 %"},
    {"avgblur=sizeX=3", "luma keeps 84 %"},
    {"boxblur=lr=3:lp=1", "luma keeps"},
    {"discblur=radius=4", "luma keeps"},
    {"gblur=sigma=1", "luma keeps"},
    {"sobel", "luma keeps its outlines"},
    {"prewitt=scale=0.1", "luma keeps its outlines"},
    {"scharr", "luma keeps its outlines"},
    {"laplacian=delta=128", "luma keeps its outlines"},
    {"eq=contrast=0", "luma keeps all its detail"},
    {"convolution=0m='-1 0 1':0mode=row:0bias=128", "luma keeps its outlines"},
    {"gblur", "luma keeps"},
    {"gblur=sigma=1.6", "chroma (plane 1) keeps"}, /* 0.8 there */
    {"pixelize=w=2:h=2", "chroma (plane 1) passes unchanged"},
    {"pixelize=w=3:h=1", "luma keeps 33 % of its samples, but at most 25 % is allowed"},
    {"gblur=sigma=0.7,unsharp=3:3:5:3:3:5", "luma"}, /* brought back */
    {"gblur=sigma=12:planes=1,unsharp=ca=1", "chroma (plane 1) is sharpened"},
    {"gblur=sigma=0.25:region=feed", "in the region of filter 1, gblur, luma keeps all"},
    {"solid=region=rect 0 0 9 9,gblur=sigma=0.3:region=rect 5 5 9 9",
     "in the region of filter 2, gblur, luma keeps"},
    {"gblur=sigma=0.3:region=rect 5 5 9 9,solid=region=rect 5 5 9 9:invert=1",
     "in the region of filter 1, gblur, luma keeps"},
    {"gblur=sigma=0.1*w:region=rect 10% 10% 4 4", "luma keeps"},
    {"null,sobel,null", "luma keeps its outlines"},
};

static void idle_chains(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        struct halo_error err = {0};
        if (admit(idle[i].chain, HALO_PRIVACY_STRICT, &err) != -EINVAL)
            fail_msg("%s: accepted", idle[i].chain);
        if (!strstr(err.text, idle[i].says) || !strstr(err.text, "privacy: changed") ||
            !strstr(err.text, "privacy: off") || strlen(err.text) > sizeof err.text - 2)
            fail_msg("%s: says %s", idle[i].chain, err.text);
        assert_true(err.usage);
        err = (struct halo_error){0};
        if (admit(idle[i].chain, HALO_PRIVACY_CHANGED, &err) ||
            admit(idle[i].chain, HALO_PRIVACY_OFF, &err))
            fail_msg("%s: %s", idle[i].chain, err.text);
    }
}

static const char *const good[] = {
    "gblur=sigma=2",
    "gblur=sigma=5",
    "gblur=sigma=100",
    "gblur=sigma=200:sigmaV=1",
    "null,gblur=sigma=5",
    "gblur=sigma=5,null",
    "avgblur=sizeX=5",
    "avgblur=sizeX=9:sizeY=3",
    "boxblur",
    "boxblur=lr=8:lp=2",
    "boxblur=lr=1:lp=64",
    "pixelize",
    "pixelize=w=4:h=4",
    "pixelize=w=8:m=min",
    "solid",
    "solid=color=white:region=rect 0 0 10 10",
    "discblur=radius=15",
    "discblur=radius=31",
    "convolution=0bias=300:1bias=300:2bias=300", /* all white */
    "convolution=0m='0':1m='0':2m='0'",
    "sobel=scale=0",
    "unsharp=la=-1:ca=-1",
    "gblur=sigma=5,unsharp", /* there is nothing to sharpen */
    "gblur=sigma=4,sobel",
    "gblur=sigma=6,laplacian=delta=128",
    "gblur=sigma=5,convolution=0m='-1':0rdiv=1:0bias=255",
    "gblur=sigma=5,gblur=sigma=0.25",
    "gblur=sigma=5,eq=contrast=2:saturation=3",
    "unsharp=la=5:ca=5,gblur=sigma=12",
    "solid,unsharp=la=5",
    "gblur=sigma=9:planes=1,gblur=sigma=9:planes=6",
    "gblur=sigma=9,unsharp=region=feed",
    "gblur=sigma=9:planes=1:region=feed,gblur=sigma=9:planes=6:region=feed:feather=5",
    "gblur=sigma=9:planes=1:region=feed,gblur=sigma=9:planes=6",
    "gblur=sigma=0.1*w:region=feed",
    "gblur=sigma=0.1*w:region=rect 0 0 10% 10%",
    "solid=region=rect 0 0 9 9,pixelize=region=feed:invert=1",
};

static void good_chains(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct halo_error err = {0};
        if (admit(good[i], HALO_PRIVACY_STRICT, &err))
            fail_msg("%s: %s", good[i], err.text);
    }
}

static void wrong_chains(void **state)
{
    struct halo_error err = {0};
    (void)state;
    assert_int_equal(admit("nul", HALO_PRIVACY_OFF, &err), -EINVAL);
    assert_non_null(strstr(err.text, "null"));
    assert_int_equal(admit("gblur,none", HALO_PRIVACY_OFF, NULL), -EINVAL);
    assert_int_equal(admit("", HALO_PRIVACY_OFF, NULL), -EINVAL);
}

static void long_chains(void **state)
{
    static const char chain[] = "gblur=sigma=5";
    static char text[HALO_MAX_CHAIN + 2];
    struct halo_error err = {0};
    (void)state;
    memset(text, ' ', HALO_MAX_CHAIN);
    memcpy(text, chain, strlen(chain));
    assert_int_equal(halo_chain_check(text, HALO_PRIVACY_STRICT, NULL), 0);
    text[HALO_MAX_CHAIN] = ' ';
    assert_int_equal(halo_chain_check(text, HALO_PRIVACY_STRICT, &err), -EINVAL);
    assert_string_equal(err.text, "the chain is longer than 65536 bytes");
}

static int create(struct halo_live **ret, const char *filters, const char *rendition,
                  enum halo_privacy privacy, struct halo_error *err)
{
    static const struct halo_live_events none;
    static struct halo_stream_settings settings;
    settings = (struct halo_stream_settings){.name = (char *)"one",
                                             .source.input = (char *)"test:size=64x48",
                                             .filters = (char *)filters,
                                             .privacy = privacy,
                                             .device.depth = 1,
                                             .device.gpu_timeout = 10};
    if (rendition) {
        settings.rendition[0].name = (char *)"r";
        settings.rendition[0].filters = (char *)rendition;
        settings.renditions = 1;
    }
    return halo_live_create(ret, &settings, &none, NULL, err);
}

/* The engine looks for itself, whatever it is sent. */
static void live_streams(void **state)
{
    const char *const open[] = {"null"}, *const other[] = {"avgblur=sizeX=9"};
    struct halo_live *live;
    struct halo_error err = {0};
    (void)state;
    assert_int_equal(create(&live, "null", NULL, HALO_PRIVACY_STRICT, &err), -EINVAL);
    assert_non_null(strstr(err.text, "pass frames unchanged"));
    assert_int_equal(create(&live, "avgblur=sizeX=9", "none", HALO_PRIVACY_STRICT, NULL), -EINVAL);
    assert_int_equal(create(&live, NULL, NULL, HALO_PRIVACY_OFF, NULL), -EINVAL);

    assert_int_equal(create(&live, "avgblur=sizeX=9", NULL, HALO_PRIVACY_STRICT, NULL), 0);
    assert_int_equal(halo_live_set(live, 1, open, NULL), -EINVAL);
    assert_int_equal(halo_live_set(live, 2, other, NULL), 0);
    halo_live_destroy(live);

    assert_int_equal(create(&live, "none", "null", HALO_PRIVACY_OFF, NULL), 0);
    halo_live_destroy(live);
    assert_int_equal(create(&live, "avgblur=sizeX=9", NULL, HALO_PRIVACY_OFF, NULL), 0);
    assert_int_equal(halo_live_set(live, 1, open, NULL), 0);
    halo_live_destroy(live);
}

/* The last one to look: what a chain does is known when the frames are. */
static int judge_at(const char *text, enum AVPixelFormat format, enum halo_privacy privacy,
                    struct halo_error *err)
{
    const struct halo_gate_input input = {
        .format = format, .width = 64, .height = 48, .privacy = privacy};
    return judge(text, &input, NULL, err);
}

static void gates(void **state)
{
    static const struct {
        const char *chain;
        enum AVPixelFormat format;
        enum halo_privacy privacy;
        const char *says; /* NULL: it may */
    } cases[] = {
        {"null", AV_PIX_FMT_YUV420P, HALO_PRIVACY_STRICT, "frames unchanged"},
        {"null", AV_PIX_FMT_YUV420P, HALO_PRIVACY_CHANGED, "frames unchanged"},
        {"null", AV_PIX_FMT_YUV420P, HALO_PRIVACY_OFF, NULL},
        {"sobel=planes=6", AV_PIX_FMT_YUV420P, HALO_PRIVACY_STRICT, "luma passes unchanged"},
        {"sobel=planes=6", AV_PIX_FMT_YUV420P, HALO_PRIVACY_CHANGED, NULL},
        {"sobel=planes=6", AV_PIX_FMT_GRAY8, HALO_PRIVACY_CHANGED, "frames unchanged"},
        {"gblur=sigma=5:planes=1", AV_PIX_FMT_GRAY8, HALO_PRIVACY_STRICT, NULL},
        {"gblur=sigma=5:planes=1", AV_PIX_FMT_NV12, HALO_PRIVACY_STRICT, "chroma (plane 1) passes"},
        {"gblur=sigma=5:planes=3", AV_PIX_FMT_NV12, HALO_PRIVACY_STRICT, NULL},
        {"gblur=sigma=5:planes=3", AV_PIX_FMT_YUV444P10, HALO_PRIVACY_STRICT, "chroma (plane 2)"},
        {"gblur=sigma=5:planes=6", AV_PIX_FMT_GBRP, HALO_PRIVACY_STRICT, "green passes unchanged"},
        {"boxblur=lr=8:cp=0", AV_PIX_FMT_GBRP, HALO_PRIVACY_STRICT, NULL}, /* none is chroma */
        {"gblur=sigma=1.6", AV_PIX_FMT_YUV420P, HALO_PRIVACY_STRICT, "chroma (plane 1) keeps"},
        {"gblur=sigma=1.6", AV_PIX_FMT_YUV422P10, HALO_PRIVACY_STRICT, NULL},
        {"gblur=sigma=1.6", AV_PIX_FMT_YUV444P10, HALO_PRIVACY_STRICT, NULL},
        {"pixelize=w=2:h=2", AV_PIX_FMT_YUV420P, HALO_PRIVACY_STRICT, "chroma (plane 1) passes"},
        {"pixelize=w=2:h=2", AV_PIX_FMT_YUV444P, HALO_PRIVACY_STRICT, NULL},
        {"gblur=sigma=0.25", AV_PIX_FMT_GRAY10, HALO_PRIVACY_STRICT, "luma keeps all"},
        {"gblur=sigma=0.3", AV_PIX_FMT_GRAY12, HALO_PRIVACY_STRICT, "luma keeps all"},
        {"unsharp=la=0.001", AV_PIX_FMT_GRAY12, HALO_PRIVACY_STRICT, "luma keeps all"},
        {"convolution=0m='-1':0rdiv=1:0bias=1023", AV_PIX_FMT_GRAY10, HALO_PRIVACY_STRICT,
         "luma keeps all"},
        {"convolution=0bias=300", AV_PIX_FMT_GRAY8, HALO_PRIVACY_STRICT, NULL}, /* white */
        {"convolution=0bias=300", AV_PIX_FMT_GRAY10, HALO_PRIVACY_STRICT, "luma keeps all"},
        {"gblur=sigma=30", AV_PIX_FMT_GRAY12, HALO_PRIVACY_STRICT, NULL},
        {"gblur=sigma=0.1*w:region=rect 0 0 4 4", AV_PIX_FMT_GRAY8, HALO_PRIVACY_STRICT,
         "in the region of filter 1, gblur, luma keeps"},
        {"gblur=sigma=0.1*w:region=rect 0 0 10% 10%", AV_PIX_FMT_YUV420P, HALO_PRIVACY_STRICT,
         "keeps"},
        {"gblur=sigma=0.1*w:region=feed", AV_PIX_FMT_YUV420P, HALO_PRIVACY_STRICT, NULL},
        {"sobel", AV_PIX_FMT_GRAY8, HALO_PRIVACY_STRICT, "luma keeps its outlines"},
        {"sobel", AV_PIX_FMT_GRAY8, HALO_PRIVACY_CHANGED, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct halo_error err = {0};
        const int code = judge_at(cases[i].chain, cases[i].format, cases[i].privacy, &err);
        if (code != (cases[i].says ? -EINVAL : 0) ||
            (cases[i].says && !strstr(err.text, cases[i].says)))
            fail_msg("%s, format %d: %d, %s", cases[i].chain, cases[i].format, code, err.text);
    }
}

/* Mask images that have nothing white, or, inverted, nothing black. */
static void masks(void **state)
{
    static const struct {
        int weight, other; /* of one pixel */
        bool invert;
        const char *says; /* NULL: allowed */
    } rows[] = {
        {255, 255, false, NULL},  {128, 128, false, "no white pixel"},
        {254, 0, false, "white"}, {1, 255, false, NULL},
        {0, 0, true, NULL},       {1, 127, true, "no black pixel"},
        {255, 0, true, NULL},
    };
    static const char *const filters[] = {"hide=solid", "avgblur=sizeX=20"};
    char path[] = "/tmp/halo-mask-XXXXXX", text[200];
    const int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int privacy = 0; privacy < 3; privacy++) {
            static const enum halo_privacy all[] = {HALO_PRIVACY_ANONYMOUS, HALO_PRIVACY_STRICT,
                                                    HALO_PRIVACY_CHANGED};
            struct halo_error err = {0};
            FILE *file = fopen(path, "wb");
            assert_non_null(file);
            fprintf(file, "P5 4 3 255\n");
            for (int k = 0; k < 12; k++)
                fputc(k == 7 ? rows[i].other : rows[i].weight, file);
            fclose(file);
            snprintf(text, sizeof text, "%s:region=mask %s:invert=%d", filters[privacy == 1], path,
                     rows[i].invert);
            const int code = judge_at(text, AV_PIX_FMT_YUV420P, all[privacy], &err);
            const bool refused = rows[i].says && all[privacy] != HALO_PRIVACY_CHANGED;
            if (code != (refused ? -EINVAL : 0) || (refused && !strstr(err.text, rows[i].says)))
                fail_msg("%s, row %zu: %d, %s", text, i, code, err.text);
        }
    unlink(path);
    close(fd);
}

/* Every example of a refusal is refused where frames are known, too, in all of these. */
static void all_gates(void **state)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10};
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        struct halo_error err = {0};
        for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
            if (judge_at(idle[i].chain, formats[f], HALO_PRIVACY_STRICT, &err) != -EINVAL)
                fail_msg("%s, format %d: accepted", idle[i].chain, formats[f]);
    }
}

/* What anonymous allows, and what it refuses for which reason. */
static void anonymous(void **state)
{
    static const struct {
        const char *chain, *refusal; /* NULL: allowed */
    } rows[] = {
        {"hide=solid:region=faces", NULL},
        {"hide=cells:region=faces", NULL},
        {"solid=color=black:region=people", NULL},
        {"hide=solid", NULL},
        {"hide=cells:region=rect 0 0 50% 50%,gblur=sigma=3", NULL},
        {"hide=solid:region=faces,hide=cells:region=people,unsharp", NULL},
        {"hide=solid:region=rect 0 0 50% 50%:invert=1", NULL},
        {"hide=solid:region=people,hide=solid:region=background", NULL},
        {"gblur=sigma=20", "a blur can be undone in part"},
        {"avgblur=sizeX=20:region=faces", "a blur can be undone in part"},
        {"pixelize=w=16:region=faces", "many frames together show more"},
        {"sobel", "outlines"},
        {"hide=solid:region=faces,gblur=sigma=9:region=people", "a blur can be undone in part"},
        {"hide=solid:planes=1:region=faces", "passes unchanged"},
        {"gblur=sigma=9,hide=solid:region=faces", "runs before filter 2"},
        {"pixelize=w=9:region=rect 0 0 9 9,hide=solid:region=faces",
         "many frames together show more"},
        {"hide=solid:region=faces:invert=1", "detected regions are shown"},
        {"hide=solid:region=background", "detected regions are shown"},
        {"hide=solid:region=feed:invert=1", "detected regions are shown"},
        {"null", "unchanged"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct halo_error err = {0};
        const int code = admit(rows[i].chain, HALO_PRIVACY_ANONYMOUS, &err);
        if (rows[i].refusal ? code != -EINVAL || !strstr(err.text, rows[i].refusal) : code)
            fail_msg("%s: %d: %s", rows[i].chain, code, err.text);
    }
}

/* Of all kinds of filters, hide and solid have a bound, and no other. */
static void bounded(void **state)
{
    (void)state;
    for (int i = 0; halo_filter_kinds[i]; i++) {
        const struct halo_filter_kind *kind = halo_filter_kinds[i];
        const bool wanted = !strcmp(kind->name, "hide") || !strcmp(kind->name, "solid");
        struct halo_disclosure leaves[HALO_MAX_FILTERS];
        struct halo_chain *chain;
        assert_int_equal(halo_chain_parse(&chain, kind->example, NULL), 0);
        assert_int_equal(halo_chain_disclosure(chain, leaves), 1);
        assert_int_equal(kind->bounded, wanted);
        if ((leaves[0].kind != HALO_DISCLOSURE_MORE) != wanted)
            fail_msg("%s: %s", kind->example, leaves[0].words);
        halo_chain_destroy(chain);
    }
}

static void words_of_leaves(void **state)
{
    static const struct {
        const char *chain, *words;
    } rows[] = {
        {"hide=cells:n=1:levels=11:region=faces", "at most 11 bits for each object"},
        {"hide=solid:planes=1:region=faces,hide=solid:planes=3:region=faces",
         "filter 1, hide, leaves planes unchanged (planes=1)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct halo_disclosure leaves[HALO_MAX_FILTERS];
        struct halo_chain *chain;
        assert_int_equal(halo_chain_parse(&chain, rows[i].chain, NULL), 0);
        halo_chain_disclosure(chain, leaves);
        if (!strstr(leaves[0].words, rows[i].words))
            fail_msg("%s: %s", rows[i].chain, leaves[0].words);
        halo_chain_destroy(chain);
    }
}

static void bits(void **state)
{
    static const struct {
        const char *chain;
        int count;
        enum halo_disclosure_kind kind;
        double bits;
    } rows[] = {
        {"hide=cells:region=faces", 1, HALO_DISCLOSURE_BITS, 36 * 3 * 3},
        {"hide=cells:n=4:levels=256:region=faces", 1, HALO_DISCLOSURE_BITS, 16 * 8 * 3},
        {"hide=cells:n=1:levels=2:region=faces,solid", 1, HALO_DISCLOSURE_BITS, 3},
        {"hide=noise:epsilon=2:region=faces", 1, HALO_DISCLOSURE_BITS, 2 * M_LOG2E},
        /* cells of the raw frame may lie over what is solid */
        {"hide=solid:region=faces,hide=cells:n=1:levels=2:region=rect 0 0 50% 50%", 2,
         HALO_DISCLOSURE_BITS, 3},
        {"hide=region=rect 0 0 40% 40%,hide=cells:n=1:levels=2:region=rect 0 46% 9% 50%", 2,
         HALO_DISCLOSURE_NOTHING, 0},
        {"hide=region=rect 9 9 9 9,hide=cells:n=1:levels=2:region=ellipse 26 9 9 9", 2,
         HALO_DISCLOSURE_NOTHING, 0},
        {"hide=region=rect 0 0 40% 40%,hide=cells:n=1:levels=2:region=rect 0 40% 9% 50%", 2,
         HALO_DISCLOSURE_BITS, 3},
        {"hide=region=rect 0 0 40% 40%,hide=cells:n=1:levels=2:region=rect 900 900 9 9", 2,
         HALO_DISCLOSURE_BITS, 3},
        {"hide=noise:epsilon=2:region=rect 0 0 40% 40%+rect 9% 0 9% 9%+rect 80% 0 9% 9%", 1,
         HALO_DISCLOSURE_BITS, 4 * M_LOG2E},
        {"hide=region=rect 0 0 9 9:invert=1,hide=cells:n=1:levels=2:region=rect 20 0 9 9", 2,
         HALO_DISCLOSURE_BITS, 3},
        {"hide=cells:n=1:levels=2:region=faces,hide=noise:epsilon=2:region=people", 2,
         HALO_DISCLOSURE_BITS, 3 + 2 * M_LOG2E},
        {"solid", 1, HALO_DISCLOSURE_NOTHING, 0},
        {"hide=solid:region=faces,hide=solid:region=faces:feather=9", 1, HALO_DISCLOSURE_NOTHING,
         0},
        {"hide=solid:region=faces,hide=solid:region=people", 2, HALO_DISCLOSURE_NOTHING, 0},
        {"gblur", 1, HALO_DISCLOSURE_MORE, 0},
        {"hide=solid:planes=1:region=faces", 1, HALO_DISCLOSURE_MORE, 0},
        {"hide=solid:planes=3:region=faces", 1, HALO_DISCLOSURE_MORE, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct halo_disclosure leaves[HALO_MAX_FILTERS];
        struct halo_chain *chain;
        assert_int_equal(halo_chain_parse(&chain, rows[i].chain, NULL), 0);
        assert_int_equal(halo_chain_disclosure(chain, leaves), rows[i].count);
        assert_int_equal(leaves[0].kind, rows[i].kind);
        assert_true(leaves[0].bits == rows[i].bits);
        halo_chain_destroy(chain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anonymous),       cmocka_unit_test(bits),
        cmocka_unit_test(bounded),         cmocka_unit_test(open_chains),
        cmocka_unit_test(good_chains),     cmocka_unit_test(idle_chains),
        cmocka_unit_test(all_gates),       cmocka_unit_test(wrong_chains),
        cmocka_unit_test(live_streams),    cmocka_unit_test(gates),
        cmocka_unit_test(long_chains),     cmocka_unit_test(masks),
        cmocka_unit_test(words_of_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
