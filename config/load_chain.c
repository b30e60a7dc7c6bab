/* SPDX-License-Identifier: BSD-2-Clause
 * Chains in YAML: one string, or a list whose maps are converted to FFmpeg's syntax, in which
 * quotes and backslashes are interpreted twice (pipeline/filter/chain.c). */
#include <stdlib.h>
#include <string.h>

#include "config/load.h"

#define WORD   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define BLANKS " \n\t\r"

static bool is_word(const char *text)
{
    return *text && !text[strspn(text, WORD)];
}

/* One interpretation removes a backslash before each of its special characters and before blanks at
 * both ends; the other one reads quotes. */
static void write_value(FILE *to, const char *value)
{
    const bool quoted = strpbrk(value, "\\':,;[]" BLANKS) != NULL;
    if (quoted)
        fputc('\'', to);
    for (const char *s = value; *s; s++) {
        const bool end = s == value || !s[1];
        if (strchr("\\':", *s) || (end && strchr(BLANKS, *s)))
            fputc('\\', to);
        if (*s == '\'')
            fputs("'\\''", to);
        else
            fputc(*s, to);
    }
    if (quoted)
        fputc('\'', to);
}

/* Writes a value. A mask may be a list, and its rows, too: numbers are then separated by blanks.
 * False: an error was added. */
static bool collect(struct halo_loader *l, struct halo_node *node, FILE *to, int depth)
{
    if (node->bad)
        return false;
    if (node->kind == HALO_NODE_LIST && depth < 2) {
        for (int i = 0; i < node->count; i++) {
            if (i)
                fputc(' ', to);
            if (!collect(l, node->child[i], to, depth + 1))
                return false;
        }
        return true;
    }
    const char *text = halo_loader_text(l, node);
    if (text)
        fputs(text, to);
    return text != NULL;
}

static bool write_option(struct halo_loader *l, struct halo_node *node, FILE *to)
{
    if (!is_word(node->key)) {
        halo_loader_say(l, node, "the name of an option may contain only letters, digits and _");
        return false;
    }
    char *value = NULL;
    size_t size;
    FILE *text = open_memstream(&value, &size);
    if (!text) {
        l->no_memory = true;
        return false;
    }
    bool fine = collect(l, node, text, 0);
    if (fflush(text) || ferror(text)) {
        l->no_memory = true;
        fine = false;
    }
    fclose(text);
    if (fine) {
        fprintf(to, "%s=", node->key);
        write_value(to, value);
    }
    free(value);
    return fine;
}

/* {gblur: {sigma: 12}} */
static bool write_filter(struct halo_loader *l, struct halo_node *node, FILE *to)
{
    if (node->count != 1) {
        halo_loader_say(l, node,
                        "each map must contain only one filter, as in '- gblur: {sigma: 12}'");
        return false;
    }
    struct halo_node *filter = node->child[0];
    const size_t mark = halo_loader_enter(l, filter->key, 0);
    bool fine = is_word(filter->key);
    if (!fine)
        halo_loader_say(l, filter, "the name of a filter may contain only letters, digits and _");
    fputs(filter->key, to);
    if (fine && !halo_node_is_null(filter)) { /* "- sobel:" has no options */
        fine = halo_loader_is(l, filter, HALO_NODE_MAP);
        for (int i = 0; fine && i < filter->count; i++) {
            const size_t inner = halo_loader_enter(l, filter->child[i]->key, 0);
            fputc(i ? ':' : '=', to);
            fine = write_option(l, filter->child[i], to);
            halo_loader_leave(l, inner);
        }
    }
    halo_loader_leave(l, mark);
    return fine;
}

/* columns: whether column numbers refer to text that the user wrote. If not, "column 7: " is
 * removed from errors. */
static bool check_chain(struct halo_loader *l, struct halo_node *node, const char *text,
                        bool columns)
{
    struct halo_error err = {0};
    const int code =
        l->checks && l->checks->filters ? l->checks->filters(text, HALO_PRIVACY_OFF, &err) : 0;
    const char *what = columns ? NULL : strstr(err.text, ": ");
    return halo_loader_passes(l, node, code, what ? what + 2 : err.text);
}

/* The text of one entry of a list, malloc'ed; NULL: an error was added. */
static char *read_entry(struct halo_loader *l, struct halo_node *node)
{
    const bool is_map = node->kind == HALO_NODE_MAP && !node->bad;
    char *text = NULL;
    bool fine = false;
    if (is_map) {
        size_t size;
        FILE *to = open_memstream(&text, &size);
        if (to) {
            fine = write_filter(l, node, to);
            l->no_memory |= fflush(to) || ferror(to);
            fclose(to);
        }
    } else {
        halo_loader_string(l, &text, node);
        fine = text != NULL;
    }
    l->no_memory |= is_map && !text;
    if (!text || !fine || !check_chain(l, node, text, !is_map)) {
        free(text);
        return NULL;
    }
    return text;
}

static char *read_list(struct halo_loader *l, struct halo_node *list)
{
    char *all = NULL;
    size_t size;
    FILE *to = open_memstream(&all, &size);
    if (!to) {
        l->no_memory = true;
        return NULL;
    }
    bool fine = list->count > 0;
    if (!fine)
        halo_loader_say(l, list, "the list is empty (" HALO_HOW_TO_PASS ")");
    for (int i = 0; i < list->count; i++) {
        const size_t mark = halo_loader_enter(l, NULL, i);
        char *text = read_entry(l, list->child[i]);
        halo_loader_leave(l, mark);
        if (text)
            fprintf(to, "%s%s", i ? "," : "", text);
        fine = fine && text;
        free(text);
    }
    if (fflush(to) || ferror(to)) {
        l->no_memory = true;
        fine = false;
    }
    fclose(to);
    /* Each filter is valid, but all together may be too many. */
    if (fine && list->count > 1 && !check_chain(l, list, all, false))
        fine = false;
    if (fine)
        return all;
    free(all);
    return NULL;
}

char *halo_load_chain(struct halo_loader *l, struct halo_node *node)
{
    char *text = NULL;
    if (node->bad)
        return NULL;
    if (halo_node_is_null(node)) {
        halo_loader_say(l, node, "no filters (" HALO_HOW_TO_PASS ")");
        return NULL;
    }
    if (node->kind == HALO_NODE_LIST)
        return read_list(l, node);
    if (node->kind == HALO_NODE_MAP) {
        halo_loader_say(l, node, "must be a string or a list, as in [{gblur: {sigma: 12}}]");
        return NULL;
    }
    halo_loader_string(l, &text, node);
    if (text && check_chain(l, node, text, true))
        return text;
    free(text);
    return NULL;
}
