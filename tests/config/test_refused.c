/* SPDX-License-Identifier: BSD-2-Clause
 * What the daemon's file may not say, and in which words it is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error_list.h"
#include "config/daemon.h"
#include "config/source_kinds.h"
#include "pipeline/camera/camera_find.h"
#include "pipeline/filter/privacy.h"
#include "tests/cmocka_all.h"

static int check_encoder(const char *codec, bool audio, struct halo_error *err)
{
    if (!strcmp(codec, audio ? "aac" : "libx264"))
        return 0;
    return halo_fail(err, -EINVAL, "no encoder %s (nearest: %s)", codec, audio ? "aac" : "libx264");
}

static int check_input(const char *input, struct halo_error *err)
{
    return halo_source_row(input)->captures ? halo_camera_check(input, err) : 0;
}

#define PASS "to pass frames unchanged, set filters: none and privacy: off"

static const struct halo_daemon_checks checks = {
    .filters = halo_chain_check, .encoder = check_encoder, .input = check_input};

/* Text is refused with exactly these lines, NULL at the end. */
static void refuse_text(const char *text, size_t length, const char *const *lines)
{
    struct halo_daemon_settings *s = NULL;
    struct halo_error_list *errors = NULL;
    assert_int_equal(halo_daemon_load_text(&s, text, length, "f", &checks, &errors), -EINVAL);
    assert_null(s);
    int count = 0;
    for (; lines[count]; count++) {
        if (count == halo_error_list_count(errors))
            fail_msg("not said: %s", lines[count]);
        if (strcmp(halo_error_list_text(errors, count), lines[count]))
            fail_msg("'%s' is not '%s'", halo_error_list_text(errors, count), lines[count]);
    }
    if (halo_error_list_count(errors) > count)
        fail_msg("too much: %s", halo_error_list_text(errors, count));
    halo_error_list_destroy(errors);
}

#define REFUSE(text, ...) refuse_text(text, strlen(text), (const char *const[]){__VA_ARGS__, NULL})

#define HLS_NAME                                                                                   \
    "must be the path of a playlist, such as /srv/hls/door/index.m3u8, whose name consists of "    \
    "letters, digits, '.', '_' and '-' and ends in .m3u8"

#define STREAM "streams:\n  a:\n    input: a.mkv\n    filters: solid\n    "
#define OUT    STREAM "outputs:\n    - "
#define AT     "f:5: streams.a."
#define AT_OUT "f:6: streams.a.outputs[0]"

static void keys(void **state)
{
    (void)state;
    REFUSE("strems:\n  a: {}\n", "f:1: strems: unknown key (nearest: streams)",
           "f:1: 'streams' is missing: it must be a map from names to streams");
    REFUSE(STREAM "filterz: x\n", AT "filterz: unknown key (nearest: filters)");
    REFUSE(STREAM "qqqqqqq:\n      - 1\n", AT "qqqqqqq: unknown key");
    REFUSE(OUT "unix: a.ts\n      vidoe: {}\n",
           "f:7: streams.a.outputs[0].vidoe: unknown key (nearest: video)");
    REFUSE(OUT "unix: a.ts\n      video:\n        bitrat: 4M\n",
           "f:8: streams.a.outputs[0].video.bitrat: unknown key (nearest: bitrate)");
    REFUSE("http: {listn: x}\nstreams: {}\n", "f:1: http.listn: unknown key (nearest: listen)");
    REFUSE(STREAM "input: b\n", "f:5: duplicate key input (already set on line 3)");
    REFUSE("streams:\n  a: {input: x, filters: solid}\n  a: {input: y, filters: solid}\n",
           "f:3: duplicate key a (already set on line 2)");
    REFUSE("streams:\n  a: {}\n",
           "f:2: streams.a.input: is missing: must be a file, a URL, a camera or \"test:\"",
           "f:2: streams.a.filters: is missing: name the filters (" PASS ")");
    REFUSE("", "f:1: 'streams' is missing: it must be a map from names to streams");
    REFUSE("# nothing\n", "f:1: 'streams' is missing: it must be a map from names to streams");
    REFUSE(
        "<<: {}\nstreams: {}\n",
        "f:1: merge keys (<<) are not supported: put settings shared by streams under 'defaults'");
    REFUSE(
        STREAM "\"<<\": {depth: 9}\n",
        "f:5: merge keys (<<) are not supported: put settings shared by streams under 'defaults'");
    REFUSE("? [a]\n: b\n", "f:1: a key must be plain text, not a list or a map");
}

