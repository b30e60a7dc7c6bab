/* SPDX-License-Identifier: BSD-2-Clause
 * Single values of YAML, and the limits on their number and size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/expand.h"
#include "config/tree_reader.h"

void *halo_reader_give_up(struct halo_reader *r, int code)
{
    if (!r->code)
        r->code = code;
    return NULL;
}

bool halo_reader_refuse_tag(struct halo_reader *r, const yaml_char_t *tag, int line)
{
    if (!tag || !strcmp((const char *)tag, "!"))
        return false;
    HALO_READER_SAY(r, line, "tags (%.80s) are not supported", (const char *)tag);
    return true;
}

int halo_reader_note_anchor(struct halo_reader *r, const yaml_char_t *name, int line)
{
    if (!name)
        return -1;
    if (r->anchors == HALO_TREE_MAX_ANCHORS) {
        HALO_READER_SAY(r, line, "the file has more than %d anchors", HALO_TREE_MAX_ANCHORS);
        halo_reader_give_up(r, -EINVAL);
        return -1;
    }
    char *copy = strdup((const char *)name);
    if (!copy) {
        halo_reader_give_up(r, -ENOMEM);
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

bool halo_reader_bound(struct halo_reader *r, int nodes, int height, int line)
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
    halo_reader_give_up(r, -EINVAL);
    return false;
}

struct halo_node *halo_reader_alias(struct halo_reader *r, const yaml_event_t *event)
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
        return halo_reader_give_up(r, -EINVAL);
    }
    const struct halo_node *node = r->anchor[i].node;
    if (!halo_reader_bound(r, count_nodes(node, &r->bytes), height_of(node), line))
        return NULL;
    struct halo_node *copy = halo_node_copy(node);
    if (!copy)
        return halo_reader_give_up(r, -ENOMEM);
    free(copy->key);
    copy->key = NULL;
    copy->line = copy->key_line = line;
    return copy;
}

struct halo_node *halo_reader_scalar(struct halo_reader *r, const yaml_event_t *event)
{
    const int line = halo_reader_line(event->start_mark);
    const char *text = (const char *)event->data.scalar.value;
    struct halo_node *node = halo_node_create(HALO_NODE_SCALAR, r->source, line);
    if (!node || !(node->text = strdup(text))) {
        halo_node_destroy(node);
        return halo_reader_give_up(r, -ENOMEM);
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
    node->bad |= halo_reader_refuse_tag(r, event->data.scalar.tag, line);
    return node;
}

void halo_reader_expand(struct halo_reader *r, struct halo_node *node)
{
    char *text = NULL;
    struct halo_error err = {0};
    if (!strstr(node->text, "${") || node->bad)
        return;
    const int code = halo_expand(&text, node->text, &err);
    if (code == -ENOMEM) {
        halo_reader_give_up(r, code);
    } else if (code) {
        HALO_READER_SAY(r, node->line, "%s", err.text);
        node->bad = true;
    } else {
        node->written = node->text;
        node->text = text;
        r->bytes += strlen(text);
        halo_reader_bound(r, 0, 0, node->line);
    }
}
