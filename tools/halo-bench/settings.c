/* SPDX-License-Identifier: BSD-2-Clause
 * The command line of halo-bench. */
#include "tools/halo-bench/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"
#include "config/completion.h"
#include "config/option.h"

/* ---- rings ---- */

static const struct halo_bench_pixels formats[] = {
    {"nv12", 2, 2, 1, 1, 8, 0},       {"yuv420p", 3, 1, 1, 1, 8, 0}, {"yuv422p", 3, 1, 1, 0, 8, 0},
    {"yuv444p", 3, 1, 0, 0, 8, 0},    {"gray", 1, 1, 0, 0, 8, 0},    {"p010", 2, 2, 1, 1, 10, 6},
    {"yuv420p10", 3, 1, 1, 1, 10, 0},
};
enum { FORMATS = sizeof formats / sizeof *formats, MAX_STREAMS = 128 };

static const struct halo_bench_pixels *find_format(const char *name, struct halo_error *err)
{
    const char *names[FORMATS];
    for (int i = 0; i < FORMATS; i++) {
        names[i] = formats[i].name;
        if (!strcmp(name, names[i]))
            return &formats[i];
    }
    const char *near = halo_nearest(name, strlen(name), names, FORMATS);
    if (near)
        halo_fail_usage(err, "--formats: unknown format '%s' (nearest: %s)", name, near);
    else
        halo_fail_usage(
            err,
            "--formats: unknown format '%s': must be nv12, yuv420p, yuv422p, yuv444p, gray, "
            "p010 or yuv420p10",
            name);
    return NULL;
}

/* The next word of a list with commas; false at its end, or where word has no room for it. */
static bool next_word(const char **at, char *word, size_t size)
{
    const size_t length = strcspn(*at, ",");
    if (length == 0 || length >= size)
        return false;
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return true;
}

static int parse_formats(struct halo_bench_settings *s, const char *list, struct halo_error *err)
{
    char word[24];
    for (const char *at = list;; at++) {
        if (s->format_count == HALO_BENCH_MAX_LIST || !next_word(&at, word, sizeof word))
            return halo_fail_usage(err, "--formats %.60s: not a list such as nv12,gray", list);
        const struct halo_bench_pixels *found = find_format(word, err);
        if (!found)
            return err->code;
        s->formats[s->format_count++] = found;
        if (!*at)
            return 0;
    }
}

static int parse_numbers(int *ret, int *ret_count, const char *name, const char *list, int most,
                         struct halo_error *err)
{
    char word[24];
    for (const char *at = list;; at++) {
        double value;
        if (*ret_count == HALO_BENCH_MAX_LIST || !next_word(&at, word, sizeof word) ||
            halo_parse_integer(word, &value) < 0 || value < 1 || value > most)
            return halo_fail_usage(
                err, "--%s %.60s: not a list of whole numbers from 1 to %d, separated by commas",
                name, list, most);
        ret[(*ret_count)++] = (int)value;
        if (!*at)
            return 0;
    }
}

static bool is_given(const struct halo_bench_settings *settings, const char *name);

/* Options that would have no effect are refused. */
static int refuse_idle(const struct halo_bench_settings *s, struct halo_error *err)
{
    static const char *const only[] = {"formats", "depths", "streams", "fps", "alone", NULL};
    static const char *const never[] = {"strategies", "channels", "region", "svg",
                                        "rounds",     "planes",   "launch", NULL};
    for (int i = 0; !s->ring && only[i]; i++)
        if (is_given(s, only[i]))
            return halo_fail_usage(err, "--%s can be used only with --ring", only[i]);
    for (int i = 0; s->ring && never[i]; i++)
        if (is_given(s, never[i]))
            return halo_fail_usage(err, "--%s cannot be used with --ring", never[i]);
    return 0;
}

/* Checks the options of --ring and fills its lists. Must be called after the masks have been
 * parsed. Returns 0, or fills err (a usage error) and returns -EINVAL. Pure. */