static void types(void **state)
{
    (void)state;
    REFUSE("- a\n", "f:1: must be a map with keys such as 'streams'");
    REFUSE("hello\n", "f:1: must be a map with keys such as 'streams'");
    REFUSE("streams: [a]\n", "f:1: streams: must be a map of keys, not a list");
    REFUSE("streams:\n", "f:1: streams: has no value: must be a map of keys");
    REFUSE("streams:\n  a: x\n", "f:2: streams.a: must be a map of keys, not a single value");
    REFUSE("http: 80\nstreams: {}\n", "f:1: http: must be a map of keys, not a single value");
    REFUSE(STREAM "loop: yes\n", AT "loop: yes: must be true or false");
    REFUSE(STREAM "loop: 1\n", AT "loop: 1: must be true or false");
    REFUSE(STREAM "loop: [true]\n", AT "loop: must be a single value, not a list");
    REFUSE(STREAM "depth: 99\n", AT "depth: 99: must be between 1 and 16");
    REFUSE(STREAM "depth: deep\n", AT "depth: deep: must be a whole number");
    REFUSE(STREAM "gpu: -1\n", AT "gpu: -1: must be between 0 and 1023");
    REFUSE(STREAM "input_format: ~\n", AT "input_format: has no value: must be a single value");
    REFUSE(STREAM "input_format: \"\"\n", AT "input_format: its value is empty");
    REFUSE(STREAM "on_error: crad\n",
           AT "on_error: crad: must be one of card, solid, last, stop (nearest: card)");
    REFUSE(STREAM "outputs: {unix: a.ts}\n", AT "outputs: must be a list, not a map of keys");
    REFUSE(STREAM "outputs: [a.ts]\n", AT "outputs[0]: must be a map of keys, not a single value");
    REFUSE("version: 2\nnew: x\nstreams: {}\n",
           "f:1: version: 2: this halod supports only version 1");
    REFUSE("http: {listen: 8480}\nstreams: {}\n",
           "f:1: http.listen: 8480: must be ADDRESS:PORT such as 127.0.0.1:8480, or unix:PATH");
    REFUSE("http: {listen: 'a:65536'}\nstreams: {}\n",
           "f:1: http.listen: a:65536: must be ADDRESS:PORT such as 127.0.0.1:8480, or unix:PATH");
}

static void chains(void **state)
{
    (void)state;
#define CHAIN   "streams:\n  a:\n    input: a.mkv\n    filters: "
#define FILTERS "f:4: streams.a.filters"
    REFUSE(CHAIN "gblurr\n", FILTERS ": column 1: unknown filter gblurr (nearest: gblur)");
    REFUSE(CHAIN "null\n", FILTERS ": no filters (" PASS ")");
    REFUSE(CHAIN "\n", FILTERS ": no filters (" PASS ")");
    REFUSE(CHAIN "''\n", FILTERS ": its value is empty");
    REFUSE(CHAIN "[]\n", FILTERS ": the list is empty (" PASS ")");
    REFUSE(CHAIN "[null]\n", FILTERS "[0]: has no value: must be a single value");
    REFUSE(CHAIN "{gblur: {sigma: 1}}\n",
           FILTERS ": must be a string or a list, as in [{gblur: {sigma: 12}}]");
    REFUSE(CHAIN
           "\n    - solid\n    - gblur: {sigma: 900}\n    - {a: {}, b: {}}\n"
           "    - gblur: 3\n    - \"a b\": {}\n    - gblur: {sigma: [[[1]]]}\n    - [solid]\n",
           "f:6: streams.a.filters[1]: gblur: sigma=900: must be between 0 and 200",
           "f:7: streams.a.filters[2]: each map must contain only one filter, as in '- gblur: "
           "{sigma: 12}'",
           "f:8: streams.a.filters[3].gblur: must be a map of keys, not a single value",
           "f:9: streams.a.filters[4].a b: the name of a filter may contain only letters, digits "
           "and _",
           "f:10: streams.a.filters[5].gblur.sigma: must be a single value, not a list",
           "f:11: streams.a.filters[6]: must be a single value, not a list");
    REFUSE(STREAM "renditions: {b: {filters: x}, c: {}, 'd/e': {filters: solid}, f: solid}\n",
           AT "renditions.b.filters: column 1: unknown filter x (run 'halod filters' for a list)",
           AT "renditions.c.filters: is missing: " PASS,
           AT "renditions.d/e: a name must consist of 1 to 64 letters, digits, _ and -",
           AT "renditions.f: must be a map of keys, not a single value");
}

