/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_feed.h"

#include <errno.h>
#include <string.h>

#include "config/output_kinds.h"
#include "daemon/supervisor/sup_camera.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_ring.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/view/feed.h"
#include "daemon/view/viewers.h"

static void report_watched(struct sv_outlet *outlet)
{
    struct sv_stream *stream = outlet->stream;
    if (stream->place.phase != SV_IN)
        return;
    json_t *message = sv_do("watch", stream);
    json_object_set_new(message, "encoding", json_integer(outlet->encoding));
    json_object_set_new(message, "on", json_boolean(outlet->watched));
    sv_engine_send(stream->place.engine, message);
}

static void on_watched(void *arg, bool watched)
{
    struct sv_outlet *outlet = arg;
    outlet->watched = watched;
    report_watched(outlet);
}

static void on_key(void *arg)
{
    struct sv_outlet *outlet = arg;
    struct sv_stream *stream = outlet->stream;
    if (stream->place.phase != SV_IN)
        return;
    json_t *message = sv_do("key", stream);
    json_object_set_new(message, "encoding", json_integer(outlet->encoding));
    sv_engine_send(stream->place.engine, message);
}

void sv_feed_watch_all(struct sv_stream *stream)
{
    for (int i = 0; i < stream->encodings; i++)
        if (stream->outlet[i].watched)
            report_watched(&stream->outlet[i]);
}

static int open_feeds(struct sv_stream *stream, struct halo_error *err)
{
    static const struct halo_feed_wishes wishes = {.watched = on_watched, .key = on_key};
    for (int i = 0; i < stream->encodings; i++) {
        struct sv_outlet *outlet = &stream->outlet[i];
        if (!stream->encoding[i].feeds)
            continue;
        const int code =
            halo_feed_create(&outlet->feed, stream->sv->loop, &stream->settings, &wishes, outlet);
        if (code < 0)
            return halo_fail(err, code, "stream %s: %s", stream->name, strerror(-code));
    }
    return 0;
}

static int open_viewers(struct sv_stream *stream, struct halo_error *err)
{
    for (int i = 0; i < stream->settings.outputs; i++) {
        const struct halo_output_settings *output = &stream->settings.output[i];
        const struct halo_output_row *row = halo_output_row(output);
        if (row->writer != HALO_WRITER_SUPERVISOR || halo_output_is_camera(output))
            continue;
        struct halo_error inner = {0};
        const int code = halo_viewers_create(&stream->viewers[i], stream->sv->loop,
                                             stream->outlet[stream->of[i]].feed, output, &inner);
        if (code < 0)
            return halo_fail(err, code, "stream %s: %s", stream->name, inner.text);
    }
    return 0;
}

int sv_feed_open(struct sv_stream *stream, struct halo_error *err)
{
    if (stream->open)
        return 0;
    stream->open = true;
    stream->encodings = halo_encodings(&stream->settings, stream->encoding, stream->of);
    for (int i = 0; i < stream->encodings; i++)
        stream->outlet[i] = (struct sv_outlet){.stream = stream, .encoding = i};
    int code = open_feeds(stream, err);
    if (code == 0)
        code = open_viewers(stream, err);
    if (code == 0)
        code = sv_camera_open(stream, err);
    if (code < 0)
        sv_feed_close(stream, "the stream cannot be served");
    return code;
}

void sv_feed_close(struct sv_stream *stream, const char *why)
{
    if (!stream->open)
        return;
    stream->open = false;
    sv_ring_close_all(stream, true);
    sv_camera_leave(stream);
    for (int i = 0; i < stream->settings.outputs; i++) {
        if (stream->viewers[i])
            halo_viewers_destroy(stream->viewers[i], why);
        stream->viewers[i] = NULL;
    }
    for (int i = 0; i < stream->encodings; i++) {
        if (stream->outlet[i].feed)
            halo_feed_destroy(stream->outlet[i].feed, why);
        stream->outlet[i].feed = NULL;
        stream->outlet[i].watched = false;
    }
}

void sv_feed_forget(struct sv_stream *stream)
{
    for (int i = 0; stream->open && i < stream->encodings; i++) {
        sv_ring_empty(&stream->outlet[i]);
        if (stream->outlet[i].feed)
            halo_feed_forget(stream->outlet[i].feed);
    }
    sv_camera_forget(stream);
}
