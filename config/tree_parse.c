/* SPDX-License-Identifier: BSD-2-Clause
 * Parses YAML to trees. Uses events instead of libyaml's documents, which contain the whole text
 * before a limit can be checked, and no longer the places of its anchors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/expand.h"
#include <yaml.h>
#include "config/tree.h"

struct halo_anchor {
    char *name;
    const struct halo_node *node; /* NULL until the anchor's value has been read */
};

struct halo_reader {
    yaml_parser_t parser;
    const struct halo_settings_file *source;
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

/* ---- values ---- */

static void *reader_give_up(struct halo_reader *r, int code)
{
    if (!r->code)
        r->code = code;
    return NULL;
}

static bool reader_refuse_tag(struct halo_reader *r, const yaml_char_t *tag, int line)
{
    if (!tag || !strcmp((const char *)tag, "!"))
        return false;
    HALO_READER_SAY(r, line, "tags (%.80s) are not supported", (const char *)tag);
    return true;
}

static int reader_note_anchor(struct halo_reader *r, const yaml_char_t *name, int line)
{
    if (!name)
        return -1;
    if (r->anchors == HALO_TREE_MAX_ANCHORS) {
        HALO_READER_SAY(r, line, "the file has more than %d anchors", HALO_TREE_MAX_ANCHORS);
        reader_give_up(r, -EINVAL);
        return -1;
    }
    char *copy = strdup((const char *)name);
    if (!copy) {
        reader_give_up(r, -ENOMEM);
        return -1;
    }
    r->anchor[r->anchors] = (struct halo_anchor){copy, NULL};
    return r->anchors++;
}

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

static int count_nodes(const struct halo_node *node, size_t *bytes)
{
    int count = 1;
    *bytes += length_of(node->key) + length_of(node->text) + length_of(node->written);
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

static bool reader_bound(struct halo_reader *r, int nodes, int height, int line)
{
    r->nodes += nodes;
    if (r->nodes > HALO_TREE_MAX_NODES)
        HALO_READER_SAY(r, line, "the file has more than %d values", HALO_TREE_MAX_NODES);
    else if (r->bytes > HALO_TREE_MAX_TEXT)
        HALO_READER_SAY(r, line, "all strings together are longer than %d bytes",
                        HALO_TREE_MAX_TEXT);
    else if (r->depth + height > HALO_TREE_MAX_DEPTH)
        HALO_READER_SAY(r, line, "values are nested more than %d levels deep", HALO_TREE_MAX_DEPTH);
    else
        return true;
    reader_give_up(r, -EINVAL);
    return false;
}

static struct halo_node *reader_alias(struct halo_reader *r, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const int line = halo_reader_line(event->start_mark);
    int i = r->anchors - 1;
    while (i >= 0 && strcmp(r->anchor[i].name, name))
        i--;
    if (i < 0 || !r->anchor[i].node) {
        HALO_READER_SAY(r, line, "*%s: %s", name,
                        i < 0 ? "no anchor above this line has this name"
                              : "this alias is inside the value to which it refers");
        return reader_give_up(r, -EINVAL);
    }
    const struct halo_node *node = r->anchor[i].node;
    if (!reader_bound(r, count_nodes(node, &r->bytes), height_of(node), line))
        return NULL;
    struct halo_node *copy = halo_node_copy(node);
    if (!copy)
        return reader_give_up(r, -ENOMEM);
    free(copy->key);
    copy->key = NULL;
    copy->line = copy->key_line = line;
    return copy;
}

static struct halo_node *reader_scalar(struct halo_reader *r, const yaml_event_t *event)
{
    const int line = halo_reader_line(event->start_mark);
    const char *text = (const char *)event->data.scalar.value;
    struct halo_node *node = halo_node_create(HALO_NODE_SCALAR, r->source, line);
    if (!node || !(node->text = strdup(text))) {
        halo_node_destroy(node);
        return reader_give_up(r, -ENOMEM);
    }
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const size_t length = strlen(text);
    bool control = length != event->data.scalar.length;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        control |= (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    }
    if (control) {
        HALO_READER_SAY(r, line, "control characters, including NUL, are not allowed");
        node->bad = true;
    }
    node->bad |= reader_refuse_tag(r, event->data.scalar.tag, line);
    return node;
}

static void reader_expand(struct halo_reader *r, struct halo_node *node)
{
    char *text = NULL;
    struct halo_error err = {0};
    if (!strstr(node->text, "${") || node->bad)
        return;
    const int code = halo_expand(&text, node->text, &err);
    if (code == -ENOMEM) {
        reader_give_up(r, code);
    } else if (code) {
        HALO_READER_SAY(r, node->line, "%s", err.text);
        node->bad = true;
    } else {
        node->written = node->text;
        node->text = text;
        r->bytes += strlen(text);
        reader_bound(r, 0, 0, node->line);
    }
}

/* ---- the tree ---- */

static int count_lines(const char *text, size_t length)
{
    int line = 1;
    for (size_t i = 0; i < length; i++)
        line += text[i] == '\n';
    return line;
}

static bool begins_with_tab(const struct halo_reader *r, int line)
{
    const char *at = r->text, *end = r->text + r->length;
    while (--line > 0 && at && (at = memchr(at, '\n', (size_t)(end - at))))
        at++;
    while (at && at < end && *at == ' ')
        at++;
    return at && at < end && *at == '\t';
}

/* What helps, by a part of libyaml's words about the problem or its context. */
static const char *remedy_of(const struct halo_reader *r)
{
    static const struct {
        const char *words, *remedy;
    } remedies[] = {
        {"found a tab", "indent with spaces, not with tabs"},
        {"mapping values are not allowed",
         "put a value that contains ': ' in quotes, and check the "
         "indentation"},
        {"could not find expected ':'", "write 'key: value', with a space after the colon, and put "
                                        "a text with special characters in quotes"},
        {"found unexpected end of stream", "a quote is not closed"},
        {"found unexpected document indicator", "a quote is not closed"},
        {"expected ',' or '", "close the bracket, and put a value that contains , [ ] { or } in "
                              "quotes"},
        {"escape character", "in double quotes, \\ begins an escape sequence: use single quotes"},
        {"did not find expected hexdecimal",
         "in double quotes, \\ begins an escape sequence: use single quotes"},
        {"scanning an alias", "put a value that begins with * in quotes"},
        {"scanning an anchor", "put a value that begins with & in quotes"},
        {"scanning a tag", "put a value that begins with ! in quotes"},
        {"undefined tag handle", "put a value that begins with ! in quotes"},
        {"scanning a directive", "put a value that begins with % in quotes"},
        {"expected key",
         "give all keys of a map the same indentation, and put a value with special "
         "characters in quotes"},
        {"expected '-' indicator", "give all entries of a list the same indentation"},
        {"entries are not allowed", "begin a list on a line of its own"},
        {"keys are not allowed", "begin a map on a line of its own"},
        {"document start", "the file must be one map, such as 'version: 1' with other keys below"},
        {"control characters", "remove the invisible character"},
    };
    const yaml_parser_t *p = &r->parser;
    if (p->problem && strstr(p->problem, "cannot start any token"))
        return begins_with_tab(r, halo_reader_line(p->problem_mark))
                   ? "indent with spaces, not with tabs"
                   : "put the value in quotes";
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if ((p->problem && strstr(p->problem, remedies[i].words)) ||
            (p->context && strstr(p->context, remedies[i].words)))
            return remedies[i].remedy;
    return "check the indentation and the quotes here";
}

static void say_syntax(struct halo_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "the file is not valid YAML";
    if (p->error == YAML_MEMORY_ERROR) {
        reader_give_up(r, -ENOMEM);
        return;
    }
    reader_give_up(r, -EINVAL);
    if (p->error == YAML_READER_ERROR)
        HALO_READER_SAY(r, count_lines(r->text, p->problem_offset),
                        "the file is not UTF-8 text (%s): save it as UTF-8", problem);
    else if (p->context)
        HALO_READER_SAY(r, halo_reader_line(p->problem_mark), "%s (%s, %s from line %d)",
                        remedy_of(r), problem, p->context, halo_reader_line(p->context_mark));
    else
        HALO_READER_SAY(r, halo_reader_line(p->problem_mark), "%s (%s)", remedy_of(r), problem);
}

static bool next_event(struct halo_reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return true;
    say_syntax(r);
    return false;
}

static struct halo_node *read_node(struct halo_reader *r, const yaml_event_t *event);

/* Reads to the end of the list or map; false: the rest cannot be read. */
static bool read_list(struct halo_reader *r, struct halo_node *list)
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
            reader_give_up(r, -ENOMEM);
            return false;
        }
    }
}

