/* SPDX-License-Identifier: BSD-2-Clause
 * Which kind of source a name means, and what its row says. */
#include "config/source_kinds.h"
#include "pipeline/stream/source_ops.h"
#include "tests/cmocka_all.h"

static void names_have_kinds(void **state)
{
    static const struct {
        const char *input;
        enum halo_source_kind kind;
    } names[] = {
        {"/dev/video0", HALO_SOURCE_CAMERA},
        {"/dev/v4l/by-id/x", HALO_SOURCE_CAMERA},
        {"v4l2:name=x", HALO_SOURCE_CAMERA},
        {"test:", HALO_SOURCE_TEST},
        {"test:size=64x48", HALO_SOURCE_TEST},
        {"test", HALO_SOURCE_FILE},
        {"-", HALO_SOURCE_STDIN},
        {"pipe:0", HALO_SOURCE_STDIN},
        {"fd:", HALO_SOURCE_STDIN},
        {"-x.mp4", HALO_SOURCE_FILE},
        {"http://a/x", HALO_SOURCE_HTTP},
        {"https://a/x", HALO_SOURCE_HTTP},
        {"https.mp4", HALO_SOURCE_FILE},
        {"rtsp://a/x", HALO_SOURCE_URL},
        {"unix:/x", HALO_SOURCE_URL},
        {"file:/x", HALO_SOURCE_FILE},
        {"file:///x", HALO_SOURCE_FILE},
        {"a:b.mp4", HALO_SOURCE_FILE},
        {"/dev/fd/3", HALO_SOURCE_FILE},
        {"", HALO_SOURCE_FILE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (halo_source_row(names[i].input)->kind != names[i].kind)
            fail_msg("%s is of kind %d", names[i].input, halo_source_row(names[i].input)->kind);
}

static void rows_agree_with_themselves(void **state)
{
    static const char *const inputs[HALO_SOURCE_KINDS] = {"/dev/video0", "pipewire:a", "test:", "-",
                                                          "http://a",    "udp://@a",   "x"};
    (void)state;
    for (int kind = 0; kind < HALO_SOURCE_KINDS; kind++) {
        const struct halo_source_row *row = halo_source_row(inputs[kind]);
        assert_int_equal(row->kind, kind);
        assert_true(row->place != HALO_FROM_NETWORK || (row->live && row->fails));
        assert_true(!row->captures || (row->live && row->pace == HALO_PACE_NEVER));
        assert_true((row->refused != NULL) == (halo_source_ops[kind] == NULL));
        assert_true(!row->refused || (!row->live && !row->captures));
    }
}

static void paths_are_of_files_and_devices(void **state)
{
    (void)state;
    assert_string_equal(halo_source_path("/x.mp4"), "/x.mp4");
    assert_string_equal(halo_source_path("file:x.mp4"), "x.mp4");
    assert_string_equal(halo_source_path("/dev/video0"), "/dev/video0");
    assert_null(halo_source_path("v4l2:name=x"));
    assert_null(halo_source_path("test:"));
    assert_null(halo_source_path("unix:/x"));
    assert_null(halo_source_path("-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_kinds),
        cmocka_unit_test(rows_agree_with_themselves),
        cmocka_unit_test(paths_are_of_files_and_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
