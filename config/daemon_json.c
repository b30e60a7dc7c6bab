/* SPDX-License-Identifier: BSD-2-Clause
 * Streams as JSON and back. JSON is converted to the maps of a file and loaded like these, so that
 * it is checked in the same way. */
#include "config/daemon_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "config/load.h"
#include "config/output_kinds.h"
#include "config/source_kinds.h"

bool halo_json_put(json_t *object, const char *key, json_t *value)
{
    return object && value && json_object_set_new(object, key, value) == 0;
}

static json_t *row_to_json(const struct halo_option *row, const void *field)
{
    switch (row->type) {
    case HALO_OPTION_FLAG:
        return json_boolean(*(const bool *)field);
    case HALO_OPTION_INT:
        return json_integer(*(const int *)field);
    case HALO_OPTION_BYTES:
        return json_integer(*(const int64_t *)field);
    case HALO_OPTION_CHOICE:
        return json_string(row->choices[*(const int *)field]);
    case HALO_OPTION_STRING:
        return json_string(*(char *const *)field);
    default:
        return json_real(*(const double *)field);
    }
}

/* Converts the rows that `takes` accepts for this kind of output; kind NULL: all rows. */
static json_t *some_rows_to_json(const struct halo_option *rows, const void *settings,
                                 bool (*takes)(const struct halo_output_row *, const char *),
                                 const struct halo_output_row *kind)
{
    json_t *object = json_object();
    bool fine = object != NULL;
    for (const struct halo_option *row = rows; fine && row->name; row++) {
        if (kind && !takes(kind, row->name))
            continue;
        if (halo_option_is_given(row, settings))
            fine = halo_json_put(object, row->name,
                                 row_to_json(row, (const char *)settings + row->offset));
        else if (row->choices)
            fine = halo_json_put(object, row->name, json_string(row->choices[0]));
    }
    if (fine)
        return object;
    json_decref(object);
    return NULL;
}

json_t *halo_rows_to_json(const struct halo_option *rows, const void *settings)
{
    return some_rows_to_json(rows, settings, NULL, NULL);
}

