/* SPDX-License-Identifier: BSD-2-Clause
 * Log lines on stderr. Each call writes whole lines at once under a lock, so lines are never
 * torn. */
#include "config/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/base/error.h"
#include "config/base/journal.h"
#include "config/base/log_repeat.h"
#include "config/base/secrets.h"
#include "config/base/thread.h"
#include "kernels/clock.h"

#define CLEAR_LINE "\r\033[K"

enum { LINE_SIZE = 2048, STATUS_SIZE = 512 };

static atomic_int max_level = HALO_LOG_INFO;

static struct halo_mutex lock;
static char status[STATUS_SIZE]; /* under lock; "": no status */

void halo_log_set_level(enum halo_log_level level)
{
    atomic_store(&max_level, (int)level);
}

enum halo_log_level halo_log_get_level(void)
{
    return (enum halo_log_level)atomic_load(&max_level);
}

static bool is_terminal(void)
{
    const char *name = getenv("TERM");
    return isatty(STDERR_FILENO) && !(name && !strcmp(name, "dumb"));
}

/* Another process may have made the shared terminal non-blocking, so this waits while it is full,
 * but not forever: a stuck terminal must not stop a stream. */
static void write_all(const char *text, size_t length)
{
    const int saved = errno;
    while (length > 0) {
        const ssize_t n = write(STDERR_FILENO, text, length);
        if (n > 0) {
            text += n;
            length -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
            if (halo_poll(&room, 1, halo_now_ns() + 1000000000) == 0)
                break;
        } else if (n == 0 || errno != EINTR) {
            break;
        }
    }
    errno = saved;
}

static bool is_service, has_journal; /* const once threads are started */

/* Writes a line to the journal or to stderr; under the lock. */
static void write_line(enum halo_log_level level, const char *line)
{
    static const int priorities[] = {3, 3, 4, 6, 7}; /* syslog's */
    if (has_journal && halo_journal_send(priorities[level], line) == 0)
        return;
    const bool above = status[0] && is_terminal();
    char all[LINE_SIZE + STATUS_SIZE + 32], prefix[8] = "";
    if (has_journal)
        snprintf(prefix, sizeof prefix, "<%d>", priorities[level]);
    const int length = snprintf(all, sizeof all, "%s%shalod: %s\n%s", above ? CLEAR_LINE : "",
                                prefix, line, above ? status : "");
    write_all(all, (size_t)length);
}

static _Thread_local bool is_hushed;

void halo_log_hush(bool hushed)
{
    is_hushed = hushed;
}

static _Thread_local char of_stream[80]; /* "stream NAME: ", "" */

void halo_log_set_stream(const char *name)
{
    of_stream[0] = '\0';
    if (name)
        snprintf(of_stream, sizeof of_stream, "stream %.64s: ", name);
}

const char *halo_log_skip_number(const char *text)
{
    static const char word[] = "stream ";
    if (strncmp(text, word, sizeof word - 1))
        return text;
    const char *number = text + sizeof word - 1, *end = number + strspn(number, "0123456789");
    return end > number && !strncmp(end, ": ", 2) ? end + 2 : text;
}

/* Composes the line, with the stream of this thread. */
static void compose(char *line, size_t size, const char *format, va_list arguments)
{
    const size_t room = strlen(of_stream);
    memcpy(line, of_stream, room + 1);
    vsnprintf(line + room, size - room, format, arguments);
    if (!room)
        return;
    const char *said = line + room;
    const char *text = strncmp(said, of_stream, room) ? halo_log_skip_number(said) : said + room;
    memmove(line + room, text, strlen(text) + 1);
}

void halo_log(enum halo_log_level level, const char *format, ...)
{
    if (level == HALO_LOG_QUIET || level > halo_log_get_level() ||
        (is_hushed && level > HALO_LOG_ERROR))
        return;
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    compose(line, sizeof line, format, arguments);
    va_end(arguments);
    halo_hide_in_words(line, sizeof line); /* logs are read by more people than settings */
    halo_sanitise(line);

    /* Threads of a live stream repeatedly reopen its source, and log the same lines about it. */
    const bool counts = level <= (*of_stream ? HALO_LOG_INFO : HALO_LOG_WARNING);
    halo_lock(&lock);
    if (is_service)
        halo_log_repeat_due(write_line);
    if (!is_service || !counts || halo_log_repeat_is_new(level, line, write_line))
        write_line(level, line);
    halo_unlock(&lock);
}

void halo_log_be_service(void)
{
    is_service = true;
    has_journal = halo_journal_is_there();
}

void halo_log_flush(void)
{
    halo_lock(&lock);
    halo_log_repeat_due(write_line);
    halo_unlock(&lock);
}

/* Truncates text before it would wrap: a wrapped line cannot be cleared with one carriage return.
 * Counts every character as one column, whatever its script. */
static void cut_to_terminal(char *text)
{
    struct winsize size;
    int columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        columns = size.ws_col;
    int column = 0;
    for (char *s = text; *s; s++) {
        const bool starts = ((unsigned char)*s & 0xc0) != 0x80;
        if (starts && ++column == columns) {
            *s = '\0';
            return;
        }
    }
}

void halo_log_set_status(const char *line)
{
    if (!is_terminal())
        return;
    halo_lock(&lock);
    const bool shown = status[0];
    snprintf(status, sizeof status, "%s", line ? line : "");
    halo_sanitise(status);
    cut_to_terminal(status);
    if (halo_log_get_level() == HALO_LOG_QUIET)
        status[0] = '\0';
    if (shown || status[0]) {
        char all[STATUS_SIZE + 16];
        const int length = snprintf(all, sizeof all, CLEAR_LINE "%s", status);
        write_all(all, (size_t)length);
    }
    halo_unlock(&lock);
}

int halo_end_print(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return HALO_EXIT_OK;
    halo_log(HALO_LOG_ERROR, "cannot write to standard output: %s", strerror(errno));
    return HALO_EXIT_FAILED;
}
