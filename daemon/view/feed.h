/* SPDX-License-Identifier: BSD-2-Clause
 * A feed is one encoding of a stream in the supervisor, with all its subscribers, which receive the
 * packets.
 *
 *   engine --ring--> feed --+--> viewer of a socket (its own muxer)
 *            card --^       +--> HTTP, frames by memfd
 *
 * The feed outlives engines. Its timestamps are microseconds of CLOCK_MONOTONIC since its creation,
 * and always increase. If packets stop for longer than HALO_FEED_SILENCE_MS (for any reason: no
 * engine, no source, a failed filter), it sends the card instead, twice a second (more often to new
 * subscribers, because players read some seconds of video before they show a frame). When the
 * engine sends packets again, the feed passes them on, beginning with the next keyframe. An engine
 * that is alive and knows why it has no frames sends cards itself (HALO_PACKET_CARD); the feed
 * sends no cards of its own meanwhile. A feed sends nothing but the output of a gate, and cards.
 *
 * Loop thread only. */
#ifndef HALO_FEED_H
#define HALO_FEED_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <uv.h>

#include "config/daemon.h"
#include "pipeline/output/parameters_wire.h"

enum {
    HALO_FEED_SILENCE_MS = 400,
    /* used instead of HALO_FEED_SILENCE_MS after a card from the engine */
    HALO_FEED_CARDS_MS = 1200,
};

struct halo_feed;

/* A receiver of packets. All callbacks run on the loop thread. A callback may make its own
 * subscriber leave the feed, but no other subscriber. */
struct halo_feed_subscriber {
    /* Passes the first parameters, or new ones. Decoding the packets that follow requires these
     * parameters; the first of these packets is a keyframe. */
    void (*begin)(struct halo_feed_subscriber *subscriber,
                  const struct halo_encoding_parameters *begin);
    /* Passes a packet; use av_packet_ref() to keep it. The packet's timestamps are in microseconds
     * on the feed's timeline; its stream_index is 0 for video, 1 for audio. The first packet after
     * begin is a video keyframe. */
    void (*packet)(struct halo_feed_subscriber *subscriber, const AVPacket *pkt);
    /* Reports that the stream has ended, or that its frames have stopped and `on_error` is `stop`.
     * No callbacks follow; the subscriber has left the feed. */
    void (*end)(struct halo_feed_subscriber *subscriber, const char *why);
    /* Its client takes another feed of the stream, too, and counts as a viewer there. Set this
     * before joining. */
    bool counted;
    /* Used by the feed only: */
    struct halo_feed *feed;
    struct halo_feed_subscriber *next;
    bool begun, keyed;
    /* us of CLOCK_MONOTONIC: when the subscriber joined or, if later, when begin() was last called;
     * far in the past after a frame has arrived from the engine */
    int64_t since;
};

/* watched(arg, true) is called when the first subscriber joins, watched(arg, false) when the last
 * subscriber has left. key(arg) is called when a new subscriber waits for a keyframe. */
struct halo_feed_wishes {
    void (*watched)(void *arg, bool watched);
    void (*key)(void *arg);
};

int halo_feed_create(struct halo_feed **ret, uv_loop_t *loop,
                     const struct halo_stream_settings *stream,
                     const struct halo_feed_wishes *wishes, void *arg);
/* Calls end() of all subscribers and destroys the feed. The memory is freed when the loop has
 * closed the handle. NULL is ignored. */
void halo_feed_destroy(struct halo_feed *feed, const char *why);

/* Passes the engine's parameters and packets to the feed. If the parameters have changed in such a
 * way that a decoder cannot continue (halo_parameters_are_same() returns false), begin() of all
 * subscribers is called again. */
void halo_feed_begin(struct halo_feed *feed, const struct halo_encoding_parameters *begin);
void halo_feed_packet(struct halo_feed *feed, const AVPacket *pkt);
/* Called after the filters have changed: frames made with the old filters are not shown again (by
 * `on_error: last`). */
void halo_feed_forget(struct halo_feed *feed);

void halo_feed_join(struct halo_feed *feed, struct halo_feed_subscriber *subscriber);
void halo_feed_leave(
    struct halo_feed_subscriber *subscriber); /* does nothing if the subscriber is in no feed */

/* Returns time 0 of the feed, in microseconds of CLOCK_MONOTONIC. */
int64_t halo_feed_origin(const struct halo_feed *feed);

struct halo_feed_stats {
    int subscribers;
    int viewers;   /* the subscribers that are not counted elsewhere */
    bool card;     /* true while the card is being sent to the viewers and other consumers */
    int64_t cards; /* cards sent, including the engine's cards */
    int64_t late;  /* packets dropped because their timestamp was not later than the previous one */
};
void halo_feed_stats(const struct halo_feed *feed, struct halo_feed_stats *ret);

#endif
