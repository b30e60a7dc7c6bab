/* SPDX-License-Identifier: BSD-2-Clause
 * Rows of options: defaults, parsing, nearest names, help. */
#include "config/option.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/number.h"

enum {
    MAX_NAME = 48, /* longer names have no suggestions */
    SHOWN = 80,    /* bytes of the user's text that an error repeats */
};

static void *field_of(const struct halo_option *row, void *settings)
{
    return (char *)settings + row->offset;
}

void halo_options_init(const struct halo_option *table, void *settings)
{
    for (const struct halo_option *row = table; row->name; row++) {
        void *field = field_of(row, settings);
        switch (row->type) {
        case HALO_OPTION_FLAG:
            *(bool *)field = row->value != 0;
            break;
        case HALO_OPTION_INT:
        case HALO_OPTION_CHOICE:
            *(int *)field = (int)row->value;
            break;
        case HALO_OPTION_REAL:
        case HALO_OPTION_RATIO:
        case HALO_OPTION_PART:
        case HALO_OPTION_TIME:
            *(double *)field = row->value;
            break;
        case HALO_OPTION_BYTES:
            *(int64_t *)field = (int64_t)row->value;
            break;
        case HALO_OPTION_STRING:
            *(char **)field = NULL;
            break;
        }
    }
}

void halo_options_finish(const struct halo_option *table, void *settings)
{
    for (const struct halo_option *row = table; row->name; row++) {
        if (row->type == HALO_OPTION_STRING) {
            char **field = field_of(row, settings);
            free(*field);
            *field = NULL;
        }
    }
}

int halo_options_own(const struct halo_option *table, void *settings)
{
    int code = 0;
    for (const struct halo_option *row = table; row->name; row++) {
        char **field = row->type == HALO_OPTION_STRING ? field_of(row, settings) : NULL;
        if (field && *field && !(*field = strdup(*field)))
            code = -ENOMEM;
    }
    return code;
}

/* Iterates over "a|b|c": sets *name to the next name in *list, and returns its length, 0 at the
 * end. */
static size_t next_alias(const char **list, const char **name)
{
    if (!*list)
        return 0;
    *name = *list;
    const size_t length = strcspn(*list, "|");
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return length;
}

const struct halo_option *halo_option_find(const struct halo_option *table, const char *name,
                                           size_t length)
{
    for (const struct halo_option *row = table; row->name; row++) {
        if (strlen(row->name) == length && !memcmp(row->name, name, length))
            return row;
        const char *list = row->alias, *alias;
        for (size_t n; (n = next_alias(&list, &alias)) > 0;)
            if (n == length && !memcmp(alias, name, n))
                return row;
    }
    return NULL;
}

static int fail_type(const struct halo_option *row, const char *text, const char *what,
                     struct halo_error *err)
{
    const bool formula = row->type != HALO_OPTION_STRING && strpbrk(text, "()*/+") != NULL;
    return halo_fail(err, -EINVAL, "%s=%.*s: %s%s", row->name, SHOWN, text, what,
                     formula ? "; expressions are not supported" : "");
}

static int set_choice(const struct halo_option *row, int *field, const char *text,
                      struct halo_error *err)
{
    char all[256] = "";
    size_t count = 0, used = 0;
    for (; row->choices[count]; count++) {
        if (!strcmp(row->choices[count], text)) {
            *field = (int)count;
            return 0;
        }
        if (used < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", count ? ", " : "",
                                     row->choices[count]);
    }
    char near[HALO_NEAREST_WORDS];
    return halo_fail(err, -EINVAL, "%s=%.*s: must be one of %s%s", row->name, SHOWN, text, all,
                     halo_nearest_words(near, text, row->choices, count));
}

/* Returns 0; -EINVAL if text does not match the row's pattern; -ENOMEM. */
static int check_pattern(const struct halo_option *row, const char *text, struct halo_error *err)
{
    regex_t regex;
    if (!row->pattern)
        return 0;
    if (regcomp(&regex, row->pattern, REG_EXTENDED | REG_NOSUB))
        return halo_fail(err, -ENOMEM, "out of memory");
    const int no = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    return no ? halo_fail(err, -EINVAL, "%s=%.*s: must be %s", row->name, SHOWN, text, row->must_be)
              : 0;
}

