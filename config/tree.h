/* SPDX-License-Identifier: BSD-2-Clause
 * A file's text as a tree of scalars, lists and maps that know their lines. YAML is read by
 * libyaml, event by event, so that what is too deep or too much is refused as it comes; aliases are
 * copies, and count. One thread at a time; a node owns all below it. */
#ifndef HALO_TREE_H
#define HALO_TREE_H

#include "config/error_list.h"

enum {
    HALO_TREE_MAX_BYTES = 1 << 20, /* of a file */
    HALO_TREE_MAX_DEPTH = 16,
    HALO_TREE_MAX_NODES = 50000,
    HALO_TREE_MAX_TEXT = 8 << 20, /* bytes that ${} and aliases make of scalars and keys */
    HALO_TREE_MAX_KEYS = 1024,    /* of one map */
    HALO_TREE_MAX_ANCHORS = 256,
};

enum halo_node_kind {
    HALO_NODE_SCALAR,
    HALO_NODE_LIST,
    HALO_NODE_MAP,
};

struct halo_node {
    enum halo_node_kind kind;
    const struct halo_source *source; /* borrowed */
    int line;                         /* from 1 */
    char *key;                        /* in a map; else NULL */
    int key_line;
    char *text;    /* SCALAR: the value */
    char *written; /* SCALAR: as the file has it, where ${} made another text of it; else NULL */
    bool plain;    /* SCALAR: without quotes */
    bool bad;      /* an error of it has been said: it is not looked at again */
    struct halo_node **child;
    int count, room;
};

/* Parses text. *ret NULL: an empty document. 0: the caller owns *ret; -EINVAL: the list says why;
 * -ENOMEM. Texts with ${NAME} are replaced (expand.h). */
int halo_tree_parse(struct halo_node **ret, const char *text, size_t length,
                    const struct halo_source *source, struct halo_error_list *errors);
void halo_node_destroy(struct halo_node *node); /* NULL is nothing to do */

struct halo_node *halo_node_create(enum halo_node_kind kind, const struct halo_source *source,
                                   int line); /* NULL: out of memory */
/* Takes child over on success. 0, -ENOMEM. */
int halo_node_append(struct halo_node *node, struct halo_node *child);
struct halo_node *halo_node_copy(const struct halo_node *node); /* NULL: out of memory */

/* The child with that key, or NULL; NULL has none. */
struct halo_node *halo_node_get(const struct halo_node *map, const char *key);

/* The text of a SCALAR for messages: as it was written, for what ${} brought may be a secret. */
const char *halo_node_shown(const struct halo_node *node);
/* Whether ${} made the node's text, or that of one below it. */
bool halo_node_is_expanded(const struct halo_node *node);

/* YAML's null: nothing, ~ or null, without quotes. */
bool halo_node_is_null(const struct halo_node *node);

/* Puts what over holds into base: maps key by key, all else as a whole. Takes over's children; over
 * itself stays the caller's. Both are maps. 0, -ENOMEM. */
int halo_node_merge(struct halo_node *base, struct halo_node *over);

#endif
