/* SPDX-License-Identifier: BSD-2-Clause
 * Trees of scalars, lists and maps. */
#include "config/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct halo_node *halo_node_create(enum halo_node_kind kind,
                                   const struct halo_settings_file *source, int line)
{
    struct halo_node *node = calloc(1, sizeof *node);
    if (node) {
        node->kind = kind;
        node->source = source;
        node->line = node->key_line = line;
    }
    return node;
}

void halo_node_destroy(struct halo_node *node)
{
    if (!node)
        return;
    for (int i = 0; i < node->count; i++)
        halo_node_destroy(node->child[i]);
    free(node->child);
    free(node->key);
    free(node->text);
    free(node->written);
    free(node);
}

int halo_node_append(struct halo_node *node, struct halo_node *child)
{
    if (node->count == node->room) {
        const int room = node->room ? 2 * node->room : 4;
        struct halo_node **grown = realloc(node->child, (size_t)room * sizeof(struct halo_node *));
        if (!grown)
            return -ENOMEM;
        node->child = grown;
        node->room = room;
    }
    node->child[node->count++] = child;
    return 0;
}

static int copy_text(char **to, const char *from)
{
    if (!from)
        return 0;
    *to = strdup(from);
    return *to ? 0 : -ENOMEM;
}

struct halo_node *halo_node_copy(const struct halo_node *node)
{
    struct halo_node *copy = halo_node_create(node->kind, node->source, node->line);
    if (!copy)
        return NULL;
    copy->key_line = node->key_line;
    copy->plain = node->plain;
    copy->bad = node->bad;
    if (copy_text(&copy->key, node->key) || copy_text(&copy->text, node->text) ||
        copy_text(&copy->written, node->written))
        goto fail;
    for (int i = 0; i < node->count; i++) {
        struct halo_node *child = halo_node_copy(node->child[i]);
        if (!child || halo_node_append(copy, child)) {
            halo_node_destroy(child);
            goto fail;
        }
    }
    return copy;
fail:
    halo_node_destroy(copy);
    return NULL;
}

struct halo_node *halo_node_get(const struct halo_node *map, const char *key)
{
    for (int i = 0; map && map->kind == HALO_NODE_MAP && i < map->count; i++)
        if (!strcmp(map->child[i]->key, key))
            return map->child[i];
    return NULL;
}

const char *halo_node_shown(const struct halo_node *node)
{
    return node->written ? node->written : node->text;
}

bool halo_node_is_expanded(const struct halo_node *node)
{
    bool expanded = node->written != NULL;
    for (int i = 0; !expanded && i < node->count; i++)
        expanded = halo_node_is_expanded(node->child[i]);
    return expanded;
}

bool halo_node_is_null(const struct halo_node *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != HALO_NODE_SCALAR || !node->plain || node->written)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(node->text, words[i]))
            return true;
    return false;
}

/* Maps are small, or contain streams, which are few: a linear search is fast enough. */
int halo_node_merge(struct halo_node *base, struct halo_node *over)
{
    while (over->count > 0) {
        struct halo_node *child = over->child[0];
        struct halo_node *old = halo_node_get(base, child->key);
        int code = 0;
        if (old && old->kind == HALO_NODE_MAP && child->kind == HALO_NODE_MAP) {
            code = halo_node_merge(old, child);
            if (!code)
                halo_node_destroy(child);
        } else if (old) {
            for (int i = 0; i < base->count; i++)
                if (base->child[i] == old)
                    base->child[i] = child;
            halo_node_destroy(old);
        } else {
            code = halo_node_append(base, child);
        }
        if (code)
            return code;
        over->count--;
        memmove(over->child, over->child + 1, (size_t)over->count * sizeof(struct halo_node *));
    }
    return 0;
}
