/* SPDX-License-Identifier: BSD-2-Clause
 * Parses FFmpeg's linear filter chains, "a=1:b=2,c". As in FFmpeg, quotes and backslashes are
 * processed twice: when the chain is split into filters, and when a filter's arguments are split
 * into options. Every character keeps its original column, so that errors of the second pass can
 * name it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/filter/filter.h"

enum {
    MAX_TEXT = 1 << 20, /* several times four 63x63 masks in long decimals */
    MAX_GIVEN = 64,     /* options of a filter, each at most once */
};

#define BLANKS " \n\t\r"

/* text[i] was in column at[i] (from 1) of the chain; at[length] is the column after the end. */
struct span {
    char *text; /* ends with a 0 that length does not include */
    size_t *at;
    size_t length;
};

/* An option that was given for the filter, and the column of its value. */
struct given {
    const struct halo_option *option;
    size_t column;
};

struct parser {
    struct span source; /* the chain as it was written */
    struct span args;   /* one filter's arguments, after the first pass */
    struct span word;   /* a filter's name or an option's value, after the last pass */
    size_t pos;         /* in source */
    struct given given[MAX_GIVEN];
    int given_count; /* of the filter that is being parsed */
    struct halo_error *err;
};

static int span_init(struct span *s, size_t capacity)
{
    s->text = calloc(capacity + 1, 1);
    s->at = calloc(capacity + 1, sizeof *s->at);
    return s->text && s->at ? 0 : -ENOMEM;
}

static void span_finish(struct span *s)
{
    free(s->text);
    free(s->at);
}

static void push(struct span *out, const struct span *in, size_t i)
{
    out->text[out->length] = in->text[i];
    out->at[out->length++] = in->at[i];
}

static bool is_blank(char c)
{
    return c && strchr(BLANKS, c);
}

static size_t skip_blanks(const struct span *s, size_t i)
{
    while (i < s->length && is_blank(s->text[i]))
        i++;
    return i;
}

/* Reads one token of in, from *pos up to one of the stops or the end, without quotes, backslashes
 * and outer blanks. out never becomes longer than in. Sets *pos to the stop. */
static int read_token(const struct span *in, size_t *pos, const char *stops, struct span *out,
                      struct halo_error *err)
{
    size_t i = skip_blanks(in, *pos), keep = 0;
    out->length = 0;
    while (i < in->length && !strchr(stops, in->text[i])) {
        if (in->text[i] == '\\') {
            if (i + 1 == in->length)
                return halo_fail_usage(err, "column %zu: the backslash has nothing to escape",
                                       in->at[i]);
            push(out, in, i + 1);
            i += 2;
            keep = out->length;
        } else if (in->text[i] == '\'') {
            const size_t open = i++;
            while (i < in->length && in->text[i] != '\'')
                push(out, in, i++);
            if (i == in->length)
                return halo_fail_usage(err, "column %zu: the closing quote is missing",
                                       in->at[open]);
            i++;
            keep = out->length;
        } else {
            push(out, in, i++);
        }
    }
    while (out->length > keep && is_blank(out->text[out->length - 1]))
        out->length--;
    out->text[out->length] = '\0';
    out->at[out->length] = in->at[i];
    *pos = i;
    return 0;
}

/* Reads "name =" at *pos: returns the name's length and *start, and sets *pos after the '='. Length
 * 0: a value without a name. */
static size_t read_key(const struct span *in, size_t *pos, size_t *start)
{
    size_t end = *start = skip_blanks(in, *pos);
    while (end < in->length &&
           (in->text[end] == '_' || (in->text[end] >= '0' && in->text[end] <= '9') ||
            (in->text[end] >= 'a' && in->text[end] <= 'z') ||
            (in->text[end] >= 'A' && in->text[end] <= 'Z')))
        end++;
    const size_t equals = skip_blanks(in, end);
    if (equals == in->length || in->text[equals] != '=')
        return 0;
    *pos = equals + 1;
    return end - *start;
}

