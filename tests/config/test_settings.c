/* SPDX-License-Identifier: BSD-2-Clause
 * The daemon's settings: loading, what is refused, and the ways to and from text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error_list.h"
#include "config/base/log.h"
#include "config/daemon.h"
#include "config/encoding.h"
#include "config/output_kinds.h"
#include "pipeline/filter/privacy.h"
#include "tests/cmocka_all.h"

static int check_encoder(const char *codec, bool audio, struct halo_error *err)
{
    if (!strcmp(codec, audio ? "aac" : "libx264"))
        return 0;
    return halo_fail(err, -EINVAL, "no such encoder (nearest: %s)", audio ? "aac" : "libx264");
}

static const struct halo_daemon_checks checks = {.filters = halo_chain_check,
                                                 .encoder = check_encoder};

static struct halo_daemon_settings *load(const char *text)
{
    struct halo_daemon_settings *s = NULL;
    struct halo_error_list *errors = NULL;
    if (halo_daemon_load_text(&s, text, strlen(text), "a.yaml", &checks, &errors)) {
        for (int i = 0; i < halo_error_list_count(errors); i++)
            print_error("%s\n", halo_error_list_text(errors, i));
        fail();
    }
    assert_null(errors);
    return s;
}

/* One stream with these lines, indented by four. */
#define STREAM "streams:\n  a:\n    input: a.mkv\n    filters: solid\n"
#define OUT    STREAM "    outputs:\n    - "

/* What people are told of suffixes is made from the table, or holds them all. */
static void formats_of_sockets(void **state)
{
    char list[64];
    (void)state;
    for (const struct halo_viewer_format *format = halo_viewer_formats; format->suffix; format++) {
        char path[32];
        snprintf(path, sizeof path, "/run/a.b/door%s", format->suffix);
        assert_ptr_equal(halo_viewer_format_find(path), format);
        snprintf(path, sizeof path, "/run/%s", format->suffix);
        assert_null(halo_viewer_format_find(path));
        assert_non_null(strstr(halo_output_rows[HALO_OUTPUT_UNIX]->help, format->suffix));
    }
    assert_null(halo_viewer_format_find("/run/a.ts/door"));
    assert_null(halo_viewer_format_find("door.mp4"));
    assert_string_equal(
        halo_viewer_format_list(list, sizeof list, HALO_VIEWER_FORMATS_SUFFIXES, "or"),
        ".ts, .mkv, .nut or .fd");
    assert_string_equal(halo_viewer_format_list(list, sizeof list, HALO_VIEWER_FORMATS_RAW, "and"),
                        ".nut and .fd");
    assert_string_equal(halo_viewer_format_list(list, sizeof list, HALO_VIEWER_FORMATS_NAMES, "or"),
                        "ts, mkv or nut");
}

