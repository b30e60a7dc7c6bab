/* SPDX-License-Identifier: BSD-2-Clause
 * YAML to trees. Events, not libyaml's documents: those hold all of a text before the first bound
 * can be looked at, and have lost where its anchors were. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "config/expand.h"
#include "config/tree.h"

struct anchor {
    char *name;
    const struct halo_node *node; /* NULL while it is being read */
};

struct reader {
    yaml_parser_t parser;
    const struct halo_source *source;
    struct halo_error_list *errors;
    const char *text;
    int depth, nodes;
    size_t bytes;
    struct anchor anchor[HALO_TREE_MOST_ANCHORS];
    int anchors;
    struct halo_node *refused; /* what is in no tree, but may have an anchor */
    int code;                  /* 0; -EINVAL: said, and the rest cannot be read; -ENOMEM */
    bool bad;                  /* an error has been said, and more may come */
};

#define SAY(r, line, ...)                                                                          \
    do {                                                                                           \
        halo_error_list_add((r)->errors, (r)->source, line, "", __VA_ARGS__);                      \
        (r)->bad = true;                                                                           \
    } while (0)

static int line_of(yaml_mark_t mark)
{
    return (int)mark.line + 1;
}

/* What was said is the last that can be said of this file. */
static void *give_up(struct reader *r, int code)
{
    if (!r->code)
        r->code = code;
    return NULL;
}

static int count_lines(const char *text, size_t length)
{
    int line = 1;
    for (size_t i = 0; i < length; i++)
        line += text[i] == '\n';
    return line;
}

static void say_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "this is not YAML";
    if (p->error == YAML_MEMORY_ERROR) {
        give_up(r, -ENOMEM);
        return;
    }
    give_up(r, -EINVAL);
    if (p->error == YAML_READER_ERROR)
        SAY(r, count_lines(r->text, p->problem_offset), "not UTF-8 text: %s", problem);
    else if (p->context)
        SAY(r, line_of(p->problem_mark), "%s, %s (from line %d)", problem, p->context,
            line_of(p->context_mark));
    else
        SAY(r, line_of(p->problem_mark), "%s", problem);
}

static bool next_event(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return true;
    say_syntax(r);
    return false;
}

static bool has_tag(const yaml_char_t *tag)
{
    return tag && strcmp((const char *)tag, "!") != 0;
}

/* Takes the anchor's name down; its node follows when it is whole. -1: there is none. */
static int note_anchor(struct reader *r, const yaml_char_t *name, int line)
{
    if (!name)
        return -1;
    if (r->anchors == HALO_TREE_MOST_ANCHORS) {
        SAY(r, line, "more than %d anchors", HALO_TREE_MOST_ANCHORS);
        give_up(r, -EINVAL);
        return -1;
    }
    char *copy = strdup((const char *)name);
    if (!copy) {
        give_up(r, -ENOMEM);
        return -1;
    }
    r->anchor[r->anchors] = (struct anchor){copy, NULL};
    return r->anchors++;
}

static int count_nodes(const struct halo_node *node, size_t *bytes)
{
    int count = 1;
    *bytes += node->text ? strlen(node->text) : 0;
    for (int i = 0; i < node->count; i++)
        count += count_nodes(node->child[i], bytes);
    return count;
}

static int height_of(const struct halo_node *node)
{
    int height = 0;
    for (int i = 0; i < node->count; i++) {
        const int below = height_of(node->child[i]);
        height = below > height ? below : height;
    }
    return height + 1;
}

/* False: said. */
static bool is_within_bounds(struct reader *r, int nodes, int height, int line)
{
    r->nodes += nodes;
    if (r->nodes > HALO_TREE_MOST_NODES)
        SAY(r, line, "more than %d values", HALO_TREE_MOST_NODES);
    else if (r->bytes > HALO_TREE_MOST_TEXT)
        SAY(r, line, "all texts together are longer than %d bytes", HALO_TREE_MOST_TEXT);
    else if (r->depth + height > HALO_TREE_MOST_DEPTH)
        SAY(r, line, "nested more than %d deep", HALO_TREE_MOST_DEPTH);
    else
        return true;
    give_up(r, -EINVAL);
    return false;
}

