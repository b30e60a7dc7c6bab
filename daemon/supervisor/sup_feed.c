/* SPDX-License-Identifier: BSD-2-Clause
 * A stream's feeds with their viewers, which outlive engines, and the rings that fill them, which
 * do not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/supervisor/supervisor_private.h"

enum {
    PACKETS_AT_ONCE = 64, /* of one ring, before the others have their turn */
    BYTES_AT_ONCE = 32 << 20,
};

/* ---- rings ---- */

struct sv_ring {
    uv_poll_t poll;
    struct sv_outlet *outlet;
    struct halo_packet_reader *reader;
    int64_t size; /* of its memory, which cannot change */
    bool more;    /* has packets that had to wait for the others' turn */
    bool starves; /* there was no memory for the next one */
};

static void free_ring(uv_handle_t *handle)
{
    free(handle->data);
}

static int64_t size_of_cards(const struct halo_live_begin *begin)
{
    return (begin->card ? begin->card->size : 0) + (begin->solid ? begin->solid->size : 0);
}

/* Reads until it is empty or others have their turn. -EPROTO: the engine is not to be trusted. */
static int read_some(struct sv_ring *ring, int most, int64_t most_bytes)
{
    AVPacket *packet = ring->outlet->stream->sv->packet;
    int64_t bytes = 0;
    ring->more = true;
    for (int i = 0; i < most && bytes < most_bytes; i++) {
        struct halo_live_begin begin;
        const int kind = halo_packet_read(ring->reader, packet, &begin);
        if (kind < 0)
            return kind;
        if (kind == HALO_PACKET_NONE) {
            ring->more = false;
            return 0;
        }
        if (kind == HALO_PACKET_BEGIN) {
            bytes += size_of_cards(&begin);
            halo_feed_begin(ring->outlet->feed, &begin);
        } else {
            bytes += packet->size;
            halo_feed_packet(ring->outlet->feed, packet);
            av_packet_unref(packet);
        }
    }
    return 0;
}

static void close_ring(struct sv_outlet *outlet)
{
    struct sv_ring *ring = outlet->ring;
    outlet->ring = NULL;
    if (!ring)
        return;
    uv_close((uv_handle_t *)&ring->poll, free_ring);
    halo_packet_reader_destroy(ring->reader);
}

/* Its packet stays there: sv_ring_tick() looks again. */
static void starve(struct sv_ring *ring)
{
    if (!ring->starves)
        halo_log(HALO_LOG_ERROR, "stream %s: out of memory for a packet",
                 ring->outlet->stream->name);
    ring->starves = true;
    ring->more = false;
    uv_poll_stop(&ring->poll);
}

/* Whether the ring is still there. */
static bool look(struct sv_ring *ring)
{
    struct sv_stream *stream = ring->outlet->stream;
    const int ret = read_some(ring, PACKETS_AT_ONCE, BYTES_AT_ONCE);
    if (ret == -ENOMEM)
        starve(ring);
    else if (ret == 0)
        ring->starves = false;
    if (ret == 0 || ret == -ENOMEM)
        return true;
    struct sv_engine *engine = stream->place.engine;
    close_ring(ring->outlet);
    if (ret == -EPROTO && engine)
        sv_engine_lost(engine, "it wrote into a ring what no engine writes", false);
    else
        halo_log(HALO_LOG_ERROR, "stream %s: a ring cannot be read: %s", stream->name,
                 strerror(-ret));
    return false;
}

static void on_ring(uv_poll_t *poll, int status, int events)
{
    struct sv_ring *ring = poll->data;
    struct halo_supervisor *sv = ring->outlet->stream->sv;
    (void)events;
    if (status < 0)
        close_ring(ring->outlet);
    else if (look(ring) && ring->more)
        uv_idle_start(&sv->drain, sv_ring_drain);
}

void sv_ring_drain(uv_idle_t *idle)
{
    struct halo_supervisor *sv = idle->data;
    bool more = false;
    for (struct sv_stream *s = sv->streams; s; s = s->next)
        for (int i = 0; i < s->encodings; i++) {
            struct sv_ring *ring = s->outlet[i].ring;
            if (!ring || !ring->more)
                continue;
            if (!look(ring))
                return; /* the list may be another one now; the rest comes the next time */
            more |= ring->more;
        }
    if (!more)
        uv_idle_stop(idle);
}

