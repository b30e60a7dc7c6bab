/* SPDX-License-Identifier: BSD-2-Clause
 * Options as rows: name, type, default, bounds, and offset in a settings struct. The command line,
 * filter chains, --help and the manual all use the same rows, so that each key is written only
 * once.
 *
 * Settings structs are the caller's memory. Strings in them are owned by the struct
 * (halo_options_finish frees them). Any thread: there is no shared state. */
#ifndef HALO_OPTION_H
#define HALO_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/base/error.h"

enum halo_option_type {
    HALO_OPTION_FLAG,   /* bool; has no argument on a command line, and is 0 or 1 in a chain */
    HALO_OPTION_INT,    /* int; from min to max */
    HALO_OPTION_REAL,   /* double; finite, from min to max */
    HALO_OPTION_RATIO,  /* double; "3", "0.5" or "1/9" */
    HALO_OPTION_PART,   /* double; "10%" or "0.1" */
    HALO_OPTION_TIME,   /* double; seconds such as "90", "1:30", "01:30:00.5" or "200ms", as in
                         * FFmpeg */
    HALO_OPTION_CHOICE, /* int: index into choices */
    HALO_OPTION_BYTES,  /* int64_t; "20G", "512Ki": k, M, G, T are powers of 1000; Ki, Mi, ... of
                         * 1024 */
    HALO_OPTION_STRING, /* char *, NULL if not given */
};

struct halo_option {
    const char *name;
    const char *alias; /* other names with the same meaning, such as "vcodec|codec:v"; NULL: none */
    enum halo_option_type type;
    size_t offset; /* offset of the field in the settings struct */
    /* default value; a value outside min .. max means "not given" (the default of a STRING is
     * always NULL) */
    double value;
    double min, max;            /* range of INT, REAL, RATIO, PART, TIME, BYTES */
    const char *const *choices; /* CHOICE: the values, NULL-terminated; numeric types: one word that
                                 * may be written for the default value; NULL: none */
    const char *argument;       /* placeholder in --help, such as "SECONDS"; NULL: derived from the
                                 * type */
    const char *help;           /* one line */
    const char *pattern;        /* STRING: anchored POSIX extended regular expression, or NULL */
    const char *must_be;        /* the words after "must be" in the error if the pattern does not
                                 * match */
    bool list; /* STRING: several values, separated by commas; YAML may also use a list */
};

/* Tables end with a row whose name is NULL. */

/* Writes every default into settings. */
void halo_options_init(const struct halo_option *table, void *settings);
/* Frees the strings and sets them to NULL. */
void halo_options_finish(const struct halo_option *table, void *settings);

/* Makes a byte-by-byte copy of a settings struct independent of the original: replaces each string
 * in `settings`, which is the copy, with a duplicate. Returns 0 or -ENOMEM; after -ENOMEM, strings
 * for which there was no memory are NULL. */
int halo_options_own(const struct halo_option *table, void *settings);

/* Returns the row with this name or alias, or NULL. length is the length of name, which need not be
 * NUL-terminated. */
const struct halo_option *halo_option_find(const struct halo_option *table, const char *name,
                                           size_t length);

/* Parses text into the field. Returns 0, -EINVAL (text is not of the row's type), -ERANGE (outside
 * of min .. max) or -ENOMEM. On failure, the field is unchanged, and err contains "NAME=TEXT: "
 * followed by what is wrong with the text and which values are allowed. */
int halo_option_set(const struct halo_option *row, void *settings, const char *text,
                    struct halo_error *err);

/* Returns the candidate that is nearest to name by edit distance, or NULL if name is probably not a
 * misspelling of any candidate. */
const char *halo_nearest(const char *name, size_t length, const char *const *candidates,
                         size_t count);
/* Does the same as halo_nearest() for the names in a table. */
const char *halo_option_nearest(const struct halo_option *table, const char *name, size_t length);
enum { HALO_NEAREST_WORDS = 96 };
/* Find the same names as halo_nearest() and halo_option_nearest(). Both functions return ret, which
 * they fill with words to append to a message, such as " (nearest: NAME)", or with "" if no name is
 * near. */
const char *halo_nearest_words(char ret[HALO_NEAREST_WORDS], const char *name,
                               const char *const *candidates, size_t count);
const char *halo_option_nearest_words(char ret[HALO_NEAREST_WORDS], const struct halo_option *table,
                                      const char *name, size_t length);

/* Prints a line for each row with its name, argument, help, range and default. prefix is "-" for a
 * command line. */
void halo_options_print(const struct halo_option *table, const char *prefix, FILE *to);

#endif