static void the_usual(void **state)
{
    (void)state;
    struct halo_daemon_settings *s =
        load("version: 1\n"
             "control: {path: /run/halod/control.sock}\n"
             "http: {listen: 127.0.0.1:8480, hosts: \"door.local, [::1]\",\n"
             "       embed: [https://wall, 'http://[::1]:3000']}\n"
             "log: {level: debug}\n"
             "streams:\n"
             "  door:\n"
             "    input: rtsp://door/live\n"
             "    filters: \"gblur=sigma=12\"\n"
             "    on_error: last\n"
             "    last_for: 1:30\n"
             "    gpu: 1\n"
             "    enabled: false\n"
             "    renditions: {hard: {filters: [{gblur: {sigma: 40}}, solid]}}\n"
             "    outputs:\n"
             "      - unix: /run/halod/door.ts\n"
             "        video: {codec: libx264, bitrate: 4M, crf: 23, gop: 2s, size: 640x360}\n"
             "        audio: copy\n"
             "      - file: /srv/video/door-%Y%m%d-%H%M%S.mkv\n"
             "        rendition: hard\n"
             "        segment_time: 60s\n"
             "        keep_size: 20G\n"
             "        hook: /usr/local/bin/kept\n"
             "  road: {input: road.mp4, loop: true, realtime: true, filters: 'avgblur=sizeX=9',\n"
             "         outputs: [{unix: /run/halod/road.nut}]}\n"
             "  check: {input: \"test:\", filters: \"gblur=sigma=3\", outputs: [{null: true}]}\n");
    assert_int_equal(s->version, 1);
    assert_int_equal(s->log.level, HALO_LOG_DEBUG);
    assert_string_equal(s->control.path, "/run/halod/control.sock");
    assert_string_equal(s->http.listen, "127.0.0.1:8480");
    assert_string_equal(s->http.embed, "https://wall,http://[::1]:3000");
    assert_int_equal(s->streams, 3);
    const struct halo_stream_settings *door = &s->stream[0];
    assert_string_equal(door->name, "door");
    assert_string_equal(door->source.input, "rtsp://door/live");
    assert_string_equal(door->filters, "gblur=sigma=12");
    assert_int_equal(door->on_error, HALO_ON_ERROR_LAST);
    assert_true(door->last_for == 90 && door->device.gpu == 1 && !door->enabled);
    assert_int_equal(door->renditions, 1);
    assert_string_equal(door->rendition[0].filters, "gblur=sigma=40,solid");
    assert_int_equal(door->outputs, 2);
    assert_int_equal(door->output[0].kind, HALO_OUTPUT_UNIX);
    assert_string_equal(door->output[0].video.crf, "23");
    assert_true(door->output[0].video.gop == 2);
    assert_string_equal(door->output[0].audio, "copy");
    assert_int_equal(door->output[1].kind, HALO_OUTPUT_FILE);
    assert_true(door->output[1].segment_time == 60 &&
                door->output[1].keep_size == INT64_C(20000000000));
    assert_true(s->stream[1].loop && s->stream[1].realtime && s->stream[1].enabled);
    assert_int_equal(s->stream[2].output[0].kind, HALO_OUTPUT_NULL);
    assert_null(s->stream[2].output[0].target);
    halo_daemon_settings_destroy(s);
}

static void cameras(void **state)
{
    (void)state;
    struct halo_daemon_settings *s = load(
        "streams:\n"
        "  a: {input: /dev/video0, filters: solid}\n"
        "  b:\n"
        "    input: v4l2:name=Webcam\n"
        "    filters: solid\n"
        "    capture: {size: 1280x720, fps: 12.5, format: mjpeg, open: on-demand, rotate: 90,\n"
        "              mirror: horizontal, stall: 500ms,\n"
        "              controls: {exposure_auto: 1, brightness: -3, exposure_auto_2: 5}}\n");
    const struct halo_capture_settings *a = &s->stream[0].capture, *b = &s->stream[1].capture;
    assert_true(!a->size && a->fps == 0 && a->format == 0 && a->open == HALO_CAPTURE_ALWAYS);
    assert_true(a->rotate == 0 && a->mirror == HALO_MIRROR_NONE && a->stall == 2 && !a->controls);
    assert_string_equal(b->size, "1280x720");
    assert_string_equal(halo_capture_formats[b->format], "mjpeg");
    assert_true(b->fps == 12.5 && b->open == HALO_CAPTURE_ON_DEMAND && b->rotate == 1);
    assert_true(b->mirror == HALO_MIRROR_HORIZONTAL && b->stall == 0.5);
    assert_string_equal(b->controls, "exposure_auto=1,brightness=-3,exposure_auto_2=5");
    char *put = halo_controls_put(b->controls, "brightness", 7);
    assert_string_equal(put, "exposure_auto=1,exposure_auto_2=5,brightness=7");
    free(put);
    for (int i = 0; i < 2; i++) {
        struct halo_stream_settings copy, back;
        char *text = halo_stream_settings_write(&s->stream[i]);
        assert_int_equal(halo_stream_settings_read(&back, text, NULL), 0);
        assert_int_equal(halo_stream_settings_copy(&copy, &back), 0);
        assert_int_equal(halo_stream_settings_compare(&s->stream[i], &copy), HALO_CHANGE_NONE);
        copy.capture.rotate = 2;
        assert_int_equal(halo_stream_settings_compare(&s->stream[i], &copy), HALO_CHANGE_REST);
        halo_stream_settings_finish(&copy);
        halo_stream_settings_finish(&back);
        free(text);
    }
    halo_daemon_settings_destroy(s);
}