static int set_string(const struct halo_option *row, char **field, const char *text,
                      struct halo_error *err)
{
    const int code = check_pattern(row, text, err);
    if (code)
        return code;
    char *copy = strdup(text);
    if (!copy)
        return halo_fail(err, -ENOMEM, "out of memory");
    free(*field);
    *field = copy;
    return 0;
}

/* Parses the numeric types, which share the range check. */
static int parse_number(const struct halo_option *row, const char *text, double *ret,
                        struct halo_error *err)
{
    double v = 0;
    if (row->choices && !strcmp(text, row->choices[0])) {
        *ret = row->value;
        return 0;
    }
    if (row->type == HALO_OPTION_INT && halo_parse_integer(text, &v))
        return fail_type(row, text, "must be a whole number", err);
    if (row->type == HALO_OPTION_REAL && halo_parse_real(text, &v))
        return fail_type(row, text, "must be a number such as 2 or 0.5", err);
    if (row->type == HALO_OPTION_RATIO && halo_parse_ratio(text, &v))
        return halo_fail(err, -EINVAL, "%s=%.*s: must be a number such as 3, 0.5 or 1/9", row->name,
                         SHOWN, text);
    if (row->type == HALO_OPTION_PART && halo_parse_part(text, &v))
        return fail_type(row, text, "must be a fraction such as 10% or 0.1", err);
    if (row->type == HALO_OPTION_TIME && halo_parse_time(text, &v))
        return fail_type(row, text, "must be a time such as 90, 1:30, 01:30:00.5 or 200ms", err);
    if (row->type == HALO_OPTION_BYTES && halo_parse_bytes(text, &v))
        return fail_type(row, text, "must be a number of bytes such as 500M, 20G or 4Gi", err);
    if (v >= row->min && v <= row->max) {
        *ret = v;
        return 0;
    }
    if (isinf(row->max))
        return halo_fail(err, -ERANGE, "%s=%.*s: must be at least %.10g", row->name, SHOWN, text,
                         row->min);
    return halo_fail(err, -ERANGE, "%s=%.*s: must be between %.10g and %.10g", row->name, SHOWN,
                     text, row->min, row->max);
}

int halo_option_set(const struct halo_option *row, void *settings, const char *text,
                    struct halo_error *err)
{
    void *field = field_of(row, settings);
    double v = 0;
    switch (row->type) {
    case HALO_OPTION_FLAG:
        if (strcmp(text, "0") && strcmp(text, "1"))
            return fail_type(row, text, "must be 0 or 1", err);
        *(bool *)field = *text == '1';
        return 0;
    case HALO_OPTION_CHOICE:
        return set_choice(row, field, text, err);
    case HALO_OPTION_STRING:
        return set_string(row, field, text, err);
    default:
        break;
    }
    const int code = parse_number(row, text, &v, err);
    if (code)
        return code;
    if (row->type == HALO_OPTION_INT)
        *(int *)field = (int)v;
    else if (row->type == HALO_OPTION_BYTES)
        *(int64_t *)field = (int64_t)v;
    else
        *(double *)field = v;
    return 0;
}

