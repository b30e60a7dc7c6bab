/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/output_kinds.h"
#include "daemon/supervisor/sup_camera.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_ring.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/view/feed.h"
#include "daemon/view/viewers.h"

enum { AGAIN_MS = 5000 }; /* between attempts to open an output */

static void report_watched(struct sv_packet_feed *packet_feed)
{
    struct sv_stream *stream = packet_feed->stream;
    if (stream->place.phase != SV_IN)
        return;
    json_t *message = sv_do("watch", stream);
    json_object_set_new(message, "encoding", json_integer(packet_feed->encoding));
    json_object_set_new(message, "on", json_boolean(packet_feed->watched));
    sv_engine_send(stream->place.engine, message);
}

static void on_watched(void *arg, bool watched)
{
    struct sv_packet_feed *packet_feed = arg;
    packet_feed->watched = watched;
    report_watched(packet_feed);
}

static void on_key(void *arg)
{
    struct sv_packet_feed *packet_feed = arg;
    struct sv_stream *stream = packet_feed->stream;
    if (stream->place.phase != SV_IN)
        return;
    json_t *message = sv_do("key", stream);
    json_object_set_new(message, "encoding", json_integer(packet_feed->encoding));
    sv_engine_send(stream->place.engine, message);
}

void sv_feed_watch_all(struct sv_stream *stream)
{
    for (int i = 0; i < stream->encodings; i++)
        if (stream->packet_feed[i].watched)
            report_watched(&stream->packet_feed[i]);
}

static int open_feeds(struct sv_stream *stream, struct halo_error *err)
{
    static const struct halo_feed_wishes wishes = {.watched = on_watched, .key = on_key};
    for (int i = 0; i < stream->encodings; i++) {
        struct sv_packet_feed *packet_feed = &stream->packet_feed[i];
        if (!stream->encoding[i].feeds)
            continue;
        const int code = halo_feed_create(&packet_feed->feed, stream->sv->loop, &stream->settings,
                                          &wishes, packet_feed);
        if (code < 0)
            return halo_fail(err, code, "stream %s: %s", stream->name, strerror(-code));
    }
    return 0;
}

/* Remembers why an output is not open, and logs it unless the log has it already. */
static void refuse(struct sv_stream *stream, int index, const char *why)
{
    char **refused = &stream->refused[index];
    if (*refused && !strcmp(*refused, why))
        return;
    free(*refused);
    *refused = strdup(why);
    halo_log(HALO_LOG_ERROR, "stream %s: %s; this output is tried again every %d s", stream->name,
             why, AGAIN_MS / 1000);
}

static int open_output(struct sv_stream *stream, int index, struct halo_error *err)
{
    const struct halo_output_settings *output = &stream->settings.output[index];
    if (halo_output_is_camera(output))
        return sv_camera_open(stream, index, err);
    return halo_viewers_create(&stream->viewers[index], stream->sv->loop,
                               stream->packet_feed[stream->of[index]].feed, output, err);
}

/* An output that cannot be opened, or whose socket somebody has removed, is tried again later; the
 * others do not wait for it. */
static void open_outputs(struct sv_stream *stream)
{
    stream->serve_again = sv_now(stream->sv) + AGAIN_MS;
    for (int i = 0; i < stream->settings.outputs; i++) {
        const struct halo_output_settings *output = &stream->settings.output[i];
        struct halo_error err = {0};
        if (stream->viewers[i])
            halo_viewers_look(stream->viewers[i]);
        if (stream->served[i] || halo_output_row(output)->writer != HALO_WRITER_SUPERVISOR)
            continue;
        stream->served[i] = open_output(stream, i, &err) >= 0;
        if (!stream->served[i]) {
            refuse(stream, i, err.text);
        } else if (stream->refused[i]) {
            halo_log(HALO_LOG_INFO, "stream %s: %s is open now", stream->name, output->target);
            free(stream->refused[i]);
            stream->refused[i] = NULL;
        }
    }
}

int sv_feed_open(struct sv_stream *stream, struct halo_error *err)
{
    if (stream->open)
        return 0;
    stream->open = true;
    stream->encodings = halo_encodings(&stream->settings, stream->encoding, stream->of);
    for (int i = 0; i < stream->encodings; i++)
        stream->packet_feed[i] = (struct sv_packet_feed){.stream = stream, .encoding = i};
    const int code = open_feeds(stream, err);
    if (code < 0) {
        sv_feed_close(stream, "the stream cannot be served");
        return code;
    }
    sv_camera_keep(stream);
    open_outputs(stream);
    return 0;
}

void sv_feed_step(struct sv_stream *stream)
{
    if (stream->open && sv_now(stream->sv) >= stream->serve_again)
        open_outputs(stream);
}

const char *sv_feed_why(const struct sv_stream *stream, int output)
{
    if (stream->viewers[output])
        return halo_viewers_failure(stream->viewers[output]);
    return stream->refused[output];
}

bool sv_feed_failed(const struct sv_stream *stream, char *ret, size_t size)
{
    const char *first = NULL;
    int more = -1;
    for (int i = 0; i < stream->settings.outputs; i++) {
        const char *why = sv_feed_why(stream, i);
        first = first ? first : why;
        more += why != NULL;
    }
    if (more > 0)
        snprintf(ret, size, "%s (and %d more)", first, more);
    else if (first)
        snprintf(ret, size, "%s", first);
    return first != NULL;
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
        stream->served[i] = false;
        free(stream->refused[i]);
        stream->refused[i] = NULL;
    }
    for (int i = 0; i < stream->encodings; i++) {
        if (stream->packet_feed[i].feed)
            halo_feed_destroy(stream->packet_feed[i].feed, why);
        stream->packet_feed[i].feed = NULL;
        stream->packet_feed[i].watched = false;
    }
}

void sv_feed_forget(struct sv_stream *stream)
{
    for (int i = 0; stream->open && i < stream->encodings; i++) {
        sv_ring_empty(&stream->packet_feed[i]);
        if (stream->packet_feed[i].feed)
            halo_feed_forget(stream->packet_feed[i].feed);
    }
    sv_camera_forget(stream);
}
