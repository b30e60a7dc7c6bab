/* SPDX-License-Identifier: BSD-2-Clause
 * Loads one stream from its map. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "config/encoding.h"
#include "config/load.h"
#include "config/output_kinds.h"
#include "config/source_kinds.h"

/* ---- outputs ---- */

static void check_encoder(struct halo_loader *l, struct halo_node *node, const char *codec,
                          bool audio)
{
    struct halo_error err = {0};
    if (!l->checks || !l->checks->encoder)
        return;
    halo_loader_passes(l, node, l->checks->encoder(codec, audio, &err), err.text);
}

/* Checks whether the encoder accepts well-formed values. */
static void check_video(struct halo_loader *l, const struct halo_video_settings *video,
                        struct halo_node *node)
{
    const struct {
        const char *key, *value;
    } values[] = {{"bitrate", video->bitrate}, {"crf", video->crf}, {"preset", video->preset}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *key = values[i].key, *value = values[i].value;
        struct halo_node *at = halo_node_get(node, key);
        struct halo_error err = {0};
        if (!at || at->bad || !value || !l->checks || !l->checks->video)
            continue;
        const size_t mark = halo_loader_enter(l, key, 0);
        halo_loader_passes(l, at, l->checks->video(halo_video_codec(video), key, value, &err),
                           err.text);
        halo_loader_leave(l, mark);
    }
}

static void load_video(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {halo_video_options, {{NULL}}};
    struct halo_output_settings *output = settings;
    halo_loader_section(l, &section, &output->video, node, NULL);
    struct halo_node *codec = halo_node_get(node, "codec");
    const bool raw = output->video.codec && !strcmp(output->video.codec, "raw");
    const struct halo_viewer_format *format = halo_output_format(output);
    if (halo_output_is_camera(output))
        return; /* this output has no encoder */
    if (!(codec && codec->bad) && !raw && !(format && !format->muxer))
        check_video(l, &output->video, node);
    if (!codec || codec->bad || !output->video.codec)
        return;
    const size_t mark = halo_loader_enter(l, "codec", 0);
    if (!strcmp(output->video.codec, "copy"))
        halo_loader_say(l, codec, "copy would output unfiltered video: use an encoder");
    else if (!raw)
        check_encoder(l, codec, output->video.codec, false);
    halo_loader_leave(l, mark);
}

/* The rows of an output, and the keys of all kinds. */
static struct halo_section output_section(void)
{
    struct halo_section section = {halo_output_options, {{NULL}}};
    _Static_assert(HALO_OUTPUT_KINDS + 2 <= sizeof section.key / sizeof *section.key, "all fit");
    for (int kind = 0; kind < HALO_OUTPUT_KINDS; kind++)
        section.key[kind].name = halo_output_rows[kind]->key;
    section.key[HALO_OUTPUT_KINDS] = (struct halo_key){"video", load_video, NULL};
    return section;
}

/* Whether an output accepts raw frames. For outputs with an unknown format, another error is
 * reported. */
static bool takes_raw(const struct halo_output_settings *output)
{
    const struct halo_viewer_format *format = halo_output_format(output);
    return format ? format->raw : halo_output_row(output)->writer == HALO_WRITER_SUPERVISOR;
}

/* Checks codecs and containers. */
static void check_coded(struct halo_loader *l, const struct halo_output_settings *output,
                        struct halo_node *node)
{
    struct halo_error err = {0};
    char list[64];
    if (!strcmp(halo_video_codec(&output->video), "raw") && !takes_raw(output))
        halo_loader_say_of(
            l, node, "video", "'codec: raw' is supported only for the socket formats %s",
            halo_viewer_format_list(list, sizeof list, HALO_VIEWER_FORMATS_RAW, "and"));
    else if (l->checks && l->checks->output)
        halo_loader_passes(l, node, l->checks->output(output, &err), err.text);
}