/* Finds the option that the next value without a name sets. */
static int next_positional(const struct parser *p, const struct halo_filter_kind *kind, size_t pos,
                           bool named, size_t *taken, const char **ret)
{
    const size_t begin = skip_blanks(&p->args, pos);
    const size_t column = p->args.at[begin];
    size_t count = 0;
    while (kind->positional && kind->positional[count])
        count++;
    if (begin == p->args.length || p->args.text[begin] == ':')
        return halo_fail_usage(p->err, "column %zu: %s: an option is missing here", column,
                               kind->name);
    if (named)
        return halo_fail_usage(p->err,
                               "column %zu: %s: values without a name must come before "
                               "those with one",
                               column, kind->name);
    if (*taken == count)
        return halo_fail_usage(p->err,
                               "column %zu: %s: at most %zu values without a name are "
                               "allowed (write NAME=VALUE)",
                               column, kind->name, count);
    *ret = kind->positional[(*taken)++];
    return 0;
}

static const struct given *find_given(const struct parser *p, const struct halo_option *option)
{
    for (int i = 0; i < p->given_count; i++)
        if (p->given[i].option == option)
            return &p->given[i];
    return NULL;
}

/* Records that the option was given, with its value in p->word, and refuses a second one, which
 * would silently replace the first. */
static int note_given(struct parser *p, const struct halo_filter_kind *kind,
                      const struct halo_option *option, size_t column)
{
    if (find_given(p, option) || p->given_count == MAX_GIVEN)
        return halo_fail_usage(p->err, "column %zu: %s: %s is given twice", column, kind->name,
                               option->name);
    p->given[p->given_count++] = (struct given){option, p->word.at[0]};
    return 0;
}

/* Reads one "name=value" or value of p->args from *pos on. */
static int read_option(struct parser *p, struct halo_filter *filter, size_t *pos, bool *named,
                       size_t *taken)
{
    const struct halo_filter_kind *kind = filter->kind;
    size_t start;
    size_t length = read_key(&p->args, pos, &start);
    const char *name = p->args.text + start;
    if (length > 0) {
        *named = true;
    } else {
        const int code = next_positional(p, kind, *pos, *named, taken, &name);
        if (code)
            return code;
        length = strlen(name);
    }
    int code = read_token(&p->args, pos, ":", &p->word, p->err);
    if (code)
        return code;

    struct halo_error inner = {0};
    code = halo_filter_set(filter, name, length, p->word.text, &inner);
    if (code == -ENOMEM)
        return halo_fail(p->err, code, "%s", inner.text);
    if (code)
        return halo_fail_usage(p->err, "column %zu: %s: %s",
                               code == -ENOENT ? p->args.at[start] : p->word.at[0], kind->name,
                               inner.text);
    return note_given(p, kind, halo_filter_option(kind, name, length), p->args.at[start]);
}

static int read_options(struct parser *p, struct halo_filter *filter)
{
    size_t pos = 0, taken = 0;
    bool named = false;
    for (;;) {
        const int code = read_option(p, filter, &pos, &named, &taken);
        if (code || pos == p->args.length)
            return code;
        pos++; /* the ':' */
    }
}

/* Refuses the syntax of filter graphs, if it ended a token. */
static int refuse_links(const struct parser *p)
{
    const char c = p->source.text[p->pos];
    if (c == '[' || c == ']')
        return halo_fail_usage(p->err,
                               "column %zu: '%c': link labels are not supported: use a "
                               "single chain, as in a,b,c",
                               p->source.at[p->pos], c);
    if (c == ';')
        return halo_fail_usage(
            p->err, "column %zu: ';': only one chain is supported: put ',' between filters",
            p->source.at[p->pos]);
    return 0;
}