static void region_feeds(void **state)
{
    (void)state;
    struct halo_daemon_settings *s =
        load("defaults: {region_feed: {hold: 2}}\n"
             "streams:\n"
             "  a: {input: x, filters: solid, region_feed: {}}\n"
             "  b: {input: x, filters: solid, region_feed: {margin: 25%, hold: 0, limit: 300ms}}\n"
             "  c: {input: x, filters: solid}\n");
    const struct halo_region_feed_settings *a = &s->stream[0].region_feed;
    const struct halo_region_feed_settings *b = &s->stream[1].region_feed;
    assert_true(a->on && a->margin == 0.1 && a->hold == 0.5 && a->limit == 1);
    assert_true(b->on && b->margin == 0.25 && b->hold == 0 && b->limit == 0.3);
    assert_true(s->stream[2].region_feed.on && s->stream[2].region_feed.hold == 2);
    for (int i = 0; i < 2; i++) {
        struct halo_stream_settings back;
        char *text = halo_stream_settings_write(&s->stream[i]);
        assert_int_equal(halo_stream_settings_read(&back, text, NULL), 0);
        assert_int_equal(halo_stream_settings_compare(&s->stream[i], &back), HALO_CHANGE_NONE);
        back.region_feed.on = false;
        assert_int_equal(halo_stream_settings_compare(&s->stream[i], &back), HALO_CHANGE_REST);
        halo_stream_settings_finish(&back);
        free(text);
    }
    halo_daemon_settings_destroy(s);
    s = load(STREAM);
    assert_false(s->stream[0].region_feed.on);
    halo_daemon_settings_destroy(s);
}

static void detectors(void **state)
{
    (void)state;
    struct halo_daemon_settings *s =
        load("detectors: {faces: {wait: 200ms, score: 0.7}, people: {command: /opt/p -q}}\n"
             "defaults: {detectors: {people: {hold: 3}}}\n"
             "streams:\n"
             "  a: {input: x, filters: solid}\n"
             "  b: {input: x, filters: solid, detectors: {faces: {wait: 0, shared: true}}}\n");
    const struct halo_detector_settings *a = s->stream[0].detector, *b = s->stream[1].detector;
    assert_true(a[HALO_FIND_FACES].wait == 0.2 && a[HALO_FIND_FACES].score == 0.7);
    assert_true(a[HALO_FIND_FACES].low == 0.25 && a[HALO_FIND_FACES].hold == 1);
    assert_null(a[HALO_FIND_FACES].command);
    assert_string_equal(a[HALO_FIND_PEOPLE].command, "/opt/p -q");
    assert_true(a[HALO_FIND_PEOPLE].hold == 3 && a[HALO_FIND_PEOPLE].margin == 0.1);
    assert_true(b[HALO_FIND_FACES].wait == 0 && b[HALO_FIND_FACES].shared);
    assert_true(b[HALO_FIND_FACES].score == 0.7 && b[HALO_FIND_PEOPLE].hold == 0.5);
    for (int i = 0; i < 2; i++) {
        struct halo_stream_settings back, other;
        char *text = halo_stream_settings_write(&s->stream[i]);
        assert_int_equal(halo_stream_settings_read(&back, text, NULL), 0);
        assert_int_equal(halo_stream_settings_compare(&s->stream[i], &back), HALO_CHANGE_NONE);
        back.detector[HALO_FIND_PEOPLE].enter = 6;
        assert_int_equal(halo_stream_settings_compare(&s->stream[i], &back), HALO_CHANGE_REST);
        assert_int_equal(halo_stream_settings_copy(&other, &back), 0);
        assert_string_equal(other.detector[HALO_FIND_PEOPLE].command, "/opt/p -q");
        halo_stream_settings_finish(&back);
        halo_stream_settings_finish(&other);
        free(text);
    }
    halo_daemon_settings_destroy(s);
}

