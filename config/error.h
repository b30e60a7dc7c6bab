/* SPDX-License-Identifier: BSD-2-Clause
 * One error, in words for the user: what, where, what to do. */
#ifndef HALO_ERROR_H
#define HALO_ERROR_H

#include <stdbool.h>

/* Exit codes of every halod program (sysexits.h where it has one). */
enum halo_exit {
    HALO_EXIT_OK = 0,
    HALO_EXIT_FAILED = 1,
    HALO_EXIT_USAGE = 64,
    HALO_EXIT_TRY_AGAIN = 75,
    HALO_EXIT_CONFIG = 78,
    HALO_EXIT_SIGHUP = 129,
    HALO_EXIT_SIGINT = 130,
    HALO_EXIT_SIGTERM = 143,
};

/* Caller's memory, zeroed; one thread at a time. The first error is kept: later ones are its
 * echo. */
struct halo_error {
    int code;       /* negative errno, 0 while there is none */
    bool usage;     /* the caller asked for what cannot be (exit 64), nothing failed */
    bool device;    /* the GPU failed: another try may do (exit 75) */
    bool scarce;    /* and all that failed is that its memory is full: it goes on for others */
    char text[600]; /* one line, no newline, no "halod:" in front */
};

/* Records an error unless one is there already, and returns code (a negative errno) for the caller
 * to return. err may be NULL. */
int halo_fail(struct halo_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a mistake in the request: sets usage and returns -EINVAL. */
int halo_fail_usage(struct halo_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a device that failed: sets device and returns -EIO. */
int halo_fail_device(struct halo_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same where its memory is full: sets scarce too, and returns -ENOMEM. */
int halo_fail_scarce(struct halo_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the process has to leave the device to be rid of this. */
static inline bool halo_error_is_lost(const struct halo_error *err)
{
    return err->device && !err->scarce;
}

/* Makes text safe for a terminal, in place: control characters (C0, DEL, C1) and bytes that are not
 * UTF-8 become '?'. */
void halo_sanitise(char *text);

#endif
