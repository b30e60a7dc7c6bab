/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl: one command, one connection, plain blocking calls. One thread. */
#ifndef HALO_HALOCTL_H
#define HALO_HALOCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    CTL_EXIT_NO_DAEMON = 69, /* EX_UNAVAILABLE: nobody answers, or we may not ask */
    CTL_ANSWER_MS = 10000,   /* for one answer; a set or a snapshot takes five seconds at most */
};

struct ctl {
    const char *socket; /* --socket; NULL: the usual places */
    bool json, watch, check;
    double interval; /* seconds; 0: not given */

    /* The connection. */
    char path[256]; /* that was tried last; longer ones cannot be */
    int fd;         /* -1: none */
    int error;      /* errno of connecting; 0 */
    char *in;
    size_t length, size;
    int received; /* descriptor that came with an answer, ours; -1: none */
};

struct ctl_command {
    const char *name;
    const char *words; /* after the name, for --help */
    const char *help;
    int least, most;      /* words */
    const char *options;  /* that it takes beside --socket and --json, with blanks between; NULL */
    const char *complete; /* what its words are: "stream", "stream start stop", ...; NULL: files */
    int (*run)(struct ctl *ctl, char **words, int count); /* exit code */
};
extern const struct ctl_command ctl_commands[]; /* ends with a row without name */

/* "haloctl: TEXT" on stderr, safe for a terminal. Returns HALO_EXIT_FAILED. */
int ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- connection.c ---- */
/* Connects where it is not yet. 0, or -errno with ctl->error and ctl->path set and nothing said. */
int ctl_try(struct ctl *ctl);
/* The same, said: 0 or the exit code. */
int ctl_connect(struct ctl *ctl);
/* Asks; takes parameters over. 0 or -errno; -EINVAL: they are NULL, for words were no UTF-8. */
int ctl_send(struct ctl *ctl, const char *method, json_t *parameters, bool more);
/* The next message. 0: *ret is the caller's; -ETIMEDOUT, -EPIPE (the daemon closed), -EPROTO. */
int ctl_receive(struct ctl *ctl, int timeout_ms, json_t **ret);
/* Whether a message is there already, without reading. */
bool ctl_has_message(const struct ctl *ctl);
void ctl_close(struct ctl *ctl);
/* The group that may open the socket at ctl->path, NULL: not known. Valid until the next call. */
const char *ctl_group(const struct ctl *ctl);
/* Connects, asks once and waits. 0: *ret has the answer's parameters; else the exit code, said. */
int ctl_call(struct ctl *ctl, const char *method, json_t *parameters, json_t **ret);
/* Says what an answer or -errno of ctl_receive() is; the exit code. */
int ctl_say_error(const struct ctl *ctl, const json_t *answer);
int ctl_say_errno(const struct ctl *ctl, int rc);

/* One line of JSON on stdout. Takes value over. */
int ctl_print_json(json_t *value);
/* The exit code after the last line on stdout. */
int ctl_end_print(void);

/* Text of a field, "" where there is none; control characters are shown as '?'. Valid until the
 * eighth call after this one. */
const char *ctl_text(const json_t *object, const char *key);
/* How much its filters hide, in words, "" where it is not known; parts_only: and where it is all.
 * Valid as ctl_text(). */
const char *ctl_coverage(const json_t *stream, bool parts_only);
/* What is to be said of a stream beside its state, or "". Valid until the second call after this
 * one. */
const char *ctl_why(const json_t *stream);
double ctl_number(const json_t *object, const char *key);
/* object.a.b, or NULL */
json_t *ctl_field(const json_t *object, const char *a, const char *b);

/* ---- commands ---- */
int ctl_status(struct ctl *ctl, char **words, int count);
int ctl_doctor(struct ctl *ctl, char **words, int count);

/* ---- table.c: status in words ---- */
/* All streams as a table no wider than `columns` (0: any); colours where `colours`. */
void ctl_print_table(const json_t *streams, int columns, bool colours, FILE *to);
void ctl_print_stream(const json_t *stream, FILE *to);
/* Bytes of text that fit into so many columns of a terminal. */
int ctl_bytes_within(const char *text, int columns);
/* What of a stream's row is news: no counters. malloc'ed. */
char *ctl_stream_news(const json_t *stream);

#endif
