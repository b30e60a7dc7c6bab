/* SPDX-License-Identifier: BSD-2-Clause
 * Log lines on a pipe and on a terminal. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/log_repeat.h"
#include "tests/cmocka_all.h"

/* Runs say() with standard error going to fd; cmocka's own messages must not. */
static void with_stderr(int fd, void (*say)(void))
{
    const int saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    say();
    dup2(saved, STDERR_FILENO);
    close(saved);
}

enum { PATIENCE_MS = 900000, QUIET_MS = 100 };

/* A terminal hands its bytes on in pieces: until there are as many as wanted, and then none. */
static void read_back(int fd, const char *wanted)
{
    char text[4096];
    const size_t size = sizeof text;
    size_t length = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (length < size - 1 &&
           poll(&ready, 1, length < strlen(wanted) ? PATIENCE_MS : QUIET_MS) > 0) {
        const ssize_t n = read(fd, text + length, size - 1 - length);
        assert_true(n > 0);
        length += (size_t)n;
    }
    text[length] = '\0';
    assert_string_equal(text, wanted);
}

static void say_on_pipe(void)
{
    halo_log(HALO_LOG_INFO, "name %s", "a\nb\x1b[2J\xc2\x9b");
    halo_log(HALO_LOG_DEBUG, "not shown");
    halo_log_set_status("not shown");
    halo_log(HALO_LOG_ERROR, "two");
}

static void lines_on_a_pipe(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    with_stderr(ends[1], say_on_pipe);
    read_back(ends[0], "halod: name a?b?[2J??\nhalod: two\n");
    close(ends[0]);
    close(ends[1]);
}

static void say_of_streams(void)
{
    halo_log_set_stream("door");
    halo_log(HALO_LOG_INFO, "stream 0: gray is converted");
    halo_log(HALO_LOG_INFO, "stream door: said already");
    halo_log(HALO_LOG_INFO, "stream 0 is a word of its own, stream doors: too");
    halo_log(HALO_LOG_INFO, "the GPU is away");
    halo_log_set_stream("sixty-four-characters-sixty-four-characters-are-the-longest-name");
    halo_log(HALO_LOG_INFO, "%s", "");
    halo_log_set_stream(NULL);
    halo_log(HALO_LOG_INFO, "stream 0: of halod run");
}

/* What a live stream's thread says is of that stream. */
static void lines_of_streams(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    with_stderr(ends[1], say_of_streams);
    read_back(ends[0],
              "halod: stream door: gray is converted\n"
              "halod: stream door: said already\n"
              "halod: stream door: stream 0 is a word of its own, stream doors: too\n"
              "halod: stream door: the GPU is away\n"
              "halod: stream sixty-four-characters-sixty-four-characters-are-the-longest-name: \n"
              "halod: stream 0: of halod run\n");
    assert_string_equal(halo_log_skip_number("stream 12: x"), "x");
    static const char *const kept[] = {"stream : x", "stream 1 x", "stream 1:x", "stream", "", "x"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_ptr_equal(halo_log_skip_number(kept[i]), kept[i]);
    close(ends[0]);
    close(ends[1]);
}

static void say_on_terminal(void)
{
    halo_log_set_status("50 % of it, at a speed");
    halo_log(HALO_LOG_INFO, "line");
    halo_log_set_status(NULL);
    halo_log_set_status(NULL);
    halo_log(HALO_LOG_INFO, "end");
}

static void status_on_a_terminal(void **state)
{
    (void)state;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master))
        skip();
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    const struct winsize size = {.ws_col = 12, .ws_row = 5};
    ioctl(terminal, TIOCSWINSZ, &size);
    struct termios raw;
    tcgetattr(terminal, &raw);
    cfmakeraw(&raw);
    tcsetattr(terminal, TCSANOW, &raw);

    setenv("TERM", "xterm", 1);
    with_stderr(terminal, say_on_terminal);
    read_back(master, "\r\033[K50 % of it," /* cut: a wrapped line cannot be cleared */
                      "\r\033[Khalod: line\n50 % of it,"
                      "\r\033[K"
                      "halod: end\n");
    close(terminal);
    close(master);
}

static char said[4096];

static void note(enum halo_log_level level, const char *line)
{
    (void)level;
    strcat(strcat(said, line), "\n");
}

/* The same line is said once and counted; of many different ones the oldest is given up. */
static void repeated_lines(void **state)
{
    (void)state;
    assert_true(halo_log_repeat_is_new(HALO_LOG_ERROR, "disk is full", note));
    for (int i = 0; i < 3; i++)
        assert_false(halo_log_repeat_is_new(HALO_LOG_ERROR, "disk is full", note));
    assert_true(halo_log_repeat_is_new(HALO_LOG_ERROR, "disk is gone", note));
    halo_log_repeat_due(note);
    assert_string_equal(said, ""); /* half a minute is not over */
    for (int i = 0; i < 40; i++) {
        char line[32];
        snprintf(line, sizeof line, "error %d", i);
        assert_true(halo_log_repeat_is_new(HALO_LOG_ERROR, line, note));
    }
    assert_string_equal(said, "disk is full (3 times more)\n");
    assert_true(halo_log_repeat_is_new(HALO_LOG_ERROR, "disk is full", note));
}

static void say_as_service(void)
{
    halo_log_be_service();
    for (int i = 0; i < 3; i++)
        halo_log(HALO_LOG_WARNING, "rtsp://me:secret@cam/1?token=x: away");
    halo_log(HALO_LOG_INFO, "once");
    halo_log(HALO_LOG_INFO, "once");
    halo_log_set_stream("loops");
    for (int i = 0; i < 224; i++)
        halo_log(HALO_LOG_INFO, "stream 1 (subrip) is dropped");
    halo_log_set_stream(NULL);
}

/* What informs is said each time, but for what a live stream says of its source again and again;
 * passwords are not. */
static void lines_of_a_service(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    with_stderr(ends[1], say_as_service);
    read_back(ends[0], "halod: rtsp://cam/***: away\n"
                       "halod: once\nhalod: once\n"
                       "halod: stream loops: stream 1 (subrip) is dropped\n");
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_on_a_pipe),      cmocka_unit_test(lines_of_streams),
        cmocka_unit_test(status_on_a_terminal), cmocka_unit_test(repeated_lines),
        cmocka_unit_test(lines_of_a_service), /* the last: it stays one */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
