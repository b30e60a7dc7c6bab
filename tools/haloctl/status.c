/* SPDX-License-Identifier: BSD-2-Clause
 * status, once or again and again: a live table on a terminal, else a line for each change. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/base/thread.h"
#include "daemon/control/varlink.h"
#include "kernels/clock.h"
#include "tools/haloctl/haloctl.h"

enum { PATIENCE_MS = 10000 }; /* beyond the interval, for the next look */

/* The streams of an answer, one too, as a list; a new reference. */
static json_t *streams_of(const json_t *parameters)
{
    json_t *one = json_object_get(parameters, HALO_FIELD_STREAM);
    if (one)
        return json_pack("[O]", one);
    return json_incref(ctl_field(parameters, HALO_FIELD_STATUS, HALO_FIELD_STREAMS));
}

static bool is_coloured(void)
{
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

static int show_once(struct ctl *ctl, json_t *asked)
{
    json_t *result = NULL;
    const int code = ctl_call(ctl, HALO_METHOD_STATUS, asked, &result);
    if (code)
        return code;
    if (ctl->json)
        return ctl_print_json(result);
    const json_t *one = json_object_get(result, HALO_FIELD_STREAM);
    if (one)
        ctl_print_stream(one, stdout);
    else
        ctl_print_table(ctl_field(result, HALO_FIELD_STATUS, HALO_FIELD_STREAMS), 0, is_coloured(),
                        stdout);
    json_decref(result);
    return ctl_end_print();
}

/* ---- the live table ---- */

struct screen {
    struct termios before;
    bool keys; /* stdin is a terminal too */
    int signals;
};

static void open_screen(struct screen *screen)
{
    sigset_t set;
    struct termios raw;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    screen->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    screen->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->keys) {
        raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout); /* a screen of its own, without a cursor */
}

static void close_screen(const struct screen *screen)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (screen->keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
    if (screen->signals >= 0)
        close(screen->signals);
}

/* All of one stream, or a table of many. Lines that do not fit are cut, so that nothing scrolls. */
static void draw(const struct ctl *ctl, const json_t *streams, bool one)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    char *text = NULL;
    size_t length;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    FILE *to = open_memstream(&text, &length);
    if (!to)
        return;
    if (one)
        ctl_print_stream(json_array_get(streams, 0), to);
    else
        ctl_print_table(streams, size.ws_col, is_coloured(), to);
    fclose(to);
    fputs("\033[H", stdout);
    const char *line = text;
    for (int row = 0; row + 1 < size.ws_row && line && *line; row++) {
        const int n = (int)strcspn(line, "\n");
        const int fits = one ? ctl_bytes_within(line, size.ws_col) : n;
        printf("%.*s\033[K\r\n", fits < n ? fits : n, line);
        line += n + (line[n] == '\n');
    }
    const time_t now = halo_unix_seconds();
    struct tm parts;
    char clock[16] = "";
    if (localtime_r(&now, &parts))
        strftime(clock, sizeof clock, "%H:%M:%S", &parts);
    printf("%.*s\033[J", size.ws_col > 1 ? size.ws_col - 1 : 1,
           *line ? one ? "(more than there are lines)" : "(more streams than lines)" : ctl->path);
    if (size.ws_col > strlen(ctl->path) + 24)
        printf("  %s  q: quit", clock);
    fflush(stdout);
    free(text);
}

enum wake { WAKE_NONE, WAKE_ANSWER, WAKE_DRAW, WAKE_QUIT, WAKE_LATE };

static enum wake read_signal(const struct screen *screen)
{
    struct signalfd_siginfo info;
    enum wake wake = WAKE_NONE;
    while (read(screen->signals, &info, sizeof info) == (ssize_t)sizeof info)
        wake = info.ssi_signo == SIGWINCH && wake != WAKE_QUIT ? WAKE_DRAW : WAKE_QUIT;
    return wake;
}