static int bench_resolve_ring(struct halo_bench_settings *s, struct halo_error *err)
{
    if (refuse_idle(s, err) < 0)
        return err->code;
    if (!s->ring)
        return 0;
    if (s->fps > 0 && !s->stream_list)
        return halo_fail_usage(err, "--fps requires --streams");
    if (s->mask_count > HALO_BENCH_MAX_STEPS)
        return halo_fail_usage(err, "--masks: a chain can have at most %d masks",
                               HALO_BENCH_MAX_STEPS);
    int rc = parse_formats(s, s->format_list ? s->format_list : "nv12,yuv420p", err);
    if (rc == 0)
        rc = parse_numbers(s->depths, &s->depth_count, "depths",
                           s->depth_list ? s->depth_list : "1,2,3,4", HALO_BENCH_MAX_DEPTH, err);
    if (rc == 0 && s->stream_list)
        rc = parse_numbers(s->streams, &s->stream_count, "streams", s->stream_list, MAX_STREAMS,
                           err);
    return rc;
}

enum { MAX_SIDE = 32768, MAX_ROUNDS = 10000, MAX_PLANES = 1024 };

static const char *const launch_names[] = {
    [HALO_ONE_BY_ONE] = "one-by-one",
    [HALO_GRAPH] = "graph",
    [HALO_TOGETHER] = "together",
    [HALO_APART] = "apart",
    NULL,
};

static const char *const frame_names[] = {
    [HALO_BENCH_PLANE] = "plane",
    [HALO_BENCH_YUV420] = "yuv420",
    NULL,
};

static const char default_masks[] = "gauss:7,15,31,63,121,dense:3,5,7,9,15,31,63,box:3,15,63";
static const char default_tune_masks[] =
    "gauss:3,7,15,31,63,127,dense:3,5,9,15,31,63,box:3,15,63,255,gradient:3";
static const char default_ring_masks[] = "gauss:31"; /* gblur=sigma=5 */
static const char default_reuse_masks[] = "gauss:3,5,7,9,15,31,63,dense:3,5,7,9,15,31,63";

#define AT(field) offsetof(struct halo_bench_settings, field)

static const struct halo_option options[] = {
    {"list", NULL, HALO_OPTION_FLAG, AT(list),
     .help = "list backends, devices and strategies, and show which of them run here"},
    {"reuse", NULL, HALO_OPTION_FLAG, AT(reuse),
     .help =
         "compute how often tiling reuses a loaded cell, and time the tiling strategies on a GPU"},
    {"peers", NULL, HALO_OPTION_FLAG, AT(peers), .help = "compare with NVIDIA's NPP"},
    {"tune", NULL, HALO_OPTION_FLAG, AT(tune),
     .help = "measure which strategies are the fastest, so that auto uses them"},
    {"ring", NULL, HALO_OPTION_FLAG, AT(ring),
     .help = "measure the time of complete frames (upload, filter, download) and of plain copies"},
    {"backend", NULL, HALO_OPTION_STRING, AT(backend_name), .argument = "cpu|cuda",
     .help = "where to run (default: cuda if there is a device, otherwise cpu)"},
    {"device", NULL, HALO_OPTION_INT, AT(device), 0, 0, 1023, .help = "number of the CUDA device"},
    {"threads", NULL, HALO_OPTION_INT, AT(threads), 0, 0, 1024,
     .help = "number of CPU threads; 0 means one for each CPU"},
    {"size", NULL, HALO_OPTION_STRING, AT(size), .argument = "WxH",
     .help = "size of each plane (default 3840x2160)"},
    {"channels", NULL, HALO_OPTION_INT, AT(channels), 1, 1, 2,
     .help = "number of interleaved channels in a plane"},
    {"masks", NULL, HALO_OPTION_STRING, AT(mask_list), .argument = "LIST",
     .help = "kinds and widths, such as gauss:7,15,dense:3,box:63 (default: 15 masks)"},
    {"strategies", NULL, HALO_OPTION_STRING, AT(strategy_list), .argument = "LIST",
     .help = "names separated by commas; auto is the backend's choice (default: all)"},
    {"planes", NULL, HALO_OPTION_INT, AT(planes), 16, 1, MAX_PLANES,
     .help = "number of planes used in rotation, so that no cache holds all of them"},
    {"rounds", NULL, HALO_OPTION_INT, AT(rounds), 20, 1, MAX_ROUNDS,
     .help = "number of rounds over all planes"},
    {"limit", NULL, HALO_OPTION_REAL, AT(limit), 0, 0.001, 86400, .argument = "SECONDS",
     .help = "approximate maximum time of a measurement; slow measurements get fewer rounds "
             "(default 4; 1 with --ring; 0.1 with --tune)"},
    {"region", NULL, HALO_OPTION_REAL, AT(region_part), -1, 0, 100, .argument = "PERCENT",
     .help =
         "filter only a rectangle in the middle of the plane, with this percentage of its pixels"},
    {"launch", NULL, HALO_OPTION_CHOICE, AT(launch), HALO_ONE_BY_ONE, .choices = launch_names,
     .argument = "HOW",
     .help = "how to launch kernels on a GPU: plane by plane; as a CUDA graph; four planes in one "
             "launch; or plane by plane, waiting for the end of each kernel before the next"},
    {"frame", NULL, HALO_OPTION_CHOICE, AT(frame), HALO_BENCH_PLANE, .choices = frame_names,
     .argument = "KIND",
     .help = "what to time: one plane, or a frame of one luma and two chroma planes"},
    {"formats", NULL, HALO_OPTION_STRING, AT(format_list), .argument = "LIST",
     .help = "--ring: pixel formats of the frames (default nv12,yuv420p)"},
    {"depths", NULL, HALO_OPTION_STRING, AT(depth_list), .argument = "LIST",
     .help = "--ring: numbers of lanes (frames in progress) to measure (default 1,2,3,4)"},
    {"streams", NULL, HALO_OPTION_STRING, AT(stream_list), .argument = "LIST",
     .help = "--ring: also measure this many streams at the same time, with three lanes each"},
    {"fps", NULL, HALO_OPTION_REAL, AT(fps), 0, 0, 100000,
     .help = "--ring: frames per second of each stream; 0 means as many as possible"},
    {"alone", NULL, HALO_OPTION_INT, AT(alone), 2000, 1, 1000000,
     .help = "--ring: number of frames that are timed alone, one after the other"},
    {"csv", NULL, HALO_OPTION_FLAG, AT(csv),
     .help = "print comma-separated values instead of a table"},
    {"json", NULL, HALO_OPTION_FLAG, AT(json), .help = "print JSON instead of a table"},
    {"svg", "plot", HALO_OPTION_STRING, AT(plot), .argument = "FILE",
     .help = "also plot the times against the width of the mask"},
    {NULL},
};
_Static_assert(sizeof options / sizeof *options <= 64,
               "the field `given` has one bit for each option");

