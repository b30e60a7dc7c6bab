/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/control/facts_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/output_kinds.h"
#include "config/pipewire.h"
#include "pipeline/desktop/list.h"

static void add(json_t *nodes, const char *stream, const char *path, bool output)
{
    json_array_append_new(
        nodes, json_pack("{s:s, s:s, s:b}", "stream", stream, "path", path, "output", output));
}

void halo_facts_ask_nodes(json_t *nodes, const struct halo_stream_settings *stream)
{
    if (stream->source.input && halo_pipewire_name_of(stream->source.input))
        add(nodes, stream->name, stream->source.input, false);
    for (int i = 0; i < stream->outputs; i++) {
        const struct halo_output_settings *output = &stream->output[i];
        char name[HALO_PIPEWIRE_NAME], path[HALO_PIPEWIRE_NAME + 16];
        if (halo_output_row(output)->target != HALO_AT_NODE || !output->target)
            continue;
        halo_pipewire_node_name(output->target, name);
        snprintf(path, sizeof path, "pipewire:%s", name);
        add(nodes, stream->name, path, true);
    }
}

static bool is_there(const json_t *node, const struct halo_pipewire_listed *list, int count)
{
    const char *name = halo_pipewire_name_of(json_string_value(json_object_get(node, "path")));
    const bool output = json_is_true(json_object_get(node, "output"));
    for (int i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", list[i].id);
        if (!strcmp(list[i].name, name) && (!output || list[i].ours))
            return true;
        if (!output && (!strcmp(number, name) || !strcmp(list[i].label, name)))
            return true;
    }
    return false;
}

static json_t *cameras_of(const struct halo_pipewire_listed *list, int count)
{
    json_t *ret = json_array();
    for (int i = 0; i < count; i++)
        if (!list[i].screen && !strcmp(list[i].role, "Camera"))
            json_array_append_new(ret, json_pack("{s:s, s:b}", "name",
                                                 list[i].label[0] ? list[i].label : list[i].name,
                                                 "filtered", list[i].ours));
    return ret;
}

void halo_facts_check_nodes(json_t *facts)
{
    struct halo_pipewire_listed *list = NULL;
    struct halo_error err = {0};
    json_t *nodes = json_object_get(facts, "nodes"), *one;
    size_t i;
    if (json_array_size(nodes) == 0)
        return;
    const int count = halo_pipewire_list(&list, &err);
    if (count < 0) {
        json_object_set_new(facts, "pipewire_error", json_string(err.text));
        return;
    }
    json_array_foreach (nodes, i, one)
        json_object_set_new(one, "missing", json_boolean(!is_there(one, list, count)));
    json_object_set_new(facts, "cameras", cameras_of(list, count));
    free(list);
}