static int read_filter(struct parser *p, struct halo_chain *chain)
{
    int code = read_token(&p->source, &p->pos, "=,;[]", &p->word, p->err);
    if (code)
        return code;
    const size_t column = p->word.at[0];
    if (p->word.length == 0) {
        code = refuse_links(p);
        return code
                   ? code
                   : halo_fail_usage(p->err, "column %zu: the name of a filter is missing", column);
    }
    struct halo_error inner = {0};
    const struct halo_filter_kind *kind = halo_filter_find(p->word.text, p->word.length, &inner);
    if (!kind)
        return halo_fail_usage(p->err, "column %zu: %s", column, inner.text);
    struct halo_filter *filter = &chain->filter[chain->count];
    if (halo_filter_init(filter, kind))
        return halo_fail(p->err, -ENOMEM, "out of memory");
    chain->count++;
    p->given_count = 0;

    if (p->source.text[p->pos] == '=') {
        p->pos++;
        code = read_token(&p->source, &p->pos, "[],;", &p->args, p->err);
        if (!code)
            code = read_options(p, filter);
        if (code)
            return code;
    }
    code = refuse_links(p);
    if (code)
        return code;
    const struct halo_option *at;
    code = halo_filter_check(filter, &at, &inner);
    if (code == -ENOMEM)
        return halo_fail(p->err, code, "%s", inner.text);
    const struct given *wrong = at ? find_given(p, at) : NULL;
    return code ? halo_fail_usage(p->err, "column %zu: %s: %s", wrong ? wrong->column : column,
                                  kind->name, inner.text)
                : 0;
}

static int read_chain(struct parser *p, struct halo_chain *chain)
{
    if (skip_blanks(&p->source, 0) == p->source.length)
        return halo_fail_usage(p->err,
                               "column 1: the chain is empty (null passes frames unchanged)");
    for (;;) {
        if (chain->count == HALO_MAX_FILTERS)
            return halo_fail_usage(p->err, "column %zu: a chain may have at most %d filters",
                                   p->source.at[p->pos], HALO_MAX_FILTERS);
        const int code = read_filter(p, chain);
        if (code || p->pos == p->source.length)
            return code;
        const size_t comma = p->pos++;
        if (skip_blanks(&p->source, p->pos) == p->source.length)
            return halo_fail_usage(p->err, "column %zu: a filter is missing after the last ','",
                                   p->source.at[comma]);
    }
}

static int parser_init(struct parser *p, const char *text, struct halo_error *err)
{
    const size_t length = strlen(text);
    p->err = err;
    if (length > MAX_TEXT)
        return halo_fail_usage(
            err, "column %d: the chain is too long: %zu bytes, but at most %d are allowed",
            MAX_TEXT + 1, length, MAX_TEXT);
    if (span_init(&p->source, length) || span_init(&p->args, length) || span_init(&p->word, length))
        return halo_fail(err, -ENOMEM, "out of memory");
    memcpy(p->source.text, text, length);
    p->source.length = length;
    for (size_t i = 0; i <= length; i++)
        p->source.at[i] = i + 1;
    return 0;
}

int halo_chain_parse(struct halo_chain **ret, const char *text, struct halo_error *err)
{
    struct parser p = {0};
    struct halo_chain *chain = NULL;
    int code = parser_init(&p, text, err);
    if (!code) {
        chain = calloc(1, sizeof *chain);
        if (!chain || !(chain->text = strdup(text)))
            code = halo_fail(err, -ENOMEM, "out of memory");
    }
    if (!code)
        code = read_chain(&p, chain);
    span_finish(&p.source);
    span_finish(&p.args);
    span_finish(&p.word);
    if (code) {
        halo_chain_destroy(chain);
        return code;
    }
    *ret = chain;
    return 0;
}

void halo_chain_destroy(struct halo_chain *chain)
{
    if (!chain)
        return;
    for (int i = 0; i < chain->count; i++)
        halo_filter_finish(&chain->filter[i]);
    free(chain->text);
    free(chain);
}