static void defaults(void **state)
{
    (void)state;
    struct halo_daemon_settings *s = load(STREAM);
    const struct halo_stream_settings *a = &s->stream[0];
    assert_true(a->enabled && !a->loop && !a->realtime && !a->own_engine);
    assert_true(a->device.backend == 0 && a->device.hwaccel == 0 && a->device.gpu < 0 &&
                a->device.depth == 3);
    assert_true(a->device.gpu_timeout == 10 && a->input_timeout == 10 && a->last_for == 5);
    assert_int_equal(a->source.max_pixels, 8192 * 8192);
    assert_int_equal(a->on_error, HALO_ON_ERROR_CARD);
    assert_int_equal(a->restart, HALO_RESTART_ON_FAILURE);
    assert_null(s->http.listen);
    assert_null(s->control.path);
    assert_int_equal(s->log.level, HALO_LOG_INFO);
    halo_daemon_settings_destroy(s);
    s = load("streams: {}\n");
    assert_int_equal(s->streams, 0);
    halo_daemon_settings_destroy(s);
    s = load("\xef\xbb\xbfversion: 1\n" STREAM); /* as some editors begin a text */
    assert_int_equal(s->streams, 1);
    halo_daemon_settings_destroy(s);
}

static void from_text_to_engine(void **state)
{
    (void)state;
    struct halo_daemon_settings *s = load(
        OUT "{unix: /run/a.nut, video: {codec: raw, fps: 30000/1001}}\n    - {null: true}\n"
            "    - {file: \"/srv/\\\"%Y\\\" \\u00fc.mkv\", segment_time: 2.5, keep_size: 3Gi}\n"
            "    renditions: {b: {filters: [{convolution: {0m: [1, 2, 1], 0mode: row}}]}}\n"
            "    privacy: changed\n");
    char *text = halo_stream_settings_write(&s->stream[0]);
    assert_non_null(text);
    struct halo_stream_settings copy;
    struct halo_error err = {0};
    assert_int_equal(halo_stream_settings_read(&copy, text, &err), 0);
    assert_int_equal(halo_stream_settings_compare(&s->stream[0], &copy), HALO_CHANGE_NONE);
    assert_true(copy.output[0].video.fps == 30000. / 1001);
    assert_true(copy.output[2].keep_size == INT64_C(3) << 30);
    assert_string_equal(copy.output[2].target, "/srv/\"%Y\" \u00fc.mkv");
    assert_string_equal(copy.rendition[0].filters, "convolution=0m='1 2 1':0mode=row");
    free(text);
    halo_stream_settings_finish(&copy);
    halo_daemon_settings_destroy(s);
}

static void bad_texts_to_an_engine(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"name\": 3}",
        "{\"name\": \"a\"}",
        "{\"name\":\"a\",\"input\":\"b\",\"filters\":null}",
        "{\"name\":\"a\",\"input\":\"b\",\"filters\":\"null\",\"depth\":99}",
        "{\"name\":\"a\",\"input\":\"b\",\"filters\":\"null\",\"what\":1}",
        "{\"name\":\"a/b\",\"input\":\"b\",\"filters\":\"null\"}",
        "{\"name\":\"a\",\"name\":\"b\",\"input\":\"b\",\"filters\":\"null\"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct halo_stream_settings s = {.device.depth = 77};
        struct halo_error err = {0};
        assert_int_equal(halo_stream_settings_read(&s, texts[i], &err), -EINVAL);
        assert_true(err.text[0] && s.device.depth == 77);
    }
}

