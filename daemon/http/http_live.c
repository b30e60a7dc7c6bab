/* SPDX-License-Identifier: BSD-2-Clause
 * Endless answers. In the answer for the page, each message has a header of 8 bytes: its kind, the
 * number of the stream, two zeros, and the length of what follows, in big endian. */
#include "daemon/http/http_live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <libavutil/mem.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/control/shown.h"
#include "daemon/http/http_pages.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/view/feed.h"
#include "daemon/view/feed_mux.h"

/* ---- media ---- */

/* A stream as fragmented MP4, which browsers play: an initialization segment, and then a fragment
 * for each frame. A frame is written when the next one arrives, because only then its duration is
 * known, and players stop at gaps. Loop thread only. */

enum halo_http_piece {
    HALO_HTTP_DESCRIPTION, /* JSON: {"mime", "width", "height", "audio"} */
    HALO_HTTP_INIT,        /* an initialization segment; follows a description */
    HALO_HTTP_FRAGMENT,
};

struct halo_http_media_ops {
    /* Receives a piece, whose data is valid only during the call. */
    void (*piece)(void *arg, enum halo_http_piece what, const uint8_t *data, size_t size);
    /* Returns whether a packet of this size may be sent now; otherwise, everything up to the next
     * keyframe is dropped. */
    bool (*has_room)(void *arg, size_t size);
    /* The stream has ended, or cannot be sent; `why` is in words. No calls follow. */
    void (*end)(void *arg, const char *why);
};

enum {
    LAST_US = 40000,   /* duration of a frame whose successor has other parameters */
    MAX_US = 10000000, /* longest duration of a frame */
};

struct halo_http_media {
    struct halo_feed_subscriber subscriber; /* must be first: callbacks cast it to the media */
    const struct halo_http_media_ops *ops;
    void *arg;
    struct halo_feed_mux *mux; /* NULL: no parameters yet */
    AVPacket *held;            /* the last video packet, not written yet; NULL: none */
    int64_t base;              /* us of the feed that are 0 in the MP4; INT64_MIN: not known yet */
    bool described, audio, skips, over;
    uint8_t *bytes; /* what the muxer has written */
    size_t size;
    unsigned room;
};

static int put_bytes(void *arg, const uint8_t *data, size_t size, const AVBufferRef *ref)
{
    struct halo_http_media *media = arg;
    (void)ref;
    uint8_t *bytes = av_fast_realloc(media->bytes, &media->room, media->size + size);
    if (!bytes)
        return -1;
    media->bytes = bytes;
    memcpy(media->bytes + media->size, data, size);
    media->size += size;
    return 0;
}

static void flush(struct halo_http_media *media, enum halo_http_piece what)
{
    if (media->size > 0)
        media->ops->piece(media->arg, what, media->bytes, media->size);
    media->size = 0;
}

static void finish(struct halo_http_media *media, const char *why)
{
    if (media->over)
        return;
    media->over = true;
    media->ops->end(media->arg, why);
}

/* ---- parameters ---- */

/* The codec's name in a MIME type (RFC 6381): profile, constraints and level of H.264 are in its
 * sequence parameter set. */
static void write_codec(const AVCodecParameters *par, char *ret, size_t size)
{
    const uint8_t *data = par->extradata;
    const int length = par->extradata_size;
    snprintf(ret, size, "avc1.640028");
    if (length > 4 && data[0] == 1) /* avcC */
        snprintf(ret, size, "avc1.%02x%02x%02x", data[1], data[2], data[3]);
    for (int i = 0; i + 6 < length && data[0] == 0; i++)
        if (data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1 && (data[i + 3] & 0x1f) == 7) {
            snprintf(ret, size, "avc1.%02x%02x%02x", data[i + 4], data[i + 5], data[i + 6]);
            return;
        }
}