static void outputs(void **state)
{
    (void)state;
    REFUSE(OUT "{}\n", AT_OUT ": has no destination: set one of unix:, tcp:, file:, hls:, url:, "
                              "v4l2:, pipewire: and null: "
                              "true");
    REFUSE(OUT "{unix: a.ts, file: a.mkv}\n",
           AT_OUT ": 'unix' and 'file' are both set: use a separate output for each destination");
    REFUSE(OUT "{null: false}\n", AT_OUT ".null: must be true");
    REFUSE(OUT "{v4l2: video10}\n", AT_OUT ".v4l2: must be a device such as /dev/video10");
    REFUSE(OUT "{v4l2: /dev/video10, format: yuy2, audio: copy, hook: x, video: {size: 641x360}}\n",
           AT_OUT ".audio: has no effect on outputs of the kind 'v4l2'",
           AT_OUT ".hook: has no effect on outputs of the kind 'v4l2'",
           AT_OUT ".format: must be yuyv, yu12, nv12 or mjpeg",
           AT_OUT ".video: size: 641x360: the width and height of a virtual camera must be even");
    REFUSE(OUT "{v4l2: /dev/video10, video: {size: 640x99998}}\n",
           AT_OUT ".video: size: 640x99998: a virtual camera can have at most 8192x8192 pixels");
    REFUSE(OUT "{v4l2: /dev/video10, video: {size: 640x-1}}\n",
           AT_OUT ".video: size: 640x-1: a virtual camera needs both a width and a height, because "
                  "programs read its size before the first frame");
    REFUSE(OUT "{v4l2: /dev/video10, video: {codec: raw, crf: 3}}\n",
           AT_OUT ".video: 'codec' has no effect on outputs of the kind 'v4l2'",
           AT_OUT ".video: 'crf' has no effect on outputs of the kind 'v4l2'");
    REFUSE(OUT "{v4l2: /dev/video10}\n    - {v4l2: /dev/video10}\n",
           "f:7: streams.a.outputs[1].v4l2: already used by streams.a.outputs[0].v4l2 ("
           "line 6)");
    REFUSE(OUT "{unix: a.mp4}\n", AT_OUT
           ".unix: the file name must end in .ts, .mkv, .nut or .fd, which selects the format");
    REFUSE(OUT "{unix: a.fd, audio: copy}\n", AT_OUT ".audio: a .fd socket has no audio");
    REFUSE(OUT "{unix: a.fd, video: {codec: libx264}}\n",
           AT_OUT ".video: a .fd socket carries unencoded frames: the codec must be raw");
    REFUSE(OUT "{unix: a.ts, video: {codec: raw}}\n",
           AT_OUT ".video: 'codec: raw' is supported only for the socket formats .nut and .fd");
    REFUSE(OUT "{unix: a.ts, video: {codec: copy}}\n",
           AT_OUT ".video.codec: copy would output unfiltered video: use an encoder");
    REFUSE(OUT "{unix: a.ts, video: {codec: libx265}, audio: mp3}\n",
           AT_OUT ".video.codec: no encoder libx265 (nearest: libx264)",
           AT_OUT ".audio: no encoder mp3 (nearest: aac)");
    REFUSE(OUT "{unix: a.ts, video: {size: 1280:720, bitrate: lots, crf: x, gop: 0}}\n",
           AT_OUT ".video.size: 1280:720: must be WIDTHxHEIGHT such as 1280x720, or 640x-1",
           AT_OUT ".video.bitrate: lots: must be bits per second such as 800k or 4M",
           AT_OUT ".video.crf: x: must be a number such as 23",
           AT_OUT ".video.gop: 0: must be between 0.01 and 3600");
    REFUSE(OUT "{unix: a.ts, segment_time: 60, hook: x, format: flv}\n",
           AT_OUT ".format: has no effect on outputs of the kind 'unix'",
           AT_OUT ".segment_time: has no effect on outputs of the kind 'unix'",
           AT_OUT ".hook: has no effect on outputs of the kind 'unix'");
    REFUSE(OUT "{tcp: '9000'}\n",
           AT_OUT ".tcp: must be ADDRESS:PORT, such as 127.0.0.1:9000 or [::1]:9000");
    REFUSE(OUT "{tcp: 'localhost:0', format: mp4}\n",
           AT_OUT ".tcp: must be ADDRESS:PORT, such as 127.0.0.1:9000 or [::1]:9000",
           AT_OUT ".format: must be ts, mkv or nut");
    REFUSE(OUT "{tcp: '192.168.7.2:9000', segment_time: 60}\n",
           AT_OUT ".segment_time: has no effect on outputs of the kind 'tcp'",
           AT_OUT ".tcp: other machines could connect without a password: use 127.0.0.1 or [::1], "
                  "or allow this with 'reach: network'");
    REFUSE(OUT "{tcp: '127.1.2.3:80', format: mkv, video: {codec: raw}}\n",
           AT_OUT ".video: 'codec: raw' is supported only for the socket formats .nut and .fd");
    REFUSE(OUT "{tcp: '[::1]:80'}\n    - {tcp: '[::1]:80'}\n",
           "f:7: streams.a.outputs[1].tcp: already used by streams.a.outputs[0].tcp (line 6)");
    REFUSE(OUT "{unix: a.ts, reach: network}\n",
           AT_OUT ".reach: has no effect on outputs of the kind 'unix'");
    REFUSE(OUT "{null: true, audio: copy}\n",
           AT_OUT ".audio: has no effect on outputs of the kind 'null'");
    REFUSE(OUT "{file: a, keep_size: 20Q}\n",
           AT_OUT ".keep_size: 20Q: must be a number of bytes such as 500M, 20G or 4Gi",
           AT_OUT ".file: the file name must end in a suffix that selects the container, such as "
                  ".mkv or .mp4");
    REFUSE(OUT "{file: a.mkv, keep_size: 20G}\n", AT_OUT ".keep_size: requires segment_time");
    REFUSE(OUT "{file: a.mkv, segment_time: 60}\n",
           AT_OUT ".file: each segment needs its own name, such as door-%Y%m%d-%H%M%S.mkv");
    REFUSE(OUT "{file: a-%D.mkv}\n",
           AT_OUT ".file: % must be followed by one of YymdjHMSsFTzZaAbBuVG (write %% for %)");
    REFUSE(OUT
           "{file: a.mkv, video: {codec: raw}}\n    - {url: 'srt://h:1', video: {codec: raw}}\n",
           AT_OUT ".video: 'codec: raw' is supported only for the socket formats .nut and .fd",
           "f:7: streams.a.outputs[1].video: 'codec: raw' is supported only for the socket formats "
           ".nut and .fd");
    REFUSE(OUT "{url: /tmp/x}\n",
           AT_OUT ".url: must begin with a protocol, as in rtsp://HOST/PATH");
    REFUSE(OUT "{unix: a.ts, rendition: hardd}\n    renditions: {hard: {filters: solid}}\n",
           AT_OUT ".rendition: hardd is not defined in 'renditions' (nearest: hard)");
}