static enum wake wait_for_something(const struct ctl *ctl, struct screen *screen, int patience_ms)
{
    struct pollfd fds[] = {{ctl->fd, POLLIN, 0},
                           {screen->signals, POLLIN, 0},
                           {screen->keys ? STDIN_FILENO : -1, POLLIN, 0}};
    if (ctl_has_message(ctl))
        return WAKE_ANSWER;
    if (!halo_poll(fds, 3, halo_now_ns() + patience_ms * INT64_C(1000000)))
        return WAKE_LATE;
    if (fds[1].revents) {
        const enum wake wake = read_signal(screen);
        if (wake != WAKE_NONE)
            return wake;
    }
    if (fds[2].revents) {
        char key = 0;
        if (read(STDIN_FILENO, &key, 1) <= 0)
            screen->keys = false;
        else if (key == 'q' || key == 'Q' || key == 3 || key == 4)
            return WAKE_QUIT;
    }
    return fds[0].revents ? WAKE_ANSWER : WAKE_NONE;
}

/* The next answer's streams instead of *streams; 0 or the exit code, said after the screen. */
static int take_answer(struct ctl *ctl, json_t **streams, json_t **ret_error)
{
    json_t *answer = NULL;
    const int rc = ctl_receive(ctl, PATIENCE_MS, &answer);
    if (rc)
        return rc;
    if (json_object_get(answer, "error")) {
        *ret_error = answer;
        return -EREMOTEIO;
    }
    json_decref(*streams);
    *streams = streams_of(json_object_get(answer, "parameters"));
    json_decref(answer);
    return 0;
}

static int watch_screen(struct ctl *ctl, bool one, int patience_ms)
{
    struct screen screen;
    json_t *streams = NULL, *error = NULL;
    int code = 0;
    open_screen(&screen);
    for (enum wake wake = WAKE_NONE; wake != WAKE_QUIT && !code;) {
        wake = wait_for_something(ctl, &screen, patience_ms);
        if (wake == WAKE_ANSWER)
            code = take_answer(ctl, &streams, &error);
        else if (wake == WAKE_LATE)
            code = -ETIMEDOUT;
        if (!code && streams && (wake == WAKE_ANSWER || wake == WAKE_DRAW))
            draw(ctl, streams, one);
    }
    close_screen(&screen);
    if (error)
        code = ctl_say_error(ctl, error);
    else if (code)
        code = ctl_say_errno(ctl, code);
    json_decref(error);
    json_decref(streams);
    return code;
}

/* ---- without a terminal ---- */

/* A line for each stream whose news differ from what was said of it last. */
static void print_news(const json_t *streams, json_t *said)
{
    json_t *stream;
    size_t i;
    json_array_foreach (streams, i, stream) {
        const char *name = json_string_value(json_object_get(stream, "name"));
        char *news = ctl_stream_news(stream);
        const char *before = name ? json_string_value(json_object_get(said, name)) : NULL;
        if (name && news && (!before || strcmp(before, news))) {
            puts(news);
            json_object_set_new(said, name, json_string(news));
        }
        free(news);
    }
}

static int watch_lines(struct ctl *ctl, int patience_ms)
{
    json_t *said = json_object();
    int code = 0;
    while (!code) {
        json_t *answer = NULL;
        const int rc = ctl_receive(ctl, patience_ms, &answer);
        json_t *parameters = json_object_get(answer, "parameters");
        if (rc) {
            code = ctl_say_errno(ctl, rc);
        } else if (json_object_get(answer, "error")) {
            code = ctl_say_error(ctl, answer);
        } else if (ctl->json) {
            code = ctl_print_json(json_incref(parameters));
        } else {
            json_t *streams = streams_of(parameters);
            print_news(streams, said);
            json_decref(streams);
            code = ctl_end_print();
        }
        json_decref(answer);
    }
    json_decref(said);
    return code;
}

int ctl_status(struct ctl *ctl, char **words, int count)
{
    json_t *asked = count ? json_pack("{s:s}", HALO_FIELD_NAME, words[0]) : json_object();
    if (!asked)
        return ctl_say("arguments must be UTF-8");
    if (!ctl->watch)
        return show_once(ctl, asked);
    const double interval = ctl->interval > 0 ? ctl->interval : 1;
    const int patience_ms = (int)(interval * 1000) + PATIENCE_MS;
    json_object_set_new(asked, HALO_FIELD_INTERVAL, json_real(interval));
    int code = ctl_connect(ctl);
    if (code) {
        json_decref(asked);
        return code;
    }
    code = ctl_send(ctl, HALO_METHOD_STATUS, asked, true);
    if (code)
        return ctl_say_errno(ctl, code);
    return isatty(STDOUT_FILENO) && !ctl->json ? watch_screen(ctl, count > 0, patience_ms)
                                               : watch_lines(ctl, patience_ms);
}
