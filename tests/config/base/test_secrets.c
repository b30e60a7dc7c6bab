/* SPDX-License-Identifier: BSD-2-Clause
 * Secrets in and out: what URLs may show, and what ${NAME} brings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/error_list.h"
#include "config/base/secrets.h"
#include "config/daemon.h"
#include "config/expand.h"
#include "tests/cmocka_all.h"

static void hiding(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"/srv/a:b@c.mkv", "/srv/a:b@c.mkv"},
        {"v4l2:name=Desk Camera", "v4l2:name=Desk Camera"},
        {"rtsp://door", "rtsp://door"},
        {"rtsp://door/live", "rtsp://door/***"},
        {"rtsp://me@door/live", "rtsp://door/***"},
        {"rtsp://me:hush@door:554/live", "rtsp://door/***"},
        {"rtsp://:hush@door", "rtsp://door/***"},
        {"rtsp://me:hu:sh@door", "rtsp://door/***"},
        {"rtsp://me:hu@sh@door/x", "rtsp://door/***"},
        {"rtsp://[2001:db8::1]:554/hush", "rtsp://[2001:db8::1]/***"},
        {"udp://@239.0.0.1:1234", "udp://239.0.0.1/***"},
        /* not escaped */
        {"rtsp://me:hu/sh@door/x", "rtsp://***"},
        {"rtsp://me:12/sh@door/x", "rtsp://***"},
        {"rtsp://me:hu?sh@door/x", "rtsp://***"},
        {"rtsp://me:hu#sh@door/x", "rtsp://***"},
        {"rtsp://me:hu@s/h@door/x", "rtsp://***"},
        {"http://door/?mail=a@b&x=1", "http://***"},
        {"rtsp://[hush]/", "rtsp://***"},
        {"rtsp://hu sh/", "rtsp://***"},
        {"rtsp://h;password=hush", "rtsp://***"},
        {"rtsp://me:hu sh|hush@door/x", "rtsp://door/***"},
        /* under any name */
        {"rtsp://h/user=admin&password=hush&channel=1", "rtsp://h/***"},
        {"http://h/v.cgi?loginuse=a&loginpas=hush", "http://h/***"},
        {"http://h/a?%70assword=hush", "http://h/***"},
        {"rtsp://h/hush", "rtsp://h/***"},
        {"rtsp://h#hush", "rtsp://h/***"},
        {"srt://h:1?passphrase=hu sh#hush;|hush&mode=x", "srt://h/***"},
        {"srt://:1?passphrase=hush", "srt://***"},
        {"RTMP://h/live/hush", "RTMP://h/***"},
        /* within others */
        {"concat:http://a:b@c/|http://d:e@f/", "concat:http://***"},
        {"concat:http://c/hush|http://f/hush", "concat:http://c/***"},
        {"subfile,,start,0,end,hush,,:http://h/hush", "http://h/***"},
        {"://", "://***"},
        {"a://:@", "a://***"},
        {"rtsp://***", "rtsp://***"},
        {"rtsp://h/***", "rtsp://h/***"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *shown = halo_hide_secrets(cases[i][0]);
        assert_string_equal(shown, cases[i][1]);
        free(shown);
    }
}

/* Of what libraries say. */
static void hiding_in_words(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"nothing / here", "nothing / here"},
        {"rtsp://me:hush@door/1?x=hush: away", "rtsp://door/***: away"},
        {"Opening 'http://h/hu sh?hush' for reading", "Opening 'http://h/***' for reading"},
        {"(rtsp://door/hush), http://h/hush.", "(rtsp://door/***), http://h/***."},
        {"rtsp://me:hush@door and http://you:hush@x: no", "rtsp://door/*** and http://x/***: no"},
        {"to rtsp://me:hu sh|hush@door/x failed", "to rtsp://door/*** failed"},
        {"tcp://10.0.0.1:554?timeout=0 failed", "tcp://10.0.0.1/*** failed"},
        {"url=rtsp://door", "url=rtsp://door"},
        {"cut rtsp://me:hu", "cut rtsp://me/***"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s", cases[i][0]);
        halo_hide_in_words(text, sizeof text);
        assert_string_equal(text, cases[i][1]);
    }
}

/* For those who may only view. */
static void hiding_paths(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"no frame for 3 s", "no frame for 3 s"},
        {"/srv/hush/x.mkv: no such file", "***: no such file"},
        {"cannot open '/srv/hush' (hush/x.png)", "cannot open '***' (***)"},
        {"at 30000/1001 fps, 1/2.", "at 30000/1001 fps, 1/2."},
        {"/dev/video0: busy", "/dev/video0: busy"},
        {"/dev/video0/hush and /dev/videohush", "*** and ***"},
        {"rtsp://door/***: away", "rtsp://door/***: away"},
        {"rtsp://door and rtsp://***", "rtsp://door and rtsp://***"},
        {"rtsp://door/abc", "***"},
        {"unix:/run/hush ~/hush ../hush", "*** *** ***"},
        {"/a  /b", "**  **"},
        {"/srv/my hush/a hush.mp4: no such file", "***: no such file"},
        {"from '/srv/my hush.mp4', 3 s", "from '***', 3 s"},
        {"failed: Input/output error", "failed: Input/output error"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[100];
        snprintf(text, sizeof text, "%s", cases[i][0]);
        halo_hide_paths(text);
        assert_string_equal(text, cases[i][1]);
    }
}