static struct halo_node *read_alias(struct reader *r, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const int line = line_of(event->start_mark);
    int i = r->anchors - 1;
    while (i >= 0 && strcmp(r->anchor[i].name, name))
        i--;
    if (i < 0 || !r->anchor[i].node) {
        SAY(r, line, "*%s: %s", name, i < 0 ? "there is no such anchor above" : "it holds itself");
        return give_up(r, -EINVAL);
    }
    const struct halo_node *node = r->anchor[i].node;
    if (!is_within_bounds(r, count_nodes(node, &r->bytes), height_of(node), line))
        return NULL;
    struct halo_node *copy = halo_node_copy(node);
    if (!copy)
        return give_up(r, -ENOMEM);
    free(copy->key);
    copy->key = NULL;
    copy->line = copy->key_line = line;
    return copy;
}

static struct halo_node *read_scalar(struct reader *r, const yaml_event_t *event)
{
    const int line = line_of(event->start_mark);
    const char *text = (const char *)event->data.scalar.value;
    struct halo_node *node = halo_node_create(HALO_NODE_SCALAR, r->source, line);
    if (!node || !(node->text = strdup(text))) {
        halo_node_destroy(node);
        return give_up(r, -ENOMEM);
    }
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const size_t length = strlen(text);
    bool control = length != event->data.scalar.length;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        control |= (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    }
    if (control) {
        SAY(r, line, "control characters, NUL among them, are not read");
        node->bad = true;
    }
    if (has_tag(event->data.scalar.tag)) {
        SAY(r, line, "tags (%.80s) are not read", (const char *)event->data.scalar.tag);
        node->bad = true;
    }
    return node;
}

static void expand(struct reader *r, struct halo_node *node)
{
    char *text = NULL;
    struct halo_error err = {0};
    if (!strstr(node->text, "${") || node->bad)
        return;
    const int code = halo_expand(&text, node->text, &err);
    if (code == -ENOMEM) {
        give_up(r, code);
    } else if (code) {
        SAY(r, node->line, "%s", err.text);
        node->bad = true;
    } else {
        node->written = node->text;
        node->text = text;
        r->bytes += strlen(text);
        is_within_bounds(r, 0, 0, node->line);
    }
}

static struct halo_node *read_node(struct reader *r, const yaml_event_t *event);

/* Reads until the list's or the map's end; false: the rest cannot be read. */
static bool read_list(struct reader *r, struct halo_node *list)
{
    for (;;) {
        yaml_event_t event;
        if (!next_event(r, &event))
            return false;
        const bool end = event.type == YAML_SEQUENCE_END_EVENT;
        struct halo_node *child = end ? NULL : read_node(r, &event);
        yaml_event_delete(&event);
        if (!child)
            return end;
        if (halo_node_append(list, child)) {
            halo_node_destroy(child);
            give_up(r, -ENOMEM);
            return false;
        }
    }
}

/* The key's text, the caller's; NULL: the rest cannot be read. */
static char *read_key(struct reader *r, const yaml_event_t *event)
{
    const int line = line_of(event->start_mark);
    if (event->type != YAML_SCALAR_EVENT) {
        SAY(r, line, "a key must be a word");
        return give_up(r, -EINVAL);
    }
    struct halo_node *key = read_scalar(r, event);
    if (!key)
        return NULL;
    char *text = key->text;
    key->text = NULL;
    if (key->plain && !strcmp(text, "<<"))
        SAY(r, line, "merge keys (<<) are not read: defaults: holds what streams share");
    halo_node_destroy(key);
    return text;
}

static bool add_to_map(struct reader *r, struct halo_node *map, struct halo_node *child)
{
    const struct halo_node *old = halo_node_get(map, child->key);
    if (old) {
        SAY(r, child->key_line, "the key %.80s is there already, in line %d", child->key,
            old->key_line);
        if (!halo_node_append(r->refused, child))
            return true;
        give_up(r, -ENOMEM);
    } else if (map->count == HALO_TREE_MOST_KEYS) {
        SAY(r, child->key_line, "more than %d keys in a map", HALO_TREE_MOST_KEYS);
        give_up(r, -EINVAL);
    } else if (halo_node_append(map, child)) {
        give_up(r, -ENOMEM);
    } else {
        return true;
    }
    halo_node_destroy(child);
    return false;
}

