/* SPDX-License-Identifier: BSD-2-Clause
 * Parses YAML to trees. Uses events instead of libyaml's documents, which contain the whole text
 * before a limit can be checked, and no longer the places of its anchors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/tree_reader.h"

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
        {"escape character", "in double quotes, \\ has a meaning: use single quotes"},
        {"did not find expected hexdecimal",
         "in double quotes, \\ has a meaning: use single quotes"},
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
        halo_reader_give_up(r, -ENOMEM);
        return;
    }
    halo_reader_give_up(r, -EINVAL);
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
            halo_reader_give_up(r, -ENOMEM);
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
        return halo_reader_give_up(r, -EINVAL);
    }
    struct halo_node *key = halo_reader_scalar(r, event);
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
        halo_reader_give_up(r, -ENOMEM);
    } else if (map->count == HALO_TREE_MAX_KEYS) {
        HALO_READER_SAY(r, child->key_line, "the map has more than %d keys", HALO_TREE_MAX_KEYS);
        halo_reader_give_up(r, -EINVAL);
    } else if (halo_node_append(map, child)) {
        halo_reader_give_up(r, -ENOMEM);
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
    halo_reader_refuse_tag(r, tag, line);
    struct halo_node *node =
        halo_node_create(is_list ? HALO_NODE_LIST : HALO_NODE_MAP, r->source, line);
    if (!node)
        return halo_reader_give_up(r, -ENOMEM);
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
        return halo_reader_alias(r, event);
    const int line = halo_reader_line(event->start_mark);
    if (!halo_reader_bound(r, 1, 1, line))
        return NULL;
    const bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    const int anchor = halo_reader_note_anchor(r,
                                               is_list ? event->data.sequence_start.anchor
                                               : event->type == YAML_MAPPING_START_EVENT
                                                   ? event->data.mapping_start.anchor
                                                   : event->data.scalar.anchor,
                                               line);
    if (r->code)
        return NULL;
    struct halo_node *node;
    if (event->type == YAML_SCALAR_EVENT) {
        node = halo_reader_scalar(r, event);
        if (node)
            halo_reader_expand(r, node);
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
            halo_reader_give_up(r, -EINVAL);
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
                    const struct halo_source *source, struct halo_error_list *errors)
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
