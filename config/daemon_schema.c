/* SPDX-License-Identifier: BSD-2-Clause
 * The JSON Schema of the daemon's file, for editors. It contains the rules of the rows; only
 * --check-config checks combinations of keys. Strings with ${ are allowed everywhere, because only
 * halod knows their values. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "config/daemon_json.h"
#include "config/daemon_tables.h"
#include "config/output_kinds.h"

#define HELP_DETECTORS                                                                             \
    "the programs that find faces and people, for filters with region=faces, people or "           \
    "background"

static const char time_pattern[] =
    "^(([0-9]+:)?[0-5]?[0-9]:[0-5]?[0-9]([.][0-9]*)?|[0-9]+([.][0-9]*)?(s|ms|us)?)$";
static const char bytes_pattern[] = "^[0-9]+([.][0-9]+)?([kKMGT]i?)?$";

static json_t *choices_of(const struct halo_option *row)
{
    json_t *list = json_array();
    for (size_t i = 0; row->choices[i]; i++) {
        json_array_append_new(list, json_string(row->choices[i]));
        if (isdigit((unsigned char)row->choices[i][0])) /* YAML reads it as a number */
            json_array_append_new(list, json_integer(strtol(row->choices[i], NULL, 10)));
    }
    return json_pack("{s:o}", "enum", list);
}

static json_t *text_of(const struct halo_option *row)
{
    struct halo_option probe = *row;
    char *one = NULL;
    probe.offset = 0;
    /* A number in YAML may be a string here: crf: 23. */
    const bool number = row->pattern && halo_option_set(&probe, &one, "1", NULL) == 0;
    free(one);
    json_t *text = row->pattern ? json_pack("{s:s,s:s}", "type", "string", "pattern", row->pattern)
                                : json_pack("{s:s,s:i}", "type", "string", "minLength", 1);
    if (row->list)
        return json_pack("{s:[o,{s:s,s:o,s:i}]}", "anyOf", text, "type", "array", "items",
                         json_deep_copy(text), "minItems", 1);
    return number ? json_pack("{s:[o,{s:s,s:i}]}", "anyOf", text, "type", "number", "minimum", 0)
                  : text;
}

static json_t *number_of(const struct halo_option *row)
{
    const bool whole = row->type == HALO_OPTION_INT || row->type == HALO_OPTION_BYTES;
    json_t *number = json_pack("{s:s}", "type", whole ? "integer" : "number");
    halo_json_put(number, "minimum",
                  whole ? json_integer((json_int_t)row->min) : json_real(row->min));
    if (!isinf(row->max))
        halo_json_put(number, "maximum",
                      whole ? json_integer((json_int_t)row->max) : json_real(row->max));
    return number;
}

static json_t *type_of(const struct halo_option *row)
{
    const char *pattern = NULL;
    switch (row->type) {
    case HALO_OPTION_FLAG:
        return json_pack("{s:s}", "type", "boolean");
    case HALO_OPTION_CHOICE:
        return choices_of(row);
    case HALO_OPTION_STRING:
        return text_of(row);
    case HALO_OPTION_TIME:
        pattern = time_pattern;
        break;
    case HALO_OPTION_BYTES:
        pattern = bytes_pattern;
        break;
    case HALO_OPTION_PART:
        pattern = "^[0-9]+([.][0-9]+)?%?$";
        break;
    case HALO_OPTION_RATIO:
        pattern = "^[0-9]+([.][0-9]+)?(/[0-9]+([.][0-9]+)?)?$";
        break;
    default:
        break;
    }
    json_t *number = number_of(row);
    if (row->choices)
        return json_pack("{s:[o,o]}", "anyOf", number, choices_of(row));
    return pattern ? json_pack("{s:[o,{s:s,s:s}]}", "anyOf", number, "type", "string", "pattern",
                               pattern)
                   : number;
}

/* The default of a row as it is written in a file; NULL: it has none. */
static json_t *default_of(const struct halo_option *row)
{
    union {
        bool flag;
        int number;
        int64_t bytes;
        double real;
        char *text;
    } field;
    struct halo_option rows[2] = {*row, {NULL}};
    rows[0].offset = 0;
    halo_options_init(rows, &field);
    json_t *object = halo_rows_to_json(rows, &field);
    json_t *value = json_incref(json_object_get(object, row->name));
    json_decref(object);
    return value;
}

