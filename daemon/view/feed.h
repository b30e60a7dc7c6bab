/* SPDX-License-Identifier: BSD-2-Clause
 * A feed: one encoding of a stream in the supervisor, with all takers, which receive its packets.
 *
 *   engine --ring--> feed --+--> viewer of a socket (its own muxer)
 *            card --^       +--> HTTP, frames by memfd
 *
 * The feed outlives engines. Its times are microseconds of CLOCK_MONOTONIC since its creation, and
 * always increase. If packets stop for longer than HALO_FEED_SILENCE_MS (for any reason: no engine,
 * no source, a failed filter), it sends the card instead, twice a second (more often to new takers,
 * because players read some seconds of video before they show a frame). When the engine sends
 * packets again, the feed passes them on from the next keyframe. An engine that is alive and knows
 * why it has no frames sends cards itself (HALO_PACKET_CARD); the feed sends none meanwhile. It
 * never sends anything but the output of a gate, and cards.
 *
 * Loop thread only. */
#ifndef HALO_FEED_H
#define HALO_FEED_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <uv.h>

#include "config/daemon.h"
#include "pipeline/output/begin_wire.h"

enum {
    HALO_FEED_SILENCE_MS = 400,
    HALO_FEED_CARDS_MS = 1200, /* the same limit after a card from the engine */
};

struct halo_feed;

/* A receiver of packets. All callbacks run on the loop thread. From any of them the taker itself
 * may leave the feed, but must not make another taker leave. */
struct halo_feed_taker {
    /* The first parameters, or new ones: the packets that follow need them and begin with a
     * keyframe. */
    void (*begin)(struct halo_feed_taker *taker, const struct halo_live_begin *begin);
    /* Use av_packet_ref() to keep pkt. Its times are microseconds of the feed; stream_index: 0
     * video, 1 sound. The first packet after begin is a video keyframe. */
    void (*packet)(struct halo_feed_taker *taker, const AVPacket *pkt);
    /* The stream has ended, or its frames have stopped and on_error is stop. Nothing follows; the
     * taker has left the feed. */
    void (*end)(struct halo_feed_taker *taker, const char *why);
    /* Used by the feed only: */
    struct halo_feed *feed;
    struct halo_feed_taker *next;
    bool begun, keyed;
    int64_t since; /* CLOCK_MONOTONIC in us: when it joined or last began */
};

/* watched(arg, true) when the first taker joins, watched(arg, false) when the last has left.
 * key(arg): a new taker waits for a keyframe. */
struct halo_feed_wishes {
    void (*watched)(void *arg, bool watched);
    void (*key)(void *arg);
};

int halo_feed_create(struct halo_feed **ret, uv_loop_t *loop,
                     const struct halo_stream_settings *stream,
                     const struct halo_feed_wishes *wishes, void *arg);
/* Ends all takers. The memory is freed when the loop has closed the handle. NULL is ignored. */
void halo_feed_destroy(struct halo_feed *feed, const char *why);

/* Input from the engine. Takers begin again only if a decoder could not go on with the parameters
 * of begin (halo_begin_is_same()). */
void halo_feed_begin(struct halo_feed *feed, const struct halo_live_begin *begin);
void halo_feed_packet(struct halo_feed *feed, const AVPacket *pkt);
/* The filters have changed: frames that passed the old ones are not shown again (on_error:
 * last). */
void halo_feed_forget(struct halo_feed *feed);

void halo_feed_join(struct halo_feed *feed, struct halo_feed_taker *taker);
void halo_feed_leave(struct halo_feed_taker *taker); /* no effect if it is in no feed */

/* Time 0 of the feed, in microseconds of CLOCK_MONOTONIC. */
int64_t halo_feed_origin(const struct halo_feed *feed);

struct halo_feed_stats {
    int takers;
    bool card;     /* takers get the card now */
    int64_t cards; /* sent, including those of the engine */
    int64_t late;  /* packets dropped because their time was not later than the last one's */
};
void halo_feed_stats(const struct halo_feed *feed, struct halo_feed_stats *ret);

#endif
