/* SPDX-License-Identifier: BSD-2-Clause
 * The command line of `halod run`, with FFmpeg's option names. */
#include "config/run.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/path_name.h"

const char *const halo_log_levels[] = {
    [HALO_LOG_QUIET] = "quiet", [HALO_LOG_ERROR] = "error", [HALO_LOG_WARNING] = "warning",
    [HALO_LOG_INFO] = "info",   [HALO_LOG_DEBUG] = "debug", NULL,
};

enum { DEFAULT_SEGMENT = 10 }; /* seconds */

#define AT(field) offsetof(struct halo_run_settings, field)

const struct halo_option halo_run_options[] = {
    {"i", NULL, HALO_OPTION_STRING, AT(source.input), .argument = "IN",
     .help = "file, URL, - (standard input) or camera (/dev/video0, v4l2:name=WORDS) to filter"},
    {"vf", "filter:v", HALO_OPTION_STRING, AT(filters), .argument = "CHAIN",
     .help = "filters, as in \"gblur=sigma=5,avgblur=sizeX=3\"; null passes frames unchanged"},
    {"c:v", "vcodec|codec:v", HALO_OPTION_STRING, AT(video_codec), .argument = "CODEC",
     .help = "video encoder (default libx264, or the container's default if it does not support "
             "H.264)"},
    {"c:a", "acodec|codec:a", HALO_OPTION_STRING, AT(audio_codec), .argument = "CODEC",
     .help = "audio: copy (the default) or an encoder"},
    {"b:v", "b", HALO_OPTION_STRING, AT(bitrate), .argument = "BITS",
     .help = "video bits per second, such as 800k or 4M"},
    {"crf", NULL, HALO_OPTION_STRING, AT(crf), .argument = "N",
     .help = "constant quality, for encoders that support it"},
    {"preset", NULL, HALO_OPTION_STRING, AT(preset), .argument = "NAME",
     .help = "the encoder's preset"},
    {"ss", NULL, HALO_OPTION_TIME, AT(part.seek), -1, 0, INFINITY,
     .help = "start at this time in IN"},
    {"t", NULL, HALO_OPTION_TIME, AT(part.duration), -1, 0, INFINITY,
     .help = "stop after this much time"},
    {"an", NULL, HALO_OPTION_FLAG, AT(source.no_audio), .help = "no audio"},
    {"map_metadata", NULL, HALO_OPTION_STRING, AT(map_metadata), .argument = "-1",
     .help = "drop metadata and chapters"},
    {"y", NULL, HALO_OPTION_FLAG, AT(overwrite), .help = "replace OUT if it exists"},
    {"n", NULL, HALO_OPTION_FLAG, AT(never_overwrite),
     .help = "never replace an existing OUT; this is the default"},
    {"progress", NULL, HALO_OPTION_STRING, AT(progress), .argument = "FILE",
     .help = "write progress as key=value lines to this file, or to standard output if it is -"},
    {"stats", NULL, HALO_OPTION_FLAG, AT(stats),
     .help = "at the end, print how the time was spent and what limited the speed"},
    {"stats_json", NULL, HALO_OPTION_STRING, AT(stats_json), .argument = "FILE",
     .help = "write the statistics of -stats to a file as JSON"},
    {"trace", NULL, HALO_OPTION_STRING, AT(trace), .argument = "FILE",
     .help = "write a timeline for ui.perfetto.dev and chrome://tracing"},
    {"keep-going", "keep_going", HALO_OPTION_FLAG, AT(keep_going),
     .help = "skip damaged parts of IN, count them, and finish"},
    {"copy_unfiltered", NULL, HALO_OPTION_FLAG, AT(copy_unfiltered),
     .help = "also keep data tracks, which are not filtered"},
    {"video_size", "s", HALO_OPTION_STRING, AT(source.video_size), .argument = "WxH",
     .help = "frame size of raw input, or size to request from a camera"},
    {"framerate", "r", HALO_OPTION_STRING, AT(source.framerate), .argument = "RATE",
     .help = "frame rate of raw input, at most 10000, or rate to request from a camera"},
    {"pixel_format", NULL, HALO_OPTION_STRING, AT(source.pixel_format), .argument = "NAME",
     .help = "pixel format of raw input"},
    {"input_format", NULL, HALO_OPTION_STRING, AT(capture_format), .argument = "NAME",
     .help = "pixel format of a camera, such as yuyv422 or mjpeg"},
    {"faces", NULL, HALO_OPTION_STRING, AT(detector_keys[HALO_FIND_FACES]),
     .argument = "KEY=VALUE:...",
     .help = "detector for region=faces, as in \"wait=0.2:command=/opt/find/faces -q\""},
    {"people", NULL, HALO_OPTION_STRING, AT(detector_keys[HALO_FIND_PEOPLE]),
     .argument = "KEY=VALUE:...", .help = "detector for region=people and region=background"},
    {"backend", NULL, HALO_OPTION_CHOICE, AT(device.backend), 0, .choices = halo_run_backends,
     .argument = "NAME", .help = "where filters run; auto: on the GPU if there is one"},
    {"hwaccel", NULL, HALO_OPTION_CHOICE, AT(device.hwaccel), 0, .choices = halo_run_hwaccels,
     .argument = "NAME",
     .help = "where frames are decoded; auto: on the GPU that runs the filters, if the result is "
             "the same as on the CPU"},
    {"decoders", NULL, HALO_OPTION_INT, AT(decoders), 0, 0, 64,
     .help = "number of decoders that work on parts of each video stream at the same time; 0: as "
             "many as make the run faster"},
    {"segments", NULL, HALO_OPTION_FLAG, AT(segments),
     .help = "encode several segments of IN at the same time, and join them into OUT"},
    {"segment_time", NULL, HALO_OPTION_TIME, AT(segment_time), -1, 0.1, 86400,
     .help =
         "length of a segment, by default 10 seconds; each begins at the next frame that refers "
         "to no earlier one"},
    {"workers", NULL, HALO_OPTION_STRING, AT(workers_name), .argument = "N",
     .help = "number of segments that are encoded at the same time; auto (the default): as many as "
             "make the run faster"},
    {"resume", NULL, HALO_OPTION_FLAG, AT(resume),
     .help = "like -segments, but keep finished segments if the run is interrupted, so that the "
             "same command can continue"},
    {"gpu", NULL, HALO_OPTION_STRING, AT(gpu_name), .argument = "N",
     .help = "number of the GPU; auto (the default): the one with the most free memory"},
    {"depth", NULL, HALO_OPTION_INT, AT(device.depth), 3, 1, 16,
     .help = "number of frames that the GPU processes at the same time; 2 is double buffering"},
    {"max_pixels", NULL, HALO_OPTION_INT, AT(source.max_pixels), HALO_MAX_PIXELS, 1, INT_MAX,
     .help = "largest number of pixels in a frame of IN; larger frames are not decoded"},
    {"gpu_timeout", NULL, HALO_OPTION_TIME, AT(device.gpu_timeout), 10, 0.1, 3600,
     .help = "how long the GPU may take to process a frame before the run fails"},
    {"pinned_memory", NULL, HALO_OPTION_INT, AT(pinned_memory), -1, 0, 1 << 20, .argument = "MIB",
     .help = "limit on page-locked memory for frames (default: a quarter of the machine's memory, "
             "up to 2048)"},
    {"threads", NULL, HALO_OPTION_INT, AT(device.threads), 0, 0, 1024,
     .help = "filter threads on the CPU; 0: one for each CPU"},
    {"v", "loglevel", HALO_OPTION_CHOICE, AT(log_level), HALO_LOG_INFO, .choices = halo_log_levels,
     .argument = "LEVEL", .help = "lowest level of messages on standard error"},
    {NULL},
};

