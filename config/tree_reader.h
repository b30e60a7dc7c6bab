/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the two files of the YAML reader: tree_parse.c processes the events; tree_value.c
 * creates single values, including aliases, and enforces the limits. */
#ifndef HALO_TREE_READER_H
#define HALO_TREE_READER_H

#include <yaml.h>

#include "config/tree.h"

struct halo_anchor {
    char *name;
    const struct halo_node *node; /* NULL until the anchor's value has been read */
};

struct halo_reader {
    yaml_parser_t parser;
    const struct halo_source *source;
    struct halo_error_list *errors;
    const char *text;
    size_t length;
    int depth, nodes;
    size_t bytes;
    struct halo_anchor anchor[HALO_TREE_MAX_ANCHORS];
    int anchors;
    struct halo_node *refused; /* nodes that are not part of the tree, but may have an anchor */
    int code;                  /* 0, -EINVAL (an error was reported, and the rest cannot be read) or
                                * -ENOMEM */
    bool bad;                  /* an error was reported; more may follow */
};

#define HALO_READER_SAY(r, line, ...)                                                              \
    do {                                                                                           \
        halo_error_list_add((r)->errors, (r)->source, line, "", __VA_ARGS__);                      \
        (r)->bad = true;                                                                           \
    } while (0)

static inline int halo_reader_line(yaml_mark_t mark)
{
    return (int)mark.line + 1;
}

/* Stops reading this file and sets `code`. Returns NULL. */
void *halo_reader_give_up(struct halo_reader *r, int code);

/* Returns a node for the scalar, or NULL if reading stopped. ${} is not expanded in it until
 * halo_reader_expand() is called. */
struct halo_node *halo_reader_scalar(struct halo_reader *r, const yaml_event_t *event);
void halo_reader_expand(struct halo_reader *r, struct halo_node *node);

/* Returns a copy of the node that the alias refers to, or NULL if reading stopped. */
struct halo_node *halo_reader_alias(struct halo_reader *r, const yaml_event_t *event);

/* Records the anchor's name; the anchor's node is set once it is complete. Returns the anchor's
 * index, or -1 if there is no anchor or reading stopped. */
int halo_reader_note_anchor(struct halo_reader *r, const yaml_char_t *name, int line);

/* Adds `nodes` to the number of nodes read so far, and checks all limits. `height` is the number of
 * levels that these nodes add below the current level. If a limit is exceeded, stops reading and
 * returns false. */
bool halo_reader_bound(struct halo_reader *r, int nodes, int height, int line);

/* If there is a tag, reports an error and returns true; otherwise, returns false. */
bool halo_reader_refuse_tag(struct halo_reader *r, const yaml_char_t *tag, int line);

#endif