static bool read_map(struct reader *r, struct halo_node *map)
{
    for (;;) {
        yaml_event_t event;
        if (!next_event(r, &event))
            return false;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return true;
        }
        const int line = line_of(event.start_mark);
        char *key = read_key(r, &event);
        yaml_event_delete(&event);
        if (!key)
            return false;
        if (!next_event(r, &event)) {
            free(key);
            return false;
        }
        struct halo_node *child = read_node(r, &event);
        yaml_event_delete(&event);
        if (!child) {
            free(key);
            return false;
        }
        child->key = key;
        child->key_line = line;
        child->bad |= !strcmp(key, "<<");
        if (!add_to_map(r, map, child))
            return false;
    }
}

static struct halo_node *read_collection(struct reader *r, const yaml_event_t *event, bool is_list)
{
    const int line = line_of(event->start_mark);
    const yaml_char_t *tag =
        is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
    if (has_tag(tag))
        SAY(r, line, "tags (%.80s) are not read", (const char *)tag);
    struct halo_node *node =
        halo_node_create(is_list ? HALO_NODE_LIST : HALO_NODE_MAP, r->source, line);
    if (!node)
        return give_up(r, -ENOMEM);
    r->depth++;
    const bool whole = is_list ? read_list(r, node) : read_map(r, node);
    r->depth--;
    if (whole)
        return node;
    halo_node_destroy(node);
    return NULL;
}

/* NULL: the rest cannot be read. */
static struct halo_node *read_node(struct reader *r, const yaml_event_t *event)
{
    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(r, event);
    const int line = line_of(event->start_mark);
    if (!is_within_bounds(r, 1, 1, line))
        return NULL;
    const bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    const int anchor =
        note_anchor(r,
                    is_list                                   ? event->data.sequence_start.anchor
                    : event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                              : event->data.scalar.anchor,
                    line);
    if (r->code)
        return NULL;
    struct halo_node *node;
    if (event->type == YAML_SCALAR_EVENT) {
        node = read_scalar(r, event);
        if (node)
            expand(r, node);
        if (node && r->code) {
            halo_node_destroy(node);
            node = NULL;
        }
    } else {
        node = read_collection(r, event, is_list);
    }
    if (node && anchor >= 0)
        r->anchor[anchor].node = node;
    return node;
}

/* The one document of the text. */
static struct halo_node *read_document(struct reader *r)
{
    struct halo_node *root = NULL;
    for (int documents = 0;;) {
        yaml_event_t event;
        if (!next_event(r, &event))
            break;
        const yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1) {
            SAY(r, line_of(event.start_mark), "a second document: one is read");
            give_up(r, -EINVAL);
        } else if (type == YAML_SCALAR_EVENT || type == YAML_MAPPING_START_EVENT ||
                   type == YAML_SEQUENCE_START_EVENT || type == YAML_ALIAS_EVENT) {
            root = read_node(r, &event);
        }
        yaml_event_delete(&event);
        if (r->code || type == YAML_STREAM_END_EVENT)
            break;
    }
    return root;
}

int halo_tree_parse(struct halo_node **ret, const char *text, size_t length,
                    const struct halo_source *source, struct halo_error_list *errors)
{
    struct reader *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->source = source;
    r->errors = errors;
    r->text = text;
    r->refused = halo_node_create(HALO_NODE_LIST, source, 0);
    const char *nul = memchr(text, '\0', length);
    struct halo_node *root = NULL;
    if (length > HALO_TREE_MOST_BYTES) {
        SAY(r, 0, "longer than %d bytes", HALO_TREE_MOST_BYTES);
    } else if (nul) {
        SAY(r, count_lines(text, (size_t)(nul - text)), "not text: there is a NUL byte");
    } else if (!r->refused || !yaml_parser_initialize(&r->parser)) {
        r->code = -ENOMEM;
    } else {
        yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, length);
        root = read_document(r);
        yaml_parser_delete(&r->parser);
    }
    for (int i = 0; i < r->anchors; i++)
        free(r->anchor[i].name);
    halo_node_destroy(r->refused);
    const int code = r->code ? r->code : r->bad ? -EINVAL : 0;
    free(r);
    if (code == -ENOMEM) {
        halo_node_destroy(root);
        return code;
    }
    *ret = root; /* also a bad one: what else is wrong in it is said too */
    return code;
}
