/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/view/feed.h"
#include "pipeline/output/packet_ring.h"

static void free_ring(uv_handle_t *handle)
{
    free(handle->data);
}

int sv_ring_open(struct sv_packet_feed *packet_feed, const int *fds, uv_poll_cb on_ring,
                 struct halo_error *err)
{
    struct halo_packet_reader *reader;
    struct stat memory;
    int code = halo_packet_reader_create(&reader, fds[0], fds[1], err);
    if (code < 0)
        return code;
    struct sv_ring *ring = calloc(1, sizeof *ring);
    if (!ring) {
        halo_packet_reader_destroy(reader);
        return halo_fail(err, -ENOMEM, "out of memory");
    }
    ring->packet_feed = packet_feed;
    ring->reader = reader;
    ring->size = fstat(fds[0], &memory) < 0 ? 0 : memory.st_size;
    ring->poll.data = ring;
    code =
        uv_poll_init(packet_feed->stream->sv->loop, &ring->poll, halo_packet_reader_event(reader));
    if (code < 0) {
        halo_packet_reader_destroy(reader);
        free(ring);
        return halo_fail(err, code, "a packet ring cannot be polled: %s", uv_strerror(code));
    }
    uv_poll_start(&ring->poll, UV_READABLE, on_ring);
    packet_feed->ring = ring;
    return 0;
}

int sv_ring_read(struct sv_ring *ring, int most, int64_t most_bytes)
{
    AVPacket *packet = ring->packet_feed->stream->sv->packet;
    int64_t bytes = 0;
    ring->more = true;
    for (int i = 0; i < most && bytes < most_bytes; i++) {
        struct halo_encoding_parameters begin;
        const int kind = halo_packet_read(ring->reader, packet, &begin);
        if (kind < 0)
            return kind;
        if (kind == HALO_PACKET_NONE) {
            ring->more = false;
            return 0;
        }
        if (kind == HALO_PACKET_BEGIN) {
            bytes += (begin.card ? begin.card->size : 0) + (begin.solid ? begin.solid->size : 0);
            halo_feed_begin(ring->packet_feed->feed, &begin);
        } else {
            bytes += packet->size;
            halo_feed_packet(ring->packet_feed->feed, packet);
            av_packet_unref(packet);
        }
    }
    return 0;
}

void sv_ring_empty(struct sv_packet_feed *packet_feed)
{
    enum { LIMIT = 1 << 16 };
    if (packet_feed->ring)
        (void)sv_ring_read(packet_feed->ring, LIMIT, packet_feed->ring->size);
}

void sv_ring_close(struct sv_packet_feed *packet_feed)
{
    struct sv_ring *ring = packet_feed->ring;
    packet_feed->ring = NULL;
    if (!ring)
        return;
    uv_close((uv_handle_t *)&ring->poll, free_ring);
    halo_packet_reader_destroy(ring->reader);
}

void sv_ring_close_all(struct sv_stream *stream, bool drain)
{
    for (int i = 0; i < stream->encodings; i++) {
        if (drain)
            sv_ring_empty(&stream->packet_feed[i]);
        sv_ring_close(&stream->packet_feed[i]);
    }
}
