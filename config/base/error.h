/* SPDX-License-Identifier: BSD-2-Clause
 * An error with a message for the user: what failed, where, and what to do. */
#ifndef HALO_ERROR_H
#define HALO_ERROR_H

#include <stdbool.h>

/* Exit codes of all halod programs (those of sysexits.h, if it defines a suitable code). */
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

/* An error, in memory that the caller initialises with zeros. Used by one thread at a time. Only
 * the first error is kept, because later ones follow from it. */
struct halo_error {
    int code;    /* negative errno; 0: no error */
    bool usage;  /* the request was invalid (exit 64); nothing failed */
    bool device; /* the GPU failed: another attempt may succeed (exit 75) */
    /* set in addition to device if only the GPU's memory is full: other streams can continue to use
     * the GPU */
    bool scarce;
    char text[600]; /* one line, without a newline or the prefix "halod:" */
};

/* Records an error, unless err already holds one, and returns code (a negative errno) for the
 * caller to return. err may be NULL. */
int halo_fail(struct halo_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Does the same as halo_fail() for a mistake in the request: also sets usage, and returns
 * -EINVAL. */
int halo_fail_usage(struct halo_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Like halo_fail(), but for a device that fails: also sets device, and returns -EIO. */
int halo_fail_device(struct halo_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Like halo_fail(), but for a device whose memory is full: also sets device and scarce, and returns
 * -ENOMEM. */
int halo_fail_scarce(struct halo_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns whether the process has to stop using the device to recover from this error. */
static inline bool halo_error_is_lost(const struct halo_error *err)
{
    return err->device && !err->scarce;
}

/* Makes text safe for a terminal, in place: control characters (C0, DEL, C1) and bytes that are not
 * UTF-8 become '?'. */
void halo_sanitise(char *text);

#endif