/* The two meanings of -f: before -i the demuxer, after it the muxer. */
static const struct halo_option format_options[] = {
    {"f", NULL, HALO_OPTION_STRING, AT(source.format), .argument = "FORMAT",
     .help = "format of IN if given before -i, or of OUT if given after it"},
    {"f", NULL, HALO_OPTION_STRING, AT(output_format), .argument = "FORMAT"},
    {NULL},
};

static const struct halo_option output_option = {"OUT", NULL, HALO_OPTION_STRING, AT(output)};

static int fail_unknown(const char *word, struct halo_error *err)
{
    const char *name = word + strspn(word, "-");
    const size_t length = strlen(name);
    /* FFmpeg has other short options, with other meanings: -sn is not -an */
    const char *near = length < 4 ? NULL : halo_option_nearest(halo_run_options, name, length);
    if (near)
        return halo_fail_usage(err, "unknown option %.80s (nearest: -%s)", word, near);
    return halo_fail_usage(err, "unknown option %.80s (halod run --help lists them)", word);
}

static int set_output(struct halo_run_settings *s, const char *word, struct halo_error *err)
{
    if (!*word)
        return halo_fail_usage(err, "OUT is empty");
    if (s->output)
        return halo_fail_usage(err, "more than one OUT: %.80s and %.80s", s->output, word);
    return halo_option_set(&output_option, s, word, err);
}

