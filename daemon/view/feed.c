/* SPDX-License-Identifier: BSD-2-Clause
 * Feeds: the times of packets, cards during silence, and subscribers (feed.h). */
#include "daemon/view/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "config/base/log.h"
#include "daemon/view/subscribers.h"
#include "kernels/clock.h"
#include "pipeline/output/parameters_wire.h"
#include "pipeline/output/packet_ring.h"

enum {
    CARD_MS = 500,        /* between cards */
    HURRY_MS = 10,        /* between cards for new subscribers ... */
    HURRY_US = 2500000,   /* ... for this long; FFmpeg analyses 7 s of frames of MPEG-TS */
    KEY_MS = 500,         /* between requests for a keyframe */
    STOP_MS = 5000,       /* on_error: stop, for subscribers that have not received anything yet */
    MAX_AHEAD = 10 << 20, /* us from a frame's decoding time to its presentation time */
    /* us that an unencoded frame may be behind the last time sent, and be dropped */
    MAX_LATE = 10 << 20,
    /* us for which that may go on: then their times are slower than the clock, and are shifted */
    LATE_FOR = 2 << 20,
    STREAMS = 2,
};

static const int64_t NEVER = INT64_MIN / 2;

/* Limit for the difference between the clock and times from an engine or in line: no sum overflows,
 * and the next engine can continue even after wrong times from the last one. */
static const int64_t most_off = INT64_C(30) * 24 * 3600 * 1000000;

struct halo_feed {
    uv_timer_t timer;
    const struct halo_feed_wishes *wishes;
    void *arg;
    enum halo_on_error on_error;
    int64_t last_for; /* us */
    struct halo_subscribers subscribers;
    struct halo_encoding_parameters *begin; /* present parameters; NULL: nothing has begun */
    AVPacket *last_key;                     /* on_error: last; empty if there is none */
    AVPacket *said;                         /* the engine's present card; empty if there is none */
    int64_t origin;                         /* us of CLOCK_MONOTONIC */
    int64_t line[STREAMS];                  /* the last dts sent, for each stream; -1: none yet */
    int64_t shift;      /* added to the engine's times, after origin is subtracted */
    int64_t behind;     /* us from a packet's time to its arrival */
    int64_t late_since; /* since when unencoded frames have been dropped; 0: they have not */
    int64_t came; /* when the last usable frame or card arrived, or the first subscriber joined */
    int64_t card_since, card_at, key_asked; /* card_at: of the last card for all subscribers */
    int64_t newest; /* when the last subscriber joined that has not received a frame yet */
    bool needs_key; /* packets from the engine are ignored until its next keyframe */
    struct halo_feed_stats stats;
};

int64_t halo_feed_origin(const struct halo_feed *feed)
{
    return feed->origin;
}

/* Requests a keyframe: at once for a new subscriber, now and then for one that still waits. The
 * engine decides how often it makes one. */
static void ask_key(struct halo_feed *feed, bool at_once)
{
    const int64_t at = halo_now_us();
    if (!at_once && at - feed->key_asked < KEY_MS * 1000)
        return;
    feed->key_asked = at;
    feed->wishes->key(feed->arg);
}

/* ---- cards ---- */

/* The card to show now; NULL: none is possible. */
static const AVPacket *choose_card(const struct halo_feed *feed)
{
    const struct halo_encoding_parameters *begin = feed->begin;
    if (feed->said->data)
        return feed->said;
    if (feed->on_error == HALO_ON_ERROR_LAST && feed->last_key->data &&
        halo_now_us() - feed->card_since < feed->last_for)
        return feed->last_key;
    if (feed->on_error == HALO_ON_ERROR_SOLID && begin->solid)
        return begin->solid;
    return begin->card ? begin->card : begin->solid;
}

/* Sends the card to one subscriber, or (NULL) to all that began at `since` or later. Its time is as
 * far behind the clock as the frames were, so that these can continue after it with their own
 * times. */