static void playlists(void **state)
{
    (void)state;
    REFUSE(OUT "{hls: door.ts}\n", AT_OUT ".hls: " HLS_NAME);
    REFUSE(OUT "{hls: door}\n", AT_OUT ".hls: " HLS_NAME);
    REFUSE(OUT "{hls: /srv/hls/}\n", AT_OUT ".hls: " HLS_NAME);
    REFUSE(OUT "{hls: /srv/.m3u8}\n", AT_OUT ".hls: " HLS_NAME);
    REFUSE(OUT "{hls: 'a b.m3u8'}\n", AT_OUT ".hls: " HLS_NAME);
    REFUSE(OUT "{hls: 'a-%s.m3u8'}\n", AT_OUT ".hls: " HLS_NAME);
    REFUSE(OUT "{hls: '%s/a.m3u8'}\n", AT_OUT ".hls: must not contain %: a playlist has one name");
    REFUSE(OUT "{hls: a.m3u8, segment_time: 61, keep_size: 1G, hook: x, format: mpegts}\n",
           AT_OUT ".format: has no effect on outputs of the kind 'hls'",
           AT_OUT ".keep_size: has no effect on outputs of the kind 'hls'",
           AT_OUT ".hook: has no effect on outputs of the kind 'hls'",
           AT_OUT ".segment_time: must be at most 60 s for hls");
    REFUSE(OUT "{hls: a.m3u8, video: {gop: 3}}\n",
           AT_OUT ".video: gop: must be at most segment_time (2 s), because each segment begins at "
                  "a keyframe");
    REFUSE(OUT "{hls: a.m3u8, keep: 2}\n", AT_OUT ".keep: 2: must be between 3 and 100");
    REFUSE(OUT "{hls: a.m3u8, video: {codec: raw}}\n",
           AT_OUT ".video: 'codec: raw' is supported only for the socket formats .nut and .fd");
    REFUSE(OUT "{file: a.mkv, keep: 4}\n",
           AT_OUT ".keep: has no effect on outputs of the kind 'file'");
    REFUSE(OUT "{hls: /tmp/a.m3u8}\n    - {hls: /tmp/../tmp/a.m3u8}\n",
           "f:7: streams.a.outputs[1].hls: already used by streams.a.outputs[0].hls (line 6)");
}

