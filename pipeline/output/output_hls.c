/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs to live HLS playlists with segments of fragmented MP4.
 *
 * The MP4 muxer writes into memory: first the header, and then one fragment for each group of
 * pictures. A segment consists of whole fragments. Each opening of the output writes its own
 * header, and begins with a discontinuity, so that players that follow the playlist continue
 * although the engine died or the parameters changed.
 *
 * FFmpeg's HLS muxer is not used, because with a full disk it reports success, empties the playlist
 * and lists empty segments; and because its playlists have one header, which it replaces when it
 * continues a playlist, although the segments from before may need the old one. */
#include <errno.h>
#include <libavformat/avformat.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/av_version.h"
#include "pipeline/output/container.h"
#include "pipeline/output/hls_folder.h"
#include "pipeline/output/output_mux.h"
#include "pipeline/output/output_place.h"
#include "pipeline/output/output_queue.h"

enum {
    US = 1000000,
    BUFFER = 65536,
    BOX = 8,         /* bytes of a box's header */
    KEYS = 256,      /* keyframes for which the muxer may wait for audio */
    GAP_US = 5 * US, /* a longer time without a frame is a discontinuity */
    PART = 16,       /* a segment is complete if at most one part of so many is missing */
};

struct hls_place {
    struct halo_place place;
    char *path, *stem;
    int64_t segment_time; /* us */
    const AVOutputFormat *container;
    /* From open to close: */
    struct halo_hls_folder folder;
    struct halo_hls_list list;
    struct halo_mux mux;
    AVIOContext *pb;
    uint8_t *bytes; /* what the muxer has written, and no file has yet */
    unsigned room;
    size_t size;
    bool no_memory, failed;
    int64_t key[KEYS]; /* dts of keyframes whose fragments are not complete, in us; a ring */
    int first_key, keys;
    int64_t newest, step; /* dts of the newest frame, and its distance from the one before */
    int64_t init;
    int64_t length;     /* of the segment that is being written */
    bool discontinuity; /* of the next segment */
};

static int fail(const struct hls_place *h, int code, struct halo_error *err)
{
    if (code == -EEXIST)
        return halo_fail(err, code,
                         "%s: is not a playlist that halod wrote: remove it, or use another name",
                         h->path);
    return halo_fail(err, code, "%s: cannot be written: %s", h->path, strerror(-code));
}

static int code_of(int averror)
{
    return averror < 0 ? halo_av_errno(averror) : 0;
}

/* ---- the muxer's bytes ---- */

static int take_bytes(void *opaque, halo_av_written *bytes, int size)
{
    struct hls_place *h = opaque;
    uint8_t *more = av_fast_realloc(h->bytes, &h->room, h->size + (size_t)size);
    if (!more) {
        h->no_memory = true;
        return AVERROR(ENOMEM);
    }
    h->bytes = more;
    memcpy(h->bytes + h->size, bytes, (size_t)size);
    h->size += (size_t)size;
    return size;
}

static int make_pb(struct hls_place *h)
{
    uint8_t *buffer = av_malloc(BUFFER);
    h->pb = buffer ? avio_alloc_context(buffer, BUFFER, 1, h, NULL, take_bytes, NULL) : NULL;
    if (h->pb)
        return 0;
    av_free(buffer);
    return -ENOMEM;
}

/* The length of the first fragment, which ends with its media data; 0: it is not complete. */
static size_t fragment_size(const struct hls_place *h)
{
    for (size_t at = 0; at + BOX <= h->size;) {
        const uint64_t size = AV_RB32(h->bytes + at);
        if (size < BOX || size > h->size - at)
            return 0;
        const bool last = AV_RB32(h->bytes + at + 4) == MKBETAG('m', 'd', 'a', 't');
        at += size;
        if (last)
            return at;
    }
    return 0;
}

static void drop_bytes(struct hls_place *h, size_t size)
{
    h->size -= size;
    memmove(h->bytes, h->bytes + size, h->size);
}

/* ---- segments ---- */

/* Whether the caller has given this output up: another may be writing to the folder by now. */
static bool is_late(const struct hls_place *h)
{
    const int64_t stop_by = atomic_load(&h->place.stop_by);
    return stop_by && halo_now_us() > stop_by;
}

