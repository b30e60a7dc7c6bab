/* SPDX-License-Identifier: BSD-2-Clause
 * The command line of `halod run`. */
#include <errno.h>
#include <string.h>

#include "config/base/log.h"
#include "config/run.h"
#include "tests/cmocka_all.h"

enum { MAX_WORDS = 32 };

/* Cuts line at blanks and parses the words; "''" is an empty word. */
static int parse(struct halo_run_settings *s, const char *line, struct halo_error *err)
{
    char copy[512], *words[MAX_WORDS], *save = NULL;
    int count = 0;
    assert_true(strlen(line) < sizeof copy);
    strcpy(copy, line);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        assert_true(count < MAX_WORDS);
        words[count++] = strcmp(w, "''") ? w : w + 2;
    }
    *err = (struct halo_error){0};
    return halo_run_parse(s, count, words, err);
}

static void the_usual(void **state)
{
    (void)state;
    struct halo_run_settings s;
    struct halo_error err;
    assert_int_equal(parse(&s,
                           "-i in.mp4 -vf gblur=3 -c:v libx264 -crf 20 -b 4M -preset fast "
                           "-c:a copy -ss 1:30 -t 200ms -y -v debug -threads 4 out.mp4",
                           &err),
                     0);
    assert_string_equal(s.source.input, "in.mp4");
    assert_string_equal(s.output, "out.mp4");
    assert_string_equal(s.filters, "gblur=3");
    assert_string_equal(s.video_codec, "libx264");
    assert_string_equal(s.audio_codec, "copy");
    assert_string_equal(s.crf, "20");
    assert_string_equal(s.bitrate, "4M");
    assert_string_equal(s.preset, "fast");
    assert_true(s.part.seek == 90 && s.part.duration == 0.2);
    assert_true(s.overwrite && !s.never_overwrite && !s.source.no_audio && !s.copy_unfiltered);
    assert_int_equal(s.log_level, HALO_LOG_DEBUG);
    assert_int_equal(s.device.threads, 4);
    assert_null(s.source.format);
    halo_run_finish(&s);
}

static void defaults(void **state)
{
    (void)state;
    struct halo_run_settings s;
    struct halo_error err;
    assert_int_equal(parse(&s, "-i a -vf null b", &err), 0);
    assert_true(s.part.seek == -1 && s.part.duration == -1);
    assert_int_equal(s.log_level, HALO_LOG_INFO);
    assert_int_equal(s.device.threads, 0);
    assert_null(s.progress);
    halo_run_finish(&s);
}

static void detectors(void **state)
{
    (void)state;
    struct halo_run_settings s;
    struct halo_error err;
    assert_int_equal(parse(&s,
                           "-i a -vf null -faces wait=200ms:command=/x\\:y\\\\z:enter=2 "
                           "-people margin=20% b",
                           &err),
                     0);
    assert_true(s.detector[HALO_FIND_FACES].wait == 0.2);
    assert_int_equal(s.detector[HALO_FIND_FACES].enter, 2);
    assert_string_equal(s.detector[HALO_FIND_FACES].command, "/x:y\\z");
    assert_true(s.detector[HALO_FIND_PEOPLE].margin == 0.2);
    assert_true(s.detector[HALO_FIND_PEOPLE].wait == 0.1);
    halo_run_finish(&s);
    assert_int_equal(parse(&s, "-i a -vf null b", &err), 0);
    assert_null(s.detector[HALO_FIND_FACES].command);
    assert_true(s.detector[HALO_FIND_FACES].margin == 0.25);
    halo_run_finish(&s);
}

