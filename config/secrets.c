/* SPDX-License-Identifier: BSD-2-Clause
 * Hides secrets in URLs. If a URL is malformed, rather too much is hidden than too little. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon.h"

#define STARS "***"

/* Parts of a query parameter's name that make its value a secret. */
static const char *const telling[] = {
    "key", "token", "pass", "pwd", "secret", "auth", "sig", "credential", "streamid",
};

static bool is_telling(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++) {
        const size_t n = strlen(telling[i]);
        for (size_t at = 0; at + n <= length; at++)
            if (!strncasecmp(name + at, telling[i], n))
                return true;
    }
    return false;
}

static const char *find_last(const char *from, const char *end, char c)
{
    while (end > from)
        if (*--end == c)
            return end;
    return NULL;
}

static const char *find_any(const char *from, const char *end, const char *set)
{
    while (from < end && !strchr(set, *from))
        from++;
    return from;
}

/* The '@' that ends user:password, or NULL. An '@' after the first / ? or # can also belong to a
 * password that was not escaped, but not if a port precedes it: HOST:80/@x. */
static const char *end_of_user(const char *at, const char *end)
{
    const char *colon = find_any(at, end, ":/?#");
    const char *last = find_last(at, find_any(at, end, "?#"), '@');
    last = last ? last : find_last(at, end, '@');
    if (!last || colon > last)
        return NULL;
    const char *border = find_any(at, end, "/?#");
    if (border > last || *colon != ':')
        return last;
    const char *digits = colon + 1;
    while (digits < border && isdigit((unsigned char)*digits))
        digits++;
    const bool port = digits == border && digits > colon + 1;
    return port ? NULL : last;
}

/* Copies "name=value&name=value", secrets hidden. A # or ; may be part of one. */
static void write_query(FILE *to, const char *at, const char *end)
{
    while (at < end) {
        const char *next = find_any(at, end, "&");
        const char *equals = find_any(at, next, "=");
        const bool hide = equals < next && is_telling(at, (size_t)(equals - at));
        fwrite(at, 1, (size_t)((hide ? equals + 1 : next) - at), to);
        if (hide)
            fputs(STARS, to);
        at = next;
        if (at < end)
            fputc(*at++, to);
    }
}

/* The stream key, which is the last part of an RTMP path. */
static const char *key_of_path(const char *at, const char *end)
{
    const char *slash = find_any(at, end, "/");
    const char *last = find_last(at, end, '/');
    return slash < end && last > slash && last + 1 < end ? last + 1 : NULL;
}

/* Writes the part after "://", up to end. */
static void write_rest(FILE *to, const char *at, const char *end, bool rtmp)
{
    const char *user = end_of_user(at, end);
    if (user) {
        const char *colon = find_any(at, user, ":");
        fwrite(at, 1, (size_t)(colon - at), to);
        if (colon < user)
            fputs(":" STARS, to);
        at = user;
    }
    const char *query = find_any(at, end, "?");
    const char *key = rtmp ? key_of_path(at, query) : NULL;
    fwrite(at, 1, (size_t)((key ? key : query) - at), to);
    if (key)
        fputs(STARS, to);
    if (query < end) {
        fputc('?', to);
        write_query(to, query + 1, end);
    }
}

/* Where the scheme before "://" begins. */
static const char *scheme_of(const char *from, const char *mark)
{
    while (mark > from && (isalnum((unsigned char)mark[-1]) || strchr("+-.", mark[-1])))
        mark--;
    return mark;
}

/* A URL extends to the beginning of the next one: a password may contain blanks. */
static void write_hidden(FILE *to, const char *text)
{
    const char *mark = strstr(text, "://");
    while (mark) {
        const char *rest = mark + 3, *next = strstr(rest, "://");
        const char *end = next ? scheme_of(rest, next) : rest + strlen(rest);
        const bool rtmp = !strncasecmp(scheme_of(text, mark), "rtmp", 4);
        fwrite(text, 1, (size_t)(rest - text), to);
        write_rest(to, rest, end, rtmp);
        text = end;
        mark = next;
    }
    fputs(text, to);
}

char *halo_hide_secrets(const char *url)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    write_hidden(to, url);
    const bool failed = fflush(to) || ferror(to);
    fclose(to);
    if (!failed)
        return text;
    free(text);
    return NULL;
}

static void write_word(FILE *to, char *word)
{
    char *shown = strstr(word, "://") ? halo_hide_secrets(word) : NULL;
    fputs(shown ? shown : word, to);
    free(shown);
}

void halo_hide_in_words(char *text, size_t size)
{
    static const char blanks[] = " \t\n";
    char *copy = strstr(text, "://") ? strdup(text) : NULL;
    FILE *to = copy ? fmemopen(text, size, "w") : NULL;
    for (char *at = copy; to && *at;) {
        const size_t length = strcspn(at, blanks), gap = strspn(at + length, blanks);
        char *next = at + length + gap;
        char *word = strndup(at, length);
        if (word)
            write_word(to, word);
        free(word);
        fwrite(at + length, 1, gap, to);
        at = next;
    }
    if (to)
        fclose(to);
    text[size - 1] = '\0';
    free(copy);
}