static void send_card(struct halo_feed *feed, struct halo_feed_subscriber *subscriber,
                      int64_t since)
{
    const AVPacket *card = choose_card(feed);
    AVPacket *out = card ? av_packet_clone(card) : NULL;
    if (!out)
        return;
    int64_t at = halo_now_us() - feed->origin - feed->behind;
    if (at <= feed->line[0])
        at = feed->line[0] + 1;
    out->pts = out->dts = feed->line[0] = at;
    out->duration = 0;
    out->stream_index = 0;
    out->flags |= AV_PKT_FLAG_KEY | HALO_PACKET_CARD;
    out->time_base = AV_TIME_BASE_Q;
    feed->needs_key = true;
    feed->stats.cards++;
    if (subscriber)
        halo_subscriber_give(subscriber, out);
    else
        halo_subscribers_give_new(&feed->subscribers, since, out);
    av_packet_free(&out);
}

static void check(uv_timer_t *timer);

static void set_timer(struct halo_feed *feed, int64_t ms)
{
    uv_timer_start(&feed->timer, check, (uint64_t)ms, 0);
}

/* on_error: stop. A subscriber that has received nothing may have joined before the engine could
 * begin. */
static void stop(struct halo_feed *feed, int64_t silent_ms)
{
    const bool patient = silent_ms < STOP_MS;
    halo_subscribers_end(&feed->subscribers, patient, halo_feed_leave,
                         "no filtered frame arrived, and on_error is stop");
    if (feed->subscribers.count)
        set_timer(feed, patient ? STOP_MS - silent_ms : CARD_MS);
}

static int64_t patience_of(const struct halo_feed *feed)
{
    return feed->said->data ? HALO_FEED_CARDS_MS : HALO_FEED_SILENCE_MS;
}

static bool is_raw(const struct halo_feed *feed)
{
    return feed->begin->video->codec_id == AV_CODEC_ID_RAWVIDEO;
}

/* Whether cards are sent often. Players do not need this for images and unencoded frames. */
static bool hurries(const struct halo_feed *feed)
{
    return feed->stats.card && halo_now_us() - feed->newest < HURRY_US && !is_raw(feed) &&
           feed->begin->video->codec_id != AV_CODEC_ID_MJPEG;
}

/* Sets the timer for the next card, which is due in `ms`. */
static void set_card_timer(struct halo_feed *feed, int64_t ms)
{
    set_timer(feed, hurries(feed) && HURRY_MS < ms ? HURRY_MS : ms);
}

/* The silence may have lasted long enough by now, or new subscribers need more cards. */
static void check(uv_timer_t *timer)
{
    struct halo_feed *feed = timer->data;
    const int64_t patience = patience_of(feed);
    const int64_t now = halo_now_us(), silent_ms = (now - feed->came) / 1000;
    if (!feed->subscribers.count || !feed->begin)
        return;
    const int64_t left_ms = FFMAX(patience - silent_ms, CARD_MS - (now - feed->card_at) / 1000);
    if (left_ms > 0) {
        if (hurries(feed))
            send_card(feed, NULL, now - HURRY_US);
        set_card_timer(feed, left_ms);
        return;
    }
    av_packet_unref(feed->said);
    if (feed->on_error == HALO_ON_ERROR_STOP) {
        stop(feed, silent_ms);
        return;
    }
    if (!feed->stats.card)
        feed->card_since = halo_now_us();
    feed->stats.card = true;
    feed->card_at = now;
    set_card_timer(feed, CARD_MS);
    send_card(feed, NULL, INT64_MIN);
}

/* ---- from the engine ---- */

/* Takes ownership of begin. */
static void renew(struct halo_feed *feed, struct halo_encoding_parameters *begin)
{
    struct halo_encoding_parameters *old = feed->begin;
    const bool same = old && halo_parameters_are_same(old->video, begin->video) &&
                      halo_parameters_are_same(old->audio, begin->audio);
    feed->begin = begin;
    feed->needs_key = true;
    if (!old)
        feed->came = halo_now_us();
    if (!same) {
        av_packet_unref(feed->said);
        av_packet_unref(feed->last_key);
        feed->newest = halo_now_us();
        halo_subscribers_begin(&feed->subscribers, begin);
        if (feed->subscribers.count)
            set_timer(feed, 0);
    }
    halo_begin_destroy(old);
}

void halo_feed_begin(struct halo_feed *feed, const struct halo_encoding_parameters *begin)
{
    struct halo_encoding_parameters *copy = begin->video ? halo_parameters_copy(begin) : NULL;
    if (copy)
        renew(feed, copy);
    else
        halo_log(HALO_LOG_WARNING, "packets cannot be passed to viewers: %s",
                 begin->video ? "out of memory" : "the encoding has no video");
}

