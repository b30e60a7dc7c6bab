/* SPDX-License-Identifier: BSD-2-Clause
 * Reads a map with a table of rows. */
#include "config/load.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { SHOWN = 80 }; /* bytes of the user's text that an error repeats */

static void say(struct halo_loader *l, const struct halo_node *node, int line, const char *format,
                va_list arguments)
{
    char text[900];
    vsnprintf(text, sizeof text, format, arguments);
    halo_error_list_add(l->errors, node->source, line, l->path, "%s", text);
}

void halo_loader_say(struct halo_loader *l, const struct halo_node *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(l, node, node->line, format, arguments);
    va_end(arguments);
}

void halo_loader_say_key(struct halo_loader *l, const struct halo_node *node, const char *format,
                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(l, node, node->key_line, format, arguments);
    va_end(arguments);
}

bool halo_loader_passes(struct halo_loader *l, const struct halo_node *node, int code,
                        const char *why)
{
    const bool is_text = node->kind == HALO_NODE_SCALAR;
    if (code == -ENOMEM)
        l->no_memory = true;
    else if (code && !halo_node_is_expanded(node))
        halo_loader_say(l, node, "%s", why);
    else if (code)
        halo_loader_say(
            l, node,
            "%.*s%sis invalid (the reason is not shown, because it would reveal the value of ${})",
            SHOWN, is_text ? halo_node_shown(node) : "", is_text ? ": " : "");
    return code == 0;
}

size_t halo_loader_enter(struct halo_loader *l, const char *name, int index)
{
    const size_t mark = strlen(l->path), room = sizeof l->path - mark;
    if (name)
        snprintf(l->path + mark, room, "%s%.80s", mark ? "." : "", name);
    else
        snprintf(l->path + mark, room, "[%d]", index);
    return mark;
}

void halo_loader_leave(struct halo_loader *l, size_t mark)
{
    l->path[mark] = '\0';
}

void halo_loader_say_of(struct halo_loader *l, const struct halo_node *map, const char *key,
                        const char *format, ...)
{
    const struct halo_node *node = halo_node_get(map, key);
    const size_t mark = halo_loader_enter(l, key, 0);
    va_list arguments;
    va_start(arguments, format);
    say(l, node ? node : map, (node ? node : map)->line, format, arguments);
    va_end(arguments);
    halo_loader_leave(l, mark);
}

bool halo_loader_is(struct halo_loader *l, struct halo_node *node, enum halo_node_kind kind)
{
    static const char *const names[] = {
        [HALO_NODE_SCALAR] = "a single value",
        [HALO_NODE_LIST] = "a list",
        [HALO_NODE_MAP] = "a map of keys",
    };
    if (node->bad)
        return false;
    if (halo_node_is_null(node))
        halo_loader_say(l, node, "has no value: must be %s", names[kind]);
    else if (node->kind != kind)
        halo_loader_say(l, node, "must be %s, not %s", names[kind], names[node->kind]);
    else
        return true;
    node->bad = true;
    return false;
}

const char *halo_loader_text(struct halo_loader *l, struct halo_node *node)
{
    if (!halo_loader_is(l, node, HALO_NODE_SCALAR))
        return NULL;
    if (*node->text)
        return node->text;
    halo_loader_say(l, node, "its value is empty");
    node->bad = true;
    return NULL;
}

/* Shells replace ~; halod would look for a folder of that name. */
static bool is_whole_path(struct halo_loader *l, struct halo_node *node, const char *text)
{
    if (strncmp(text, "~/", 2) != 0)
        return true;
    halo_loader_say(l, node,
                    "%.*s: ~ does not stand for a folder here: write the whole path, such as "
                    "/home/NAME/...",
                    SHOWN, halo_node_shown(node));
    node->bad = true;
    return false;
}

void halo_loader_string(struct halo_loader *l, char **field, struct halo_node *node)
{
    const char *text = halo_loader_text(l, node);
    if (!text || !is_whole_path(l, node, text))
        return;
    char *copy = strdup(text);
    l->no_memory |= !copy;
    if (copy) {
        free(*field);
        *field = copy;
    }
}

/* Converts a list to a string with commas. */
static void join_list(struct halo_loader *l, struct halo_node *node)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    for (int i = 0; to && i < node->count; i++) {
        const size_t mark = halo_loader_enter(l, NULL, i);
        const char *one = halo_loader_text(l, node->child[i]);
        halo_loader_leave(l, mark);
        node->bad |= !one;
        fprintf(to, "%s%s", i ? "," : "", one ? one : "");
    }
    if (!to || fclose(to)) {
        l->no_memory = node->bad = true;
        free(text);
        return;
    }
    if (halo_node_is_expanded(node)) /* errors do not show the value of ${} */
        node->written = strdup("[...]");
    node->kind = HALO_NODE_SCALAR;
    node->text = text;
}

/* The text in the syntax of options; NULL: an error was added. */
static const char *text_for(struct halo_loader *l, const struct halo_option *row,
                            struct halo_node *node)
{
    if (row->list && node->kind == HALO_NODE_LIST)
        join_list(l, node);
    const char *text = node->bad ? NULL : halo_loader_text(l, node);
    if (!text || row->type != HALO_OPTION_FLAG)
        return text;
    if (!strcmp(text, "true") || !strcmp(text, "false"))
        return *text == 't' ? "1" : "0";
    halo_loader_say(l, node, "%.*s: must be true or false", SHOWN, halo_node_shown(node));
    node->bad = true;
    return NULL;
}

