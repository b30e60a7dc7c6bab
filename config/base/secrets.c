/* SPDX-License-Identifier: BSD-2-Clause
 * Hides addresses. Cameras have passwords in every part of their URLs and under any name, so only
 * what cannot be one is shown: the scheme and the host. */
#include "config/base/secrets.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STARS "***"

static const char *find_any(const char *from, const char *end, const char *set)
{
    while (from < end && !strchr(set, *from))
        from++;
    return from;
}

static const char *find_last(const char *from, const char *end, char c)
{
    while (end > from)
        if (*--end == c)
            return end;
    return NULL;
}

/* Where the scheme before "://" begins. */
static const char *scheme_of(const char *from, const char *mark)
{
    while (mark > from && (isalnum((unsigned char)mark[-1]) || strchr("+-.", mark[-1])))
        mark--;
    return mark;
}

/* The end of the host that begins at `at`; NULL: this is no host. */
static const char *end_of_host(const char *at, const char *end)
{
    const char *begin = at;
    if (at < end && *at == '[') {
        while (++at < end && (isxdigit((unsigned char)*at) || strchr(":.", *at)))
            ;
        if (at++ == end || at[-1] != ']')
            return NULL;
    }
    while (at < end && (isalnum((unsigned char)*at) || strchr("-._", *at)))
        at++;
    return at > begin && (at == end || strchr(":/?#", *at)) ? at : NULL;
}

/* Writes the part of a URL after "://". A password that is not escaped may contain any of / ? # and
 * so end what looks like the host: if an @ follows, the host is not known. */
static void write_rest(FILE *to, const char *at, const char *end)
{
    const char *path = find_any(at, end, "/?#");
    const char *user = find_last(at, end, '@');
    const char *host = user ? user + 1 : at;
    const char *after = host <= path ? end_of_host(host, path) : NULL;
    if (after)
        fwrite(host, 1, (size_t)(after - host), to);
    if (!after || host > at || after < end)
        fputs(after ? "/" STARS : STARS, to);
}

static void write_url(FILE *to, const char *scheme, const char *mark, const char *end)
{
    fwrite(scheme, 1, (size_t)(mark + 3 - scheme), to);
    write_rest(to, mark + 3, end);
}

/* Where a URL in a text ends: at the quote that ends it, or at a blank, unless an @ follows, which
 * ends a password with blanks. */
static const char *end_in_text(const char *text, const char *scheme, const char *rest)
{
    const char *next = strstr(rest, "://"), *close = NULL;
    const char *most = next ? scheme_of(rest, next) : rest + strlen(rest);
    if (scheme > text && strchr("'\"`", scheme[-1]))
        close = strchr(rest, scheme[-1]);
    if (close)
        return close;
    const char *user = find_last(rest, most, '@');
    const char *end = user ? user : rest;
    while (*end && !isspace((unsigned char)*end))
        end++;
    while (end > rest && strchr(":,;.)]>'\"", end[-1]))
        end--;
    return end;
}

char *halo_hide_secrets(const char *address)
{
    char *text = NULL;
    size_t size;
    const char *mark = strstr(address, "://");
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    if (!mark) {
        fputs(address, to);
    } else {
        const char *scheme = scheme_of(address, mark);
        for (const char *at = address; at < scheme; at++)
            if (!isalnum((unsigned char)*at) && !strchr("+-.:", *at))
                address = scheme; /* no protocol around the URL, such as "concat:" */
        write_url(to, address, mark, mark + strlen(mark));
    }
    const bool failed = fflush(to) || ferror(to);
    fclose(to);
    if (!failed)
        return text;
    free(text);
    return NULL;
}

void halo_hide_in_words(char *text, size_t size)
{
    char *copy = strstr(text, "://") ? strdup(text) : NULL;
    FILE *to = copy ? fmemopen(text, size, "w") : NULL;
    const char *at = copy, *mark;
    while (to && (mark = strstr(at, "://"))) {
        const char *scheme = scheme_of(at, mark), *end = end_in_text(at, scheme, mark + 3);
        fwrite(at, 1, (size_t)(scheme - at), to);
        write_url(to, scheme, mark, end);
        at = end;
    }
    if (to) {
        fputs(at, to);
        fclose(to);
    }
    text[size - 1] = '\0';
    free(copy);
}

/* ---- what viewers do not see ---- */

/* Whether a word with a slash is none of a path: a fraction, the node of a camera, or a URL of
 * which nothing but the scheme and the host is left. */
static bool is_plain(const char *word, size_t length)
{
    static const char digits[] = "0123456789", node[] = "/dev/video";
    static const char *const words[] = {"Input/output", "I/O", "and/or"};
    const char *end = word + length, *mark = strstr(word, "://");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (length == strlen(words[i]) && !memcmp(word, words[i], length))
            return true;
    if (mark && mark < end) {
        const char *host = mark + 3, *after = end_of_host(host, find_any(host, end, "/"));
        const char *rest = after ? "/" STARS : STARS;
        after = after ? after : host;
        return scheme_of(word, mark) == word &&
               (after == end ||
                ((size_t)(end - after) == strlen(rest) && !memcmp(after, rest, strlen(rest))));
    }
    if (length > sizeof node - 1 && !memcmp(word, node, sizeof node - 1))
        word += sizeof node - 1;
    else
        word += strspn(word, digits) + (word[strspn(word, digits)] == '/');
    return word + strspn(word, digits) == end;
}

/* The length of what is hidden with a word: a path at the beginning of a message, which ends with a
 * colon, or in quotes, may have blanks. */
static size_t hidden_length(const char *text, const char *word, size_t length)
{
    const char *end = NULL;
    if (word > text && strchr("'\"`", word[-1]))
        end = strchr(word, word[-1]);
    else if (*word == '/' || *word == '~')
        end = strstr(word, ": ");
    return end && end > word + length ? (size_t)(end - word) : length;
}

void halo_hide_paths(char *text)
{
    static const char borders[] = " \t\n'\"`()<>,;";
    char *copy = strdup(text), *to = text;
    for (const char *at = copy ? copy : ""; *at;) {
        const size_t gap = strspn(at, borders);
        memcpy(to, at, gap);
        to += gap;
        at += gap;
        size_t length = strcspn(at, borders), shown;
        while (length > 1 && strchr(":.", at[length - 1]))
            length--;
        const bool hides = memchr(at, '/', length) && !is_plain(at, length);
        length = hides ? hidden_length(copy, at, length) : length;
        shown = hides && length > sizeof STARS - 1 ? sizeof STARS - 1 : length;
        memcpy(to, hides ? STARS : at, shown);
        to += shown;
        at += length;
    }
    *to = '\0';
    free(copy);
}
