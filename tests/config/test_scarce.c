/* SPDX-License-Identifier: BSD-2-Clause
 * The daemon's settings where memory is short: each allocation of ours fails in turn. Nothing is
 * half done, and nothing leaks (which a sanitizer sees). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error_list.h"
#include "config/daemon.h"
#include "tests/cmocka_all.h"

static long fails_at = -1, calls; /* -1: none fails */

static bool is_failing(void)
{
    return calls++ == fails_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return is_failing() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_failing() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_failing() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return is_failing() ? NULL : __real_strdup(text);
}

/* Bigger than any number of allocations here. */
enum { ENOUGH = 20000 };

static int load(const char *text, struct halo_daemon_settings **s, long fail)
{
    struct halo_error_list *errors = NULL;
    calls = 0;
    fails_at = fail;
    const int code = halo_daemon_load_text(s, text, strlen(text), "f", NULL, &errors);
    fails_at = -1;
    assert_true((code == -EINVAL) == (errors != NULL));
    halo_error_list_destroy(errors);
    return code;
}

static const char right[] =
    "http: {listen: 'unix:/a'}\n"
    "defaults: {filters: [{gblur: {sigma: [1, 2]}}, solid], depth: 3}\n"
    "streams:\n"
    "  a: {input: '${PATH}', renditions: {r: {filters: \"it's\"}},\n"
    "      outputs: [&o {unix: a.ts, rendition: r, video: {gop: 1}}, {null: true}]}\n"
    "  b: {input: x, outputs: [{url: 'x:y'}, {file: '%s.mkv', segment_time: 3, hook: x}]}\n";

static void loading(void **state)
{
    (void)state;
    long fail = 0;
    int code;
    do {
        struct halo_daemon_settings *s = NULL;
        code = load(right, &s, fail);
        assert_true(code == -ENOMEM ? !s : code == 0 && s);
        halo_daemon_settings_destroy(s);
    } while (code && ++fail < ENOUGH);
    assert_true(fail > 100 && fail < ENOUGH);
}

static void refusing(void **state)
{
    (void)state;
    static const char wrong[] =
        "strms: 1\nhttp: {listen: x}\n"
        "streams: {a: {a: 1, a: 2, filters: [1, {x: {y z: 1}}]}, 'b c': 3,\n"
        "  d: {outputs: [{unix: a.ts}, {unix: a.ts}], loop: '${HALO_NO}'}}\n";
    long fail = 0;
    int code;
    do {
        struct halo_daemon_settings *s = NULL;
        code = load(wrong, &s, fail);
        assert_null(s);
        assert_true(code == -ENOMEM || code == -EINVAL);
    } while (code == -ENOMEM && ++fail < ENOUGH);
    assert_true(fail > 50 && fail < ENOUGH);
}

static void reading_back(void **state)
{
    (void)state;
    struct halo_daemon_settings *s = NULL;
    assert_int_equal(load(right, &s, -1), 0);
    char *text = halo_stream_settings_write(&s->stream[0]);
    assert_non_null(text);
    long fail = 0;
    int code;
    do {
        struct halo_stream_settings copy;
        struct halo_error err = {0};
        calls = 0;
        fails_at = fail;
        code = halo_stream_settings_read(&copy, text, &err);
        fails_at = -1;
        assert_true(code == 0 || (code == -ENOMEM && err.text[0]));
        if (!code)
            halo_stream_settings_finish(&copy);
    } while (code && ++fail < ENOUGH);
    assert_true(fail > 20 && fail < ENOUGH);
    free(text);
    halo_daemon_settings_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading),
        cmocka_unit_test(refusing),
        cmocka_unit_test(reading_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