static void places(void **state)
{
    (void)state;
    REFUSE("control: {path: /c.ts}\nhttp: {listen: 'unix:/c.ts'}\nstreams:\n"
           "  a: {input: x, filters: solid, outputs: [{unix: /b.ts}, {unix: //./b.ts}]}\n"
           "  b: {input: x, filters: solid, outputs: [{file: /proc/../b.ts}, {unix: c.ts}]}\n"
           "  d: {input: x, filters: solid, outputs: [{url: 'srt://h:1'}, {url: 'srt://h:1'}]}\n",
           "f:2: http.listen: already used by control.path (line 1)",
           "f:4: streams.a.outputs[1].unix: already used by streams.a.outputs[0].unix ("
           "line 4)",
           "f:5: streams.b.outputs[0].file: already used by streams.a.outputs[0].unix ("
           "line 4)",
           "f:6: streams.d.outputs[1].url: already used by streams.d.outputs[0].url (line "
           "6)");
}

static void sockets(void **state)
{
    (void)state;
    char path[106], text[700];
    memset(path, 'x', 105);
    path[105] = '\0';
    snprintf(text, sizeof text,
             "control: {path: /%s.c}\nhttp: {listen: 'unix:/%s.h'}\nstreams:\n"
             "  a: {input: x, filters: solid, outputs: [{unix: %s.ts}, {unix: %.104s.ts}]}\n",
             path, path, path, path);
    REFUSE(text, "f:1: control.path: the path of a socket may have at most 107 bytes",
           "f:2: http.listen: the path of a socket may have at most 107 bytes",
           "f:4: streams.a.outputs[0].unix: the path of a socket may have at most 107 bytes");
}

#define CAMERA    "streams:\n  a:\n    input: /dev/video0\n    filters: solid\n    capture: "
#define AT_CAMERA "f:5: streams.a.capture"

static void cameras(void **state)
{
    (void)state;
    REFUSE(CAMERA "x\n", AT_CAMERA ": must be a map of keys, not a single value");
    REFUSE(CAMERA "{size: 1280}\n",
           AT_CAMERA ".size: 1280: must be a size such as 1280x720, each side at most 9999");
    REFUSE(CAMERA "{size: 10000x720}\n",
           AT_CAMERA ".size: 10000x720: must be a size such as 1280x720, each side at most 9999");
    REFUSE(CAMERA "{fps: 0}\n", AT_CAMERA ".fps: 0: must be between 0.1 and 1000");
    REFUSE(CAMERA "{format: yuv}\n", AT_CAMERA ".format: yuv: must be one of auto, yu12, nv12, "
                                               "yuyv, uyvy, mjpeg, grey (nearest: yuyv)");
    REFUSE(CAMERA "{rotate: 45}\n", AT_CAMERA ".rotate: 45: must be one of 0, 90, 180, 270");
    REFUSE(CAMERA "{mirro: none}\n", AT_CAMERA ".mirro: unknown key (nearest: mirror)");
    REFUSE(CAMERA "{controls: {brightness: much}}\n",
           AT_CAMERA ".controls.brightness: much: must be a whole number");
    REFUSE(CAMERA "{controls: {'a b': 1}}\n",
           AT_CAMERA ".controls.a b: must be the name of a control, such as brightness; run "
                     "'halod devices' to list the names");
    REFUSE(CAMERA "{controls: [1]}\n", AT_CAMERA ".controls: must be a map of keys, not a list");
}

#define FEED    "streams:\n  a:\n    input: x\n    filters: solid\n    region_feed: "
#define AT_FEED "f:5: streams.a.region_feed"

static void region_feeds(void **state)
{
    (void)state;
    REFUSE(FEED "x\n", AT_FEED ": must be a map of keys, not a single value");
    REFUSE(FEED "\n", AT_FEED ": has no value: must be a map of keys");
    REFUSE(FEED "{margin: 150%}\n", AT_FEED ".margin: 150%: must be between 0 and 1");
    REFUSE(FEED "{margin: wide}\n", AT_FEED ".margin: wide: must be a fraction such as 10% or 0.1");
    REFUSE(FEED "{hold: -1}\n", AT_FEED ".hold: -1: must be between 0 and 60");
    REFUSE(FEED "{limit: 0}\n", AT_FEED ".limit: 0: must be between 0.1 and 60");
    REFUSE(FEED "{limt: 1}\n", AT_FEED ".limt: unknown key (nearest: limit)");
}

#define FIND    "streams:\n  a:\n    input: x\n    filters: solid\n    detectors: "
#define AT_FIND "f:5: streams.a.detectors"
#define ONE     "streams: {a: {input: x, filters: solid}, b: {input: x, filters: solid}}\n"

