/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl runs one command over one connection, with blocking calls, in one thread. */
#ifndef HALO_HALOCTL_H
#define HALO_HALOCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    CTL_EXIT_NO_DAEMON = 69, /* EX_UNAVAILABLE: no daemon answers, or no permission to connect */
    CTL_ANSWER_MS = 10000,   /* for one answer; set and snapshot need up to five seconds */
};

struct ctl {
    const char *socket; /* --socket; NULL: the default paths */
    bool json, watch, check;
    double interval; /* seconds; 0: not given */

    /* The connection. */
    char path[256]; /* tried last; longer paths are not possible */
    int fd;         /* -1: not connected */
    int error;      /* errno of the failed connect(), or 0 */
    char *in;
    size_t length, size;
    int received; /* owned descriptor that arrived with an answer; -1: none */
};

struct ctl_command {
    const char *name;
    const char *words; /* arguments after the name, for --help */
    const char *help;
    int least, most;     /* number of arguments */
    const char *options; /* accepted besides --socket and --json, separated by spaces; or NULL */
    const char
        *complete; /* kinds of its arguments: "stream", "stream start stop", ...; NULL: files */
    int (*run)(struct ctl *ctl, char **words, int count); /* exit code */
};
extern const struct ctl_command ctl_commands[]; /* the last row has no name */

/* Prints "haloctl: TEXT" to stderr, safe for a terminal. Returns HALO_EXIT_FAILED. */
int ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- connection.c ---- */
/* Connects unless connected. 0, or -errno with ctl->error and ctl->path set; prints nothing. */
int ctl_try(struct ctl *ctl);
/* The same, but reports an error. 0 or the exit code. */
int ctl_connect(struct ctl *ctl);
/* Sends a call, and takes ownership of parameters. 0 or -errno; -EINVAL: parameters is NULL,
 * because an argument was not UTF-8. */
int ctl_send(struct ctl *ctl, const char *method, json_t *parameters, bool more);
/* Receives the next message. 0: the caller owns *ret; -ETIMEDOUT, -EPIPE (the daemon closed the
 * connection), -EPROTO (malformed). */
int ctl_receive(struct ctl *ctl, int timeout_ms, json_t **ret);
/* Whether a whole message has already been received; does not read from the socket. */
bool ctl_has_message(const struct ctl *ctl);
void ctl_close(struct ctl *ctl);
/* The group that may open the socket at ctl->path; NULL: unknown. Valid until the next call. */
const char *ctl_group(const struct ctl *ctl);
/* Connects, sends a call and waits for its answer. 0: *ret has the answer's parameters; otherwise
 * reports the error and returns the exit code. */
int ctl_call(struct ctl *ctl, const char *method, json_t *parameters, json_t **ret);
/* Report the error of an answer, or -errno of ctl_receive(), and return the exit code. */
int ctl_say_error(const struct ctl *ctl, const json_t *answer);
int ctl_say_errno(const struct ctl *ctl, int rc);

/* Prints one line of JSON to stdout. Takes ownership of value. */
int ctl_print_json(json_t *value);
/* Flushes stdout after the last line, and returns the exit code. */
int ctl_end_print(void);

/* The text of a field, or ""; control characters are shown as '?'. Valid until the eighth call
 * after this one. */
const char *ctl_text(const json_t *object, const char *key);
/* How much the stream's filters hide, in words; "" if unknown or, with parts_only, if they hide
 * all. Valid as long as ctl_text(). */
const char *ctl_coverage(const json_t *stream, bool parts_only);
/* The reason for the state of a stream, or another remark about it, or "". Valid until the second
 * call after this one. */
const char *ctl_why(const json_t *stream);
double ctl_number(const json_t *object, const char *key);
/* object.a.b, or NULL */
json_t *ctl_field(const json_t *object, const char *a, const char *b);

/* ---- commands ---- */
int ctl_status(struct ctl *ctl, char **words, int count);
int ctl_doctor(struct ctl *ctl, char **words, int count);

/* ---- table.c: status in words ---- */
/* Prints all streams as a table, at most `columns` wide (0: any width), in colour if `colours`. */
void ctl_print_table(const json_t *streams, int columns, bool colours, FILE *to);
void ctl_print_stream(const json_t *stream, FILE *to);
/* The number of bytes of text that fit into this many columns of a terminal. */
int ctl_bytes_within(const char *text, int columns);
/* The fields of a stream whose change is news for --watch, without counters. malloc'ed. */
char *ctl_stream_news(const json_t *stream);

#endif
