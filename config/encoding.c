/* SPDX-License-Identifier: BSD-2-Clause
 * Encodings: everything that has to be encoded for a stream's outputs, each only once. */
#include "config/encoding.h"

#include <string.h>

#include "config/output_kinds.h"

bool halo_is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

const char *halo_video_codec(const struct halo_video_settings *video)
{
    return video->codec ? video->codec : "libx264";
}

const char *const halo_camera_formats[] = {"yuyv", "yu12", "nv12", "mjpeg", NULL};

/* FFmpeg's name of a virtual camera's format; NULL: it receives JPEG images. */
static const char *camera_pixels(const char *format)
{
    static const char *const pixels[] = {"yuyv422", "yuv420p", "nv12", NULL};
    int at = 0;
    while (pixels[at] && strcmp(halo_camera_formats[at], format) != 0)
        at++;
    return pixels[at];
}

const struct halo_viewer_format *halo_output_format(const struct halo_output_settings *output)
{
    const enum halo_output_target target = halo_output_row(output)->target;
    if (target == HALO_AT_ADDRESS)
        return halo_viewer_format_named(output->format ? output->format : "ts");
    return target == HALO_AT_SOCKET && output->target ? halo_viewer_format_find(output->target)
                                                      : NULL;
}

static bool is_raw(const struct halo_output_settings *output)
{
    const struct halo_viewer_format *format = halo_output_format(output);
    return !strcmp(halo_video_codec(&output->video), "raw") || (format && !format->muxer);
}

static bool is_same_video(const struct halo_video_settings *a, const struct halo_video_settings *b)
{
    return !strcmp(halo_video_codec(a), halo_video_codec(b)) &&
           halo_is_same_text(a->bitrate, b->bitrate) && halo_is_same_text(a->crf, b->crf) &&
           halo_is_same_text(a->preset, b->preset) && halo_is_same_text(a->size, b->size) &&
           a->chroma == b->chroma && a->gop == b->gop && a->fps == b->fps;
}

/* Raw frames and images differ in size and rate, not in codec. */
static bool is_same(const struct halo_encoding *a, const struct halo_encoding *b)
{
    if (a->kind != b->kind || a->rendition != b->rendition ||
        !halo_is_same_text(a->audio, b->audio))
        return false;
    if (a->kind != HALO_ENCODING_CODED)
        return halo_is_same_text(a->video->size, b->video->size) &&
               a->video->fps == b->video->fps && halo_is_same_text(a->format, b->format);
    return is_same_video(a->video, b->video);
}

int halo_rendition_find(const struct halo_stream_settings *stream, const char *name)
{
    for (int i = 0; i < stream->renditions; i++)
        if (!strcmp(stream->rendition[i].name, name))
            return i;
    return -1;
}

int halo_output_rendition(const struct halo_stream_settings *stream,
                          const struct halo_output_settings *output)
{
    if (!output->rendition)
        return 0;
    const int at = halo_rendition_find(stream, output->rendition);
    return at < 0 ? -1 : at + 1;
}

const char *const halo_desktop_formats[] = {"yuv420p", "nv12", "yuyv422", "rgb24"};

static void set_kind(struct halo_encoding *e, const struct halo_output_settings *output)
{
    if (halo_output_row(output)->coded) {
        e->kind = is_raw(output) ? HALO_ENCODING_RAW : HALO_ENCODING_CODED;
        return;
    }
    e->format = camera_pixels(output->format);
    e->kind = e->format ? HALO_ENCODING_RAW : HALO_ENCODING_JPEG;
}

static const struct halo_video_settings tile = {.size = (char *)"480x-1", .fps = 5};
static const struct halo_video_settings browser = {
    .codec = (char *)"libx264", .chroma = HALO_CHROMA_BROWSER, .gop = 1};
static const struct halo_encoding views[HALO_VIEWS] = {
    [HALO_VIEW_JPEG] = {.kind = HALO_ENCODING_JPEG, .view = true, .feeds = true},
    [HALO_VIEW_TILE] = {.kind = HALO_ENCODING_JPEG, .view = true, .feeds = true, .video = &tile},
    [HALO_VIEW_LIVE] = {.kind = HALO_ENCODING_CODED,
                        .view = true,
                        .feeds = true,
                        .video = &browser,
                        .audio = "aac"},
};

int halo_output_formats(const struct halo_output_settings *output)
{
    const struct halo_output_row *row = halo_output_row(output);
    return row->target == HALO_AT_NODE       ? HALO_DESKTOP_FORMATS
           : row->writer == HALO_WRITER_NONE ? 0
                                             : 1;
}

/* Adds one encoding for each format; at most one of them runs at a time. */
static int add_desktop(struct halo_encoding *ret, const struct halo_encoding *wanted)
{
    for (int i = 0; i < HALO_DESKTOP_FORMATS; i++) {
        ret[i] = *wanted;
        ret[i].kind = HALO_ENCODING_RAW;
        ret[i].format = halo_desktop_formats[i];
        ret[i].feeds = true;
    }
    return HALO_DESKTOP_FORMATS;
}

int halo_encodings(const struct halo_stream_settings *stream, struct halo_encoding *ret, int *of)
{
    int count = 0;
    for (int i = 0; i < stream->outputs; i++) {
        const struct halo_output_settings *output = &stream->output[i];
        const enum halo_output_writer writer = halo_output_row(output)->writer;
        of[i] = -1;
        if (writer == HALO_WRITER_NONE)
            continue;
        struct halo_encoding wanted = {
            .rendition = halo_output_rendition(stream, output),
            .video = &output->video,
            .audio = output->audio && strcmp(output->audio, "off") != 0 ? output->audio : NULL,
        };
        if (halo_output_formats(output) > 1) {
            of[i] = count;
            count += add_desktop(&ret[count], &wanted);
            continue;
        }
        set_kind(&wanted, output);
        int at = 0;
        while (at < count && !is_same(&ret[at], &wanted))
            at++;
        if (at == count)
            ret[count++] = wanted;
        ret[at].feeds |= writer == HALO_WRITER_SUPERVISOR;
        ret[at].writes |= writer == HALO_WRITER_ENGINE;
        of[i] = at;
    }
    for (int view = 0; view < HALO_VIEWS; view++)
        ret[count++] = views[view];
    return count;
}