static void detectors(void **state)
{
    (void)state;
    REFUSE(FIND "x\n", AT_FIND ": must be a map of keys, not a single value");
    REFUSE(FIND "{face: {}}\n", AT_FIND ".face: unknown key (nearest: faces)");
    REFUSE(FIND "{faces: {wat: 1}}\n", AT_FIND ".faces.wat: unknown key (nearest: wait)");
    REFUSE(FIND "{faces: {wait: 11}}\n", AT_FIND ".faces.wait: 11: must be between 0 and 10");
    REFUSE(FIND "{people: {enter: 0}}\n", AT_FIND ".people.enter: 0: must be between 1 and 100");
    REFUSE(FIND "{people: {shared: 1}}\n", AT_FIND ".people.shared: 1: must be true or false");
    REFUSE(FIND "{people: {command: ''}}\n", AT_FIND ".people.command: its value is empty");
    REFUSE(FIND "{people: {command: '  '}}\n", AT_FIND ".people: command: must name a program");
    REFUSE(FIND "{people: {low: 0.6}}\n",
           AT_FIND ".people: low is 0.6, but must be at most score, which is 0.5");
    /* once, and not for every stream */
    REFUSE("detectors: {faces: {score: 2}}\n" ONE,
           "f:1: detectors.faces.score: 2: must be between 0 and 1");
    REFUSE("detectors: {faces: {low: 0.9}}\n" ONE,
           "f:1: detectors.faces: low is 0.9, but must be at most score, which is 0.5");
    REFUSE("detectors: {faces: {low: 0.4}}\n"
           "streams: {a: {input: x, filters: solid, detectors: {faces: {score: 0.3}}}}\n",
           "f:2: streams.a.detectors.faces: low is 0.4, but must be at most score, which is 0.3");
}

static void names_and_inputs(void **state)
{
    (void)state;
    REFUSE("streams: {\"a b\": {input: x, filters: solid}}\n",
           "f:1: streams.a b: a name must consist of 1 to 64 letters, digits, _ and -");
    REFUSE("streams: {'': {input: x, filters: solid}}\n",
           "f:1: streams.: a name must consist of 1 to 64 letters, digits, _ and -");
    REFUSE("streams: {a: {input: x.mp4, filters: solid, capture: {size: 1x1}}}\n",
           "f:1: streams.a.capture: has no effect, because the input is not a camera");
    REFUSE("streams: {a: {input: 'v4l2:nme=x', filters: solid}}\n",
           "f:1: streams.a.input: v4l2: has no key nme: use serial=, path=, name= or index= "
           "(nearest: name)");
    REFUSE("streams: {a: {input: 'v4l2:index=1', filters: solid}}\n",
           "f:1: streams.a.input: v4l2: must identify a camera: use serial=, path= or name=");
    REFUSE("streams: {a: {input: '-', filters: solid}}\n",
           "f:1: streams.a.input: a daemon cannot read standard input: use a file or a URL");
}

static void defaults(void **state)
{
    (void)state;
    REFUSE("defaults: {depht: 3, threads: x, filters: gblurr}\n"
           "streams: {a: {input: x}, b: {input: x, threads: y}}\n",
           "f:1: defaults.depht: unknown key (nearest: depth)",
           "f:1: defaults.threads: x: must be a whole number",
           "f:1: defaults.filters: column 1: unknown filter gblurr (nearest: gblur)",
           "f:2: streams.b.threads: y: must be a whole number");
    REFUSE("defaults:\nstreams: {}\n", "f:1: defaults: has no value: must be a map of keys");
}

/* What the environment brings is in no message. */
static void from_outside(void **state)
{
    (void)state;
#define WHY "is invalid (the reason is not shown, because it would reveal the value of ${})"
    assert_int_equal(setenv("HUSH", "hush", 1), 0);
    REFUSE("version: ${HUSH}\nstreams: {}\n",
           "f:1: version: ${HUSH}: this halod supports only version 1");
    REFUSE(STREAM "depth: ${HUSH}\n", AT "depth: ${HUSH}: must be a whole number");
    REFUSE(STREAM "loop: ${HUSH}\n", AT "loop: ${HUSH}: must be true or false");
    REFUSE(OUT "{unix: a.ts, rendition: '${HUSH}'}\n",
           AT_OUT ".rendition: ${HUSH} is not defined in 'renditions'");
    REFUSE(OUT "{unix: a.ts, video: {codec: '${HUSH}'}, audio: '${HUSH}'}\n",
           AT_OUT ".video.codec: ${HUSH}: " WHY, AT_OUT ".audio: ${HUSH}: " WHY);
    REFUSE(CHAIN "solid,${HUSH}\n", FILTERS ": solid,${HUSH}: " WHY);
    REFUSE(CHAIN "\n    - ${HUSH}\n    - gblur: {strategy: '${HUSH}'}\n    - hash\n",
           "f:5: streams.a.filters[0]: ${HUSH}: " WHY, "f:6: streams.a.filters[1]: " WHY,
           "f:7: streams.a.filters[2]: column 1: unknown filter hash (run 'halod filters' for a "
           "list)");
    unsetenv("HUSH");
}