static json_t *described(json_t *schema, const char *help)
{
    halo_json_put(schema, "description", json_string(help));
    return schema;
}

static json_t *key_of(const struct halo_option *row)
{
    json_t *key = json_pack("{s:[o,{s:s}]}", "anyOf", type_of(row), "$ref", "#/$defs/outside");
    json_t *value = default_of(row);
    if (value)
        halo_json_put(key, "default", value);
    return described(key, row->help);
}

/* The schema of a map of known keys. */
static json_t *map_of(const struct halo_option *rows)
{
    json_t *properties = json_object();
    for (const struct halo_option *row = rows; row->name; row++)
        halo_json_put(properties, row->name, key_of(row));
    return json_pack("{s:s,s:o,s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

static void put_key(json_t *map, const char *name, const char *help, json_t *schema)
{
    halo_json_put(json_object_get(map, "properties"), name,
                  help ? described(schema, help) : schema);
}

static json_t *reference(const char *name)
{
    return json_pack("{s:s+}", "$ref", "#/$defs/", name);
}

/* The schema of a map with free names. */
static json_t *names_of(const char *of)
{
    return json_pack("{s:s,s:{s:s},s:o}", "type", "object", "propertyNames", "pattern",
                     HALO_NAME_PATTERN, "additionalProperties", reference(of));
}

static json_t *filters(void)
{
    json_t *scalar = json_pack("{s:[s,s,s]}", "type", "string", "number", "boolean");
    json_t *mask =
        json_pack("{s:s,s:{s:[{s:s},{s:s,s:{s:s}}]}}", "type", "array", "items", "anyOf", "$ref",
                  "#/$defs/number", "type", "array", "items", "$ref", "#/$defs/number");
    json_t *options =
        json_pack("{s:[s,s],s:{s:s},s:{s:[o,o]}}", "type", "object", "null", "propertyNames",
                  "pattern", "^[A-Za-z0-9_]+$", "additionalProperties", "anyOf", scalar, mask);
    json_t *map = json_pack("{s:s,s:i,s:i,s:o}", "type", "object", "minProperties", 1,
                            "maxProperties", 1, "additionalProperties", options);
    return json_pack("{s:[{s:s,s:i},{s:s,s:i,s:{s:[{s:s,s:i},o]}}]}", "anyOf", "type", "string",
                     "minLength", 1, "type", "array", "minItems", 1, "items", "anyOf", "type",
                     "string", "minLength", 1, map);
}

static json_t *word(void)
{
    return json_pack("{s:s,s:i}", "type", "string", "minLength", 1);
}

static json_t *output(void)
{
    json_t *map = map_of(halo_output_options), *one = json_array();
    for (int kind = 0; kind < HALO_OUTPUT_KINDS; kind++) {
        const struct halo_output_row *row = halo_output_rows[kind];
        json_t *schema =
            row->target == HALO_AT_NOTHING ? json_pack("{s:b}", "const", 1)
            : row->target == HALO_AT_NODE
                ? json_pack("{s:s,s:{s:o},s:[s],s:b}", "type", "object", "properties", "name",
                            word(), "required", "name", "additionalProperties", 0)
                : word();
        put_key(map, row->key, row->help, schema);
        json_array_append_new(one, json_pack("{s:[s]}", "required", row->key));
    }
    json_t *video = map_of(halo_video_options);
    json_t *codec = json_object_get(json_object_get(video, "properties"), "codec");
    halo_json_put(codec, "not", json_pack("{s:s}", "const", "copy"));
    put_key(map, "video", "how frames are encoded", video);
    halo_json_put(map, "oneOf", one);
    return map;
}

static json_t *capture(void)
{
    json_t *map = map_of(halo_capture_options);
    put_key(map, "controls",
            "values of the camera's controls, by the names that halod devices lists: "
            "{brightness: 128}",
            json_pack("{s:s,s:{s:s},s:{s:[{s:s},{s:s}]}}", "type", "object", "propertyNames",
                      "pattern", "^[a-z0-9_]{1,64}$", "additionalProperties", "anyOf", "type",
                      "integer", "$ref", "#/$defs/outside"));
    return map;
}

static json_t *detectors(void)
{
    json_t *map =
        json_pack("{s:s,s:{},s:b}", "type", "object", "properties", "additionalProperties", 0);
    put_key(map, halo_find_names[HALO_FIND_FACES], "for region=faces",
            map_of(halo_detector_options[HALO_FIND_FACES]));
    put_key(map, halo_find_names[HALO_FIND_PEOPLE], "for region=people and region=background",
            map_of(halo_detector_options[HALO_FIND_PEOPLE]));
    return map;
}

/* The keys of streams and defaults. No key is required: it may be in defaults or conf.d. */
static json_t *stream(void)
{
    json_t *map = map_of(halo_stream_options);
    put_key(map, "filters",
            "the chain as one string, or a list of filters; none: frames pass unchanged, "
            "which requires privacy: off",
            reference("filters"));
    put_key(map, "capture", "how a camera is opened", reference("capture"));
    put_key(map, "region_feed",
            "a detector sends regions over the control socket, for filters with "
            "region=feed; {} is enough",
            map_of(halo_region_feed_options));
    put_key(map, "detectors", HELP_DETECTORS, reference("detectors"));
    put_key(map, "renditions", "further chains of the stream, by name", names_of("rendition"));
    put_key(map, "outputs", "where the filtered frames go",
            json_pack("{s:s,s:i,s:o}", "type", "array", "maxItems", HALO_MAX_OUTPUTS, "items",
                      reference("output")));
    halo_json_put(json_object_get(json_object_get(map, "properties"), "renditions"),
                  "maxProperties", json_integer(HALO_MAX_RENDITIONS - 1));
    return map;
}

static json_t *definitions(void)
{
    json_t *defs = json_object();
    halo_json_put(defs, "outside",
                  json_pack("{s:s,s:s,s:s}", "type", "string", "pattern", "\\$\\{", "description",
                            "a value that contains ${...}, which is replaced by a credential or an "
                            "environment variable"));
    halo_json_put(defs, "number",
                  json_pack("{s:[{s:s},{s:s,s:s}]}", "anyOf", "type", "number", "type", "string",
                            "pattern", "^[-+0-9./e]+$"));
    halo_json_put(defs, "filters", filters());
    halo_json_put(defs, "rendition",
                  json_pack("{s:s,s:{s:o},s:[s],s:b}", "type", "object", "properties", "filters",
                            reference("filters"), "required", "filters", "additionalProperties",
                            0));
    halo_json_put(defs, "capture", capture());
    halo_json_put(defs, "detectors", detectors());
    halo_json_put(defs, "output", output());
    halo_json_put(defs, "stream", stream());
    return defs;
}

static json_t *root(void)
{
    json_t *map = json_pack("{s:s,s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema",
                            "title", "halod");
    json_t *keys = map_of(halo_daemon_options);
    json_object_update(map, keys);
    json_decref(keys);
    put_key(map, "control", NULL, map_of(halo_control_options));
    put_key(map, "http", NULL, map_of(halo_http_options));
    put_key(map, "mqtt",
            "a connection to an MQTT broker, for Home Assistant, which shows the streams and "
            "can hide them",
            map_of(halo_mqtt_options));
    put_key(map, "log", NULL, map_of(halo_log_options));
    put_key(map, "detectors", HELP_DETECTORS, reference("detectors"));
    put_key(map, "defaults", "keys that apply to every stream that does not set them itself",
            reference("stream"));
    json_t *streams = names_of("stream");
    halo_json_put(streams, "maxProperties", json_integer(HALO_MAX_STREAMS));
    put_key(map, "streams", "the streams: a map from names to settings", streams);
    halo_json_put(map, "$defs", definitions());
    return map;
}

int halo_daemon_print_schema(FILE *to)
{
    json_t *schema = root();
    const bool fine = json_dumpf(schema, to, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) == 0;
    json_decref(schema);
    fputc('\n', to);
    return fine && !fflush(to) && !ferror(to) ? 0 : -EIO;
}