static char folder[] = "/tmp/halod-secrets-XXXXXX";

static void put(const char *name, const char *text, size_t length)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(text, 1, length, to), length);
    fclose(to);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? setenv("CREDENTIALS_DIRECTORY", folder, 1) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"BOTH", "door.password", "LINES", "NUL", "BINARY", "EMPTY"};
    char path[200];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    unsetenv("CREDENTIALS_DIRECTORY");
    return rmdir(folder);
}

static void expanding(void **state)
{
    (void)state;
    put("BOTH", "credential\n", 11);
    put("door.password", "pa${BOTH}ss", 11);
    put("EMPTY", "", 0);
    setenv("BOTH", "variable", 1);
    setenv("HALO_ONE", "a: [b], {c} # d", 1);
    static const char *const cases[][2] = {
        {"", ""},
        {"$", "$"},
        {"a$b$$c{}", "a$b$$c{}"},
        {"${BOTH}", "credential"},
        {"<${BOTH}${HALO_ONE}>", "<credentiala: [b], {c} # d>"},
        {"x${door.password}y", "xpa${BOTH}ssy"},
        {"$${BOTH}", "${BOTH}"},
        {"$$${BOTH}", "$${BOTH}"},
        {"${EMPTY}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = NULL;
        struct halo_error err = {0};
        assert_int_equal(halo_expand(&text, cases[i][0], &err), 0);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

static void not_expanding(void **state)
{
    (void)state;
    put("LINES", "hush\nhush\n", 10);
    put("NUL", "hush\0", 5);
    put("BINARY", "hush\xff", 5);
    unsetenv("HALO_NONE");
    static const char *const texts[] = {
        "${",   "${}",     "${A",          "${A B}",   "${../x}", "${/etc/passwd}", "${..}",
        "${9}", "${A:-b}", "${HALO_NONE}", "${LINES}", "${NUL}",  "${BINARY}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *text = NULL;
        struct halo_error err = {0};
        assert_int_equal(halo_expand(&text, texts[i], &err), -EINVAL);
        assert_null(text);
        assert_true(!strncmp(err.text, "${", 2) && !strstr(err.text, "hush"));
    }
}

/* A value stays one: it is no list, no key, no null, no further variable. */
static void no_structure(void **state)
{
    (void)state;
    setenv("HALO_ONE", "x, loop: true}, b: {input: y", 1);
    setenv("HALO_TWO", "null", 1);
    static const char text[] = "streams: {a: {input: \"${HALO_ONE}\", filters: \"${HALO_TWO}\"}}";
    struct halo_daemon_settings *s = NULL;
    struct halo_error_list *errors = NULL;
    assert_int_equal(halo_daemon_load_text(&s, text, strlen(text), "f", NULL, &errors), 0);
    assert_int_equal(s->streams, 1);
    assert_false(s->stream[0].loop);
    assert_string_equal(s->stream[0].source.input, "x, loop: true}, b: {input: y");
    assert_string_equal(s->stream[0].filters, "null");
    halo_daemon_settings_destroy(s);
}

/* What ${} brought is not repeated by errors. */
static void errors_keep_secrets(void **state)
{
    (void)state;
    setenv("HALO_ONE", "hush", 1);
    static const char text[] = "http: {listen: \"${HALO_ONE}\"}\n"
                               "streams: {a: {input: x, filters: solid, depth: '${HALO_ONE}'}}";
    struct halo_daemon_settings *s = NULL;
    struct halo_error_list *errors = NULL;
    assert_int_equal(halo_daemon_load_text(&s, text, strlen(text), "f", NULL, &errors), -EINVAL);
    assert_int_equal(halo_error_list_count(errors), 2);
    assert_string_equal(halo_error_list_text(errors, 1),
                        "f:2: streams.a.depth: ${HALO_ONE}: must be a whole number");
    assert_null(strstr(halo_error_list_text(errors, 0), "hush"));
    halo_error_list_destroy(errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hiding),
        cmocka_unit_test(hiding_in_words),
        cmocka_unit_test(hiding_paths),
        cmocka_unit_test(expanding),
        cmocka_unit_test(not_expanding),
        cmocka_unit_test(no_structure),
        cmocka_unit_test(errors_keep_secrets),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