static void loader_row(struct halo_loader *l, const struct halo_option *row, void *settings,
                       struct halo_node *node)
{
    const char *text = text_for(l, row, node);
    if (!text)
        return;
    if (row->type == HALO_OPTION_STRING && strcmp(row->name, "password") != 0 &&
        !is_whole_path(l, node, text))
        return;
    struct halo_error err = {0};
    const int code = halo_option_set(row, settings, text, &err);
    if (code == -ENOMEM) {
        l->no_memory = true;
    } else if (code) {
        /* The reason follows "NAME=TEXT: ". */
        const size_t length = strlen(text), shown = length < SHOWN ? length : SHOWN;
        const char *what = err.text + strlen(row->name) + 1 + shown + 2;
        halo_loader_say(l, node, "%.*s: %s", SHOWN, halo_node_shown(node), what);
        node->bad = true;
    }
}

static void say_unknown(struct halo_loader *l, const struct halo_section *section,
                        struct halo_node *node)
{
    const char *names[64];
    size_t count = 0;
    for (const struct halo_option *row = section->rows; row->name; row++)
        names[count++] = row->name;
    for (const struct halo_key *key = section->key; key->name; key++)
        if (!key->refused)
            names[count++] = key->name;
    char near[HALO_NEAREST_WORDS];
    halo_loader_say_key(l, node, "unknown key%s",
                        halo_nearest_words(near, node->key, names, count));
    node->bad = true;
}

static void load_key(struct halo_loader *l, const struct halo_section *section, void *settings,
                     struct halo_node *node)
{
    if (node->bad)
        return;
    const size_t mark = halo_loader_enter(l, node->key, 0);
    const struct halo_option *row = halo_option_find(section->rows, node->key, strlen(node->key));
    const struct halo_key *key = section->key;
    while (key->name && strcmp(key->name, node->key))
        key++;
    if (row)
        loader_row(l, row, settings, node);
    else if (!key->name)
        say_unknown(l, section, node);
    else if (key->refused)
        halo_loader_say(l, node, "%s", key->refused);
    else if (key->load)
        key->load(l, settings, node);
    halo_loader_leave(l, mark);
}

void halo_loader_section(struct halo_loader *l, const struct halo_section *section, void *settings,
                         struct halo_node *node, struct halo_node *defaults)
{
    if (node && !halo_loader_is(l, node, HALO_NODE_MAP))
        node = NULL;
    for (int i = 0; node && i < node->count; i++)
        load_key(l, section, settings, node->child[i]);
    for (int i = 0; defaults && i < defaults->count; i++)
        if (!halo_node_get(node, defaults->child[i]->key))
            load_key(l, section, settings, defaults->child[i]);
}

/* The path with its folder resolved, if that exists: one socket may have several names. */
static char *resolve(const char *path)
{
    char folder[PATH_MAX], real[PATH_MAX], *ret = NULL;
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const int length = slash ? (int)(base - path) : 2;
    if (length >= PATH_MAX)
        return strdup(path);
    snprintf(folder, sizeof folder, "%.*s", length, slash ? path : "./");
    if (!realpath(folder, real))
        return strdup(path);
    return asprintf(&ret, "%s/%s", strcmp(real, "/") ? real : "", base) < 0 ? NULL : ret;
}

void halo_loader_claim(struct halo_loader *l, const struct halo_node *node, bool is_path,
                       const char *text)
{
    if (l->scratch)
        return;
    if (l->claims == l->claims_room) {
        const int room = l->claims_room ? 2 * l->claims_room : 16;
        struct halo_claim *grown = realloc(l->claim, (size_t)room * sizeof *grown);
        if (!grown) {
            l->no_memory = true;
            return;
        }
        l->claim = grown;
        l->claims_room = room;
    }
    struct halo_claim *claim = &l->claim[l->claims++];
    *claim = (struct halo_claim){.text = text, .is_path = is_path, .node = node};
    memcpy(claim->path, l->path, sizeof claim->path);
}

void halo_loader_claim_socket(struct halo_loader *l, const struct halo_node *node, const char *path)
{
    if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        halo_loader_say(l, node, "the path of a socket may have at most 107 bytes");
    halo_loader_claim(l, node, true, path);
}

static int compare_claims(const void *a, const void *b)
{
    const struct halo_claim *x = a, *y = b;
    const int order = strcmp(x->place, y->place);
    if (order)
        return order;
    const struct halo_node *m = x->node, *n = y->node;
    if (m->source->number != n->source->number)
        return m->source->number < n->source->number ? -1 : 1;
    if (m->line != n->line)
        return m->line < n->line ? -1 : 1;
    return strcmp(x->path, y->path);
}

void halo_loader_compare(struct halo_loader *l)
{
    for (int i = 0; i < l->claims; i++) {
        struct halo_claim *claim = &l->claim[i];
        claim->place = claim->is_path ? resolve(claim->text) : strdup(claim->text);
        if (!claim->place) {
            l->no_memory = true;
            return;
        }
    }
    if (l->claims > 0)
        qsort(l->claim, (size_t)l->claims, sizeof *l->claim, compare_claims);
    for (int i = 1, first = 0; i < l->claims; i++) {
        const struct halo_claim *at = &l->claim[i], *other = &l->claim[first];
        if (strcmp(at->place, other->place)) {
            first = i;
            continue;
        }
        memcpy(l->path, at->path, sizeof l->path);
        halo_loader_say(l, at->node, "already used by %s (line %d%s%s)", other->path,
                        other->node->line, at->node->source == other->node->source ? "" : " of ",
                        at->node->source == other->node->source ? "" : other->node->source->name);
    }
    l->path[0] = '\0';
}

int halo_loader_finish(struct halo_loader *l)
{
    for (int i = 0; i < l->claims; i++)
        free(l->claim[i].place);
    free(l->claim);
    if (l->no_memory || !l->errors || halo_error_list_is_short(l->errors))
        return -ENOMEM;
    return halo_error_list_count(l->errors) > 0 ? -EINVAL : 0;
}