static void comparing(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        enum halo_change change;
    } cases[] = {
        {"filters: solid", "filters: solid", HALO_CHANGE_NONE},
        {"filters: solid", "filters: [solid]", HALO_CHANGE_NONE},
        {"filters: solid", "filters: avgblur=sizeX=9", HALO_CHANGE_FILTERS},
        {"filters: solid", "filters: avgblur=sizeX=9\n    depth: 4", HALO_CHANGE_REST},
        {"filters: solid\n    renditions: {b: {filters: avgblur=sizeX=9}}",
         "filters: solid\n    renditions: {b: {filters: pixelize}}", HALO_CHANGE_FILTERS},
        {"filters: solid\n    renditions: {b: {filters: avgblur=sizeX=9}}",
         "filters: solid\n    renditions: {c: {filters: avgblur=sizeX=9}}", HALO_CHANGE_REST},
        {"filters: solid\n    renditions: {b: {filters: avgblur=sizeX=9}, c: {filters: solid}}",
         "filters: solid\n    renditions: {c: {filters: solid}, b: {filters: avgblur=sizeX=9}}",
         HALO_CHANGE_NONE},
        {"filters: solid\n    renditions: {b: {filters: avgblur=sizeX=9}, c: {filters: solid}}",
         "filters: solid\n    renditions: {c: {filters: solid}, b: {filters: pixelize}}",
         HALO_CHANGE_FILTERS},
        {"filters: solid\n    outputs: [{unix: a.ts}]", "filters: solid\n    outputs: []",
         HALO_CHANGE_REST},
        {"filters: solid\n    outputs: [{unix: a.ts}]",
         "filters: avgblur=sizeX=9\n    outputs: [{unix: a.ts, video: {gop: 1000ms}}]",
         HALO_CHANGE_FILTERS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2][400];
        struct halo_daemon_settings *s[2];
        for (int k = 0; k < 2; k++) {
            snprintf(text[k], sizeof text[k], "streams:\n  a:\n    input: x.mkv\n    %s\n",
                     k ? cases[i].b : cases[i].a);
            s[k] = load(text[k]);
        }
        assert_int_equal(halo_stream_settings_compare(&s[0]->stream[0], &s[1]->stream[0]),
                         cases[i].change);
        halo_daemon_settings_destroy(s[0]);
        halo_daemon_settings_destroy(s[1]);
    }
}

/* What is computed once though several outputs have it. */
static void encodings(void **state)
{
    (void)state;
    struct halo_daemon_settings *s =
        load(OUT "{unix: a.ts}\n    - {unix: a.mkv, video: {codec: libx264, gop: 1000ms}}\n"
                 "    - {file: a.mp4, video: {fps: 0}, audio: off}\n    - {null: true}\n"
                 "    - {unix: b.ts, video: {crf: 30}}\n    - {unix: c.ts, rendition: b}\n"
                 "    - {unix: a.fd}\n    - {unix: a.nut, video: {codec: raw}}\n"
                 "    - {v4l2: /dev/video10}\n    - {v4l2: /dev/video11, format: nv12}\n"
                 "    - {v4l2: /dev/video12, video: {size: 1280x720, fps: 30}}\n"
                 "    - {v4l2: /dev/video13, format: mjpeg, rendition: b}\n"
                 "    renditions: {b: {filters: solid}}\n");
    static const int wanted[] = {0, 0, 0, -1, 1, 2, 3, 3, 4, 5, 4, 6};
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS];
    assert_int_equal(halo_encodings(&s->stream[0], encoding, of), 7 + HALO_VIEWS);
    assert_memory_equal(of, wanted, sizeof wanted);
    assert_int_equal(encoding[2].rendition, 1);
    assert_int_equal(encoding[3].kind, HALO_ENCODING_RAW);
    assert_null(encoding[3].format);
    assert_string_equal(encoding[4].format, "yuyv422");
    assert_string_equal(encoding[4].video->size, "1280x720");
    assert_true(encoding[4].video->fps == 30 && encoding[4].feeds && !encoding[4].writes);
    assert_string_equal(encoding[5].format, "nv12");
    assert_int_equal(encoding[6].kind, HALO_ENCODING_JPEG);
    assert_true(encoding[6].rendition == 1 && encoding[6].video->fps == 30);
    assert_int_equal(encoding[7].kind, HALO_ENCODING_JPEG);
    assert_null(encoding[7].video);
    halo_daemon_settings_destroy(s);
}