static void describe(struct halo_http_media *media)
{
    const AVCodecParameters *par = halo_feed_mux_video(media->mux);
    char codec[32], mime[80];
    write_codec(par, codec, sizeof codec);
    snprintf(mime, sizeof mime, "video/mp4; codecs=\"%s%s\"", codec,
             media->audio ? ",mp4a.40.2" : "");
    json_t *json = json_pack("{s:s, s:i, s:i, s:b}", "mime", mime, "width", par->width, "height",
                             par->height, "audio", media->audio);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (text)
        media->ops->piece(media->arg, HALO_HTTP_DESCRIPTION, (const uint8_t *)text, strlen(text));
    free(text);
    json_decref(json);
}

static int write_header(struct halo_http_media *media, const AVPacket *key, struct halo_error *err)
{
    media->size = 0;
    const int code = halo_feed_mux_header(media->mux, key, err);
    if (code < 0)
        return code;
    if (media->base == INT64_MIN)
        media->base = key->dts;
    describe(media);
    flush(media, HALO_HTTP_INIT);
    media->described = true;
    return 0;
}

/* ---- packets ---- */

static void write_packet(struct halo_http_media *media, const AVPacket *pkt)
{
    struct halo_error err = {0};
    int code = 0;
    if (!media->described)
        code = write_header(media, pkt, &err);
    if (code == 0)
        code = halo_feed_mux_packet(media->mux, pkt, &err);
    if (code < 0)
        finish(media, err.text);
    else
        flush(media, HALO_HTTP_FRAGMENT);
}

/* Writes the held frame, which lasts until `until`. */
static void write_held(struct halo_http_media *media, int64_t until)
{
    AVPacket *pkt = media->held;
    media->held = NULL;
    if (!pkt)
        return;
    const int64_t lasts = until - pkt->dts;
    pkt->duration = lasts > 0 && lasts < MAX_US ? lasts : LAST_US;
    write_packet(media, pkt);
    av_packet_free(&pkt);
}

static void on_begin(struct halo_feed_subscriber *subscriber,
                     const struct halo_encoding_parameters *begin)
{
    struct halo_http_media *media = (struct halo_http_media *)subscriber;
    const struct halo_feed_mux_settings settings = {"mp4", true, media->base};
    struct halo_error err = {0};
    if (media->over)
        return;
    if (media->held)
        write_held(media, media->held->dts + LAST_US);
    halo_feed_mux_destroy(media->mux);
    media->mux = NULL;
    media->described = false;
    media->audio = begin->audio;
    int code = halo_feed_mux_create(&media->mux, &settings, put_bytes, media);
    if (code == 0)
        code = halo_feed_mux_begin(media->mux, begin, &err);
    if (code < 0)
        finish(media, err.text[0] ? err.text : "out of memory");
}

static void on_packet(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    struct halo_http_media *media = (struct halo_http_media *)subscriber;
    const bool key = pkt->stream_index == 0 && (pkt->flags & AV_PKT_FLAG_KEY);
    if (media->over)
        return;
    media->skips = (media->skips && !key) || !media->ops->has_room(media->arg, (size_t)pkt->size);
    if (media->skips) {
        av_packet_free(&media->held); /* a gap anyway */
        return;
    }
    if (pkt->stream_index != 0) {
        if (media->described)
            write_packet(media, pkt);
        return;
    }
    write_held(media, pkt->dts);
    media->held = av_packet_clone(pkt);
}

static void on_end(struct halo_feed_subscriber *subscriber, const char *why)
{
    finish((struct halo_http_media *)subscriber, why);
}

/* ---- life ---- */

/* Joins the feed. ops must stay valid. Returns NULL if out of memory. */
static struct halo_http_media *http_media_create(struct halo_feed *feed,
                                                 const struct halo_http_media_ops *ops, void *arg)
{
    struct halo_http_media *media = calloc(1, sizeof *media);
    if (!media)
        return NULL;
    *media = (struct halo_http_media){
        .subscriber = {.begin = on_begin, .packet = on_packet, .end = on_end},
        .ops = ops,
        .arg = arg,
        .base = INT64_MIN,
    };
    halo_feed_join(feed, &media->subscriber);
    return media;
}

