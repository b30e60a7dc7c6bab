/* SPDX-License-Identifier: BSD-2-Clause
 * Options as rows: name, type, default, bounds and place in a settings struct. The command line,
 * filter chains, --help and the manual all read the same rows, so a key is spelled once.
 *
 * Settings structs are plain memory of the caller. Strings in them are owned by the struct
 * (halo_options_finish frees them). No thread rules: no shared state. */
#ifndef HALO_OPTION_H
#define HALO_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/error.h"

enum halo_option_type {
    HALO_OPTION_FLAG,   /* bool; on a command line takes no argument, in a chain 0 or 1 */
    HALO_OPTION_INT,    /* int, min .. max */
    HALO_OPTION_REAL,   /* double, min .. max, finite */
    HALO_OPTION_RATIO,  /* double; "3", "0.5" or "1/9" */
    HALO_OPTION_PART,   /* double; "10%" or "0.1" */
    HALO_OPTION_TIME,   /* double, seconds; "90", "1:30", "01:30:00.5", "200ms" as in FFmpeg */
    HALO_OPTION_CHOICE, /* int: index into choices */
    HALO_OPTION_BYTES,  /* int64_t; "20G", "512Ki": k M G T are powers of 1000, Ki ... of 1024 */
    HALO_OPTION_STRING, /* char *, NULL while not given */
};

struct halo_option {
    const char *name;
    const char *alias; /* other names with the same meaning, "vcodec|codec:v", or NULL */
    enum halo_option_type type;
    size_t offset;              /* of the field in the settings struct */
    double value;               /* default; outside min .. max: "not given" (STRING: always NULL) */
    double min, max;            /* INT, REAL, RATIO, PART, TIME, BYTES */
    const char *const *choices; /* CHOICE: NULL-terminated; numbers: one word for the default */
    const char *argument;       /* placeholder in --help, e.g. "SECONDS"; NULL: from the type */
    const char *help;           /* one line */
    const char *pattern;        /* STRING: POSIX extended expression, anchored, or NULL */
    const char *must_be;        /* "must be FORM" where the pattern does not match */
    bool list; /* STRING: several with commas between; in YAML a list means the same */
};

/* Tables end with a row whose name is NULL. */

/* Writes every default into settings. */
void halo_options_init(const struct halo_option *table, void *settings);
/* Frees the strings and sets them to NULL. */
void halo_options_finish(const struct halo_option *table, void *settings);

/* Settings whose bytes were copied from others get strings of their own. 0; -ENOMEM: those that
 * found no memory are NULL. */
int halo_options_own(const struct halo_option *table, void *settings);

/* The row named name (or aliased so), or NULL. length: of name, which need not end there. */
const struct halo_option *halo_option_find(const struct halo_option *table, const char *name,
                                           size_t length);

/* Parses text into the field. 0; -EINVAL (not of that type), -ERANGE (outside min .. max), -ENOMEM,
 * with err saying "NAME=TEXT: what is wrong, what is allowed"; the field is then unchanged. */
int halo_option_set(const struct halo_option *row, void *settings, const char *text,
                    struct halo_error *err);

/* The candidate nearest to name by edit distance, or NULL where none is near enough to be meant. */
const char *halo_nearest(const char *name, size_t length, const char *const *candidates,
                         size_t count);
/* Same, over a table's names. */
const char *halo_option_nearest(const struct halo_option *table, const char *name, size_t length);
/* The same two for the end of a message, or "". Return ret. */
enum { HALO_NEAREST_WORDS = 96 };
const char *halo_nearest_words(char ret[HALO_NEAREST_WORDS], const char *name,
                               const char *const *candidates, size_t count);
const char *halo_option_nearest_words(char ret[HALO_NEAREST_WORDS], const struct halo_option *table,
                                      const char *name, size_t length);

/* One line for each row: name, argument, help, range, default. prefix: "-" for a command line. */
void halo_options_print(const struct halo_option *table, const char *prefix, FILE *to);

#endif