static void not_yaml(void **state)
{
    (void)state;
    REFUSE("streams:\n  a: [x\n",
           "f:3: close the bracket, and put a value that contains , [ ] { or } in quotes (did not "
           "find expected ',' or ']', while parsing a flow sequence from line 2)");
    REFUSE("streams:\n\ta: x\n",
           "f:2: indent with spaces, not with tabs (found character that cannot "
           "start any token, while scanning for the next token from line 2)");
    REFUSE("a: b: c\n", "f:1: put a value that contains ': ' in quotes, and check the indentation "
                        "(mapping values are not allowed in this context)");
    REFUSE("a: %x\n", "f:1: put the value in quotes (found character that cannot start any token, "
                      "while scanning for the next token from line 1)");
    REFUSE("a: \"x\n",
           "f:2: a quote is not closed (found unexpected end of stream, while scanning a "
           "quoted scalar from line 1)");
    REFUSE("a: \"\\w\"\n",
           "f:1: in double quotes, \\ begins an escape sequence: use single quotes (found "
           "unknown escape character, while parsing a quoted scalar from line 1)");
    REFUSE("a: 1\n b: 2\n",
           "f:2: put a value that contains ': ' in quotes, and check the indentation "
           "(mapping values are not allowed in this context)");
    REFUSE("a: *\n", "f:1: put a value that begins with * in quotes (did not find expected "
                     "alphabetic or numeric character, while scanning an alias from line 1)");
    REFUSE("streams: {}\n---\nstreams: {}\n", "f:2: the file contains more than one document");
    REFUSE("a: !!python/object x\nstreams: {}\n",
           "f:1: tags (tag:yaml.org,2002:python/object) are not supported");
    REFUSE("streams: *x\n", "f:1: *x: no anchor above this line has this name");
    REFUSE("streams: &x {a: *x}\n", "f:1: *x: this alias is inside the value to which it refers");
    REFUSE("log: {level: \"a\\0b\"}\nstreams: {}\n",
           "f:1: control characters, including NUL, are not allowed");
    static const char nul[] = "streams:\n  \0a: {}\n";
    refuse_text(
        nul, sizeof nul - 1,
        (const char *const[]){"f:2: the file is not text, because it contains a NUL byte", NULL});
    REFUSE("streams:\n  \xff: {}\n",
           "f:2: the file is not UTF-8 text (invalid leading UTF-8 octet): save it as UTF-8");
    REFUSE("\xfe\xff\n",
           "f:1: the file is not UTF-8 text (invalid leading UTF-8 octet): save it as UTF-8");
}