static bool is_given(const struct halo_bench_settings *settings, const char *name)
{
    const struct halo_option *row = halo_option_find(options, name, strlen(name));
    return settings->given >> (row - options) & 1;
}

const char *halo_bench_launch_name(int launch)
{
    return launch_names[launch];
}

const char *halo_bench_frame_name(int frame)
{
    return frame_names[frame];
}

static int parse_size(struct halo_bench_settings *s, struct halo_error *err)
{
    char width[16] = "", height[16] = "", rest = '\0';
    double w = 0, h = 0;
    if (!s->size)
        s->width = 3840, s->height = 2160;
    else if (sscanf(s->size, "%15[0-9]x%15[0-9]%c", width, height, &rest) != 2 ||
             halo_parse_integer(width, &w) < 0 || halo_parse_integer(height, &h) < 0 || w < 1 ||
             h < 1 || w > MAX_SIDE || h > MAX_SIDE)
        return halo_fail_usage(err, "--size %.40s: the size must be WxH, from 1x1 to %dx%d",
                               s->size, MAX_SIDE, MAX_SIDE);
    else
        s->width = (int)w, s->height = (int)h;
    return 0;
}

static void place_region(struct halo_bench_settings *s)
{
    const double side = sqrt(s->region_part / 100);
    const int width = (int)lround(s->width * side), height = (int)lround(s->height * side);
    const int x = (s->width - width) / 2, y = (s->height - height) / 2;
    s->region = (struct halo_rect){x, y, x + width, y + height};
}

static int choose_backend(struct halo_bench_settings *s, struct halo_error *err)
{
    const char *names[8] = {NULL};
    size_t count = 0;
    for (; halo_backends[count]; count++)
        names[count] = halo_backends[count]->name;
    char text[256];
    const struct halo_backend_ops *cuda = halo_backend_find("cuda");
    if (s->backend_name)
        s->backend = halo_backend_find(s->backend_name);
    else if (s->peers || s->reuse || cuda->describe(text, sizeof text) > 0)
        s->backend = cuda;
    else
        s->backend = halo_backend_find("cpu");
    if (s->backend)
        return 0;
    const char *near = halo_nearest(s->backend_name, strlen(s->backend_name), names, count);
    if (near)
        return halo_fail_usage(err, "--backend: unknown backend '%.40s' (nearest: %s)",
                               s->backend_name, near);
    return halo_fail_usage(err, "--backend: unknown backend '%.40s': must be cpu or cuda",
                           s->backend_name);
}