static void check_key(struct halo_loader *l, const struct halo_output_row *row,
                      struct halo_node *node, const char *key)
{
    if (!halo_output_takes(row, key) && halo_node_get(node, key))
        halo_loader_say_of(l, node, key, "has no effect on outputs of the kind '%s'", row->key);
}

static void check_keys(struct halo_loader *l, const struct halo_output_row *row,
                       struct halo_node *node)
{
    check_key(l, row, node, "video");
    for (const struct halo_option *key = halo_output_options; key->name; key++)
        check_key(l, row, node, key->name);
    struct halo_node *video = halo_output_takes(row, "video") ? halo_node_get(node, "video") : NULL;
    for (const struct halo_option *key = halo_video_options; video && key->name; key++)
        if (!halo_output_takes_video(row, key->name) && halo_node_get(video, key->name))
            halo_loader_say_of(l, node, "video", "'%s' has no effect on outputs of the kind '%s'",
                               key->name, row->key);
}

static void say_places(struct halo_loader *l, const struct halo_node *node)
{
    char list[128];
    size_t length = 0;
    for (int kind = 0; kind < HALO_OUTPUT_KINDS; kind++) {
        const struct halo_output_row *row = halo_output_rows[kind];
        const char *before = kind == 0 ? "" : kind < HALO_OUTPUT_KINDS - 1 ? ", " : " and ";
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s:%s", before, row->key,
                                   row->target == HALO_AT_NOTHING ? " true" : "");
    }
    halo_loader_say(l, node, "has no destination: set one of %s", list);
}

/* The kind of the output, by its only destination; -1: an error was added. */
static int find_kind(struct halo_loader *l, struct halo_node *node)
{
    int found = -1;
    for (int kind = 0; kind < HALO_OUTPUT_KINDS; kind++) {
        if (!halo_node_get(node, halo_output_rows[kind]->key))
            continue;
        if (found >= 0) {
            halo_loader_say(
                l, node, "'%s' and '%s' are both set: use a separate output for each destination",
                halo_output_rows[found]->key, halo_output_rows[kind]->key);
            return -1;
        }
        found = kind;
    }
    if (found < 0)
        say_places(l, node);
    return found;
}

static void load_name(struct halo_loader *l, void *settings, struct halo_node *node)
{
    struct halo_output_settings *output = settings;
    halo_loader_string(l, &output->target, node);
    if (output->target)
        halo_loader_claim(l, node, false, output->target);
}

static void load_node(struct halo_loader *l, struct halo_output_settings *output,
                      struct halo_node *node)
{
    static const struct halo_option no_rows[] = {{NULL}};
    static const struct halo_section section = {no_rows, {{"name", load_name, NULL}, {NULL}}};
    if (!halo_loader_is(l, node, HALO_NODE_MAP))
        return;
    halo_loader_section(l, &section, output, node, NULL);
    if (!halo_node_get(node, "name"))
        halo_loader_say(
            l, node,
            "has no name: set the name that programs show, as in pipewire: {name: \"halod door\"}");
}

static void load_target(struct halo_loader *l, struct halo_output_settings *output,
                        struct halo_node *node)
{
    const size_t mark = halo_loader_enter(l, node->key, 0);
    const enum halo_output_target target = halo_output_row(output)->target;
    if (target == HALO_AT_NOTHING) {
        const char *text = halo_loader_text(l, node);
        if (text && strcmp(text, "true"))
            halo_loader_say(l, node, "must be true");
    } else if (target == HALO_AT_NODE) {
        load_node(l, output, node);
    } else {
        halo_loader_string(l, &output->target, node);
        if (output->target && target == HALO_AT_SOCKET)
            halo_loader_claim_socket(l, node, output->target);
        else if (output->target)
            halo_loader_claim(l, node, target == HALO_AT_FILE || target == HALO_AT_DEVICE,
                              output->target);
    }
    halo_loader_leave(l, mark);
}