/* Converts the engine's time to the feed's, without shift; INT64_MIN: it is not plausible. */
static int64_t log_state(const struct halo_feed *feed, int64_t time, int64_t now)
{
    return time > now + most_off || time < now - most_off ? INT64_MIN : time - feed->origin;
}

/* Chooses the times from a keyframe on: the engine's own, unless they are behind those already
 * sent. Detectors refer to unencoded frames by their times, so these keep them, and are dropped
 * while they are behind a card, if that does not last too long. */
static void begin_line(struct halo_feed *feed, int64_t dts, int64_t now)
{
    const int64_t least = feed->line[0] > feed->line[1] ? feed->line[0] : feed->line[1];
    feed->shift = 0;
    if (dts > least) {
        feed->late_since = 0;
        return;
    }
    if (!feed->late_since)
        feed->late_since = now;
    if (!is_raw(feed) || dts <= least - MAX_LATE || now - feed->late_since >= LATE_FOR)
        feed->shift = least + 1 - dts;
}

/* Sets the times of an engine's packet; false: it is behind the last time sent, or implausible. */
static bool place(struct halo_feed *feed, AVPacket *pkt)
{
    int64_t *line = &feed->line[pkt->stream_index];
    const int64_t now = halo_now_us();
    const int64_t base = log_state(feed, pkt->dts != AV_NOPTS_VALUE ? pkt->dts : pkt->pts, now);
    const int64_t shown = log_state(feed, pkt->pts, now);
    if (base == INT64_MIN)
        return false;
    if (pkt->stream_index == 0 && (pkt->flags & AV_PKT_FLAG_KEY) &&
        (feed->needs_key || base + feed->shift <= *line))
        begin_line(feed, base, now);
    const int64_t dts = base + feed->shift, ahead = shown == INT64_MIN ? 0 : shown - base;
    if (dts <= *line && pkt->stream_index == 0 && is_raw(feed)) /* cards get such times, too */
        feed->behind = now - feed->origin - dts;
    if (dts <= *line || dts > now - feed->origin + most_off)
        return false;
    pkt->dts = *line = dts;
    pkt->pts = ahead >= 0 && ahead < MAX_AHEAD ? dts + ahead : dts;
    pkt->time_base = AV_TIME_BASE_Q;
    return true;
}

/* A usable frame has arrived: the silence is over. */
static void note_frame(struct halo_feed *feed, const AVPacket *pkt)
{
    feed->came = halo_now_us();
    feed->behind = feed->came - feed->origin - pkt->dts;
    feed->needs_key = false;
    for (struct halo_feed_subscriber *t = feed->subscribers.first; t; t = t->next)
        t->since = NEVER;
    feed->newest = NEVER;
    av_packet_unref(feed->said);
    if (feed->stats.card && feed->subscribers.count)
        set_timer(feed, HALO_FEED_SILENCE_MS);
    feed->stats.card = false;
    if (feed->on_error == HALO_ON_ERROR_LAST && (pkt->flags & AV_PKT_FLAG_KEY)) {
        av_packet_unref(feed->last_key);
        av_packet_ref(feed->last_key, pkt); /* a failure leaves it empty */
    }
}

/* The engine has sent a card that says why it has no frame. */
static void note_card(struct halo_feed *feed, const AVPacket *pkt)
{
    av_packet_unref(feed->said);
    av_packet_ref(feed->said, pkt); /* a failure leaves it empty */
    feed->came = feed->card_at = halo_now_us();
    feed->needs_key = true;
    if (!feed->stats.card)
        feed->card_since = feed->came;
    feed->stats.card = true;
    feed->stats.cards++;
    if (feed->subscribers.count)
        set_card_timer(feed, patience_of(feed));
}

static bool is_card(const AVPacket *pkt)
{
    return pkt->stream_index == 0 && (pkt->flags & AV_PKT_FLAG_KEY) &&
           (pkt->flags & HALO_PACKET_CARD);
}

static bool is_wanted(struct halo_feed *feed, const AVPacket *pkt)
{
    const bool video = pkt->stream_index == 0, key = pkt->flags & AV_PKT_FLAG_KEY;
    if (!feed->begin || !pkt->data || pkt->size <= 0)
        return false;
    if (!video && (pkt->stream_index != 1 || !feed->begin->audio))
        return false;
    if (feed->needs_key && video && !key && feed->subscribers.count)
        ask_key(feed, false);
    return !feed->needs_key || (video && key);
}