/* The key's text, which the caller owns; NULL: the rest cannot be read. */
static char *read_key(struct halo_reader *r, const yaml_event_t *event)
{
    const int line = halo_reader_line(event->start_mark);
    if (event->type != YAML_SCALAR_EVENT) {
        HALO_READER_SAY(r, line, "a key must be plain text, not a list or a map");
        return reader_give_up(r, -EINVAL);
    }
    struct halo_node *key = reader_scalar(r, event);
    if (!key)
        return NULL;
    char *text = key->text;
    key->text = NULL;
    if (!strcmp(text, "<<")) /* also in quotes: no key has this name */
        HALO_READER_SAY(
            r, line,
            "merge keys (<<) are not supported: put settings shared by streams under 'defaults'");
    halo_node_destroy(key);
    return text;
}

static bool add_to_map(struct halo_reader *r, struct halo_node *map, struct halo_node *child)
{
    const struct halo_node *old = halo_node_get(map, child->key);
    if (old) {
        HALO_READER_SAY(r, child->key_line, "duplicate key %.80s (already set on line %d)",
                        child->key, old->key_line);
        if (!halo_node_append(r->refused, child))
            return true;
        reader_give_up(r, -ENOMEM);
    } else if (map->count == HALO_TREE_MAX_KEYS) {
        HALO_READER_SAY(r, child->key_line, "the map has more than %d keys", HALO_TREE_MAX_KEYS);
        reader_give_up(r, -EINVAL);
    } else if (halo_node_append(map, child)) {
        reader_give_up(r, -ENOMEM);
    } else {
        return true;
    }
    halo_node_destroy(child);
    return false;
}

