/* SPDX-License-Identifier: BSD-2-Clause
 * Writes settings as a file: the JSON of daemon_json.h in block style YAML. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/secrets.h"
#include "config/daemon_json.h"
#include "config/daemon_tables.h"

struct writer {
    FILE *to;
    bool secrets;
    bool no_memory;
};

/* Decodes the UTF-8 character at s into *ret, and returns its length. */
static size_t decode_utf8(const unsigned char *s, unsigned *ret)
{
    const size_t length = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
    unsigned c = length == 1 ? *s : *s & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++)
        c = c << 6 | (s[i] & 0x3f);
    *ret = c;
    return length;
}

static bool is_printed(unsigned c)
{
    return c >= 0x20 && c != '"' && c != '\\' && !(c >= 0x7f && c <= 0x9f) && c != 0x2028 &&
           c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff;
}

static void write_quoted(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text) {
        unsigned c;
        const size_t length = decode_utf8((const unsigned char *)text, &c);
        if (c == '$' && text[1] == '{')
            fputs("$$", to); /* read as $ */
        else if (is_printed(c))
            fwrite(text, 1, length, to);
        else if (c == '"' || c == '\\')
            fprintf(to, "\\%c", (int)c);
        else
            fprintf(to, "\\u%04x", c);
        text += length;
    }
    fputc('"', to);
}

/* Of `embed`, browsers learn every word. */
static void write_string(struct writer *w, const char *key, const char *text)
{
    if (w->secrets || !strcmp(key, "embed")) {
        write_quoted(w->to, text);
        return;
    }
    char *shown = halo_hide_secrets(text);
    if (shown)
        write_quoted(w->to, shown);
    else
        w->no_memory = true;
    free(shown);
}

/* Writes the shortest text that reads back as the same number. */
static void write_real(FILE *to, double v)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    fputs(text, to);
}

static void write_key(FILE *to, const char *key)
{
    static const char *const special[] = {"null", "true", "false", "yes", "no",
                                          "on",   "off",  "y",     "n"};
    bool quoted = !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", *key) || !*key;
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        quoted |= !strcasecmp(key, special[i]);
    fprintf(to, quoted ? "\"%s\":" : "%s:", key); /* keys and names are words */
}

static void write_value(struct writer *w, const char *key, const json_t *value, int indent);

/* first: the indent of the first key is written already. */
static void write_map(struct writer *w, const json_t *map, int indent, bool first)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)map, key, value) {
        fprintf(w->to, "%*s", first ? 0 : indent, "");
        first = false;
        write_key(w->to, key);
        write_value(w, key, value, indent);
    }
}

/* Writes the part after "key:", and the newline. */
static void write_value(struct writer *w, const char *key, const json_t *value, int indent)
{
    if (json_is_object(value) && json_object_size(value) > 0) {
        fputc('\n', w->to);
        write_map(w, value, indent + 2, false);
        return;
    }
    if (json_is_array(value) && json_array_size(value) > 0) {
        fputc('\n', w->to);
        for (size_t i = 0; i < json_array_size(value); i++) {
            fprintf(w->to, "%*s- ", indent + 2, "");
            write_map(w, json_array_get(value, i), indent + 4, true);
        }
        return;
    }
    fputc(' ', w->to);
    if (json_is_string(value))
        write_string(w, key, json_string_value(value));
    else if (json_is_integer(value))
        fprintf(w->to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        write_real(w->to, json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", w->to);
    else
        fputs(json_is_array(value) ? "[]" : "{}", w->to);
    fputc('\n', w->to);
}

static json_t *mqtt_to_json(const struct halo_mqtt_settings *mqtt, bool secrets)
{
    json_t *map = halo_rows_to_json(halo_mqtt_options, mqtt);
    if (!secrets && mqtt->password)
        halo_json_put(map, "password", json_string("***"));
    return map;
}

static json_t *to_json(const struct halo_daemon_settings *settings, bool secrets)
{
    json_t *root = halo_rows_to_json(halo_daemon_options, settings), *streams = json_object();
    bool fine =
        halo_json_put(root, "control",
                      halo_rows_to_json(halo_control_options, &settings->control)) &&
        halo_json_put(root, "http", halo_rows_to_json(halo_http_options, &settings->http)) &&
        halo_json_put(root, "log", halo_rows_to_json(halo_log_options, &settings->log));
    if (fine && settings->mqtt.server)
        fine = halo_json_put(root, "mqtt", mqtt_to_json(&settings->mqtt, secrets));
    for (int i = 0; fine && i < settings->streams; i++)
        fine = halo_json_put(streams, settings->stream[i].name,
                             halo_stream_to_json(&settings->stream[i]));
    if (fine)
        fine = halo_json_put(root, "streams", streams);
    else
        json_decref(streams);
    if (fine)
        return root;
    json_decref(root);
    return NULL;
}

int halo_daemon_dump(const struct halo_daemon_settings *settings, bool secrets, FILE *to)
{
    json_t *root = to_json(settings, secrets);
    struct writer w = {.to = to, .secrets = secrets, .no_memory = !root};
    if (root)
        write_map(&w, root, 0, true);
    json_decref(root);
    return w.no_memory || fflush(to) || ferror(to) ? -EIO : 0;
}