void halo_feed_packet(struct halo_feed *feed, const AVPacket *pkt)
{
    AVPacket *out = is_wanted(feed, pkt) ? av_packet_clone(pkt) : NULL;
    if (!out)
        return;
    if (place(feed, out)) {
        if (is_card(pkt)) {
            note_card(feed, out);
        } else {
            out->flags &= ~HALO_PACKET_CARD;
            if (pkt->stream_index == 0)
                note_frame(feed, out);
        }
        if (halo_subscribers_give(&feed->subscribers, out) > 0)
            ask_key(feed, false);
    } else {
        feed->stats.late++;
        feed->needs_key |= pkt->stream_index == 0; /* the following packets may refer to it */
    }
    av_packet_free(&out);
}

void halo_feed_forget(struct halo_feed *feed)
{
    av_packet_unref(feed->last_key);
}

/* ---- subscribers ---- */

/* The first subscriber has joined: the engine starts to encode only now, and gets the time of a
 * silence for it. */
static void wake(struct halo_feed *feed)
{
    feed->came = halo_now_us();
    feed->stats.card = false;
    av_packet_unref(feed->said);
    if (feed->begin)
        set_timer(feed, HALO_FEED_SILENCE_MS);
    feed->wishes->watched(feed->arg, true);
}

void halo_feed_join(struct halo_feed *feed, struct halo_feed_subscriber *subscriber)
{
    subscriber->feed = feed;
    subscriber->begun = subscriber->keyed = false;
    subscriber->since = feed->newest = halo_now_us();
    halo_subscribers_add(&feed->subscribers, subscriber);
    if (feed->subscribers.count == 1)
        wake(feed);
    if (feed->begin) {
        subscriber->begun = true;
        subscriber->begin(subscriber, feed->begin);
        if (feed->subscribers.first != subscriber)
            return; /* it has left */
    }
    if (feed->stats.card) {
        send_card(feed, subscriber, INT64_MIN);
        /* The others wait for the next card no longer than before. */
        set_card_timer(feed, FFMAX(CARD_MS - (halo_now_us() - feed->card_at) / 1000, 0));
    } else {
        ask_key(feed, true);
    }
}

void halo_feed_leave(struct halo_feed_subscriber *subscriber)
{
    struct halo_feed *feed = subscriber->feed;
    if (!feed)
        return;
    subscriber->feed = NULL;
    halo_subscribers_remove(&feed->subscribers, subscriber);
    if (feed->subscribers.count)
        return;
    uv_timer_stop(&feed->timer);
    feed->wishes->watched(feed->arg, false);
}

/* ---- life ---- */

static void timer_closed(uv_handle_t *handle)
{
    struct halo_feed *feed = handle->data;
    halo_begin_destroy(feed->begin);
    av_packet_free(&feed->last_key);
    av_packet_free(&feed->said);
    free(feed);
}

int halo_feed_create(struct halo_feed **ret, uv_loop_t *loop,
                     const struct halo_stream_settings *stream,
                     const struct halo_feed_wishes *wishes, void *arg)
{
    struct halo_feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return -ENOMEM;
    feed->last_key = av_packet_alloc();
    feed->said = av_packet_alloc();
    if (!feed->last_key || !feed->said) {
        av_packet_free(&feed->last_key);
        av_packet_free(&feed->said);
        free(feed);
        return -ENOMEM;
    }
    feed->wishes = wishes;
    feed->arg = arg;
    feed->on_error = stream->on_error;
    feed->last_for = (int64_t)(stream->last_for * 1e6);
    feed->origin = feed->came = halo_now_us();
    feed->line[0] = feed->line[1] = -1;
    feed->needs_key = true;
    uv_timer_init(loop, &feed->timer);
    feed->timer.data = feed;
    *ret = feed;
    return 0;
}

void halo_feed_destroy(struct halo_feed *feed, const char *why)
{
    if (!feed)
        return;
    halo_subscribers_end(&feed->subscribers, false, halo_feed_leave, why);
    uv_close((uv_handle_t *)&feed->timer, timer_closed);
}

void halo_feed_stats(const struct halo_feed *feed, struct halo_feed_stats *ret)
{
    *ret = feed->stats;
    ret->subscribers = feed->subscribers.count;
    for (const struct halo_feed_subscriber *t = feed->subscribers.first; t; t = t->next)
        ret->viewers += !t->counted;
}