static bool read_map(struct halo_reader *r, struct halo_node *map)
{
    for (;;) {
        yaml_event_t event;
        if (!next_event(r, &event))
            return false;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return true;
        }
        const int line = halo_reader_line(event.start_mark);
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

static struct halo_node *read_collection(struct halo_reader *r, const yaml_event_t *event,
                                         bool is_list)
{
    const int line = halo_reader_line(event->start_mark);
    const yaml_char_t *tag =
        is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
    reader_refuse_tag(r, tag, line);
    struct halo_node *node =
        halo_node_create(is_list ? HALO_NODE_LIST : HALO_NODE_MAP, r->source, line);
    if (!node)
        return reader_give_up(r, -ENOMEM);
    r->depth++;
    const bool whole = is_list ? read_list(r, node) : read_map(r, node);
    r->depth--;
    if (whole)
        return node;
    halo_node_destroy(node);
    return NULL;
}

/* NULL: the rest cannot be read. */
static struct halo_node *read_node(struct halo_reader *r, const yaml_event_t *event)
{
    if (event->type == YAML_ALIAS_EVENT)
        return reader_alias(r, event);
    const int line = halo_reader_line(event->start_mark);
    if (!reader_bound(r, 1, 1, line))
        return NULL;
    const bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    const int anchor = reader_note_anchor(r,
                                          is_list ? event->data.sequence_start.anchor
                                          : event->type == YAML_MAPPING_START_EVENT
                                              ? event->data.mapping_start.anchor
                                              : event->data.scalar.anchor,
                                          line);
    if (r->code)
        return NULL;
    struct halo_node *node;
    if (event->type == YAML_SCALAR_EVENT) {
        node = reader_scalar(r, event);
        if (node)
            reader_expand(r, node);
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

/* Reads the only document of the text. */
static struct halo_node *read_document(struct halo_reader *r)
{
    struct halo_node *root = NULL;
    for (int documents = 0;;) {
        yaml_event_t event;
        if (!next_event(r, &event))
            break;
        const yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1) {
            HALO_READER_SAY(r, halo_reader_line(event.start_mark),
                            "the file contains more than one document");
            reader_give_up(r, -EINVAL);
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

static const char mark[] = "\xef\xbb\xbf";

int halo_tree_parse(struct halo_node **ret, const char *text, size_t length,
                    const struct halo_settings_file *source, struct halo_error_list *errors)
{
    struct halo_reader *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    /* With a given encoding, libyaml would treat a byte order mark as text. */
    if (length >= sizeof mark - 1 && !memcmp(text, mark, sizeof mark - 1)) {
        text += sizeof mark - 1;
        length -= sizeof mark - 1;
    }
    r->source = source;
    r->errors = errors;
    r->text = text;
    r->length = length;
    r->refused = halo_node_create(HALO_NODE_LIST, source, 0);
    const char *nul = memchr(text, '\0', length);
    struct halo_node *root = NULL;
    if (length > HALO_TREE_MAX_BYTES) {
        HALO_READER_SAY(r, 0, "the file is longer than %d bytes", HALO_TREE_MAX_BYTES);
    } else if (nul) {
        HALO_READER_SAY(r, count_lines(text, (size_t)(nul - text)),
                        "the file is not text, because it contains a NUL byte");
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
    *ret = root; /* also with errors: other errors in it are reported, too */
    return code;
}
