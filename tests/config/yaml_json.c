/* SPDX-License-Identifier: BSD-2-Clause
 * yaml_json < FILE: prints the YAML as JSON, for tests of the JSON Schema: what an editor's YAML
 * reader makes of a file by YAML 1.2's core schema. Exit status 1 where it is no YAML. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/error_list.h"
#include "config/base/number.h"
#include "config/tree.h"

static json_t *scalar(const struct halo_node *node)
{
    const char *text = node->text;
    double v;
    if (!node->plain)
        return json_string(text);
    if (halo_node_is_null(node))
        return json_null();
    if (!strcmp(text, "true") || !strcmp(text, "false"))
        return json_boolean(*text == 't');
    if (!halo_parse_integer(text, &v))
        return json_integer((json_int_t)v);
    return halo_parse_real(text, &v) ? json_string(text) : json_real(v);
}

static json_t *to_json(const struct halo_node *node)
{
    if (node->kind == HALO_NODE_SCALAR)
        return scalar(node);
    json_t *json = node->kind == HALO_NODE_LIST ? json_array() : json_object();
    for (int i = 0; i < node->count; i++) {
        if (node->kind == HALO_NODE_LIST)
            json_array_append_new(json, to_json(node->child[i]));
        else
            json_object_set_new(json, node->child[i]->key, to_json(node->child[i]));
    }
    return json;
}

int main(void)
{
    static char text[HALO_TREE_MAX_BYTES];
    static const struct halo_settings_file source = {"standard input", 0};
    const size_t length = fread(text, 1, sizeof text, stdin);
    struct halo_error_list *errors = halo_error_list_create();
    struct halo_node *root = NULL;
    int code = halo_tree_parse(&root, text, length, &source, errors);
    for (int i = 0; i < halo_error_list_count(errors); i++)
        fprintf(stderr, "%s\n", halo_error_list_text(errors, i));
    if (!code && root) {
        json_t *json = to_json(root);
        code = json_dumpf(json, stdout, JSON_ENCODE_ANY);
        json_decref(json);
    }
    halo_node_destroy(root);
    halo_error_list_destroy(errors);
    return code || !root ? EXIT_FAILURE : EXIT_SUCCESS;
}