/* Checks an option's value beyond its type, and its position. */
static int check_place(const struct halo_run_settings *s, const struct halo_option *row,
                       const char *value, struct halo_error *err)
{
    if (row->type == HALO_OPTION_STRING && !*value && row->offset != AT(filters))
        return halo_fail_usage(err, "-%s: its value is empty", row->name);
    if (row->offset == AT(source.input) && s->source.input)
        return halo_fail_usage(err, "more than one -i: %.80s and %.80s", s->source.input, value);
    if (row->offset == AT(filters) && s->filters)
        return halo_fail_usage(err,
                               "more than one -vf: %.80s and %.80s (separate filters with commas)",
                               s->filters, value);
    /* "-f X OUT -i IN" and "OUT -f X -i IN" are ambiguous. */
    const bool side_matters =
        row == &halo_run_options[0] ? s->source.format != NULL : row == &format_options[0];
    if (side_matters && s->output && !s->source.input)
        return halo_fail_usage(err, "-f is ambiguous, because OUT comes before -i: write -f FORMAT "
                                    "-i IN ... -f FORMAT OUT");
    return 0;
}

/* Sets the option in argv[at]; returns the number of arguments that it used, or -EINVAL or
 * -ENOMEM. */
static int take_option(struct halo_run_settings *s, int at, int argc, char **argv,
                       struct halo_error *err)
{
    const char *name = argv[at] + 1;
    const struct halo_option *row = halo_option_find(halo_run_options, name, strlen(name));
    if (!strcmp(name, "f"))
        row = &format_options[s->source.input ? 1 : 0];
    if (!row)
        return fail_unknown(argv[at], err);
    if (row->type == HALO_OPTION_FLAG)
        return halo_option_set(row, s, "1", err) ? -EINVAL : 1;
    if (at + 1 >= argc)
        return halo_fail_usage(err, "%s: missing value", argv[at]);

    const char *value = argv[at + 1];
    int code = check_place(s, row, value, err);
    if (code)
        return code;
    struct halo_error inner = {0};
    code = halo_option_set(row, s, value, &inner);
    if (code) {
        char *equals = strchr(inner.text, '='); /* on the command line it is "-ss 5" */
        if (equals)
            *equals = ' ';
        return code == -ENOMEM ? halo_fail(err, code, "%s", inner.text)
                               : halo_fail_usage(err, "-%s", inner.text);
    }
    return 2;
}

