/* SPDX-License-Identifier: BSD-2-Clause
 * Live playlists: what is written is read again, and nothing else is. */
#include "pipeline/output/hls_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka_all.h"

static struct halo_hls_list list;

static void add(int64_t init, int64_t length, bool discontinuity)
{
    const struct halo_hls_segment segment = {list.next, init, length, discontinuity};
    halo_hls_list_add(&list, &segment);
}

static void begin(int keep, int64_t next)
{
    list = (struct halo_hls_list){.keep = keep, .target = 2, .next = next};
}

static void assert_text(const char *wanted)
{
    char *text = halo_hls_list_write(&list, "door");
    assert_non_null(text);
    assert_string_equal(text, wanted);
    free(text);
}

#define HEAD "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:"

static void test_text(void **state)
{
    (void)state;
    begin(3, 7);
    assert_text(HEAD "2\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"
                     "#EXT-X-INDEPENDENT-SEGMENTS\n");
    add(7, 2000000, false);
    add(7, 1960000, false);
    add(9, 40, true);
    assert_text(HEAD "2\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"
                     "#EXT-X-INDEPENDENT-SEGMENTS\n"
                     "#EXT-X-MAP:URI=\"door-init-7.mp4\"\n#EXTINF:2.000000,\ndoor-7.m4s\n"
                     "#EXTINF:1.960000,\ndoor-8.m4s\n"
                     "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"door-init-9.mp4\"\n"
                     "#EXTINF:0.000040,\ndoor-9.m4s\n");
}

/* A discontinuity is counted once its tag has left the playlist; the longest segment is announced
 * rounded. */
static void test_sliding(void **state)
{
    (void)state;
    begin(3, 0);
    add(0, 2000000, false);
    add(1, 2499999, true);
    add(1, 3600000, false);
    add(1, 2000000, false);
    assert_int_equal(list.discontinuities, 0);
    add(1, 2000000, false);
    assert_int_equal(list.discontinuities, 1);
    assert_text(HEAD "4\n#EXT-X-MEDIA-SEQUENCE:2\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n"
                     "#EXT-X-INDEPENDENT-SEGMENTS\n"
                     "#EXT-X-MAP:URI=\"door-init-1.mp4\"\n#EXTINF:3.600000,\ndoor-2.m4s\n"
                     "#EXTINF:2.000000,\ndoor-3.m4s\n#EXTINF:2.000000,\ndoor-4.m4s\n");
}

static void test_read_again(void **state)
{
    (void)state;
    begin(HALO_MAX_KEEP, 1795741809);
    for (int i = 0; i < 150; i++)
        add(1795741809 + i / 50 * 50, 1000000 + i, i && i % 50 == 0);
    char *text = halo_hls_list_write(&list, "door");
    struct halo_hls_list again = {.keep = HALO_MAX_KEEP, .target = 2};
    assert_non_null(text);
    assert_int_equal(halo_hls_list_read(&again, "door", text), 0);
    assert_int_equal(again.count, HALO_MAX_KEEP);
    assert_int_equal(again.next, list.next);
    assert_int_equal(again.discontinuities, list.discontinuities);
    for (int i = 0; i < again.count; i++) {
        const struct halo_hls_segment *a = &again.segment[i], *b = &list.segment[i];
        assert_int_equal(a->number, b->number);
        assert_int_equal(a->init, b->init);
        assert_int_equal(a->length, b->length);
        assert_int_equal(a->discontinuity, b->discontinuity);
    }
    again.keep = 3; /* the newest, where fewer are wanted now */
    assert_int_equal(halo_hls_list_read(&again, "door", text), 0);
    assert_int_equal(again.count, 3);
    assert_int_equal(again.segment[2].number, list.segment[99].number);
    assert_int_equal(halo_hls_list_read(&again, "other", text), -EINVAL);
    free(text);
    begin(3, 12);
    text = halo_hls_list_write(&list, "door");
    assert_int_equal(halo_hls_list_read(&again, "door", text), 0);
    assert_int_equal(again.next, 12);
    free(text);
}

#define START "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:7\n"
#define MAP   "#EXT-X-MAP:URI=\"door-init-7.mp4\"\n"

static void test_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "#EXTM3U",
        "#EXTM3U\n",
        "#EXTM3U\nsong.mp3\n",
        START "song.mp3\n",
        "#EXT-X-MEDIA-SEQUENCE:7\n" MAP "#EXTINF:2,\ndoor-7.m4s\n",
        START "#EXTINF:2,\ndoor-7.m4s\n",
        START MAP "door-7.m4s\n",
        START MAP "#EXTINF:2,\ndoor-8.m4s\n",
        START MAP "#EXTINF:2,\ndoor-7.m4s\n#EXTINF:2,\ndoor-9.m4s\n",
        START MAP "#EXTINF:2,\ndoor-7.m4s\ndoor-8.m4s\n",
        START MAP "#EXTINF:2,\n../door-7.m4s\n",
        START MAP "#EXTINF:2,\ndoor-init-7.mp4\n",
        START MAP "#EXTINF:2,\ndoor-07.m4s\n",
        START MAP "#EXTINF:nan,\ndoor-7.m4s\n",
        START MAP "#EXTINF:-1,\ndoor-7.m4s\n",
        START MAP "#EXTINF:1e300,\ndoor-7.m4s\n",
        START "#EXT-X-MAP:URI=\"/etc/passwd\"\n",
        START "#EXT-X-MAP:URI=\"door-init-7.mp4\n",
        "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:-7\n",
        "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:9999999999999999999\n",
        START "#EXT-X-DISCONTINUITY-SEQUENCE:-1\n",
    };
    begin(3, 5);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (halo_hls_list_read(&list, "door", texts[i]) != -EINVAL)
            fail_msg("read: %s", texts[i]);
    assert_int_equal(list.next, 5);
    assert_int_equal(list.count, 0);
    assert_int_equal(
        halo_hls_list_read(&list, "door", START MAP "#EXTINF:2,\ndoor-7.m4s\n# comment\n"), 0);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const others[] = {"door-.m4s",
                                         "door-1.mp4",
                                         "door-1.m4s.tmp",
                                         "door--1.m4s",
                                         "door-01.m4s",
                                         "door-1-2.m4s",
                                         "door-x.m4s",
                                         "door-init-.mp4",
                                         "door.m3u8",
                                         "door-init-1.m4s",
                                         "other-1.m4s",
                                         "door- 1.m4s",
                                         "doors-1.m4s",
                                         "door-+1.m4s",
                                         "",
                                         "door-init-1-2.mp4",
                                         "door-99999999999999999999.m4s"};
    char name[64];
    enum halo_hls_kind kind;
    int64_t number;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (halo_hls_is_name(others[i], "door", &kind, &number))
            fail_msg("taken for one: %s", others[i]);
    for (int wanted = HALO_HLS_SEGMENT; wanted <= HALO_HLS_INIT; wanted++) {
        halo_hls_name(name, sizeof name, "door", (enum halo_hls_kind)wanted, 1795741809);
        assert_true(halo_hls_is_name(name, "door", &kind, &number));
        assert_int_equal(kind, wanted);
        assert_int_equal(number, 1795741809);
    }
    /* two playlists in a folder, whose names begin alike */
    assert_false(halo_hls_is_name("door-1-5.m4s", "door", &kind, &number));
    assert_false(halo_hls_is_name("door-init-5.m4s", "door", &kind, &number));
    assert_true(halo_hls_is_name("door-1-5.m4s", "door-1", &kind, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),       cmocka_unit_test(test_sliding),
        cmocka_unit_test(test_read_again), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("live playlists", tests, NULL, NULL);
}