/* A dead giveaway: what must be refused is refused at once, and in few words. */
static void too_much(void **state)
{
    (void)state;
    enum { LONG = (1 << 20) + 1 };
    static char text[LONG + 100];

    memset(text, '#', LONG);
    refuse_text(text, LONG,
                (const char *const[]){"f: the file is longer than 1048576 bytes", NULL});

    memset(text, '[', 100);
    text[100] = '\0';
    REFUSE(text, "f:1: values are nested more than 16 levels deep");

    /* Ten of ten of ten ... */
    strcpy(text, "a: &a [x,x,x,x,x,x,x,x,x,x]\n");
    for (char c = 'b'; c <= 'i'; c++)
        sprintf(text + strlen(text), "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c,
                c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    REFUSE(text, "f:5: the file has more than 50000 values");

    /* A long text, often. */
    strcpy(text, "a: &a ");
    memset(text + 6, 'x', 500000);
    strcpy(text + 500006, "\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n");
    REFUSE(text, "f:2: all strings together are longer than 8388608 bytes");

    /* A long key, often; and a long text that becomes a short one. */
    static const char fifty[] =
        "*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,"
        "*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,"
        "*a,*a,*a,*a";
    strcpy(text, "a: &a\n  ? ");
    memset(text + 10, 'k', 200000);
    sprintf(text + 200010, "\n  : x\nb: [%s]\n", fifty);
    REFUSE(text, "f:4: all strings together are longer than 8388608 bytes");

    assert_int_equal(setenv("NOTHING", "", 1), 0);
    strcpy(text, "a: &a ");
    for (int i = 0; i < 20000; i++)
        memcpy(text + 6 + i * 10, "${NOTHING}", 10);
    sprintf(text + 200006, "\nb: [%s]\n", fifty);
    REFUSE(text, "f:2: all strings together are longer than 8388608 bytes");

    *text = '\0';
    for (int i = 0, used = 0; i < 2000; i++)
        used += sprintf(text + used, "k%d: 1\n", i);
    REFUSE(text, "f:1025: the map has more than 1024 keys");

    *text = '\0';
    for (int i = 0, used = 0; i < 300; i++)
        used += sprintf(text + used, "- &k%d 1\n", i);
    REFUSE(text, "f:257: the file has more than 256 anchors");
}

static void too_many(void **state)
{
    (void)state;
    char *text = malloc(200000);
    struct halo_daemon_settings *s = NULL;
    struct halo_error_list *errors = NULL;
    assert_non_null(text);
    int used = sprintf(text, "streams:\n");
    for (int i = 0; i < 257; i++)
        used += sprintf(text + used, "  a%d: {input: x, filters: solid}\n", i);
    REFUSE(text, "f:2: streams: 257 streams are defined, but at most 256 are allowed");

    used = sprintf(text, STREAM "outputs:\n");
    for (int i = 0; i < 40; i++)
        used += sprintf(text + used, "    - unix: %d.ts\n", i);
    REFUSE(text, "f:38: streams.a.outputs[32]: too many outputs: at most 32 are allowed");

    used = sprintf(text, STREAM "renditions:\n");
    for (int i = 0; i < 9; i++)
        used += sprintf(text + used, "      r%d: {filters: solid}\n", i);
    REFUSE(text, "f:13: streams.a.renditions.r7: too many renditions: at most 7 are allowed in "
                 "addition to the stream's own chain");

    used = 0;
    for (int i = 0; i < 300; i++)
        used += sprintf(text + used, "k%d: 1\n", i);
    assert_int_equal(halo_daemon_load_text(&s, text, (size_t)used, "f", NULL, &errors), -EINVAL);
    assert_int_equal(halo_error_list_count(errors), 201);
    assert_string_equal(halo_error_list_text(errors, 200), "and 101 more");
    halo_error_list_destroy(errors);
    free(text);
}

/* One rule for all of HTTP, with or without the page. */
static void http(void **state)
{
    (void)state;
#define CLEAR                                                                                      \
    "f:1: http.listen: other machines could see all streams, and passwords would cross the "       \
    "network unencrypted: listen on 127.0.0.1, set certificate and key, or name the proxy that "   \
    "adds TLS (proxy); for /metrics and /healthz alone, set 'metrics: network'"
#define NO_PROXY                                                                                   \
    ": must be the IP address from which the proxy connects to halod, such as 192.0.2.7"
    static const char *const open[] = {"0.0.0.0:80", "'[::]:80'", "192.0.2.1:80", "'[fe80::1]:80'"};
    static const char *const proxies[] = {
        "0.0.0.0", "'::'", "0.0.0.1", "224.0.0.1", "255.255.255.255",
        "ff02::1", "1",    "...",     "256.0.0.1", "::ffff:0.0.0.0"};
    char text[200], line[300];
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        snprintf(text, sizeof text, "http: {listen: %s}\nstreams: {}\n", open[i]);
        REFUSE(text, CLEAR);
        snprintf(text, sizeof text, "http: {listen: %s, page: true}\nstreams: {}\n", open[i]);
        REFUSE(text, CLEAR);
    }
    for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++) {
        const char *word = proxies[i];
        snprintf(text, sizeof text,
                 "http: {listen: 0.0.0.0:80, proxy: ['192.0.2.1', %s%s%s]}\n"
                 "streams: {}\n",
                 *word == '\'' ? "" : "'", word, *word == '\'' ? "" : "'");
        snprintf(line, sizeof line, "f:1: http.proxy: %.*s" NO_PROXY,
                 (int)strcspn(word + (*word == '\''), "'"), word + (*word == '\''));
        REFUSE(text, line);
    }
    REFUSE("http: {listen: 'cam.example:80'}\nstreams: {}\n",
           "f:1: http.listen: must begin with an IP address of this machine or with localhost, as "
           "in 127.0.0.1:8480 (other names are not looked up)");
    REFUSE("http: {metrics: all}\nstreams: {}\n", "f:1: http.metrics: all: must be network");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test(types),
        cmocka_unit_test(chains),
        cmocka_unit_test(outputs),
        cmocka_unit_test(playlists),
        cmocka_unit_test(places),
        cmocka_unit_test(names_and_inputs),
        cmocka_unit_test(cameras),
        cmocka_unit_test(defaults),
        cmocka_unit_test(from_outside),
        cmocka_unit_test(sockets),
        cmocka_unit_test(not_yaml),
        cmocka_unit_test(too_much),
        cmocka_unit_test(too_many),
        cmocka_unit_test(region_feeds),
        cmocka_unit_test(detectors),
        cmocka_unit_test(http),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
