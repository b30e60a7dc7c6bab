/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl runs one command over one connection, with blocking calls, in one thread. */
#ifndef HALO_HALOCTL_H
#define HALO_HALOCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    CTL_EXIT_NO_DAEMON = 69, /* EX_UNAVAILABLE: no daemon answers, or connecting is not permitted */
    /* timeout for an answer; set and snapshot can take up to five seconds */
    CTL_ANSWER_MS = 10000,
};

struct ctl {
    const char *socket; /* the path given by --socket; NULL: use the default paths */
    bool json, watch, check;
    double interval; /* in seconds; 0: not given */

    /* The connection. */
    char path[256]; /* the last path that was tried; the path of a socket always fits */
    int fd;         /* -1: not connected */
    int error;      /* errno of the failed connect(), or 0 */
    char *in;
    size_t length, size;
    int received; /* owned descriptor that arrived with an answer; -1: no descriptor */
};

struct ctl_command {
    const char *name;
    const char *words; /* the arguments after the name, as --help shows them */
    const char *help;
    int least, most;     /* minimum and maximum number of arguments */
    const char *options; /* options accepted in addition to --socket and --json, or NULL */
    const char
        *complete; /* how to complete arguments: "stream", "stream start stop" ...; NULL: files */
    int (*run)(struct ctl *ctl, char **words, int count); /* returns an exit code */
};
extern const struct ctl_command ctl_commands[]; /* the name in the last row is NULL */

/* Prints "haloctl: TEXT" to stderr, without control characters. Returns HALO_EXIT_FAILED. */
int ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- connection.c ---- */
/* Connects if not connected yet. Returns 0, or sets ctl->error and ctl->path and returns -errno.
 * Prints nothing. */
int ctl_try(struct ctl *ctl);
/* Does the same as ctl_try(), but reports errors. Returns 0 or the exit code. */
int ctl_connect(struct ctl *ctl);
/* Sends a call, and takes ownership of parameters. Returns 0 or -errno; -EINVAL means that
 * parameters is NULL because an argument was not UTF-8. */
int ctl_send(struct ctl *ctl, const char *method, json_t *parameters, bool more);
/* Receives the next message. Returns 0 (the caller owns *ret), -ETIMEDOUT, -EPIPE (the daemon
 * closed the connection) or -EPROTO (the message is malformed). */
int ctl_receive(struct ctl *ctl, int timeout_ms, json_t **ret);
/* Returns whether a whole message has already been received. Does not read from the socket. */
bool ctl_has_message(const struct ctl *ctl);
void ctl_close(struct ctl *ctl);
/* Returns the group that may open the socket at ctl->path, or NULL if it is unknown. The string is
 * valid until the next call. */
const char *ctl_group(const struct ctl *ctl);
/* Connects, sends a call and waits for its answer. On success, sets *ret to the parameters of the
 * answer and returns 0. Otherwise, reports the error and returns the exit code. */
int ctl_call(struct ctl *ctl, const char *method, json_t *parameters, json_t **ret);
/* Report the error in an answer, or the -errno that ctl_receive() returned, and return the exit
 * code. */
int ctl_say_error(const struct ctl *ctl, const json_t *answer);
int ctl_say_errno(const struct ctl *ctl, int rc);

/* Prints one line of JSON to stdout, and takes ownership of value. */
int ctl_print_json(json_t *value);
/* Flushes stdout after the last line. Returns the exit code. */
int ctl_end_print(void);

/* Returns the text of a field, or ""; control characters are replaced by '?'. The string is valid
 * until the eighth call after this one. */
const char *ctl_text(const json_t *object, const char *key);
/* Returns text that describes how much the stream's filters hide, or "" if this is unknown. With
 * parts_only, also returns "" if the filters hide everything. The string has the same lifetime as
 * one returned by ctl_text(). */
const char *ctl_coverage(const json_t *stream, bool parts_only);
/* Returns the reason for the stream's state, or another remark about the stream, or "". The string
 * is valid until the second call after this one. */
const char *ctl_why(const json_t *stream);
double ctl_number(const json_t *object, const char *key);
/* Returns the field `b` of the object in the field `a` of `object`, or NULL. */
json_t *ctl_field(const json_t *object, const char *a, const char *b);

/* ---- commands ---- */
int ctl_status(struct ctl *ctl, char **words, int count);
int ctl_doctor(struct ctl *ctl, char **words, int count);

#endif