#define NODE "{pipewire: {name: door}"

/* A PipeWire camera has an encoding for each of its formats. */
static void cameras_of_the_desktop(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        OUT NODE ", video: {size: 1366x768}}\n",
        OUT NODE ", video: {size: 640x-1}}\n",
        OUT NODE ", video: {codec: libx264}}\n",
        OUT NODE ", format: nv12}\n",
        OUT NODE "}\n    - " NODE "}\n",
        OUT "{pipewire: {name: \"a\\tb\"}}\n",
        OUT "{pipewire: {name: a}}\n    - {pipewire: {name: b}}\n    - {pipewire: {name: c}}\n"
            "    - {pipewire: {name: d}}\n    - {pipewire: {name: e}}\n",
    };
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS];
    char name[HALO_PIPEWIRE_NAME];
    if (!halo_pipewire_is_built())
        skip();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct halo_daemon_settings *none = NULL;
        struct halo_error_list *errors = NULL;
        assert_int_equal(
            halo_daemon_load_text(&none, wrong[i], strlen(wrong[i]), "a.yaml", &checks, &errors),
            -EINVAL);
        assert_int_equal(halo_error_list_count(errors), 1);
        halo_error_list_destroy(errors);
    }
    struct halo_daemon_settings *s =
        load(OUT "{unix: a.ts}\n    - " NODE "}\n    - {v4l2: /dev/video10}\n");
    assert_int_equal(halo_encodings(&s->stream[0], encoding, of),
                     1 + HALO_DESKTOP_FORMATS + HALO_VIEWS);
    assert_int_equal(of[1], 1);
    assert_int_equal(of[2], 3); /* shared */
    for (int i = 0; i < HALO_DESKTOP_FORMATS; i++) {
        assert_string_equal(encoding[1 + i].format, halo_desktop_formats[i]);
        assert_string_equal(encoding[1 + i].video->size, "1280x720");
        assert_true(encoding[1 + i].feeds && !encoding[1 + i].writes);
    }
    halo_daemon_settings_destroy(s);
    halo_pipewire_node_name("Tür 1.b-c/d", name);
    assert_string_equal(name, "T__r_1.b-c_d");
}

static void chains_from_maps(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *chain;
    } cases[] = {
        {"[{gblur: {sigma: 12}}, solid]", "gblur=sigma=12,solid"},
        {"[solid, 'gblur=3,null']", "solid,gblur=3,null"},
        {"[{solid: {}}, {null: }, {prewitt: {scale: 2.5, planes: 1}}]",
         "solid,null,prewitt=scale=2.5:planes=1"},
        {"[{convolution: {0m: [[1, 2, 1], [2, 4, 2], [1, 2, 1]], 0rdiv: 1/16}}]",
         "convolution=0m='1 2 1 2 4 2 1 2 1':0rdiv=1/16"},
        {"[{gblur: {strategy: 'a:b'}}]", "gblur=strategy='a\\:b'"},
        {"[{gblur: {strategy: \"it's, [x]; \\\\ \"}}]",
         "gblur=strategy='it\\'\\''s, [x]; \\\\\\ '"},
        {"\"null\"", "null"},
    };
    const struct halo_daemon_checks none = {NULL, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400];
        struct halo_daemon_settings *s = NULL;
        struct halo_error_list *errors = NULL;
        snprintf(text, sizeof text, "streams: {a: {input: x, filters: %s}}", cases[i].yaml);
        assert_int_equal(halo_daemon_load_text(&s, text, strlen(text), "a", &none, &errors), 0);
        assert_string_equal(s->stream[0].filters, cases[i].chain);
        halo_daemon_settings_destroy(s);
    }
}