/* Parses the value of an option that is "auto" or a number; `wanted` says which number. value NULL:
 * not given. */
static int take_number(struct halo_run_settings *s, const struct halo_option *row,
                       const char *value, const char *wanted, struct halo_error *err)
{
    struct halo_error inner = {0};
    if (!value || !strcmp(value, "auto") || halo_option_set(row, s, value, &inner) == 0)
        return 0;
    return halo_fail_usage(err, "-%s %.40s: must be auto or %s", row->name, value, wanted);
}

static int take_numbers(struct halo_run_settings *s, struct halo_error *err)
{
    static const struct halo_option gpu = {"gpu", NULL, HALO_OPTION_INT, AT(device.gpu), -1,
                                           0,     1023};
    static const struct halo_option workers = {"workers", NULL, HALO_OPTION_INT, AT(workers), 0,
                                               1,         256};
    s->device.gpu = -1;
    const int code = take_number(s, &gpu, s->gpu_name, "the number of a GPU, 0 to 1023", err);
    return code < 0 ? code : take_number(s, &workers, s->workers_name, "a number, 1 to 256", err);
}

/* Parses -faces and -people. */
static int take_detectors(struct halo_run_settings *s, struct halo_error *err)
{
    for (int find = 0; find < HALO_FINDS; find++) {
        struct halo_error inner = {0};
        if (!s->detector_keys[find])
            continue;
        const int code = halo_detector_parse(&s->detector[find], (enum halo_find)find,
                                             s->detector_keys[find], &inner);
        if (code == -ENOMEM)
            return halo_fail(err, code, "%s", inner.text);
        if (code)
            return halo_fail_usage(err, "-%s: %s", halo_find_names[find], inner.text);
    }
    return 0;
}

/* What the segments of a run cannot do. */
static int check_segments(const struct halo_run_settings *s, struct halo_error *err)
{
    if (!strcmp(s->output, "-") || halo_path_is_url(s->output) || !strcmp(s->output, "null:"))
        return halo_fail_usage(err,
                               "-segments: OUT (%.80s) must be a file, because segments are "
                               "written to a folder next to it",
                               s->output);
    if (s->keep_going)
        return halo_fail_usage(err, "-segments and -keep-going cannot be combined: a damaged file "
                                    "must be decoded from its start");
    if (s->bitrate)
        return halo_fail_usage(err, "-segments: -b:v would give every segment the same number of "
                                    "bits, regardless of its content: use -crf");
    if (s->trace || s->stats_json || s->stats)
        return halo_fail_usage(err, "-%s cannot be combined with -segments",
                               s->trace   ? "trace"
                               : s->stats ? "stats"
                                          : "stats_json");
    return 0;
}

/* Checks combinations of options. */
static int check(const struct halo_run_settings *s, struct halo_error *err)
{
    if (!s->source.input)
        return halo_fail_usage(err, "missing -i IN: specify what to read");
    if (s->part.duration == 0)
        return halo_fail_usage(err, "-t 0 would keep nothing: use a time above 0");
    if (!s->output)
        return halo_fail_usage(err, "missing OUT: specify where to write as the last argument");
    if (!s->filters)
        return halo_fail_usage(
            err, "missing -vf: specify the filters (or -vf null to pass frames unfiltered)");
    if (s->overwrite && s->never_overwrite)
        return halo_fail_usage(err, "-y and -n contradict each other: use one of them");
    if (s->map_metadata && strcmp(s->map_metadata, "-1"))
        return halo_fail_usage(err, "-map_metadata %.80s: only -1 is supported (drop metadata)",
                               s->map_metadata);
    const bool to_stdout = !strcmp(s->output, "-");
    if (to_stdout && !s->output_format)
        return halo_fail_usage(err, "OUT is -, so its format must be given after -i, as in -f nut");
    if (to_stdout && s->progress && !strcmp(s->progress, "-"))
        return halo_fail_usage(
            err, "-progress and OUT are both -, and would mix on standard output: use a file for "
                 "-progress");
    if ((s->trace && !strcmp(s->trace, "-")) || (s->stats_json && !strcmp(s->stats_json, "-")))
        return halo_fail_usage(err, "-%s -: name a file", s->trace ? "trace" : "stats_json");
    if (s->segments)
        return check_segments(s, err);
    if (s->segment_time >= 0)
        return halo_fail_usage(err, "-segment_time sets the length of segments: add -segments");
    if (s->workers_name)
        return halo_fail_usage(err, "-workers sets the number of segments that are encoded at the "
                                    "same time: add -segments");
    return 0;
}

