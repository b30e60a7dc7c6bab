/* SPDX-License-Identifier: BSD-2-Clause
 * status, once or again and again: a live table on a terminal, else a line for each change. */
#include <errno.h>
#include <math.h>
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

/* ---- a table ---- */

enum { COLUMNS = 11, GPU = 9, CELL = 160, MAX_ROWS = 257 };

typedef char cells[COLUMNS][CELL];

static const char *const heads[COLUMNS] = {"NAME",     "STATE",      "FPS",     "SIZE",
                                           "PICTURES", "DROPPED",    "LATENCY", "VIEWERS",
                                           "BACKEND",  "GPU MEMORY", "WHY"};

static double sum_of(const json_t *object)
{
    double sum = 0;
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)object, key, value)
        sum += json_number_value(value);
    return sum;
}

/* ms with as many digits as matter. */
static void write_ms(char *to, size_t size, double ms)
{
    snprintf(to, size, ms < 10 ? "%.2f ms" : ms < 100 ? "%.1f ms" : "%.0f ms", ms);
}

/* The number of a stream's GPU, and how full it is; "" where it is on none. */
static void write_gpu(char *to, size_t size, const json_t *stream, const char *format)
{
    static const double GIB = 1 << 30;
    const json_t *gpu = json_object_get(stream, "gpu");
    const double all = ctl_number(gpu, "memory_size_bytes");
    to[0] = '\0';
    if (json_is_object(gpu) && all > 0)
        snprintf(to, size, format, ctl_number(gpu, "number"),
                 ctl_number(gpu, "memory_used_bytes") / GIB, all / GIB);
    else if (json_is_object(gpu))
        snprintf(to, size, "%.0f", ctl_number(gpu, "number"));
}

static void fill_row(cells row, const json_t *stream)
{
    const char *size_format = ctl_number(stream, "width") > 0 ? "%.0fx%.0f" : "-";
    const json_t *total = ctl_field(stream, "stages", "total");
    snprintf(row[0], CELL, "%s", ctl_text(stream, "name"));
    snprintf(row[1], CELL, "%s", ctl_text(stream, "state"));
    snprintf(row[2], CELL, "%.1f", ctl_number(stream, "rate"));
    snprintf(row[3], CELL, size_format, ctl_number(stream, "width"), ctl_number(stream, "height"));
    snprintf(row[4], CELL, "%.0f", ctl_number(stream, "filtered"));
    snprintf(row[5], CELL, "%.0f", sum_of(json_object_get(stream, "dropped")));
    snprintf(row[6], CELL, "-");
    if (ctl_number(total, "count") > 0)
        write_ms(row[6], CELL, ctl_number(total, "p50"));
    snprintf(row[7], CELL, "%.0f%s", ctl_number(stream, "viewers"),
             json_is_true(json_object_get(stream, "card")) ? " (card)" : "");
    snprintf(row[8], CELL, "%s", ctl_text(stream, "backend"));
    write_gpu(row[GPU], CELL, stream, "%.0f: %.1f/%.1f GiB");
    snprintf(row[10], CELL, "%s", ctl_why(stream));
}

/* Columns of a terminal that text takes: characters, each as one. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Returns how many bytes of text fit into this many columns of a terminal. */
static int bytes_within(const char *text, int columns)
{
    int at = 0;
    for (; text[at]; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && columns-- == 0)
            break;
    return at;
}

static const char *colour_of(const char *state)
{
    static const struct {
        const char *state, *colour;
    } colours[] = {{"running", "\033[32m"},    {"overloaded", "\033[33m"}, {"failed", "\033[31m"},
                   {"restarting", "\033[33m"}, {"waiting", "\033[33m"},    {"starting", "\033[33m"},
                   {"stopped", "\033[2m"},     {"disabled", "\033[2m"},    {"ended", "\033[2m"}};
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (!strcmp(colours[i].state, state))
            return colours[i].colour;
    return "";
}

/* Whether nothing follows in the row. */
static bool is_last(cells row, int at)
{
    while (++at < COLUMNS)
        if (row[at][0])
            return false;
    return true;
}

static void print_row(cells row, const int *widths, int columns, bool colours, FILE *to)
{
    int left = columns > 0 ? columns : 1 << 20;
    for (int c = 0; c < COLUMNS && left > 0; c++) {
        if (!widths[c])
            continue;
        const int width = width_of(row[c]), bytes = bytes_within(row[c], left);
        const char *colour = colours && c == 1 ? colour_of(row[c]) : "";
        fprintf(to, "%s%.*s%s", colour, bytes, row[c], *colour ? "\033[0m" : "");
        left -= width;
        if (is_last(row, c))
            break;
        const int gap = widths[c] - width + 2;
        left -= gap;
        fprintf(to, "%*s", left > 0 ? gap : 0, "");
    }
    fputc('\n', to);
}