static void http_media_destroy(struct halo_http_media *media)
{
    if (!media)
        return;
    halo_feed_leave(&media->subscriber);
    halo_feed_mux_destroy(media->mux);
    av_packet_free(&media->held);
    av_free(media->bytes);
    free(media);
}

/* ---- live streams ---- */

enum {
    HEAD = 8,
    VIDEO = 255,         /* the number of the large video */
    BLOCK = 65536,       /* bytes that libmicrohttpd asks for at once */
    QUEUE_MAX = 1 << 20, /* bytes of video that may wait */
    EVENTS_MAX = 256,    /* events that may wait */
    PACE_MS = 30000,     /* in which a client for which something waits must read ... */
    PACE_BYTES = 65536,  /* ... this much */
    BREATH_MS = 15000,   /* without an event: a line that only shows that the server is there */
    CHANGED_MS = 200,    /* least time between two statuses */
};

enum kind {
    JPEG = 'J',
    DESCRIPTION = 'B',
    INIT = 'I',
    FRAGMENT = 'F',
    EVENT = 'E',
    STATUS = 'S',
    OVER = 'X'
};

struct chunk {
    struct chunk *next;
    bool event;
    bool frame; /* of an image or a video */
    size_t size, sent;
    uint8_t data[];
};

struct tile {
    struct halo_feed_subscriber subscriber; /* must be first: callbacks cast it to the tile */
    struct halo_http_live *live;
    int slot;
    AVPacket *newest; /* NULL: none */
};

struct halo_http_live {
    struct halo_http *http;
    struct halo_http_live *next;
    struct halo_http_pause pause;
    struct halo_http_who who;
    enum halo_http_what what;
    bool events; /* receives events, and with a page the status */
    struct tile tile[HALO_HTTP_TILES];
    int tiles, turn; /* turn: the tile that is asked first */
    struct halo_http_media *media;
    struct chunk *first, **last;
    size_t waiting; /* bytes of video in the queue */
    int events_waiting;
    json_int_t lost; /* events that did not fit into the queue */
    bool status_due, over;
    uint64_t status_sent; /* loop time in ms */
    uint64_t paced;       /* begin of the time in which PACE_BYTES must be read */
    size_t read;          /* bytes since then */
    uint64_t said;        /* when an event was last queued */
};

/* ---- the queue ---- */

static void put(struct halo_http_live *live, enum kind kind, int slot, const void *data,
                size_t size)
{
    const bool framed = live->what == HALO_HTTP_LIVE;
    struct chunk *chunk = malloc(sizeof *chunk + HEAD + size);
    if (!chunk)
        return; /* as if the client were too slow */
    const uint32_t length = htonl((uint32_t)size);
    *chunk = (struct chunk){.event = kind == EVENT,
                            .frame = kind == JPEG || kind == INIT || kind == FRAGMENT,
                            .size = size + (framed ? HEAD : 0)};
    live->http->viewers.frames += kind == JPEG || kind == FRAGMENT;
    if (framed) {
        memcpy(chunk->data, (uint8_t[]){(uint8_t)kind, (uint8_t)slot, 0, 0}, 4);
        memcpy(chunk->data + 4, &length, 4);
    }
    memcpy(chunk->data + (framed ? HEAD : 0), data, size);
    *live->last = chunk;
    live->last = &chunk->next;
    live->waiting += chunk->event ? 0 : chunk->size;
    live->events_waiting += chunk->event;
    halo_http_resume(&live->pause);
}

static void drop_first(struct halo_http_live *live)
{
    struct chunk *chunk = live->first;
    live->first = chunk->next;
    if (!live->first)
        live->last = &live->first;
    live->waiting -= chunk->event ? 0 : chunk->size;
    live->events_waiting -= chunk->event;
    free(chunk);
}

