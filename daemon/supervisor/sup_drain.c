/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_drain.h"

#include <errno.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_lost.h"
#include "daemon/supervisor/sup_ring.h"
#include "daemon/supervisor/sup_stream_data.h"

enum {
    PACKETS_AT_ONCE = 64, /* of one ring, before it is the turn of others */
    BYTES_AT_ONCE = 32 << 20,
};

/* There is no memory for a packet: it stays in the ring, and sv_drain_tick() tries again. */
static void starve(struct sv_ring *ring)
{
    if (!ring->starves)
        halo_log(HALO_LOG_ERROR, "stream %s: not enough memory for a packet",
                 ring->packet_feed->stream->name);
    ring->starves = true;
    ring->more = false;
    uv_poll_stop(&ring->poll);
}

/* Reads a ring. Returns whether it is still open. */
static bool check(struct sv_ring *ring)
{
    struct sv_stream *stream = ring->packet_feed->stream;
    const int code = sv_ring_read(ring, PACKETS_AT_ONCE, BYTES_AT_ONCE);
    if (code == -ENOMEM)
        starve(ring);
    else if (code == 0)
        ring->starves = false;
    if (code == 0 || code == -ENOMEM)
        return true;
    struct sv_engine *engine = stream->place.engine;
    sv_ring_close(ring->packet_feed);
    if (code == -EPROTO && engine)
        sv_engine_lost(engine, "it wrote malformed data into a packet ring", false);
    else
        halo_log(HALO_LOG_ERROR, "stream %s: a packet ring cannot be read: %s", stream->name,
                 strerror(-code));
    return false;
}

static void on_drain(uv_idle_t *idle)
{
    struct halo_supervisor *sv = idle->data;
    bool more = false;
    for (struct sv_stream *s = sv->streams; s; s = s->next)
        for (int i = 0; i < s->encodings; i++) {
            struct sv_ring *ring = s->packet_feed[i].ring;
            if (!ring || !ring->more)
                continue;
            if (!check(ring))
                return; /* the list may have changed; the rest is read next time */
            more |= ring->more;
        }
    if (!more)
        uv_idle_stop(idle);
}

static void on_ring(uv_poll_t *poll, int status, int events)
{
    struct sv_ring *ring = poll->data;
    struct halo_supervisor *sv = ring->packet_feed->stream->sv;
    (void)events;
    if (status < 0)
        sv_ring_close(ring->packet_feed);
    else if (check(ring) && ring->more)
        uv_idle_start(&sv->drain, on_drain);
}

void sv_drain_tick(struct sv_stream *stream)
{
    for (int i = 0; i < stream->encodings; i++) {
        struct sv_ring *ring = stream->packet_feed[i].ring;
        if (!ring || !ring->starves)
            continue;
        ring->more = true;
        uv_poll_start(&ring->poll, UV_READABLE, on_ring);
        uv_idle_start(&stream->sv->drain, on_drain);
    }
}

void sv_drain_add(struct sv_stream *stream, int encoding, const int *fds)
{
    struct sv_packet_feed *packet_feed = &stream->packet_feed[encoding];
    struct halo_error err = {0};
    sv_ring_empty(packet_feed);
    sv_ring_close(packet_feed);
    const int code = sv_ring_open(packet_feed, fds, on_ring, &err);
    if (code == 0)
        return;
    if (code == -EPROTO)
        sv_engine_lost(stream->place.engine, "it sent an invalid packet ring", false);
    else
        halo_log(HALO_LOG_ERROR, "stream %s: %s", stream->name, err.text);
}