static int end_segment(struct hls_place *h)
{
    const struct halo_hls_segment segment = {h->list.next, h->init, h->length, h->discontinuity};
    if (is_late(h))
        return -ETIMEDOUT;
    int code = halo_hls_folder_end(&h->folder);
    if (code < 0)
        return code;
    halo_hls_list_add(&h->list, &segment);
    h->discontinuity = false;
    h->length = 0;
    code = halo_hls_folder_publish(&h->folder, &h->list);
    if (code >= 0)
        halo_hls_folder_sweep(&h->folder, &h->list);
    return code;
}

/* The longest segment that the playlist announces: lengths are rounded. */
static int64_t most(const struct hls_place *h)
{
    return h->list.target * (int64_t)US + US / 2 - 1;
}

/* Writes the first fragment to a segment. */
static int add_fragment(struct hls_place *h, size_t size, int64_t length)
{
    int code = 0;
    if (h->folder.fd >= 0 && h->length + length > most(h))
        code = end_segment(h);
    if (code >= 0 && h->folder.fd < 0) {
        code = halo_hls_folder_begin(&h->folder, HALO_HLS_SEGMENT, h->list.next);
        h->place.segments += code >= 0 && h->list.next > h->init; /* open has counted the first */
    }
    if (code >= 0)
        code = halo_hls_folder_write(&h->folder, h->bytes, size);
    if (code < 0)
        return code;
    drop_bytes(h, size);
    h->length += length;
    return h->length >= h->segment_time - h->segment_time / PART ? end_segment(h) : 0;
}

/* `end`: where the last fragment ends, if the muxer has been closed; otherwise INT64_MIN. */
static int take_fragments(struct hls_place *h, int64_t end)
{
    for (size_t size; (size = fragment_size(h)) > 0;) {
        const int64_t *key = h->key;
        if (h->keys < (end == INT64_MIN ? 2 : 1))
            return -EPROTO;
        const int64_t begin = key[h->first_key];
        const int64_t next = h->keys > 1 ? key[(h->first_key + 1) % KEYS] : end;
        h->first_key = (h->first_key + 1) % KEYS;
        h->keys--;
        const int code = add_fragment(h, size, FFMAX(next - begin, 1));
        if (code < 0)
            return code;
    }
    return 0;
}

static int note(struct hls_place *h, const AVPacket *pkt)
{
    if (pkt->stream_index != 0 || pkt->dts == AV_NOPTS_VALUE)
        return 0;
    if (pkt->dts > h->newest && h->newest != INT64_MIN)
        h->step = pkt->dts - h->newest;
    h->newest = pkt->dts;
    if (!halo_output_is_key(pkt))
        return 0;
    if (h->keys == KEYS)
        return -EOVERFLOW;
    h->key[(h->first_key + h->keys++) % KEYS] = pkt->dts;
    return 0;
}

/* ---- operations ---- */

static void release(struct hls_place *h)
{
    halo_hls_folder_close(&h->folder);
    if (h->pb)
        av_freep(&h->pb->buffer);
    avio_context_free(&h->pb);
    av_freep(&h->bytes);
    h->size = h->room = 0;
}

static int open_folder(struct hls_place *h)
{
    int code = halo_hls_folder_open(&h->folder, h->path, h->stem);
    if (code < 0)
        return code;
    code = halo_hls_folder_read(&h->folder, &h->list);
    if (code < 0)
        return code;
    h->init = h->list.next;
    h->discontinuity = h->list.count > 0;
    h->length = 0;
    halo_hls_folder_sweep(&h->folder, &h->list);
    return 0;
}

/* Opens the muxer, and writes the header that it produced. */
static int open_mux(struct hls_place *h, const struct halo_live_begin *begin)
{
    AVFormatContext *format = NULL;
    AVDictionary *options = NULL;
    int code = make_pb(h);
    if (code >= 0)
        code = halo_mux_options(h->container, &options);
    if (code >= 0) /* the index at the end belongs to no segment */
        code = av_dict_set(&options, "movflags", "+skip_trailer", AV_DICT_APPEND);
    if (code >= 0)
        code = avformat_alloc_output_context2(&format, h->container, NULL, NULL);
    if (code >= 0) {
        format->pb = h->pb;
        code = halo_mux_open(&h->mux, format, begin, &options);
    }
    av_dict_free(&options);
    if (code < 0)
        return code;
    /* Times go on while no process writes, for players that ignore the discontinuity. */
    h->mux.base = halo_unix_ns() / 1000;
    avio_flush(h->pb);
    code = h->no_memory ? -ENOMEM : halo_hls_folder_begin(&h->folder, HALO_HLS_INIT, h->init);
    if (code >= 0)
        code = halo_hls_folder_write(&h->folder, h->bytes, h->size);
    if (code >= 0)
        code = halo_hls_folder_end(&h->folder);
    drop_bytes(h, h->size);
    if (code < 0)
        halo_mux_close(&h->mux);
    return code;
}