/* Queues what the client may see of the JSON. */
static void put_json(struct halo_http_live *live, enum kind kind, int slot, json_t *json)
{
    json_t *shown = halo_show(json_incref(json), live->who.role);
    char *text = shown ? json_dumps(shown, JSON_COMPACT) : NULL;
    char *line = NULL;
    json_decref(shown);
    if (text && live->what == HALO_HTTP_EVENTS) {
        if (asprintf(&line, "data: %s\n\n", text) >= 0)
            put(live, kind, slot, line, strlen(line));
        free(line);
    } else if (text) {
        put(live, kind, slot, text, strlen(text));
    }
    free(text);
}

static void end(struct halo_http_live *live)
{
    live->over = true;
    halo_http_resume(&live->pause);
}

/* ---- streams ---- */

static void say_over(struct halo_http_live *live, int slot, const char *why)
{
    json_t *json = json_pack("{s:s}", "why", why);
    if (live->what == HALO_HTTP_LIVE)
        put_json(live, OVER, slot, json);
    else
        end(live);
    json_decref(json);
}

static void tile_begin(struct halo_feed_subscriber *subscriber,
                       const struct halo_encoding_parameters *begin)
{
    (void)subscriber;
    (void)begin;
}

static void tile_packet(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    struct tile *tile = (struct tile *)subscriber;
    if (pkt->stream_index != 0 || pkt->size <= 0)
        return;
    AVPacket *copy = av_packet_clone(pkt);
    if (!copy)
        return;
    av_packet_free(&tile->newest);
    tile->newest = copy;
    halo_http_resume(&tile->live->pause);
}

static void tile_end(struct halo_feed_subscriber *subscriber, const char *why)
{
    struct tile *tile = (struct tile *)subscriber;
    say_over(tile->live, tile->slot, why);
}

static void media_piece(void *arg, enum halo_http_piece what, const uint8_t *data, size_t size)
{
    struct halo_http_live *live = arg;
    static const enum kind kinds[] = {DESCRIPTION, INIT, FRAGMENT};
    if (live->what == HALO_HTTP_LIVE || what != HALO_HTTP_DESCRIPTION)
        put(live, kinds[what], VIDEO, data, size);
}

static bool media_has_room(void *arg, size_t size)
{
    const struct halo_http_live *live = arg;
    return live->waiting == 0 || live->waiting + size <= QUEUE_MAX;
}

static void media_end(void *arg, const char *why)
{
    say_over(arg, VIDEO, why);
}

static const struct halo_http_media_ops media_ops = {media_piece, media_has_room, media_end};

static void leave_streams(struct halo_http_live *live)
{
    for (int i = 0; i < live->tiles; i++) {
        halo_feed_leave(&live->tile[i].subscriber);
        av_packet_free(&live->tile[i].newest);
    }
    http_media_destroy(live->media);
    live->media = NULL;
}

/* ---- what the client reads ---- */

static bool put_tile(struct halo_http_live *live)
{
    for (int i = 0; i < live->tiles; i++) {
        struct tile *tile = &live->tile[(live->turn + i) % live->tiles];
        AVPacket *pkt = tile->newest;
        if (!pkt)
            continue;
        tile->newest = NULL;
        put(live, JPEG, tile->slot, pkt->data, (size_t)pkt->size);
        av_packet_free(&pkt);
        live->turn = (tile->slot + 1) % live->tiles;
        return true;
    }
    return false;
}

static void put_status(struct halo_http_live *live)
{
    const char *status = halo_http_status(live->http, live->who.role);
    char *text = NULL;
    live->status_due = false;
    live->status_sent = uv_now(live->http->loop);
    if (status && asprintf(&text, "{\"status\":%s}", status) >= 0)
        put(live, STATUS, 0, text, strlen(text));
    free(text);
}