static int fail_strategy(const struct halo_backend_ops *ops, const char *name,
                         struct halo_error *err)
{
    const char *names[HALO_BENCH_MAX_STRATEGIES + 1] = {"auto"};
    size_t count = 1;
    for (; count <= HALO_BENCH_MAX_STRATEGIES && ops->strategies[count - 1]; count++)
        names[count] = ops->strategies[count - 1]->name;
    const char *near = halo_nearest(name, strlen(name), names, count);
    if (near)
        return halo_fail_usage(err, "--strategies: %s has no strategy '%s' (nearest: %s)",
                               ops->name, name, near);
    return halo_fail_usage(err, "--strategies: %s has no strategy '%s': see halo-bench --list",
                           ops->name, name);
}

/* Builds without CUDA have no CUDA strategies, so no name is checked there: the run then reports
 * that no device exists. */
static int parse_strategies(struct halo_bench_settings *s, struct halo_error *err)
{
    const struct halo_strategy *const *all = s->backend->strategies;
    s->strategies_named = s->strategy_list != NULL;
    if (!s->strategy_list && s->peers) {
        s->strategy_count = 1; /* auto */
        return 0;
    }
    if (!s->strategy_list) {
        for (int i = 0; all[i] && i < HALO_BENCH_MAX_STRATEGIES; i++)
            s->strategies[s->strategy_count++] = all[i];
        return 0;
    }
    for (const char *at = s->strategy_list;; at++) {
        const size_t length = strcspn(at, ",");
        char name[48];
        if (length >= sizeof name || s->strategy_count == HALO_BENCH_MAX_STRATEGIES)
            return halo_fail_usage(err,
                                   "--strategies %.80s: not a comma-separated list of strategies",
                                   s->strategy_list);
        memcpy(name, at, length);
        name[length] = '\0';
        const struct halo_strategy *found = halo_strategy_find(s->backend, name);
        if (!found && strcmp(name, "auto") && all[0])
            return fail_strategy(s->backend, name, err);
        s->strategies[s->strategy_count++] = found;
        at += length;
        if (!*at)
            return 0;
    }
}

/* Derives the other fields from the options. */
static int resolve(struct halo_bench_settings *s, struct halo_error *err)
{
    if (s->list + s->reuse + s->peers + s->tune + s->ring > 1)
        return halo_fail_usage(err,
                               "--list, --reuse, --peers, --tune, --ring: use only one of them");
    if (s->csv && s->json)
        return halo_fail_usage(err, "--csv and --json: use only one of them");
    if (s->plot && (s->list || s->reuse || s->tune))
        return halo_fail_usage(err, "--svg cannot be used with --list, --reuse or --tune");
    if (s->tune && (s->csv || s->json || s->strategy_list))
        return halo_fail_usage(err, "--tune cannot be used with --csv, --json or --strategies");
    if (s->peers && s->backend_name && !strcmp(s->backend_name, "cpu"))
        return halo_fail_usage(err,
                               "--peers measures on a GPU; for the CPU, use tools/bench/peers.py");
    if (s->frame != HALO_BENCH_PLANE && (s->list || s->reuse || s->peers || s->tune || s->ring))
        return halo_fail_usage(
            err, "--frame cannot be used with --list, --reuse, --peers, --tune or --ring");
    if (s->frame != HALO_BENCH_PLANE && s->channels != 1)
        return halo_fail_usage(err, "--frame %s requires planes with one channel (--channels 1)",
                               frame_names[s->frame]);
    if (s->region_part >= 0 &&
        (s->list || s->reuse || s->peers || s->tune || s->frame != HALO_BENCH_PLANE))
        return halo_fail_usage(
            err, "--region cannot be used with --list, --reuse, --peers, --tune or --frame");
    if (s->peers && s->channels != 1)
        return halo_fail_usage(err, "--peers: NPP does not support planes with two channels");
    s->mode = s->list    ? HALO_BENCH_LIST
              : s->reuse ? HALO_BENCH_REUSE
              : s->peers ? HALO_BENCH_PEERS
              : s->tune  ? HALO_BENCH_TUNE
              : s->ring  ? HALO_BENCH_RING
                         : HALO_BENCH_GRID;
    s->format = s->csv ? HALO_BENCH_CSV : s->json ? HALO_BENCH_JSON : HALO_BENCH_TABLE;
    const char *masks = s->mask_list ? s->mask_list
                        : s->reuse   ? default_reuse_masks
                        : s->tune    ? default_tune_masks
                        : s->ring    ? default_ring_masks
                                     : default_masks;
    if (s->limit <= 0)
        s->limit = s->tune ? 0.1 : s->ring ? 1 : 4;
    s->mask_count = halo_bench_masks_parse(s->masks, masks, err);
    int code = s->mask_count < 0 ? s->mask_count : parse_size(s, err);
    if (code == 0)
        code = bench_resolve_ring(s, err);
    if (code == 0 && s->region_part >= 0)
        place_region(s);
    if (code == 0)
        code = choose_backend(s, err);
    return code == 0 ? parse_strategies(s, err) : code;
}

