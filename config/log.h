/* SPDX-License-Identifier: BSD-2-Clause
 * Lines on stderr. Thread: any; lines are never torn and never mixed with the progress bar. */
#ifndef HALO_LOG_H
#define HALO_LOG_H

#include <stdatomic.h>

enum halo_log_level {
    HALO_LOG_QUIET,
    HALO_LOG_ERROR,
    HALO_LOG_WARNING,
    HALO_LOG_INFO,
    HALO_LOG_DEBUG,
};

void halo_log_set_level(enum halo_log_level level); /* default HALO_LOG_INFO */
enum halo_log_level halo_log_get_level(void);

/* "halod: TEXT\n" at levels up to the set one. Control characters in the text come out as '?':
 * names in files are not ours to trust. */
void halo_log(enum halo_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What this thread says from here on is of that stream (copied; NULL: of none): its lines begin
 * with "stream NAME: ", in place of the number that a stream of an input has in messages. */
void halo_log_set_stream(const char *name);
/* text without "stream NUMBER: " in front, for who names the stream another way. */
const char *halo_log_skip_number(const char *text);

/* For a service: to systemd's journal with fields where standard error is connected to it (without
 * libsystemd with the level as "<N>" in front), and an error or warning that comes again within
 * half a minute is only counted, and said again as "TEXT (N times more)". Secrets in URLs are
 * hidden. Once, before there are
 * threads. */
void halo_log_be_service(void);
/* Says what was counted and is due. About every few seconds. */
void halo_log_flush(void);

/* A status line that stays at the bottom of a terminal: log lines go above it. NULL removes it. */
void halo_log_set_status(const char *line);

/* After the last line on standard output: the exit code, with an error logged if it cannot be
 * written. */
int halo_end_print(void);

/* For messages that appear once per process: true the first time. */
#define HALO_ONCE(flag) (!atomic_exchange(&(flag), 1))

#endif