static void put_lost(struct halo_http_live *live)
{
    json_t *json = json_pack("{s:I}", "lost", live->lost);
    live->lost = 0;
    put_json(live, EVENT, 0, json);
    json_decref(json);
}

/* Queues the next message that is made only when it can be sent. */
static void put_next(struct halo_http_live *live)
{
    if (live->lost > 0)
        put_lost(live);
    else if (live->status_due)
        put_status(live);
    else
        put_tile(live);
}

static ssize_t read_live(void *arg, uint64_t position, char *buffer, size_t most)
{
    struct halo_http_live *live = arg;
    size_t copied = 0;
    (void)position;
    if (!live->first && !live->over)
        put_next(live);
    while (live->first && copied < most) {
        struct chunk *chunk = live->first;
        const size_t left = chunk->size - chunk->sent;
        const size_t n = left < most - copied ? left : most - copied;
        memcpy(buffer + copied, chunk->data + chunk->sent, n);
        live->http->viewers.bytes += chunk->frame ? (int64_t)n : 0;
        chunk->sent += n;
        copied += n;
        if (chunk->sent == chunk->size)
            drop_first(live);
    }
    live->read += copied;
    if (copied > 0)
        return (ssize_t)copied;
    if (live->over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    halo_http_suspend(&live->pause);
    return 0;
}

struct MHD_Response *halo_http_live_response(struct halo_http_live *live)
{
    static const char *const types[] = {[HALO_HTTP_LIVE] = "application/octet-stream",
                                        [HALO_HTTP_MEDIA] = "video/mp4",
                                        [HALO_HTTP_EVENTS] = "text/event-stream"};
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_live, live, NULL);
    if (response) {
        MHD_add_response_header(response, "Content-Type", types[live->what]);
        MHD_add_response_header(response, "X-Accel-Buffering",
                                "no"); /* nginx: pass it on at once */
    }
    return response;
}

/* ---- events and time ---- */

void halo_http_lives_event(struct halo_http *http, json_t *event)
{
    const uint64_t now = uv_now(http->loop);
    halo_http_forget(http); /* it may be about something else now */
    for (struct halo_http_live *live = http->lives; live; live = live->next) {
        if (!live->events)
            continue;
        if (live->what == HALO_HTTP_LIVE && now - live->status_sent > CHANGED_MS)
            live->status_due = true;
        if (live->lost > 0 || live->events_waiting >= EVENTS_MAX) {
            live->lost++;
            continue;
        }
        live->said = now;
        put_json(live, EVENT, 0, event);
    }
}

/* Ends at once, without what waits: the client may no longer view. */
static void stop(struct halo_http_live *live)
{
    leave_streams(live);
    while (live->first)
        drop_first(live);
    live->events = false;
    live->status_due = false;
    halo_http_disconnect(&live->pause);
    end(live);
}

static void check(struct halo_http_live *live, uint64_t now)
{
    if (halo_http_has_left(&live->pause)) {
        end(live);
    } else if ((live->who.role = halo_http_role_now(&live->http->gate, &live->who)) ==
               HALO_ROLE_NONE) {
        stop(live);
    } else if (!live->first || (now - live->paced > PACE_MS && live->read >= PACE_BYTES)) {
        live->paced = now;
        live->read = 0;
    } else if (now - live->paced > PACE_MS) {
        halo_http_disconnect(&live->pause);
        live->paced = now;
        live->http->viewers.cut++;
        halo_log(HALO_LOG_WARNING, "http: a page was disconnected: it reads too slowly");
    }
}

void halo_http_lives_tick(struct halo_http *http)
{
    const uint64_t now = uv_now(http->loop);
    for (struct halo_http_live *live = http->lives; live; live = live->next) {
        check(live, now);
        if (live->over)
            continue;
        if (live->what == HALO_HTTP_LIVE) {
            live->status_due = true;
            halo_http_resume(&live->pause);
        } else if (live->what == HALO_HTTP_EVENTS && now - live->said > BREATH_MS) {
            live->said = now;
            put(live, EVENT, 0, ":\n\n", 3);
        }
    }
}