static void load_output(struct halo_loader *l, struct halo_output_settings *output,
                        struct halo_node *node)
{
    const struct halo_section section = output_section();
    if (!halo_loader_is(l, node, HALO_NODE_MAP))
        return;
    const int kind = find_kind(l, node);
    if (kind >= 0) {
        output->kind = kind;
        load_target(l, output, halo_node_get(node, halo_output_rows[kind]->key));
    }
    const struct halo_output_row *row = halo_output_row(output);
    halo_loader_section(l, &section, output, node, NULL);
    if (kind >= 0)
        check_keys(l, row, node);
    struct halo_node *audio = halo_node_get(node, "audio");
    if (audio && output->audio && strcmp(output->audio, "off") && strcmp(output->audio, "copy")) {
        const size_t mark = halo_loader_enter(l, "audio", 0);
        check_encoder(l, audio, output->audio, true);
        halo_loader_leave(l, mark);
    }
    const int before = halo_error_list_count(l->errors);
    if (output->target && row->check)
        row->check(l, output, node);
    if (output->target && row->coded && halo_error_list_count(l->errors) == before)
        check_coded(l, output, node);
}

/* ---- a stream ---- */

/* ---- chains ---- */

/* Chains in YAML: one string, or a list whose maps are converted to FFmpeg's syntax, in which
 * quotes and backslashes are interpreted twice (pipeline/filter/chain.c). */

#define WORD   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define BLANKS " \n\t\r"

static bool is_word(const char *text)
{
    return *text && !text[strspn(text, WORD)];
}

/* One interpretation removes a backslash before each of its special characters and before blanks at
 * both ends; the other one reads quotes. */
static void write_value(FILE *to, const char *value)
{
    const bool quoted = strpbrk(value, "\\':,;[]" BLANKS) != NULL;
    if (quoted)
        fputc('\'', to);
    for (const char *s = value; *s; s++) {
        const bool end = s == value || !s[1];
        if (strchr("\\':", *s) || (end && strchr(BLANKS, *s)))
            fputc('\\', to);
        if (*s == '\'')
            fputs("'\\''", to);
        else
            fputc(*s, to);
    }
    if (quoted)
        fputc('\'', to);
}

/* Writes a value. A mask may be a list, and its rows, too: numbers are then separated by blanks.
 * False: an error was added. */
static bool collect(struct halo_loader *l, struct halo_node *node, FILE *to, int depth)
{
    if (node->bad)
        return false;
    if (node->kind == HALO_NODE_LIST && depth < 2) {
        for (int i = 0; i < node->count; i++) {
            if (i)
                fputc(' ', to);
            if (!collect(l, node->child[i], to, depth + 1))
                return false;
        }
        return true;
    }
    const char *text = halo_loader_text(l, node);
    if (text)
        fputs(text, to);
    return text != NULL;
}

static bool write_option(struct halo_loader *l, struct halo_node *node, FILE *to)
{
    if (!is_word(node->key)) {
        halo_loader_say(l, node, "the name of an option may contain only letters, digits and _");
        return false;
    }
    char *value = NULL;
    size_t size;
    FILE *text = open_memstream(&value, &size);
    if (!text) {
        l->no_memory = true;
        return false;
    }
    bool fine = collect(l, node, text, 0);
    if (fflush(text) || ferror(text)) {
        l->no_memory = true;
        fine = false;
    }
    fclose(text);
    if (fine) {
        fprintf(to, "%s=", node->key);
        write_value(to, value);
    }
    free(value);
    return fine;
}