/* Prints a table of all streams, at most `columns` wide (0: any width), in colour if `colours` is
 * true. */
static void print_table(const json_t *streams, int columns, bool colours, FILE *to)
{
    const size_t count = json_array_size(streams);
    const size_t rows = (count < MAX_ROWS ? count : MAX_ROWS - 1) + 1;
    int widths[COLUMNS] = {0};
    cells *table = calloc(rows, sizeof *table);
    if (!table)
        return;
    bool gpus = false;
    for (size_t r = 1; r < rows; r++) {
        fill_row(table[r], json_array_get(streams, r - 1));
        gpus |= table[r][GPU][0];
    }
    for (int c = 0; c < COLUMNS; c++)
        snprintf(table[0][c], CELL, "%s", c != GPU || gpus ? heads[c] : "");
    for (size_t r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            if (width_of(table[r][c]) > widths[c])
                widths[c] = width_of(table[r][c]);
    for (size_t r = 0; r < rows; r++)
        print_row(table[r], widths, columns, colours && r > 0, to);
    free(table);
}

static void print_stages(const json_t *stages, FILE *to)
{
    const char *stage;
    json_t *times;
    char p50[32], p99[32], most[32];
    json_object_foreach ((json_t *)stages, stage, times) {
        if (ctl_number(times, "count") <= 0)
            continue;
        write_ms(p50, sizeof p50, ctl_number(times, "p50"));
        write_ms(p99, sizeof p99, ctl_number(times, "p99"));
        write_ms(most, sizeof most, ctl_number(times, "most"));
        fprintf(to, "%-10s %s (99 %%: %s, most: %s)\n", stage, p50, p99, most);
    }
}

static void print_degradations(const json_t *degradations, FILE *to)
{
    const char *word;
    json_t *why;
    json_object_foreach ((json_t *)degradations, word, why)
        fprintf(to, "%-10s %s: %s\n", "degraded", word, ctl_text(degradations, word));
}

static void print_output(const json_t *output, FILE *to)
{
    const char *why = ctl_text(output, "why"), *state = ctl_text(output, "state");
    const char *failed = ctl_text(output, "encoding_failed");
    fprintf(to, "%-10s %s %s", "output", ctl_text(output, "kind"), ctl_text(output, "target"));
    if (json_object_get(output, "viewers"))
        fprintf(to, ", %.0f viewers, %.0f packets dropped, %.0f viewers disconnected",
                ctl_number(output, "viewers"), ctl_number(output, "dropped_packets"),
                ctl_number(output, "cut"));
    fprintf(to, "%s%s%s%s", *state ? ", " : "", state, *why ? ": " : "", why);
    fprintf(to, "%s%s\n", *failed ? "; encoding failed: " : "", failed);
}

/* Its state, negotiated mode and failures. */
static void print_camera(const json_t *stream, FILE *to)
{
    const json_t *capture = json_object_get(stream, "capture");
    const char *format = ctl_text(capture, "format");
    if (!capture)
        return;
    fprintf(to, "%-10s %s", "camera", ctl_text(stream, "camera"));
    if (*format)
        fprintf(to, ", %s %.0fx%.0f, %.3g per second", format, ctl_number(capture, "width"),
                ctl_number(capture, "height"), ctl_number(capture, "rate"));
    fprintf(to, "\n%-10s %.0f failures; frames: %.0f lost by the camera's driver, %.0f damaged\n",
            "", ctl_number(capture, "failures"), ctl_number(capture, "missed"),
            ctl_number(capture, "damaged"));
}

static void print_detectors(const json_t *detectors, FILE *to)
{
    const char *find, *why;
    json_t *one;
    json_object_foreach ((json_t *)detectors, find, one) {
        why = ctl_text(one, "why");
        fprintf(to, "%-10s %s: %s%s%s", "detector", find,
                json_is_true(json_object_get(one, "ready")) ? "ready"
                : json_is_true(json_object_get(one, "up"))  ? "starting"
                                                            : "not running",
                *why ? ": " : "", why);
        fprintf(to, "; %.0f verdicts, %.1f ms on average, %.0f frames late, %.0f hidden\n",
                ctl_number(one, "verdicts"), ctl_number(one, "mean_ms"), ctl_number(one, "late"),
                ctl_number(one, "hidden"));
    }
}

/* The regions of its detector. */
static void print_region_feed(const json_t *feed, FILE *to)
{
    const json_t *age = json_object_get(feed, "age_s");
    const char *why = ctl_text(feed, "why");
    if (!feed)
        return;
    if (*why)
        fprintf(to, "%-10s everything is hidden: %s", "regions", why);
    else
        fprintf(to, "%-10s %.0f", "regions", ctl_number(feed, "regions"));
    if (json_is_number(age))
        fprintf(to, ", updated %.1f s ago", json_number_value(age));
    fprintf(
        to,
        "\n%-10s %.0f updates, %.0f of them refused; %.0f frames, %.0f of them hidden completely\n",
        "", ctl_number(feed, "updates"), ctl_number(feed, "refused"), ctl_number(feed, "pictures"),
        ctl_number(feed, "pictures_hidden"));
}

/* What the filters leave of regions, and what they have left of objects so far. */
static void print_disclosure(const json_t *stream, FILE *to)
{
    const json_t *hidden = json_object_get(stream, "hidden"), *row;
    size_t i;
    json_array_foreach (json_object_get(stream, "leaves"), i, row)
        fprintf(to, "%-10s %s: %s\n", i ? "" : "residual", ctl_text(row, "where"),
                ctl_text(row, "words"));
    if (ctl_number(hidden, "objects") > 0)
        fprintf(
            to,
            "%-10s %.0f object%s replaced by cells so far, which reveal at most %.0f bits in all\n",
            "", ctl_number(hidden, "objects"), ctl_number(hidden, "objects") > 1 ? "s" : "",
            ceil(ctl_number(hidden, "bits")));
    if (ctl_number(hidden, "epsilon") > 0)
        fprintf(to, "%-10s their epsilons add up to %g\n", "", ctl_number(hidden, "epsilon"));
}

static void print_stream(const json_t *stream, FILE *to)
{
    static const char *const texts[] = {"name",   "state",   "why",     "input",
                                        "engine", "backend", "filters", "privacy"};
    const char *reason;
    char gpu[CELL];
    json_t *value;
    size_t i;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        const char *text = ctl_text(stream, texts[k]);
        if (*text)
            fprintf(to, "%-10s %s\n", texts[k], text);
    }
    if (*ctl_coverage(stream, false))
        fprintf(to, "%-10s %s\n", "hides", ctl_coverage(stream, false));
    print_disclosure(stream, to);
    print_degradations(json_object_get(stream, "degraded"), to);
    write_gpu(gpu, sizeof gpu, stream, "%.0f: %.1f of %.1f GiB used");
    if (gpu[0])
        fprintf(to, "%-10s %s\n", "gpu", gpu);
    print_camera(stream, to);
    print_region_feed(json_object_get(stream, "region_feed"), to);
    print_detectors(json_object_get(stream, "detectors"), to);
    fprintf(to, "%-10s %.0fx%.0f, %.1f per second\n", "frames", ctl_number(stream, "width"),
            ctl_number(stream, "height"), ctl_number(stream, "rate"));
    fprintf(to, "%-10s %.0f decoded, %.0f filtered, %.0f encoded\n", "",
            ctl_number(stream, "decoded"), ctl_number(stream, "filtered"),
            ctl_number(stream, "encoded"));
    fprintf(to, "%-10s", "dropped");
    json_object_foreach (json_object_get(stream, "dropped"), reason, value)
        fprintf(to, " %.0f %s", json_number_value(value), reason);
    fputc('\n', to);
    print_stages(json_object_get(stream, "stages"), to);
    fprintf(to, "%-10s %.0f%s\n", "viewers", ctl_number(stream, "viewers"),
            json_is_true(json_object_get(stream, "card")) ? ", who see the placeholder" : "");
    fprintf(to, "%-10s %.0f\n", "restarts", ctl_number(stream, "restarts"));
    if (json_is_true(json_object_get(stream, "recording")))
        fprintf(to, "%-10s yes\n", "recording");
    json_array_foreach (json_object_get(stream, "outputs"), i, value)
        print_output(value, to);
}

