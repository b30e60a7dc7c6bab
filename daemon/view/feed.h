/* SPDX-License-Identifier: BSD-2-Clause
 * A feed: one encoding of a stream as the supervisor has it, with all who take it.
 *
 *   engine --ring--> feed --+--> viewer of a socket (its own muxer)
 *            card --^       +--> HTTP, frames by memfd
 *
 * The feed outlives engines. Its times are microseconds since it was made, on CLOCK_MONOTONIC, and
 * always grow. When packets stop (no engine, no source, a failed filter: the feed does not ask) for
 * longer than HALO_FEED_SILENCE_MS, it sends the card instead, twice a second (to who has just come
 * often, for players look at some seconds of pictures before they show one); what the engine
 * sends again is taken from the next key frame on. An engine that lives and knows why nothing comes
 * sends cards itself (HALO_PACKET_CARD): while they come the feed sends none. It never sends
 * anything else than what came out of a gate, and cards.
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
    HALO_FEED_CARDS_MS = 1200, /* likewise after a card of the engine */
};

struct halo_feed;

/* Who takes packets. All calls come on the loop thread; a taker may leave itself in any of them,
 * and no other. */
struct halo_feed_taker {
    /* The parameters are there, or are new: packets follow that need them, a key frame first. */
    void (*begin)(struct halo_feed_taker *taker, const struct halo_live_begin *begin);
    /* Refer with av_packet_ref; times in microseconds of the feed, stream_index 0 video, 1 sound.
     * The first one after begin is a key frame of the video. */
    void (*packet)(struct halo_feed_taker *taker, const AVPacket *pkt);
    /* The stream is over (or on_error: stop): nothing more comes; the taker has left. */
    void (*end)(struct halo_feed_taker *taker, const char *why);
    /* The feed's: */
    struct halo_feed *feed;
    struct halo_feed_taker *next;
    bool begun, keyed;
    int64_t since; /* us of the clock: when it began, or came */
};

/* When the first comes and when the last has gone: watched(arg, true or false). key(arg): a taker
 * came and waits for a key frame. */
struct halo_feed_wishes {
    void (*watched)(void *arg, bool watched);
    void (*key)(void *arg);
};

int halo_feed_create(struct halo_feed **ret, uv_loop_t *loop,
                     const struct halo_stream_settings *stream,
                     const struct halo_feed_wishes *wishes, void *arg);
/* Ends all takers. Memory goes when the loop has closed the handle. NULL is nothing to do. */
void halo_feed_destroy(struct halo_feed *feed, const char *why);

/* From the engine. begin with parameters that differ in more than words makes takers begin anew. */
void halo_feed_begin(struct halo_feed *feed, const struct halo_live_begin *begin);
void halo_feed_packet(struct halo_feed *feed, const AVPacket *pkt);
/* The filters have changed: what came under the old ones is not shown again (on_error: last). */
void halo_feed_forget(struct halo_feed *feed);

void halo_feed_join(struct halo_feed *feed, struct halo_feed_taker *taker);
void halo_feed_leave(struct halo_feed_taker *taker); /* nothing, where it is in none */

/* Time 0 of the feed, in microseconds of CLOCK_MONOTONIC. */
int64_t halo_feed_origin(const struct halo_feed *feed);

struct halo_feed_stats {
    int takers;
    bool card;     /* is what they see */
    int64_t cards; /* that were sent, the engine's too */
    int64_t late;  /* packets behind the line of times: dropped */
};
void halo_feed_stats(const struct halo_feed *feed, struct halo_feed_stats *ret);

#endif