/* What a map's value holds is what the filter gets, whatever it is. */
static void quoting(void **state)
{
    (void)state;
    static const char *const values[] = {
        "a",   "it's", "'",   "''",  "\\", "\\\\'", "a:b", "a,b",
        "[x]", ";",    " a ", "a b", "=",  ":',\\", "x=y",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[400], json[100] = "";
        for (const char *v = values[i]; *v; v++) /* '"' alone and '\' are special in JSON */
            sprintf(json + strlen(json), *v == '\\' ? "\\%c" : "%c", *v);
        struct halo_daemon_settings *s = NULL;
        struct halo_error_list *errors = NULL;
        struct halo_chain *chain = NULL;
        struct halo_error err = {0};
        const struct halo_daemon_checks none = {NULL, NULL};
        snprintf(text, sizeof text,
                 "streams: {a: {input: x, filters: [{gblur: {strategy: \"%s\", sigma: 3}}]}}",
                 json);
        assert_int_equal(halo_daemon_load_text(&s, text, strlen(text), "a", &none, &errors), 0);
        /* No strategy is named so: the error repeats the name as the filter has got it. */
        assert_int_equal(halo_chain_parse(&chain, s->stream[0].filters, &err), -EINVAL);
        snprintf(text, sizeof text, "strategy=%s: unknown", values[i]);
        if (!strstr(err.text, text))
            fail_msg("%s: %s", values[i], err.text);
        halo_daemon_settings_destroy(s);
    }
}

static void aliases(void **state)
{
    (void)state;
    struct halo_daemon_settings *s =
        load("streams:\n"
             "  a: {input: x, filters: solid, outputs: [{unix: a.ts, video: &v {gop: 3}}]}\n"
             "  b: {input: &i y, filters: solid, outputs: [{unix: b.ts, video: *v}]}\n"
             "  c: {input: *i, filters: solid}\n");
    assert_true(s->stream[1].output[0].video.gop == 3);
    assert_string_equal(s->stream[2].source.input, "y");
    halo_daemon_settings_destroy(s);
}

static void defaults_of_streams(void **state)
{
    (void)state;
    struct halo_daemon_settings *s =
        load("defaults: {filters: avgblur=sizeX=9, depth: 5, on_error: stop, "
             "renditions: {r: {filters: solid}}}\n"
             "streams:\n"
             "  a: {input: x}\n"
             "  b: {input: y, filters: solid, depth: 6,\n"
             "      outputs: [{null: true, rendition: r}]}\n");
    assert_string_equal(s->stream[0].filters, "avgblur=sizeX=9");
    assert_int_equal(s->stream[0].device.depth, 5);
    assert_int_equal(s->stream[0].on_error, HALO_ON_ERROR_STOP);
    assert_int_equal(s->stream[0].renditions, 1);
    assert_string_equal(s->stream[1].filters, "solid");
    assert_int_equal(s->stream[1].device.depth, 6);
    assert_int_equal(s->stream[1].on_error, HALO_ON_ERROR_STOP);
    halo_daemon_settings_destroy(s);
}

static char *dump(const struct halo_daemon_settings *s, bool secrets)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    assert_int_equal(halo_daemon_dump(s, secrets, to), 0);
    fclose(to);
    return text;
}

