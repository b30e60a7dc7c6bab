/* SPDX-License-Identifier: BSD-2-Clause
 * What the two files of the YAML reader share: tree_parse.c follows the text, tree_value.c makes
 * single values, aliases among them, and keeps the bounds. */
#ifndef HALO_TREE_READER_H
#define HALO_TREE_READER_H

#include <yaml.h>

#include "config/tree.h"

struct halo_anchor {
    char *name;
    const struct halo_node *node; /* NULL while it is being read */
};

struct halo_reader {
    yaml_parser_t parser;
    const struct halo_source *source;
    struct halo_error_list *errors;
    const char *text;
    int depth, nodes;
    size_t bytes;
    struct halo_anchor anchor[HALO_TREE_MAX_ANCHORS];
    int anchors;
    struct halo_node *refused; /* what is in no tree, but may have an anchor */
    int code;                  /* 0; -EINVAL: said, and the rest cannot be read; -ENOMEM */
    bool bad;                  /* an error has been said, and more may come */
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

/* What was said is the last that can be said of this file; code says why. Returns NULL. */
void *halo_reader_give_up(struct halo_reader *r, int code);

/* A scalar's node; NULL: given up. Its ${} are replaced by halo_reader_expand. */
struct halo_node *halo_reader_scalar(struct halo_reader *r, const yaml_event_t *event);
void halo_reader_expand(struct halo_reader *r, struct halo_node *node);

/* A copy of what the alias stands for; NULL: given up. */
struct halo_node *halo_reader_alias(struct halo_reader *r, const yaml_event_t *event);

/* Takes the anchor's name down; its node follows when it is whole. -1: there is none. */
int halo_reader_note_anchor(struct halo_reader *r, const yaml_char_t *name, int line);

/* Counts what comes; false: too much, and given up. */
bool halo_reader_bound(struct halo_reader *r, int nodes, int height, int line);

/* True where there is a tag, which is then said. */
bool halo_reader_refuse_tag(struct halo_reader *r, const yaml_char_t *tag, int line);

#endif
