/* SPDX-License-Identifier: BSD-2-Clause
 * Loads one output of a stream, and checks combinations of its keys. */
#include <stdio.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "config/encoding.h"
#include "config/load.h"
#include "config/output_kinds.h"

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

void halo_load_output(struct halo_loader *l, struct halo_output_settings *output,
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