static json_t *output_to_json(const struct halo_output_settings *output)
{
    const struct halo_output_row *row = halo_output_row(output);
    json_t *object = some_rows_to_json(halo_output_options, output, halo_output_takes, row);
    bool fine =
        halo_json_put(object, row->key,
                      row->target == HALO_AT_NOTHING ? json_true()
                      : row->target == HALO_AT_NODE  ? json_pack("{s:s}", "name", output->target)
                                                     : json_string(output->target));
    if (fine && halo_output_takes(row, "video"))
        fine = halo_json_put(
            object, "video",
            some_rows_to_json(halo_video_options, &output->video, halo_output_takes_video, row));
    if (fine)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *renditions_to_json(const struct halo_stream_settings *stream)
{
    json_t *map = json_object();
    bool fine = map != NULL;
    for (int i = 0; fine && i < stream->renditions; i++)
        fine = halo_json_put(map, stream->rendition[i].name,
                             json_pack("{s:s}", "filters", stream->rendition[i].filters));
    if (fine)
        return map;
    json_decref(map);
    return NULL;
}

static json_t *outputs_to_json(const struct halo_stream_settings *stream)
{
    json_t *list = json_array();
    bool fine = list != NULL;
    for (int i = 0; fine && i < stream->outputs; i++) {
        json_t *output = output_to_json(&stream->output[i]);
        fine = output && json_array_append_new(list, output) == 0;
    }
    if (fine)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *capture_to_json(const struct halo_capture_settings *capture)
{
    json_t *object = halo_rows_to_json(halo_capture_options, capture), *controls = NULL;
    const char *at = capture->controls;
    char name[68];
    int64_t value;
    bool fine = object != NULL;
    while (fine && halo_controls_next(&at, name, sizeof name, &value)) {
        if (!controls)
            fine = halo_json_put(object, "controls", controls = json_object());
        fine = fine && halo_json_put(controls, name, json_integer(value));
    }
    if (fine)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *detectors_to_json(const struct halo_stream_settings *stream)
{
    json_t *map = json_object();
    bool fine = map != NULL;
    for (int find = 0; fine && find < HALO_FINDS; find++)
        fine =
            halo_json_put(map, halo_find_names[find],
                          halo_rows_to_json(halo_detector_options[find], &stream->detector[find]));
    if (fine)
        return map;
    json_decref(map);
    return NULL;
}

json_t *halo_stream_to_json(const struct halo_stream_settings *stream)
{
    json_t *object = halo_rows_to_json(halo_stream_options, stream);
    bool fine = halo_json_put(object, "filters", json_string(stream->filters));
    if (fine && stream->source.input && halo_source_row(stream->source.input)->captures)
        fine = halo_json_put(object, "capture", capture_to_json(&stream->capture));
    if (fine && stream->region_feed.on)
        fine = halo_json_put(object, "region_feed",
                             halo_rows_to_json(halo_region_feed_options, &stream->region_feed));
    fine = fine && halo_json_put(object, "detectors", detectors_to_json(stream));
    if (fine && stream->renditions > 0)
        fine = halo_json_put(object, "renditions", renditions_to_json(stream));
    if (fine && stream->outputs > 0)
        fine = halo_json_put(object, "outputs", outputs_to_json(stream));
    if (fine)
        return object;
    json_decref(object);
    return NULL;
}

char *halo_stream_settings_write(const struct halo_stream_settings *stream)
{
    json_t *object = halo_stream_to_json(stream);
    char *text = NULL;
    if (halo_json_put(object, "name", json_string(stream->name)))
        text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    return text;
}

/* ---- and back ---- */

static struct halo_node *to_node(const json_t *json, const struct halo_settings_file *source);

static bool add_child(struct halo_node *node, const char *key, const json_t *json)
{
    struct halo_node *child = to_node(json, node->source);
    bool fine = child != NULL;
    if (fine && key)
        fine = (child->key = strdup(key)) != NULL;
    if (fine && !halo_node_append(node, child))
        return true;
    halo_node_destroy(child);
    return false;
}

static char *scalar_text(const json_t *json)
{
    if (json_is_string(json))
        return strdup(json_string_value(json));
    if (json_is_boolean(json) || json_is_null(json))
        return strdup(json_is_true(json) ? "true" : json_is_false(json) ? "false" : "null");
    return json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
}

/* NULL: out of memory. json is no deeper than jansson reads. */
static struct halo_node *to_node(const json_t *json, const struct halo_settings_file *source)
{
    const enum halo_node_kind kind = json_is_object(json)  ? HALO_NODE_MAP
                                     : json_is_array(json) ? HALO_NODE_LIST
                                                           : HALO_NODE_SCALAR;
    struct halo_node *node = halo_node_create(kind, source, 1);
    if (!node)
        return NULL;
    bool fine = true;
    node->plain = !json_is_string(json);
    if (kind == HALO_NODE_SCALAR) {
        fine = (node->text = scalar_text(json)) != NULL;
    } else if (kind == HALO_NODE_LIST) {
        for (size_t i = 0; fine && i < json_array_size(json); i++)
            fine = add_child(node, NULL, json_array_get(json, i));
    } else {
        const char *key;
        json_t *value;
        json_object_foreach ((json_t *)json, key, value) {
            fine = fine && add_child(node, key, value);
        }
    }
    if (fine)
        return node;
    halo_node_destroy(node);
    return NULL;
}

/* node: the map of a stream, with its name as the key. */
static int load_one(struct halo_stream_settings *ret, struct halo_node *node,
                    struct halo_error *err)
{
    struct halo_loader l = {.errors = halo_error_list_create()};
    struct halo_stream_settings *stream = calloc(1, sizeof *stream);
    if (l.errors && stream && (stream->name = strdup(node->key)))
        halo_load_stream(&l, stream, node, NULL);
    else
        l.no_memory = true;
    const int code = halo_loader_finish(&l);
    if (code)
        halo_fail(err, code, "%s",
                  code == -ENOMEM ? "out of memory" : halo_error_list_text(l.errors, 0));
    halo_error_list_destroy(l.errors);
    if (code && stream)
        halo_stream_settings_finish(stream);
    else if (!code)
        *ret = *stream;
    free(stream);
    return code;
}

int halo_stream_settings_read(struct halo_stream_settings *ret, const char *text,
                              struct halo_error *err)
{
    static const struct halo_settings_file source = {"settings", 0};
    json_error_t problem;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    const char *name = json_string_value(json_object_get(json, "name"));
    int code = 0;
    if (!json)
        code = halo_fail(err, -EINVAL, "the settings of a stream are not valid JSON: %s",
                         problem.text);
    else if (!name)
        code = halo_fail(err, -EINVAL, "the settings of a stream have no name");
    struct halo_node *node = NULL;
    if (!code) {
        char *key = strdup(name);
        json_object_del(json, "name");
        node = to_node(json, &source);
        if (node)
            node->key = key;
        else
            free(key);
        code = node && key ? load_one(ret, node, err) : halo_fail(err, -ENOMEM, "out of memory");
    }
    halo_node_destroy(node);
    json_decref(json);
    return code;
}

static void drop_filters(json_t *stream)
{
    const char *name;
    json_t *rendition;
    json_object_foreach (json_object_get(stream, "renditions"), name, rendition)
        json_object_del(rendition, "filters");
    json_object_del(stream, "filters");
}

enum halo_change halo_stream_settings_compare(const struct halo_stream_settings *a,
                                              const struct halo_stream_settings *b)
{
    enum halo_change change = HALO_CHANGE_REST; /* also if memory is short */
    json_t *x = halo_stream_to_json(a), *y = halo_stream_to_json(b);
    if (x && y && !strcmp(a->name, b->name)) {
        const bool same = json_equal(x, y);
        drop_filters(x);
        drop_filters(y);
        change = same               ? HALO_CHANGE_NONE
                 : json_equal(x, y) ? HALO_CHANGE_FILTERS
                                    : HALO_CHANGE_REST;
    }
    json_decref(x);
    json_decref(y);
    return change;
}