int halo_run_parse(struct halo_run_settings *ret, int argc, char **argv, struct halo_error *err)
{
    struct halo_run_settings s = {0};
    halo_options_init(halo_run_options, &s);
    for (int find = 0; find < HALO_FINDS; find++)
        halo_options_init(halo_detector_options[find], &s.detector[find]);

    int code = 0;
    bool options = true;
    for (int at = 0; at < argc && code >= 0;) {
        if (options && !strcmp(argv[at], "--")) {
            options = false;
            at++;
        } else if (options && argv[at][0] == '-' && argv[at][1]) {
            code = take_option(&s, at, argc, argv, err);
            at += code;
        } else {
            code = set_output(&s, argv[at++], err);
        }
    }
    s.segments |= s.resume;
    if (code >= 0)
        code = check(&s, err);
    if (s.segment_time < 0)
        s.segment_time = DEFAULT_SEGMENT;
    if (code >= 0)
        code = take_numbers(&s, err);
    if (code >= 0)
        code = take_detectors(&s, err);
    if (code < 0) {
        halo_run_finish(&s);
        return code;
    }
    *ret = s;
    return 0;
}

void halo_run_finish(struct halo_run_settings *settings)
{
    halo_options_finish(halo_run_options, settings);
    halo_options_finish(format_options, settings);
    for (int find = 0; find < HALO_FINDS; find++)
        halo_options_finish(halo_detector_options[find], &settings->detector[find]);
    free(settings->output);
    settings->output = NULL;
}

void halo_run_print_help(const char *name)
{
    enum { ROWS = sizeof halo_run_options / sizeof halo_run_options[0] };
    struct halo_option rows[ROWS + 1] = {format_options[0]};
    memcpy(rows + 1, halo_run_options, sizeof halo_run_options);
    const bool plans = !strcmp(name, "plan");
    printf("usage: halod %s [-f FORMAT] -i IN -vf CHAIN [options] OUT\n\n%s\n\noptions:\n", name,
           plans ? "Shows what halod run would do with the same arguments, by trying the first "
                   "seconds.\n"
                   "Writes nothing."
                 : "Runs one stream in the foreground: every frame of IN passes through CHAIN into "
                   "OUT.");
    halo_options_print(rows, "-", stdout);
    puts(
        "\n"
        "OUT is a file, a URL, - (standard output, with -f) or, if IN is a camera, a virtual\n"
        "camera (pipewire: or pipewire:NAME, or a v4l2loopback device such as /dev/video10).\n"
        "A file appears complete or not at all.\n"
        "halod devices lists cameras and their properties.\n"
        "halod filters lists the filters; halod filter NAME lists the options of one filter.\n"
        "\n"
        "examples:\n"
        "  halod run -i in.mp4 -vf gblur=sigma=12 out.mp4\n"
        "  halod run -i /dev/video0 -vf gblur=sigma=12 pipewire:\n"
        "  halod run -i in.mkv -vf boxblur=lr=8:lp=2 -c:v libx264 -crf 20 -c:a copy -y out.mkv\n"
        "  halod run -i in.mp4 -vf \"convolution=0m='0 -1 0 -1 5 -1 0 -1 0'\" -f nut - | ffplay -");
}
