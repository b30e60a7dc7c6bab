/* SPDX-License-Identifier: BSD-2-Clause
 * Log lines on stderr. Any thread; lines are never torn or mixed with the progress bar. */
#ifndef HALO_LOG_H
#define HALO_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

enum halo_log_level {
    HALO_LOG_QUIET,
    HALO_LOG_ERROR,
    HALO_LOG_WARNING,
    HALO_LOG_INFO,
    HALO_LOG_DEBUG,
};

/* Sets the current level, which is initially HALO_LOG_INFO. */
void halo_log_set_level(enum halo_log_level level);
enum halo_log_level halo_log_get_level(void);

/* Writes "halod: TEXT\n" if level is at most the current level. Control characters in the text
 * become '?', because the text may contain names from untrusted files. */
void halo_log(enum halo_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes all further lines of this thread begin with "stream NAME: ", because they concern this
 * stream. The prefix "stream NAME: " replaces the usual "stream NUMBER: " of messages about an
 * elementary stream of an input. The name is copied; NULL removes the prefix. */
void halo_log_set_stream(const char *name);
/* Drops further lines of this thread, except errors, if `hushed` is set. */
void halo_log_hush(bool hushed);

/* Returns text without the prefix "stream NUMBER: ", for callers that name the stream in another
 * way. */
const char *halo_log_skip_number(const char *text);

/* Switches to logging for a service. If standard error is connected to systemd's journal, log lines
 * are sent to it with fields; in builds without libsystemd, each line begins with its level as
 * "<N>" instead. An error or warning that repeats within half a minute is only counted, and later
 * logged as "TEXT (N times more)". Secrets in URLs are hidden. Must be called only once, before
 * threads are started. */
void halo_log_be_service(void);
/* For each line that was first logged half a minute ago or earlier and has been repeated since:
 * logs it with the number of its repetitions. Must be called every few seconds. */
void halo_log_flush(void);

/* Shows a status line that stays at the bottom of a terminal, below the log lines. NULL removes
 * it. */
void halo_log_set_status(const char *line);

/* Flushes standard output after its last line. Returns the exit code; logs an error if writing
 * failed. */
int halo_end_print(void);

/* True only the first time that it is evaluated with this flag; for messages that are to appear
 * only once in a process. */
#define HALO_ONCE(flag) (!atomic_exchange(&(flag), 1))

#endif