/* {gblur: {sigma: 12}} */
static bool write_filter(struct halo_loader *l, struct halo_node *node, FILE *to)
{
    if (node->count != 1) {
        halo_loader_say(l, node,
                        "each map must contain only one filter, as in '- gblur: {sigma: 12}'");
        return false;
    }
    struct halo_node *filter = node->child[0];
    const size_t mark = halo_loader_enter(l, filter->key, 0);
    bool fine = is_word(filter->key);
    if (!fine)
        halo_loader_say(l, filter, "the name of a filter may contain only letters, digits and _");
    fputs(filter->key, to);
    if (fine && !halo_node_is_null(filter)) { /* "- sobel:" has no options */
        fine = halo_loader_is(l, filter, HALO_NODE_MAP);
        for (int i = 0; fine && i < filter->count; i++) {
            const size_t inner = halo_loader_enter(l, filter->child[i]->key, 0);
            fputc(i ? ':' : '=', to);
            fine = write_option(l, filter->child[i], to);
            halo_loader_leave(l, inner);
        }
    }
    halo_loader_leave(l, mark);
    return fine;
}

/* columns: whether column numbers refer to text that the user wrote. If not, "column 7: " is
 * removed from errors. */
static bool check_chain(struct halo_loader *l, struct halo_node *node, const char *text,
                        bool columns)
{
    struct halo_error err = {0};
    const int code =
        l->checks && l->checks->filters ? l->checks->filters(text, HALO_PRIVACY_OFF, &err) : 0;
    const char *what = columns ? NULL : strstr(err.text, ": ");
    return halo_loader_passes(l, node, code, what ? what + 2 : err.text);
}

/* The text of one entry of a list, malloc'ed; NULL: an error was added. */
static char *read_entry(struct halo_loader *l, struct halo_node *node)
{
    const bool is_map = node->kind == HALO_NODE_MAP && !node->bad;
    char *text = NULL;
    bool fine = false;
    if (is_map) {
        size_t size;
        FILE *to = open_memstream(&text, &size);
        if (to) {
            fine = write_filter(l, node, to);
            l->no_memory |= fflush(to) || ferror(to);
            fclose(to);
        }
    } else {
        halo_loader_string(l, &text, node);
        fine = text != NULL;
    }
    l->no_memory |= is_map && !text;
    if (!text || !fine || !check_chain(l, node, text, !is_map)) {
        free(text);
        return NULL;
    }
    return text;
}

static char *read_list(struct halo_loader *l, struct halo_node *list)
{
    char *all = NULL;
    size_t size;
    FILE *to = open_memstream(&all, &size);
    if (!to) {
        l->no_memory = true;
        return NULL;
    }
    bool fine = list->count > 0;
    if (!fine)
        halo_loader_say(l, list, "the list is empty (" HALO_HOW_TO_PASS ")");
    for (int i = 0; i < list->count; i++) {
        const size_t mark = halo_loader_enter(l, NULL, i);
        char *text = read_entry(l, list->child[i]);
        halo_loader_leave(l, mark);
        if (text)
            fprintf(to, "%s%s", i ? "," : "", text);
        fine = fine && text;
        free(text);
    }
    if (fflush(to) || ferror(to)) {
        l->no_memory = true;
        fine = false;
    }
    fclose(to);
    /* Each filter is valid, but all together may be too many. */
    if (fine && list->count > 1 && !check_chain(l, list, all, false))
        fine = false;
    if (fine)
        return all;
    free(all);
    return NULL;
}

/* Converts a chain, which is written as a scalar or as a list of scalars and maps, to malloc'ed
 * text. If the conversion fails, adds an error and returns NULL. */
static char *load_chain(struct halo_loader *l, struct halo_node *node)
{
    char *text = NULL;
    if (node->bad)
        return NULL;
    if (halo_node_is_null(node)) {
        halo_loader_say(l, node, "no filters (" HALO_HOW_TO_PASS ")");
        return NULL;
    }
    if (node->kind == HALO_NODE_LIST)
        return read_list(l, node);
    if (node->kind == HALO_NODE_MAP) {
        halo_loader_say(l, node, "must be a string or a list, as in [{gblur: {sigma: 12}}]");
        return NULL;
    }
    halo_loader_string(l, &text, node);
    if (text && check_chain(l, node, text, true))
        return text;
    free(text);
    return NULL;
}

/* ---- a camera's settings ---- */

