/* SPDX-License-Identifier: BSD-2-Clause
 * Loads one stream from its map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "config/encoding.h"
#include "config/load.h"
#include "config/source_kinds.h"

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
    stream->filters = halo_load_chain(l, node);
}

static void load_rendition_filters(struct halo_loader *l, void *settings, struct halo_node *node)
{
    struct halo_rendition_settings *rendition = settings;
    free(rendition->filters);
    rendition->filters = halo_load_chain(l, node);
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
            halo_load_output(l, output, node->child[i]);
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