void sv_ring_tick(struct sv_stream *stream)
{
    for (int i = 0; i < stream->encodings; i++) {
        struct sv_ring *ring = stream->outlet[i].ring;
        if (!ring || !ring->starves)
            continue;
        ring->more = true;
        uv_poll_start(&ring->poll, UV_READABLE, on_ring);
        uv_idle_start(&stream->sv->drain, sv_ring_drain);
    }
}

static int make_ring(struct sv_outlet *outlet, const int *fds, struct halo_error *err)
{
    struct halo_packet_reader *reader;
    struct stat memory;
    int ret = halo_packet_reader_create(&reader, fds[0], fds[1], err);
    if (ret < 0)
        return ret;
    struct sv_ring *ring = calloc(1, sizeof *ring);
    if (!ring) {
        halo_packet_reader_destroy(reader);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    ring->outlet = outlet;
    ring->reader = reader;
    ring->size = fstat(fds[0], &memory) < 0 ? 0 : memory.st_size;
    ring->poll.data = ring;
    ret = uv_poll_init(outlet->stream->sv->loop, &ring->poll, halo_packet_reader_event(reader));
    if (ret < 0) {
        halo_packet_reader_destroy(reader);
        free(ring);
        return halo_fail(err, ret, "a ring cannot be watched: %s", uv_strerror(ret));
    }
    uv_poll_start(&ring->poll, UV_READABLE, on_ring);
    outlet->ring = ring;
    return 0;
}

/* What the old ring still has goes first. It is no more than a ring holds, but its writer may go on
 * writing. */
static void empty_ring(struct sv_ring *ring)
{
    enum { MOST = 1 << 16 };
    (void)read_some(ring, MOST, ring->size);
}

void sv_ring_add(struct sv_stream *stream, int encoding, const int *fds)
{
    struct sv_outlet *outlet = &stream->outlet[encoding];
    struct halo_error err = {0};
    if (outlet->ring)
        empty_ring(outlet->ring);
    close_ring(outlet);
    const int ret = make_ring(outlet, fds, &err);
    if (ret == 0)
        return;
    if (ret == -EPROTO)
        sv_engine_lost(stream->place.engine, "it sent a ring that no engine makes", false);
    else
        halo_log(HALO_LOG_ERROR, "stream %s: %s", stream->name, err.text);
}

void sv_ring_close_all(struct sv_stream *stream, bool drain)
{
    for (int i = 0; i < stream->encodings; i++) {
        if (drain && stream->outlet[i].ring)
            empty_ring(stream->outlet[i].ring);
        close_ring(&stream->outlet[i]);
    }
}

/* ---- feeds ---- */

static void tell_watched(struct sv_outlet *outlet)
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
    tell_watched(outlet);
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
            tell_watched(&stream->outlet[i]);
}

static int open_feeds(struct sv_stream *stream, struct halo_error *err)
{
    static const struct halo_feed_wishes wishes = {.watched = on_watched, .key = on_key};
    for (int i = 0; i < stream->encodings; i++) {
        struct sv_outlet *outlet = &stream->outlet[i];
        if (!stream->encoding[i].feeds)
            continue;
        const int ret =
            halo_feed_create(&outlet->feed, stream->sv->loop, &stream->settings, &wishes, outlet);
        if (ret < 0)
            return halo_fail(err, ret, "stream %s: %s", stream->name, strerror(-ret));
    }
    return 0;
}

static int open_viewers(struct sv_stream *stream, struct halo_error *err)
{
    for (int i = 0; i < stream->settings.outputs; i++) {
        const struct halo_output_settings *output = &stream->settings.output[i];
        const struct halo_output_row *row = halo_output_row(output);
        if (row->writer != HALO_WRITER_SUPERVISOR || row->target == HALO_AT_DEVICE)
            continue;
        struct halo_error inner = {0};
        const int ret = halo_viewers_create(&stream->viewers[i], stream->sv->loop,
                                            stream->outlet[stream->of[i]].feed, output, &inner);
        if (ret < 0)
            return halo_fail(err, ret, "stream %s: %s", stream->name, inner.text);
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
    int ret = open_feeds(stream, err);
    if (ret == 0)
        ret = open_viewers(stream, err);
    if (ret == 0)
        ret = sv_camera_open(stream, err);
    if (ret < 0)
        sv_feed_close(stream, "it cannot be served");
    return ret;
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
        if (stream->outlet[i].ring)
            empty_ring(stream->outlet[i].ring);
        if (stream->outlet[i].feed)
            halo_feed_forget(stream->outlet[i].feed);
    }
    sv_camera_forget(stream);
}