/* Returns malloc'ed text with those fields of a stream whose changes --watch reports; counters are
 * not among these fields. */
static char *stream_news(const json_t *stream)
{
    char *text = NULL;
    const char *why = ctl_why(stream);
    if (asprintf(&text, "%-20s %s%s%s; %s, %.0f viewers, %.0f restarts, %s",
                 ctl_text(stream, "name"), ctl_text(stream, "state"), *why ? ": " : "", why,
                 ctl_text(stream, "backend"), ctl_number(stream, "viewers"),
                 ctl_number(stream, "restarts"), ctl_text(stream, "filters")) < 0)
        return NULL;
    return text;
}

/* ---- the status ---- */

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
        print_stream(one, stdout);
    else
        print_table(ctl_field(result, HALO_FIELD_STATUS, HALO_FIELD_STREAMS), 0, is_coloured(),
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
        print_stream(json_array_get(streams, 0), to);
    else
        print_table(streams, size.ws_col, is_coloured(), to);
    fclose(to);
    fputs("\033[H", stdout);
    const char *line = text;
    for (int row = 0; row + 1 < size.ws_row && line && *line; row++) {
        const int n = (int)strcspn(line, "\n");
        const int fits = one ? bytes_within(line, size.ws_col) : n;
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
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (screen.keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
    if (screen.signals >= 0)
        close(screen.signals);
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
        char *news = stream_news(stream);
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