static int open_hls(struct halo_place *place, const struct halo_live_begin *begin,
                    struct halo_error *err)
{
    struct hls_place *h = (struct hls_place *)place;
    int code = halo_container_check(h->container, h->path, begin->video, err);
    if (code >= 0)
        code = halo_container_check(h->container, h->path, begin->audio, err);
    if (code < 0)
        return code;
    h->no_memory = h->failed = false;
    h->first_key = h->keys = 0;
    h->newest = INT64_MIN;
    h->step = US / HALO_DEFAULT_RATE;
    code = open_folder(h);
    if (code >= 0)
        code = open_mux(h, begin);
    if (code >= 0)
        return 0;
    release(h);
    return fail(h, halo_av_errno(code), err);
}

/* Otherwise the segment before the gap would be as long as the gap, and players would wait for the
 * next one as long. */
static bool is_hls_over(const struct halo_place *place, const AVPacket *key)
{
    const struct hls_place *h = (const struct hls_place *)place;
    return h->newest != INT64_MIN && key->dts - h->newest > GAP_US;
}

static int write_hls(struct halo_place *place, const AVPacket *pkt, struct halo_error *err)
{
    struct hls_place *h = (struct hls_place *)place;
    int code = note(h, pkt);
    if (code >= 0)
        code = code_of(halo_mux_write(&h->mux, pkt));
    if (code >= 0)
        code = h->no_memory ? -ENOMEM : take_fragments(h, INT64_MIN);
    h->failed |= code < 0;
    return code < 0 ? fail(h, code, err) : 0;
}

/* Writes the end of the last segment, which is as long as it happens to be. */
static int close_hls(struct halo_place *place, struct halo_error *err)
{
    struct hls_place *h = (struct hls_place *)place;
    int code = code_of(halo_mux_close(&h->mux));
    if (code >= 0)
        code = h->no_memory ? -ENOMEM : 0;
    if (code >= 0 && !h->failed)
        code = take_fragments(h, h->newest + h->step);
    if (code >= 0 && !h->failed && h->folder.fd >= 0)
        code = end_segment(h);
    release(h);
    return code < 0 && !h->failed ? fail(h, code, err) : 0;
}

static const char *where_is_hls(const struct halo_place *place)
{
    return ((const struct hls_place *)place)->path;
}

static void destroy_hls(struct halo_place *place)
{
    struct hls_place *h = (struct hls_place *)place;
    av_free(h->path);
    av_free(h->stem);
    av_free(h);
}

static const struct halo_place_ops hls_ops = {
    .open = open_hls,
    .is_over = is_hls_over,
    .write = write_hls,
    .close = close_hls,
    .where = where_is_hls,
    .destroy = destroy_hls,
    .most_pause_s = 3, /* as for files */
};

int halo_place_hls_create(struct halo_place **ret, const char *name,
                          const struct halo_output_settings *settings, struct halo_error *err)
{
    (void)name;
    const char *slash = strrchr(settings->target, '/');
    const char *base = slash ? slash + 1 : settings->target, *dot = strrchr(base, '.');
    if (!dot || dot == base || strcmp(dot, ".m3u8"))
        return halo_fail_usage(err, "%s: the name of a playlist must end in .m3u8",
                               settings->target);
    struct hls_place *h = av_mallocz(sizeof *h);
    if (!h)
        return halo_fail(err, -ENOMEM, "out of memory");
    h->place.ops = &hls_ops;
    h->folder.dir = h->folder.fd = -1;
    h->path = av_strdup(settings->target);
    h->stem = av_strndup(base, (size_t)(dot - base));
    h->segment_time = llrint(settings->segment_time * US);
    h->list.keep = av_clip(settings->keep, 1, HALO_MAX_KEEP);
    h->list.target = (int)ceil(settings->segment_time);
    h->container = av_guess_format("mp4", NULL, NULL);
    int code = h->path && h->stem ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0 && !h->container)
        code = halo_fail_usage(err, "%s: FFmpeg has no muxer mp4", h->path);
    if (code < 0) {
        destroy_hls(&h->place);
        return code;
    }
    *ret = &h->place;
    return 0;
}
