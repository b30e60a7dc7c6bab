/* SPDX-License-Identifier: BSD-2-Clause
 * Packets of a feed as fragmented MP4. */
#include "daemon/http/http_media.h"

#include <jansson.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/view/feed_mux.h"

enum {
    LAST_US = 40000,   /* duration of a frame whose successor has other parameters */
    MAX_US = 10000000, /* longest duration of a frame */
};

struct halo_http_media {
    struct halo_feed_taker taker; /* must be first: callbacks cast it to the media */
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

static void on_begin(struct halo_feed_taker *taker, const struct halo_live_begin *begin)
{
    struct halo_http_media *media = (struct halo_http_media *)taker;
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

static void on_packet(struct halo_feed_taker *taker, const AVPacket *pkt)
{
    struct halo_http_media *media = (struct halo_http_media *)taker;
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

static void on_end(struct halo_feed_taker *taker, const char *why)
{
    finish((struct halo_http_media *)taker, why);
}

/* ---- life ---- */

struct halo_http_media *halo_http_media_create(struct halo_feed *feed,
                                               const struct halo_http_media_ops *ops, void *arg)
{
    struct halo_http_media *media = calloc(1, sizeof *media);
    if (!media)
        return NULL;
    *media = (struct halo_http_media){
        .taker = {.begin = on_begin, .packet = on_packet, .end = on_end},
        .ops = ops,
        .arg = arg,
        .base = INT64_MIN,
    };
    halo_feed_join(feed, &media->taker);
    return media;
}

void halo_http_media_destroy(struct halo_http_media *media)
{
    if (!media)
        return;
    halo_feed_leave(&media->taker);
    halo_feed_mux_destroy(media->mux);
    av_packet_free(&media->held);
    av_free(media->bytes);
    free(media);
}