static void order_and_sides(void **state)
{
    (void)state;
    struct halo_run_settings s;
    struct halo_error err;
    assert_int_equal(parse(&s, "-f lavfi -i testsrc -f nut -vf null -", &err), 0);
    assert_string_equal(s.source.format, "lavfi");
    assert_string_equal(s.output_format, "nut");
    assert_string_equal(s.output, "-");
    halo_run_finish(&s);
    assert_int_equal(parse(&s, "out -vf null -i - -f nut", &err), 0);
    assert_string_equal(s.source.input, "-");
    assert_string_equal(s.output, "out");
    assert_string_equal(s.output_format, "nut");
    halo_run_finish(&s);
    assert_int_equal(parse(&s, "-i -in -vf null -map_metadata -1 -- -out", &err), 0);
    assert_string_equal(s.source.input, "-in");
    assert_string_equal(s.output, "-out");
    assert_string_equal(s.map_metadata, "-1");
    halo_run_finish(&s);
    assert_int_equal(parse(&s, "-filter:v null -s 1x1 -r 25 -vcodec a -acodec b -i x -an o", &err),
                     0);
    assert_string_equal(s.source.video_size, "1x1");
    assert_string_equal(s.source.framerate, "25");
    assert_string_equal(s.video_codec, "a");
    assert_string_equal(s.audio_codec, "b");
    assert_true(s.source.no_audio);
    halo_run_finish(&s);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"-i a b", "missing -vf: specify the filters (or -vf null to pass frames unfiltered)"},
        {"-vf null b", "missing -i IN: specify what to read"},
        {"-i a -vf null", "missing OUT: specify where to write as the last argument"},
        {"-i a -vf null -crff 3 b", "unknown option -crff (nearest: -crf)"},
        {"-i a -vf null --preset x b", "unknown option --preset (nearest: -preset)"},
        {"-i a -vf null -map 0 b", "unknown option -map (halod run --help lists them)"},
        {"-i a -vf null -pass 1 b", "unknown option -pass (halod run --help lists them)"},
        {"-i a -vf null -sn b", "unknown option -sn (halod run --help lists them)"},
        {"-i a -vf null -b:a 5 b", "unknown option -b:a (halod run --help lists them)"},
        {"-i a -vf null -vframes 5 b", "unknown option -vframes (halod run --help lists them)"},
        {"-i a -vf null -qwertz b", "unknown option -qwertz (halod run --help lists them)"},
        {"-i a -vf null -faces wait b", "-faces: wait: missing value"},
        {"-i a -vf null -faces wait= b", "-faces: wait: missing value"},
        {"-i a -vf null -faces wiat=1 b", "-faces: unknown key wiat (nearest: wait)"},
        {"-i a -vf null -faces wait=20 b", "-faces: wait=20: must be between 0 and 10"},
        {"-i a -vf null -people hold=1: b", "-people: unknown key "},
        {"-i a -vf null -people score=0.1 b",
         "-people: low is 0.25, but must be at most score, which is 0.1"},
        {"-i a -vf null b c", "more than one OUT: b and c"},
        {"-i a -i c -vf null b", "more than one -i: a and c"},
        {"-vf gblur -i a -filter:v null b",
         "more than one -vf: gblur and null (separate filters with commas)"},
        {"-i '' -vf null b", "-i: its value is empty"},
        {"-i a -vf null -preset '' b", "-preset: its value is empty"},
        {"-i a -vf null -vcodec '' b", "-c:v: its value is empty"},
        {"-i a -vf null -c:a '' b", "-c:a: its value is empty"},
        {"-i a -vf null -f '' b", "-f: its value is empty"},
        {"-f '' -i a -vf null b", "-f: its value is empty"},
        {"-i a -vf null ''", "OUT is empty"},
        {"-i a -vf null b -crf", "-crf: missing value"},
        {"-i a -vf null b -f", "-f: missing value"},
        {"-i a -vf null -y -n b", "-y and -n contradict each other: use one of them"},
        {"-i a -vf null -map_metadata 0 b",
         "-map_metadata 0: only -1 is supported (drop metadata)"},
        {"-i a -vf null -", "OUT is -, so its format must be given after -i, as in -f nut"},
        {"-f nut -i a -vf null -", "OUT is -, so its format must be given after -i, as in -f nut"},
        {"-i a -vf null -f nut -progress - -", "-progress and OUT are both -, and would mix on "
                                               "standard output: use a file for -progress"},
        {"-f nut b -i a -vf null", "-f is ambiguous, because OUT comes before -i: write -f FORMAT "
                                   "-i IN ... -f FORMAT OUT"},
        {"b -f nut -i a -vf null", "-f is ambiguous, because OUT comes before -i: write -f FORMAT "
                                   "-i IN ... -f FORMAT OUT"},
        {"-i a -vf null -ss -1 b", "-ss -1: must be at least 0"},
        {"-i a -vf null -t 1:x b", "-t 1:x: must be a time such as 90, 1:30, 01:30:00.5 or 200ms"},
        {"-i a -vf null -v info2 b",
         "-v info2: must be one of quiet, error, warning, info, debug (nearest: info)"},
        {"-i a -vf null -threads 5000 b", "-threads 5000: must be between 0 and 1024"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct halo_run_settings s = {.device.threads = -77};
        struct halo_error err;
        assert_int_equal(parse(&s, bad[i].line, &err), -EINVAL);
        assert_string_equal(err.text, bad[i].says);
        assert_true(err.usage);
        assert_int_equal(s.device.threads, -77);
    }
}

static void no_words(void **state)
{
    (void)state;
    struct halo_run_settings s;
    struct halo_error err = {0};
    assert_int_equal(halo_run_parse(&s, 0, NULL, &err), -EINVAL);
    assert_string_equal(err.text, "missing -i IN: specify what to read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual),       cmocka_unit_test(defaults), cmocka_unit_test(detectors),
        cmocka_unit_test(order_and_sides), cmocka_unit_test(refused),  cmocka_unit_test(no_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
