/* SPDX-License-Identifier: BSD-2-Clause
 * One output of a stream, and what its keys mean together. */
#include <stdio.h>
#include <string.h>

#include "config/daemon_tables.h"
#include "config/encoding.h"
#include "config/load.h"

static void check_encoder(struct halo_loader *l, struct halo_node *node, const char *codec,
                          bool audio)
{
    struct halo_error err = {0};
    if (!l->checks || !l->checks->encoder)
        return;
    halo_loader_passes(l, node, l->checks->encoder(codec, audio, &err), err.text);
}

/* Of values that are well-formed, whether this encoder takes them. */
static void check_video(struct halo_loader *l, const struct halo_video_settings *video,
                        struct halo_node *node)
{
    const struct {
        const char *key, *value;
    } values[] = {{"bitrate", video->bitrate}, {"crf", video->crf}, {"preset", video->preset}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
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
    const struct halo_viewer_form *form = halo_output_form(output);
    if (output->kind == HALO_OUTPUT_V4L2)
        return;
    if (!(codec && codec->bad) && !raw && !(form && !form->muxer))
        check_video(l, &output->video, node);
    if (!codec || codec->bad || !output->video.codec)
        return;
    const size_t mark = halo_loader_enter(l, "codec", 0);
    if (!strcmp(output->video.codec, "copy"))
        halo_loader_say(l, codec, "copy would pass pictures unfiltered: name an encoder");
    else if (!raw)
        check_encoder(l, codec, output->video.codec, false);
    halo_loader_leave(l, mark);
}

static const struct halo_section output_section = {
    halo_output_options,
    {
        {"unix", NULL, NULL},
        {"file", NULL, NULL},
        {"url", NULL, NULL},
        {"v4l2", NULL, NULL},
        {"null", NULL, NULL},
        {"video", load_video, NULL},
        {NULL},
    },
};

static void say_raw(struct halo_loader *l, struct halo_node *output)
{
    char list[64];
    halo_loader_say_of(l, output, "video", "codec: raw is for sockets %s",
                       halo_viewer_form_list(list, sizeof list, true, "and"));
}

static void check_socket(struct halo_loader *l, const struct halo_output_settings *output,
                         struct halo_node *node)
{
    const struct halo_viewer_form *form = halo_output_form(output);
    const char *codec = output->video.codec;
    const bool raw = codec && !strcmp(codec, "raw");
    char list[64];
    if (!form)
        halo_loader_say_of(l, node, "unix", "its suffix says what viewers get: %s",
                           halo_viewer_form_list(list, sizeof list, false, "or"));
    else if (!form->muxer && output->audio && strcmp(output->audio, "off"))
        halo_loader_say_of(l, node, "audio", "a socket %s has frames alone", form->suffix);
    else if (!form->muxer && codec && !raw)
        halo_loader_say_of(l, node, "video", "a socket %s has frames as they are: no codec but raw",
                           form->suffix);
    else if (raw && !form->raw)
        say_raw(l, node);
}

/* What a strftime name may hold without naming folders or a thing of the locale's length. */
static bool is_pattern(const char *name, int *conversions)
{
    *conversions = 0;
    for (const char *s = strchr(name, '%'); s; s = strchr(s + 2, '%')) {
        if (!s[1] || !strchr("%YymdjHMSsFTzZaAbBuVG", s[1]))
            return false;
        *conversions += s[1] != '%';
    }
    return true;
}

static void check_file(struct halo_loader *l, const struct halo_output_settings *output,
                       struct halo_node *node)
{
    const char *base = strrchr(output->target, '/');
    int conversions = 0;
    base = base ? base + 1 : output->target;
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base || !dot[1])
        halo_loader_say_of(l, node, "file", "its suffix says the container, such as .mkv or .mp4");
    else if (!is_pattern(output->target, &conversions))
        halo_loader_say_of(l, node, "file",
                           "behind %% one of YymdjHMSsFTzZaAbBuVG is expected (%%%% is a %%)");
    else if (output->segment_time > 0 && !conversions)
        halo_loader_say_of(
            l, node, "file",
            "segments need names of their own, such as door-%%Y%%m%%d-%%H%%M%%S.mkv");
    if (output->keep_size > 0 && output->segment_time <= 0)
        halo_loader_say_of(l, node, "keep_size", "is for segments: give segment_time, too");
}

static void check_url(struct halo_loader *l, const struct halo_output_settings *output,
                      struct halo_node *node)
{
    const char *colon = strchr(output->target, ':');
    if (!colon || colon == output->target || strchr("/.", *output->target))
        halo_loader_say_of(l, node, "url", "must begin with its protocol, as in rtsp://HOST/PATH");
}

static void give(struct halo_loader *l, char **field, const char *text)
{
    if (!*field && !(*field = strdup(text)))
        l->no_memory = true;
}