static bool is_control(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length <= 64 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static void load_control(struct halo_loader *l, struct halo_capture_settings *capture,
                         struct halo_node *node)
{
    char *end;
    if (!is_control(node->key)) {
        halo_loader_say_key(l, node,
                            "must be the name of a control, such as brightness; run 'halod "
                            "devices' to list the names");
        return;
    }
    const char *text = halo_loader_text(l, node);
    if (!text)
        return;
    errno = 0;
    const int64_t value = strtoll(text, &end, 10);
    if (errno || *end || end == text) {
        halo_loader_say(l, node, "%.80s: must be a whole number", halo_node_shown(node));
        return;
    }
    char *all = halo_controls_put(capture->controls, node->key, value);
    l->no_memory |= !all;
    if (all) {
        free(capture->controls);
        capture->controls = all;
    }
}

static void load_controls(struct halo_loader *l, void *settings, struct halo_node *node)
{
    if (!halo_loader_is(l, node, HALO_NODE_MAP))
        return;
    for (int i = 0; i < node->count; i++) {
        const size_t mark = halo_loader_enter(l, node->child[i]->key, 0);
        load_control(l, settings, node->child[i]);
        halo_loader_leave(l, mark);
    }
}

static void load_capture(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {
        halo_capture_options,
        {{"controls", load_controls, NULL}, {NULL}},
    };
    struct halo_stream_settings *stream = settings;
    halo_loader_section(l, &section, &stream->capture, node, NULL);
}

/* ---- a stream ---- */

static void load_filters(struct halo_loader *l, void *settings, struct halo_node *node)
{
    struct halo_stream_settings *stream = settings;
    free(stream->filters);
    stream->filters = load_chain(l, node);
}

static void load_rendition_filters(struct halo_loader *l, void *settings, struct halo_node *node)
{
    struct halo_rendition_settings *rendition = settings;
    free(rendition->filters);
    rendition->filters = load_chain(l, node);
}

static void say_missing(struct halo_loader *l, const struct halo_node *node, const char *key,
                        const char *what)
{
    halo_loader_say_of(l, node, key, "is missing: %s", what);
}

static void check_name(struct halo_loader *l, const struct halo_node *node)
{
    if (!halo_is_name(node->key, strlen(node->key)))
        halo_loader_say_key(l, node, "a name must consist of " HALO_NAME_MUST_BE);
}

static void load_renditions(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_option no_rows[] = {{NULL}};
    static const struct halo_section section = {
        no_rows,
        {{"filters", load_rendition_filters, NULL}, {NULL}},
    };
    struct halo_stream_settings *stream = settings;
    if (!halo_loader_is(l, node, HALO_NODE_MAP))
        return;
    for (int i = 0; i < node->count; i++) {
        struct halo_node *child = node->child[i];
        const size_t mark = halo_loader_enter(l, child->key, 0);
        struct halo_rendition_settings *rendition = &stream->rendition[stream->renditions];
        if (stream->renditions == HALO_MAX_RENDITIONS - 1) {
            halo_loader_say(l, child,
                            "too many renditions: at most %d are allowed in addition to the "
                            "stream's own chain",
                            HALO_MAX_RENDITIONS - 1);
            halo_loader_leave(l, mark);
            break;
        }
        check_name(l, child);
        stream->renditions++;
        rendition->name = strdup(child->key);
        l->no_memory |= !rendition->name;
        halo_loader_section(l, &section, rendition, child, NULL);
        if (child->kind == HALO_NODE_MAP && !halo_node_get(child, "filters"))
            say_missing(l, child, "filters", HALO_HOW_TO_PASS);
        halo_loader_leave(l, mark);
    }
}

static void load_outputs(struct halo_loader *l, void *settings, struct halo_node *node)
{
    struct halo_stream_settings *stream = settings;
    int nodes = 0;
    if (!halo_loader_is(l, node, HALO_NODE_LIST))
        return;
    for (int i = 0; i < node->count; i++) {
        const size_t mark = halo_loader_enter(l, NULL, i);
        if (i == HALO_MAX_OUTPUTS)
            halo_loader_say(l, node->child[i], "too many outputs: at most %d are allowed",
                            HALO_MAX_OUTPUTS);
        else {
            struct halo_output_settings *output = &stream->output[stream->outputs++];
            halo_options_init(halo_output_options, output);
            halo_options_init(halo_video_options, &output->video);
            load_output(l, output, node->child[i]);
            nodes += halo_output_formats(output) > 1;
            if (nodes == HALO_MAX_NODES + 1)
                halo_loader_say(l, node->child[i],
                                "too many outputs of the kind 'pipewire': at most %d are allowed",
                                HALO_MAX_NODES);
        }
        halo_loader_leave(l, mark);
        if (i == HALO_MAX_OUTPUTS)
            break;
    }
}

static void load_region_feed(struct halo_loader *l, void *settings, struct halo_node *node)
{
    static const struct halo_section section = {halo_region_feed_options, {{NULL}}};
    struct halo_stream_settings *stream = settings;
    stream->region_feed.on = true;
    halo_loader_section(l, &section, &stream->region_feed, node, NULL);
}

static const struct halo_section stream_section = {
    halo_stream_options,
    {
        {"filters", load_filters, NULL},
        {"renditions", load_renditions, NULL},
        {"outputs", load_outputs, NULL},
        {"capture", load_capture, NULL},
        {"region_feed", load_region_feed, NULL},
        {"detectors", halo_load_detectors, NULL},
        {NULL},
    },
};

static void check_renditions(struct halo_loader *l, const struct halo_stream_settings *stream,
                             const struct halo_node *outputs)
{
    for (int i = 0; i < stream->outputs; i++) {
        if (halo_output_rendition(stream, &stream->output[i]) >= 0)
            continue;
        const char *names[HALO_MAX_RENDITIONS], *wanted = stream->output[i].rendition;
        for (int r = 0; r < stream->renditions; r++)
            names[r] = stream->rendition[r].name;
        char near[HALO_NEAREST_WORDS];
        const size_t mark = halo_loader_enter(l, "outputs", 0);
        halo_loader_enter(l, NULL, i);
        halo_loader_enter(l, "rendition", 0);
        const struct halo_node *node = halo_node_get(outputs->child[i], "rendition");
        halo_loader_say(l, node, "%.80s is not defined in 'renditions'%s", halo_node_shown(node),
                        halo_nearest_words(near, wanted, names, (size_t)stream->renditions));
        halo_loader_leave(l, mark);
    }
}

static void check_input(struct halo_loader *l, const struct halo_stream_settings *stream,
                        const struct halo_node *node)
{
    const char *input = stream->source.input;
    const size_t mark = halo_loader_enter(l, "input", 0);
    struct halo_error err = {0};
    const struct halo_source_row *row = halo_source_row(input);
    if (row->refused)
        halo_loader_say(l, node, "%s", row->refused);
    else if (l->checks && l->checks->input)
        halo_loader_passes(l, node, l->checks->input(input, &err), err.text);
    halo_loader_leave(l, mark);
}

/* A level of privacy other than strict and anonymous must be written in the file itself, for one
 * stream: a default for all streams, or a value from outside the file, could too easily be
 * unintended. */
static void check_off(struct halo_loader *l, const struct halo_stream_settings *stream,
                      struct halo_node *node)
{
    struct halo_node *privacy = halo_node_get(node, "privacy");
    if (!privacy || stream->privacy == HALO_PRIVACY_STRICT ||
        stream->privacy == HALO_PRIVACY_ANONYMOUS || (!l->scratch && !privacy->written))
        return;
    const size_t mark = halo_loader_enter(l, "privacy", 0);
    halo_loader_say(l, privacy,
                    l->scratch ? "%s cannot be a default: set it in each stream"
                               : "%s must be written in the file itself, not as ${NAME}",
                    halo_privacy_names[stream->privacy]);
    halo_loader_leave(l, mark);
}

/* Checks a chain, which is valid in itself, against the stream's privacy, region feed and
 * coverage. */
static void check_open(struct halo_loader *l, const struct halo_stream_settings *stream,
                       const char *chain, const struct halo_node *node)
{
    struct halo_error err = {0};
    if (!chain || !node || !l->checks || !l->checks->filters)
        return;
    int code = l->checks->filters(chain, (enum halo_privacy)stream->privacy, &err);
    if (code == 0 && l->checks->feed && !stream->region_feed.on)
        code = l->checks->feed(chain, &err);
    if (code == 0 && l->checks->coverage)
        code = l->checks->coverage(chain, stream, &err);
    const size_t mark = halo_loader_enter(l, "filters", 0);
    halo_loader_passes(l, node, code, err.text);
    halo_loader_leave(l, mark);
}

static const struct halo_node *find_key(const struct halo_node *node,
                                        const struct halo_node *defaults, const char *key)
{
    const struct halo_node *found = halo_node_get(node, key);
    return found ? found : halo_node_get(defaults, key);
}

static void check_privacy(struct halo_loader *l, const struct halo_stream_settings *stream,
                          struct halo_node *node, const struct halo_node *defaults)
{
    const struct halo_node *said = halo_node_get(node, "privacy");
    const struct halo_node *renditions = find_key(node, defaults, "renditions");
    check_off(l, stream, node);
    if (said && said->bad)
        return;
    check_open(l, stream, stream->filters, find_key(node, defaults, "filters"));
    const size_t mark = halo_loader_enter(l, "renditions", 0);
    for (int i = 0; i < stream->renditions; i++) {
        const char *name = stream->rendition[i].name;
        const size_t inner = halo_loader_enter(l, name ? name : "", 0);
        const struct halo_node *rendition = name ? halo_node_get(renditions, name) : NULL;
        check_open(l, stream, stream->rendition[i].filters, halo_node_get(rendition, "filters"));
        halo_loader_leave(l, inner);
    }
    halo_loader_leave(l, mark);
}

void halo_load_stream(struct halo_loader *l, struct halo_stream_settings *stream,
                      struct halo_node *node, struct halo_node *defaults)
{
    halo_options_init(halo_stream_options, stream);
    halo_options_init(halo_capture_options, &stream->capture);
    halo_options_init(halo_region_feed_options, &stream->region_feed);
    for (int find = 0; find < HALO_FINDS; find++)
        halo_options_init(halo_detector_options[find], &stream->detector[find]);
    if (!l->scratch)
        check_name(l, node);
    if (!halo_loader_is(l, node, HALO_NODE_MAP))
        return;
    if (l->detectors)
        halo_load_detectors(l, stream, l->detectors);
    halo_loader_section(l, &stream_section, stream, node, defaults);
    if (l->scratch) {
        check_off(l, stream, node);
        return;
    }
    check_privacy(l, stream, node, defaults);
    const struct halo_node *input = halo_node_get(node, "input");
    const struct halo_node *outputs = halo_node_get(node, "outputs");
    input = input ? input : halo_node_get(defaults, "input");
    outputs = outputs ? outputs : halo_node_get(defaults, "outputs");
    if (!input)
        say_missing(l, node, "input", "must be a file, a URL, a camera or \"test:\"");
    else if (stream->source.input)
        check_input(l, stream, input);
    if (stream->source.input && !halo_source_row(stream->source.input)->captures &&
        halo_node_get(node, "capture"))
        halo_loader_say_of(l, node, "capture", "has no effect, because the input is not a camera");
    if (!halo_node_get(node, "filters") && !halo_node_get(defaults, "filters"))
        say_missing(l, node, "filters", "name the filters (" HALO_HOW_TO_PASS ")");
    if (outputs && outputs->kind == HALO_NODE_LIST && !l->no_memory)
        check_renditions(l, stream, outputs);
}