/* Sets the option of "--name value", "--name=value" or a flag, and returns the number of words
 * used. */
static int take_option(struct halo_bench_settings *s, int left, char **argv, struct halo_error *err)
{
    const char *name = argv[0] + strspn(argv[0], "-");
    const size_t length = strcspn(name, "=");
    const bool dashes = !strncmp(argv[0], "--", 2);
    const struct halo_option *row = dashes ? halo_option_find(options, name, length) : NULL;
    if (!row) {
        const char *near = halo_option_nearest(options, name, length);
        if (near)
            return halo_fail_usage(err, "unknown option %.80s (nearest: --%s)", argv[0], near);
        return halo_fail_usage(err, "unknown option %.80s: see halo-bench --help", argv[0]);
    }
    const bool flag = row->type == HALO_OPTION_FLAG, joined = name[length] == '=';
    if (flag && joined)
        return halo_fail_usage(err, "--%s does not accept a value", row->name);
    if (!flag && !joined && left < 2)
        return halo_fail_usage(err, "--%s: missing value", row->name);
    const char *value = flag ? "1" : joined ? name + length + 1 : argv[1];
    if (!*value)
        return halo_fail_usage(err, "--%s: the value is empty", row->name);
    struct halo_error inner = {0};
    const int code = halo_option_set(row, s, value, &inner);
    if (code == -ENOMEM)
        return halo_fail(err, code, "%s", inner.text);
    if (code < 0)
        return halo_fail_usage(err, "--%s", inner.text);
    s->given |= UINT64_C(1) << (row - options);
    return flag || joined ? 1 : 2;
}

int halo_bench_parse(struct halo_bench_settings *ret, int argc, char **argv, struct halo_error *err)
{
    struct halo_bench_settings s = {0};
    halo_options_init(options, &s);
    int code = 0;
    for (int at = 0; at < argc && code >= 0; at += code)
        code = take_option(&s, argc - at, argv + at, err);
    if (code >= 0)
        code = resolve(&s, err);
    if (code < 0) {
        halo_bench_finish(&s);
        return code;
    }
    *ret = s;
    return 0;
}

void halo_bench_finish(struct halo_bench_settings *settings)
{
    halo_options_finish(options, settings);
}

void halo_bench_print_completion(void)
{
    halo_completion_begin("halo-bench", stdout);
    puts("    case $last in");
    halo_completion_values(options, "--", "    ", stdout);
    printf("    *) words='");
    halo_completion_names(options, "--", stdout);
    puts(" --help' ;;\n    esac");
    halo_completion_end("halo-bench", stdout);
}

void halo_bench_print_help(void)
{
    printf(
        "halo-bench times halod's kernels and compares them with a plain copy in the same run.\n\n"
        "usage:\n"
        "  halo-bench [options]            every strategy, mask and depth of one backend\n"
        "  halo-bench --list               backends, devices and strategies\n"
        "  halo-bench --reuse [options]    the theoretical gain of tiling, and measured times\n"
        "  halo-bench --peers [options]    halod compared with other libraries\n"
        "  halo-bench --tune [options]     measure which strategies are the fastest\n"
        "  halo-bench --ring [options]     whole frames to the device and back\n\n"
        "options:\n");
    halo_options_print(options, "--", stdout);
    printf("\ndefault masks: %s\n\nexample:\n"
           "  halo-bench --backend cpu --threads 1 --masks gauss:7,15 --svg times.svg\n"
           "\nexit codes: 0 success, 1 failure, 64 wrong usage, 77 no device. See halo-bench(1).\n",
           default_masks);
}
