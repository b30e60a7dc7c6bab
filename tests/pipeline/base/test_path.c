/* SPDX-License-Identifier: BSD-2-Clause
 * Names of files: schemes, links, two names of one file, names of partial files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/base/path.h"
#include "tests/cmocka_all.h"

static void test_url(void **state)
{
    (void)state;
    static const char *const urls[] = {"http://h/x.mp4", "tcp://h:1?listen", "unix:/tmp/s",
                                       "pipe:1", "crypto+http://h/x"};
    static const char *const paths[] = {"x.mp4",         "/a/b.mp4", "a:b.mp4",   "file:x.mp4",
                                        "file:///x.mp4", "file://x", "C://x.mp4", "./http://x"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_true(halo_path_is_url(urls[i]));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_false(halo_path_is_url(paths[i]));
    assert_string_equal(halo_path_of("file:x"), "x");
    assert_string_equal(halo_path_of("file:///x"), "///x");
    assert_string_equal(halo_path_of("./file:x"), "./file:x");
}

static void touch(const char *name)
{
    const int fd = open(name, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* A second reader gets the same of a file and of a server, not of what has one reader. */
static void test_opens_again(void **state)
{
    (void)state;
    char folder[] = "/tmp/halo-test-again-XXXXXX", file[60], fifo[60], url[80];
    static const char *const once[] = {"udp://@:5000",
                                       "rtp://0.0.0.0:5004",
                                       "srt://:9000?mode=listener",
                                       "tcp://h:1",
                                       "unix:/tmp/s",
                                       "pipe:0",
                                       "-",
                                       "/nowhere/at/all",
                                       "/dev/video0",
                                       "rtmp://h/a?listen=1",
                                       "http://h:1/?listen"};
    static const char *const again[] = {"http://h/x", "https://h/x", "rtsp://h/x", "rtmp://h/a/b"};
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    snprintf(url, sizeof url, "file:%s", file);
    touch(file);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_true(halo_path_opens_again(file) && halo_path_opens_again(url));
    assert_false(halo_path_opens_again(fifo) || halo_path_opens_again(folder));
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        assert_false(halo_path_opens_again(once[i]));
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        assert_true(halo_path_opens_again(again[i]));
    unlink(file);
    unlink(fifo);
    rmdir(folder);
}

static void expect_partial(const char *path, int number, const char *wanted)
{
    char *got = halo_path_partial(path, number);
    assert_string_equal(got, wanted);
    free(got);
}

static void test_partial(void **state)
{
    (void)state;
    expect_partial("x.mp4", 1, "x.partial.mp4");
    expect_partial("a.b/x", 1, "a.b/x.partial");
    expect_partial("a.b/.x", 2, "a.b/.x.partial-2");
    expect_partial("/a/x.y.mkv", 13, "/a/x.y.partial-13.mkv");

    char name[300] = "/a/", wanted[300] = "/a/";
    memset(name + 3, 'x', 251);
    memset(wanted + 3, 'x', 255 - 12);
    memcpy(name + 3 + 251, ".mp4", 5);
    memcpy(wanted + 3 + 255 - 12, ".partial.mp4", 13);
    expect_partial(name, 1, wanted);
    memcpy(name + 3 + 255 - 13, "\xc3\xa4", 2); /* not one half of it */
    memcpy(wanted + 3 + 255 - 13, ".partial.mp4", 13);
    expect_partial(name, 1, wanted);
}

static void expect_follow(const char *path, const char *wanted)
{
    char *got = halo_path_follow(path);
    assert_string_equal(got, wanted);
    free(got);
}

static void expect_stream(const char *name, const char *expected)
{
    char *path = halo_path_of_stream(name, 1);
    assert_non_null(path);
    assert_string_equal(path, expected);
    free(path);
}

static void test_stream(void **state)
{
    (void)state;
    expect_stream("-", "/dev/fd/1");
    expect_stream("pipe:", "/dev/fd/1");
    expect_stream("pipe:0", "/dev/fd/0");
    expect_stream("pipe:7", "/dev/fd/7");
    expect_stream("pipe:7x", "/dev/fd/1"); /* as FFmpeg */
    assert_null(halo_path_of_stream("-x", 1));
    assert_int_equal(errno, EINVAL);
    assert_null(halo_path_of_stream("file:-", 1));
}

static void test_descriptor(void **state)
{
    (void)state;
    assert_int_equal(halo_path_descriptor("/dev/stderr"), 2);
    assert_int_equal(halo_path_descriptor("/dev/fd/1"), 1);
    assert_int_equal(halo_path_descriptor("/proc/self/fd/0"), 0);
    assert_int_equal(symlink("/dev/stdout", "twice"), 0);
    assert_int_equal(halo_path_descriptor("twice"), 1);
    assert_int_equal(unlink("twice"), 0);
    assert_int_equal(halo_path_descriptor("/proc/1/fd/1"), -1);
    assert_int_equal(halo_path_descriptor("/dev/null"), -1);
    assert_int_equal(halo_path_descriptor("1"), -1);
    assert_int_equal(halo_path_descriptor("nowhere/1"), -1);
}

static void test_links(void **state)
{
    const char *folder = *state;
    char absolute[200];
    snprintf(absolute, sizeof absolute, "%s/new", folder);
    touch("real");
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(symlink("../new", "sub/dangling"), 0);
    assert_int_equal(symlink("sub/dangling", "twice"), 0);
    assert_int_equal(symlink(absolute, "absolute"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(link("real", "hard"), 0);
    expect_follow("real", "real");
    expect_follow("link", "real");
    expect_follow("twice", "sub/../new");
    expect_follow("absolute", absolute);
    errno = 0;
    assert_null(halo_path_follow("loop"));
    assert_int_equal(errno, ELOOP);

    assert_true(halo_path_same("real", "link"));
    assert_true(halo_path_same("real", "hard"));
    assert_true(halo_path_same("new", "./sub/../new"));
    assert_true(halo_path_same("new", "twice"));
    assert_true(halo_path_same("twice", "absolute"));
    assert_false(halo_path_same("new", "real"));
    assert_false(halo_path_same("new", "sub/new"));
    assert_false(halo_path_same("nowhere/x", "nowhere/x")); /* cannot be opened */
    assert_false(halo_path_same("loop", "loop"));
    assert_false(halo_path_same("real", NULL));
    assert_false(halo_path_same(NULL, NULL));
}

static int enter_folder(void **state)
{
    static char folder[] = "/tmp/halo-path-XXXXXX";
    *state = folder;
    return !mkdtemp(folder) || chdir(folder) < 0 || mkdir("sub", 0700) < 0;
}

static int leave_folder(void **state)
{
    static const char *const made[] = {"link", "sub/dangling", "twice", "absolute",
                                       "loop", "hard",         "real",  NULL};
    for (int i = 0; made[i]; i++)
        unlink(made[i]);
    return rmdir("sub") < 0 || chdir("/") < 0 || rmdir(*state) < 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url),        cmocka_unit_test(test_opens_again),
        cmocka_unit_test(test_partial),    cmocka_unit_test(test_stream),
        cmocka_unit_test(test_descriptor), cmocka_unit_test(test_links),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
