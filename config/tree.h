/* SPDX-License-Identifier: BSD-2-Clause
 * A file's text as a tree of scalars, lists and maps with their line numbers. libyaml parses YAML
 * event by event, so that input that is nested too deeply or too large is refused as it is read.
 * Aliases become copies, which count towards the limits. One thread at a time; a node owns all
 * nodes below it. */
#ifndef HALO_TREE_H
#define HALO_TREE_H

#include <stddef.h>

#include "config/base/error_list.h"

enum {
    HALO_TREE_MAX_BYTES = 1 << 20, /* of a file */
    HALO_TREE_MAX_DEPTH = 16,
    HALO_TREE_MAX_NODES = 50000,
    HALO_TREE_MAX_TEXT = 8 << 20, /* most bytes of text that ${} and aliases may add */
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
    const struct halo_settings_file *source; /* borrowed */
    int line;                                /* from 1 */
    char *key;                               /* the node's key in a map; otherwise NULL */
    int key_line;
    char *text;    /* SCALAR: the value */
    char *written; /* SCALAR: the text in the file, if ${} changed it; otherwise NULL */
    bool plain;    /* SCALAR: not quoted */
    bool bad;      /* an error was reported for this node, so it is not checked again */
    struct halo_node **child;
    int count, room;
};

/* Parses text, and expands ${NAME} in values (expand.h). Returns 0 (*ret is the tree, or NULL for
 * an empty document), -EINVAL (the reasons are in errors, and *ret is the part that could be read,
 * or NULL) or -ENOMEM. If 0 or -EINVAL is returned, the caller owns *ret. */
int halo_tree_parse(struct halo_node **ret, const char *text, size_t length,
                    const struct halo_settings_file *source, struct halo_error_list *errors);
void halo_node_destroy(struct halo_node *node); /* may be NULL */

/* Returns a new node, or NULL if memory is exhausted. */
struct halo_node *halo_node_create(enum halo_node_kind kind,
                                   const struct halo_settings_file *source, int line);
/* Appends child to node. Returns 0 (node now owns child) or -ENOMEM. */
int halo_node_append(struct halo_node *node, struct halo_node *child);
/* Returns a copy of node and of all nodes below it, or NULL if memory is exhausted. */
struct halo_node *halo_node_copy(const struct halo_node *node);

/* Returns the child with that key, or NULL. map may be NULL. */
struct halo_node *halo_node_get(const struct halo_node *map, const char *key);

/* Returns the text of a SCALAR for use in messages. ${} is not expanded in it, because its value
 * may be a secret. */
const char *halo_node_shown(const struct halo_node *node);
/* Returns whether ${} was expanded in the text of this node or of a node below it. */
bool halo_node_is_expanded(const struct halo_node *node);

/* Returns whether the node is YAML's null: empty, ~ or null, without quotes. */
bool halo_node_is_null(const struct halo_node *node);

/* Merges the map `over` into the map `base`. Maps are merged key by key; other values replace the
 * old ones. The children of `over` are moved; the caller still owns `over` itself. Returns 0 or
 * -ENOMEM. */
int halo_node_merge(struct halo_node *base, struct halo_node *over);

#endif