static void dumps_load_again(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "streams: {}",
        OUT "unix: a.ts\n",
        "control: {path: \"/run/\\\"x\\\\ $${A}\"}\nhttp: {listen: '[::1]:80', hosts: 'a, "
        "[::1]:8'}\n"
        "log: {level: quiet}\n"
        "streams:\n"
        "  'null': {input: \"rtsp://u:p@h/\\u00e9 \\u2028\\ufeff\\x85\\ta\\nb\", filters: solid}\n"
        "  '1': {input: '$$${B} $ $$ ${', filters: 'solid,\n  avgblur'}\n"
        "  yes: {input: \"#: - &a *b ? | > % @ ` {}[]\", filters: solid, gpu: 3, last_for: 0.1,\n"
        "        outputs: [{url: 'rtmp://h/a/b', format: flv, audio: aac},\n"
        "                  {file: 'a-%s.mkv', segment_time: 604800, keep_size: 9000T}]}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char copy[2000];
        snprintf(copy, sizeof copy, "%s", texts[i]);
        char *lone = strstr(copy, " ${'");
        if (lone) /* "${" that is no variable is an error, and not for here */
            memcpy(lone, " $}'", 4);
        struct halo_daemon_settings *s = load(copy);
        char *text = dump(s, true);
        struct halo_daemon_settings *again = load(text);
        char *second = dump(again, true);
        assert_string_equal(text, second);
        assert_int_equal(s->streams, again->streams);
        for (int k = 0; k < s->streams; k++)
            assert_int_equal(halo_stream_settings_compare(&s->stream[k], &again->stream[k]),
                             HALO_CHANGE_NONE);
        free(text);
        free(second);
        halo_daemon_settings_destroy(s);
        halo_daemon_settings_destroy(again);
    }
}

/* What a kind fills in survives its own dump; else the stream would be restarted at each reload.
 * Keys without effect are not dumped, so check() cannot fill in what the loader then refuses. */
static void dumps_of_outputs_load_again(void **state)
{
    (void)state;
    for (int kind = 0; kind < HALO_OUTPUT_KINDS; kind++) {
        const struct halo_output_row *row = halo_output_rows[kind];
        if (row->target == HALO_AT_NODE && !halo_pipewire_is_built())
            continue;
        char text[300];
        snprintf(text, sizeof text, OUT "%s: %s%s%s\n", row->key,
                 row->target == HALO_AT_NODE ? "{name: \"" : "", row->example,
                 row->target == HALO_AT_NODE ? "\"}" : "");
        struct halo_daemon_settings *s = load(text);
        struct halo_output_settings *output = &s->stream[0].output[0];
        assert_int_equal(output->kind, kind);
        char *first = dump(s, true);
        struct halo_daemon_settings *again = load(first);
        assert_int_equal(halo_stream_settings_compare(&s->stream[0], &again->stream[0]),
                         HALO_CHANGE_NONE);
        if (!halo_output_takes(row, "keep"))
            output->keep = 9;
        if (!halo_output_takes_video(row, "gop"))
            output->video.gop = 9;
        char *second = dump(s, true);
        assert_string_equal(first, second);
        free(first);
        free(second);
        halo_daemon_settings_destroy(s);
        halo_daemon_settings_destroy(again);
    }
}

static void dumps_hide_secrets(void **state)
{
    (void)state;
    struct halo_daemon_settings *s =
        load("streams: {a: {input: 'rtsp://me:hush@h/x', filters: solid,\n"
             "  outputs: [{url: 'srt://h:9?passphrase=hush&mode=caller'}, {url: "
             "'rtmp://h/live/hush'}]}}");
    char *open = dump(s, true), *hidden = dump(s, false);
    assert_non_null(strstr(open, "me:hush@h/x"));
    assert_null(strstr(hidden, "hush"));
    assert_non_null(strstr(hidden, "\"rtsp://h/***\""));
    struct halo_daemon_settings *again = load(hidden);
    free(open);
    free(hidden);
    halo_daemon_settings_destroy(again);
    halo_daemon_settings_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_of_sockets),
        cmocka_unit_test(the_usual),
        cmocka_unit_test(cameras),
        cmocka_unit_test(region_feeds),
        cmocka_unit_test(detectors),
        cmocka_unit_test(defaults),
        cmocka_unit_test(from_text_to_engine),
        cmocka_unit_test(bad_texts_to_an_engine),
        cmocka_unit_test(comparing),
        cmocka_unit_test(encodings),
        cmocka_unit_test(cameras_of_the_desktop),
        cmocka_unit_test(chains_from_maps),
        cmocka_unit_test(quoting),
        cmocka_unit_test(aliases),
        cmocka_unit_test(defaults_of_streams),
        cmocka_unit_test(dumps_load_again),
        cmocka_unit_test(dumps_of_outputs_load_again),
        cmocka_unit_test(dumps_hide_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