void halo_http_lives_end(struct halo_http *http)
{
    for (struct halo_http_live *live = http->lives; live; live = live->next) {
        leave_streams(live);
        end(live);
    }
}

/* ---- life ---- */

static const char *argument(const struct halo_http_live *live, const char *name)
{
    const char *value =
        MHD_lookup_connection_value(live->pause.connection, MHD_GET_ARGUMENT_KIND, name);
    return value ? value : "";
}

/* A stream that is not there is said in a message, so that the others are shown. */
static void add_tile(struct halo_http_live *live, const char *name)
{
    struct tile *tile = &live->tile[live->tiles];
    struct halo_feed *feed = halo_supervisor_feed(live->http->sv, name, HALO_VIEW_TILE);
    *tile = (struct tile){
        .subscriber = {.begin = tile_begin,
                       .packet = tile_packet,
                       .end = tile_end,
                       .counted = live->media && !strcmp(name, argument(live, "video"))},
        .live = live,
        .slot = live->tiles++,
    };
    if (feed)
        halo_feed_join(feed, &tile->subscriber);
    else
        say_over(live, tile->slot, "the stream is not running");
}

static int add_tiles(struct halo_http_live *live, const char *names)
{
    char name[65];
    for (const char *at = names; *at; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        if (live->tiles == HALO_HTTP_TILES || length >= sizeof name)
            return -EINVAL;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        add_tile(live, name);
        at += length;
    }
    return 0;
}

static int add_media(struct halo_http_live *live, const char *name)
{
    struct halo_feed *feed = halo_supervisor_feed(live->http->sv, name, HALO_VIEW_LIVE);
    if (!feed && live->what == HALO_HTTP_MEDIA)
        return -ENOENT;
    if (!feed) {
        say_over(live, VIDEO, "the stream is not running");
        return 0;
    }
    live->media = http_media_create(feed, &media_ops, live);
    return live->media ? 0 : -ENOMEM;
}

static int add_all(struct halo_http_live *live, const struct halo_http_route *route)
{
    if (live->what == HALO_HTTP_MEDIA)
        return add_media(live, route->stream);
    live->events = true;
    if (live->what == HALO_HTTP_EVENTS) {
        put(live, EVENT, 0, ":\n\n", 3); /* so that the response begins */
        return 0;
    }
    live->status_due = true;
    const char *video = argument(live, "video");
    const int code = *video ? add_media(live, video) : 0;
    return code < 0 ? code : add_tiles(live, argument(live, "tiles"));
}

int halo_http_live_create(struct halo_http_live **ret, struct halo_http *http,
                          struct MHD_Connection *connection, const struct halo_http_asked *asked)
{
    struct halo_http_live *live = calloc(1, sizeof *live);
    if (!live)
        return -ENOMEM;
    live->http = http;
    live->pause =
        (struct halo_http_pause){.connection = connection, .wake = http->wake, .arg = http};
    live->who = asked->who;
    live->what = asked->route.what;
    live->last = &live->first;
    live->paced = live->said = uv_now(http->loop);
    live->next = http->lives;
    http->lives = live;
    http->live_count++;
    const int code = add_all(live, &asked->route);
    if (code < 0)
        halo_http_live_destroy(live);
    else
        *ret = live;
    return code;
}

void halo_http_live_destroy(struct halo_http_live *live)
{
    if (!live)
        return;
    struct halo_http_live **at = &live->http->lives;
    while (*at != live)
        at = &(*at)->next;
    *at = live->next;
    live->http->live_count--;
    leave_streams(live);
    while (live->first)
        drop_first(live);
    free(live);
}