/* Levenshtein's distance, ignoring case, one row of the table at a time. */
static int distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int row[MAX_NAME + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = (int)j;
    for (size_t i = 0; i < a_length; i++) {
        int corner = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < b_length; j++) {
            const bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            int best = corner + !same;
            corner = row[j + 1];
            if (best > corner + 1)
                best = corner + 1;
            if (best > row[j] + 1)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[b_length];
}

const char *halo_nearest(const char *name, size_t length, const char *const *candidates,
                         size_t count)
{
    if (length == 0 || length > MAX_NAME)
        return NULL;
    const char *found = NULL;
    int best = (int)(length < 6 ? length + 2 : length) / 3 + 1; /* an error in three letters */
    for (size_t i = 0; i < count; i++) {
        const size_t other = strlen(candidates[i]);
        const size_t apart = other > length ? other - length : length - other;
        if (other > MAX_NAME)
            continue;
        int d = distance(name, length, candidates[i], other);
        if (length >= 2 && other > length && apart <= length &&
            !memcmp(candidates[i], name, length) && best > 1)
            d = 1; /* the name is at least half of it */
        else if (apart > 1 && length < 6)
            continue; /* of a short word little is left: a wrong suggestion misleads */
        if (d < best) {
            best = d;
            found = candidates[i];
        }
    }
    return found;
}

const char *halo_option_nearest(const struct halo_option *table, const char *name, size_t length)
{
    const char *candidates[64];
    size_t count = 0;
    for (const struct halo_option *row = table; row->name && count < 64; row++)
        candidates[count++] = row->name;
    return halo_nearest(name, length, candidates, count);
}

static const char *put_words(char ret[HALO_NEAREST_WORDS], const char *near)
{
    if (near)
        snprintf(ret, HALO_NEAREST_WORDS, " (nearest: %s)", near);
    else
        ret[0] = '\0';
    return ret;
}

const char *halo_nearest_words(char ret[HALO_NEAREST_WORDS], const char *name,
                               const char *const *candidates, size_t count)
{
    return put_words(ret, halo_nearest(name, strlen(name), candidates, count));
}

const char *halo_option_nearest_words(char ret[HALO_NEAREST_WORDS], const struct halo_option *table,
                                      const char *name, size_t length)
{
    return put_words(ret, halo_option_nearest(table, name, length));
}

/* Writes "-crf N" or "sigma=X" for help. */
static void print_usage(const struct halo_option *row, const char *prefix, char *text, size_t size)
{
    static const char *const placeholders[] = {
        [HALO_OPTION_FLAG] = "0|1",    [HALO_OPTION_INT] = "N",       [HALO_OPTION_REAL] = "X",
        [HALO_OPTION_RATIO] = "X",     [HALO_OPTION_TIME] = "TIME",   [HALO_OPTION_CHOICE] = "WORD",
        [HALO_OPTION_BYTES] = "BYTES", [HALO_OPTION_STRING] = "TEXT", [HALO_OPTION_PART] = "PART",
    };
    const bool dash = *prefix == '-';
    const char *argument = row->argument ? row->argument : placeholders[row->type];
    if (row->type == HALO_OPTION_FLAG && dash)
        snprintf(text, size, "%s%s", prefix, row->name);
    else
        snprintf(text, size, "%s%s%c%s", prefix, row->name, dash ? ' ' : '=', argument);
}

static void print_range(const struct halo_option *row, FILE *to)
{
    if (row->type == HALO_OPTION_CHOICE) {
        fputs(" (", to);
        for (size_t i = 0; row->choices[i]; i++)
            fprintf(to, "%s%s", i ? "|" : "", row->choices[i]);
        fprintf(to, "; default %s)", row->choices[(int)row->value]);
    } else if (row->type != HALO_OPTION_FLAG && row->type != HALO_OPTION_STRING) {
        if (isinf(row->max))
            fprintf(to, " (from %.10g", row->min);
        else
            fprintf(to, " (%.10g to %.10g", row->min, row->max);
        if (row->value >= row->min && row->value <= row->max)
            fprintf(to, "; default %.10g", row->value);
        fputc(')', to);
    }
}

void halo_options_print(const struct halo_option *table, const char *prefix, FILE *to)
{
    char usage[96];
    size_t width = 0;
    for (const struct halo_option *row = table; row->name; row++) {
        print_usage(row, prefix, usage, sizeof usage);
        if (strlen(usage) > width)
            width = strlen(usage);
    }
    for (const struct halo_option *row = table; row->name; row++) {
        print_usage(row, prefix, usage, sizeof usage);
        fprintf(to, "  %-*s  %s", (int)width, usage, row->help);
        print_range(row, to);
        const char *list = row->alias, *alias;
        for (size_t n; (n = next_alias(&list, &alias)) > 0;)
            fprintf(to, "%s%s%.*s", alias == row->alias ? "; also " : ", ", prefix, (int)n, alias);
        fputc('\n', to);
    }
}