/* Programs follow no change, and are served before there is an input: all is said beforehand. */
static void finish_camera(struct halo_loader *l, struct halo_output_settings *output,
                          struct halo_node *node)
{
    enum { MOST_SIDE = 8192 }; /* of v4l2loopback, and the supervisor holds such a picture */
    static const char *const without[] = {"codec", "bitrate", "crf", "preset"};
    struct halo_video_settings *video = &output->video;
    struct halo_node *map = halo_node_get(node, "video");
    int width = 2, height = 2, count = 0;
    char size[24];
    if (strncmp(output->target, "/dev/", 5) != 0)
        halo_loader_say_of(l, node, "v4l2", "must be a device such as /dev/video10");
    for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
        if (map && halo_node_get(map, without[i]))
            halo_loader_say_of(l, node, "video", "%s: has no effect with v4l2:", without[i]);
    if (video->chroma != HALO_CHROMA_AUTO)
        halo_loader_say_of(l, node, "video", "chroma: has no effect with v4l2:");
    give(l, &output->format, halo_camera_formats[0]);
    snprintf(size, sizeof(size), "%dx%d", HALO_DEFAULT_WIDTH, HALO_DEFAULT_HEIGHT);
    give(l, &video->size, size);
    if (video->fps <= 0)
        video->fps = HALO_DEFAULT_RATE;
    while (halo_camera_formats[count] &&
           strcmp(halo_camera_formats[count], output->format ? output->format : "") != 0)
        count++;
    if (!halo_camera_formats[count])
        halo_loader_say_of(l, node, "format", "must be yuyv, yu12, nv12 or mjpeg");
    if (video->size && strstr(video->size, "-1"))
        halo_loader_say_of(l, node, "video",
                           "size: %s: of a virtual camera both sides are given: programs see it "
                           "before there is a picture",
                           video->size);
    else if (video->size && sscanf(video->size, "%dx%d", &width, &height) == 2 &&
             (width % 2 || height % 2))
        halo_loader_say_of(l, node, "video", "size: %s: of a virtual camera it is even",
                           video->size);
    if (width > MOST_SIDE || height > MOST_SIDE)
        halo_loader_say_of(l, node, "video", "size: %s: a virtual camera has %dx%d at most",
                           video->size, MOST_SIDE, MOST_SIDE);
}

/* Keys that would have no effect with this kind. */
static void check_keys(struct halo_loader *l, const struct halo_output_settings *output,
                       struct halo_node *node)
{
    enum {
        ALL = (1U << HALO_OUTPUT_KINDS) - 1,
        NONE = 1U << HALO_OUTPUT_NULL,
        FILES = 1U << HALO_OUTPUT_FILE,
        CAMERA = 1U << HALO_OUTPUT_V4L2,
    };
    static const struct {
        const char *key;
        unsigned kinds; /* that have it */
    } keys[] = {
        {"video", ALL & ~NONE},
        {"audio", ALL & ~NONE & ~CAMERA},
        {"format", 1U << HALO_OUTPUT_URL | CAMERA},
        {"segment_time", FILES},
        {"keep_size", FILES},
        {"hook", FILES},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!(keys[i].kinds & 1U << output->kind) && halo_node_get(node, keys[i].key))
            halo_loader_say_of(l, node, keys[i].key,
                               "has no effect with %s:", halo_output_places[output->kind].key);
    }
}

/* The one place of the output; -1: said. */
static int find_kind(struct halo_loader *l, struct halo_node *node)
{
    int found = -1;
    for (int kind = 0; kind < HALO_OUTPUT_KINDS; kind++) {
        if (!halo_node_get(node, halo_output_places[kind].key))
            continue;
        if (found >= 0) {
            halo_loader_say(l, node, "%s: and %s: in one output: make two of it",
                            halo_output_places[found].key, halo_output_places[kind].key);
            return -1;
        }
        found = kind;
    }
    if (found < 0)
        halo_loader_say(l, node,
                        "where to? One of unix:, file:, url:, v4l2: and null: true is missing");
    return found;
}

static void load_target(struct halo_loader *l, struct halo_output_settings *output,
                        struct halo_node *node)
{
    const size_t mark = halo_loader_enter(l, node->key, 0);
    if (output->kind == HALO_OUTPUT_NULL) {
        const char *text = halo_loader_text(l, node);
        if (text && strcmp(text, "true"))
            halo_loader_say(l, node, "must be true");
    } else {
        halo_loader_string(l, &output->target, node);
        if (output->target && output->kind == HALO_OUTPUT_UNIX)
            halo_loader_claim_socket(l, node, output->target);
        else if (output->target)
            halo_loader_claim(l, node, output->kind != HALO_OUTPUT_URL, output->target);
    }
    halo_loader_leave(l, mark);
}

void halo_load_output(struct halo_loader *l, struct halo_output_settings *output,
                      struct halo_node *node)
{
    struct halo_error err = {0};
    if (!halo_loader_is(l, node, HALO_NODE_MAP))
        return;
    const int kind = find_kind(l, node);
    if (kind >= 0) {
        output->kind = kind;
        load_target(l, output, halo_node_get(node, halo_output_places[kind].key));
    }
    halo_loader_section(l, &output_section, output, node, NULL);
    if (kind >= 0)
        check_keys(l, output, node);
    struct halo_node *audio = halo_node_get(node, "audio");
    if (audio && output->audio && strcmp(output->audio, "off") && strcmp(output->audio, "copy")) {
        const size_t mark = halo_loader_enter(l, "audio", 0);
        check_encoder(l, audio, output->audio, true);
        halo_loader_leave(l, mark);
    }
    if (!output->target)
        return;
    if (kind == HALO_OUTPUT_UNIX)
        check_socket(l, output, node);
    else if (kind == HALO_OUTPUT_FILE)
        check_file(l, output, node);
    else if (kind == HALO_OUTPUT_URL)
        check_url(l, output, node);
    else if (kind == HALO_OUTPUT_V4L2)
        finish_camera(l, output, node);
    if (kind != HALO_OUTPUT_UNIX && kind != HALO_OUTPUT_V4L2 && output->video.codec &&
        !strcmp(output->video.codec, "raw"))
        say_raw(l, node);
    else if (kind != HALO_OUTPUT_V4L2 && kind != HALO_OUTPUT_NULL && l->checks && l->checks->output)
        halo_loader_passes(l, node, l->checks->output(output, &err), err.text);
}
