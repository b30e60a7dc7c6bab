/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/supervisor/sup_regions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "daemon/link/link_stats.h"
#include "daemon/link/regions.h"
#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_engine.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "kernels/clock.h"

/* Too large for the stack. Loop thread only. */
static struct halo_regions regions;

enum {
    LIMIT = 4,      /* queued updates of a stream */
    SEND_MS = 4,    /* between two batches of a stream's updates */
    LOG_MS = 10000, /* between two log lines about a stream */
};

static void on_timer(uv_timer_t *timer);

static void send_soon(struct halo_supervisor *sv)
{
    if (!uv_is_active((uv_handle_t *)&sv->regions) && !sv->stopping)
        uv_timer_start(&sv->regions, on_timer, SEND_MS, 0);
}

/* Sends all queued updates, if SEND_MS have passed and the engine has read everything sent
 * before. */
static void send_now(struct sv_stream *stream)
{
    const uint64_t now = sv_now(stream->sv);
    if (!stream->regions || stream->place.phase != SV_IN)
        return;
    if (now - stream->regions_sent < SEND_MS || sv_engine_is_behind(stream->place.engine)) {
        send_soon(stream->sv);
        return;
    }
    json_t *waiting = stream->regions, *message;
    size_t i;
    stream->regions = NULL;
    stream->regions_sent = now;
    /* lost if the engine is gone: the next one begins with everything hidden */
    json_array_foreach (waiting, i, message)
        sv_engine_send(stream->place.engine, json_incref(message));
    json_decref(waiting);
}

static void on_timer(uv_timer_t *timer)
{
    struct halo_supervisor *sv = timer->data;
    for (struct sv_stream *s = sv->streams; s; s = s->next)
        send_now(s);
}

int sv_regions_send(struct sv_stream *stream, int64_t frame_us, json_t *list,
                    struct halo_error *err)
{
    if (!stream->settings.region_feed.on)
        return halo_fail_usage(err, "stream '%s' has no region_feed in its settings", stream->name);
    int code = halo_regions_read(&regions, list, err);
    if (code == 0)
        code = halo_region_check(frame_us, regions.update, regions.count, halo_now_ns(), err);
    if (code < 0)
        return code;
    if (stream->place.phase != SV_IN)
        return halo_fail(err, -EAGAIN, "stream '%s' is not running", stream->name);
    json_t *message = sv_do("regions", stream);
    json_object_set_new(message, "picture", json_integer((json_int_t)frame_us));
    json_object_set(message, "regions", list);
    if (!stream->regions)
        stream->regions = json_array();
    if (json_array_append_new(stream->regions, message) < 0)
        return halo_fail(err, -ENOMEM, "out of memory");
    if (json_array_size(stream->regions) > LIMIT)
        json_array_remove(stream->regions, 0);
    send_now(stream);
    return 0;
}

/* Why everything is hidden; "": frames show what the detector does not hide. */
static const char *why_hidden(const struct sv_stream *stream)
{
    const struct halo_link_regions *feed = &stream->stats.region_feed;
    return feed->known ? feed->why : "none yet";
}

void sv_regions_forget(struct sv_stream *stream)
{
    json_decref(stream->regions);
    stream->regions = NULL;
    memset(&stream->stats.region_feed, 0, sizeof stream->stats.region_feed);
    if (stream->regions_shown) /* the log already reports the stream's own state */
        sv_event(stream->sv, "region-feed", stream->name, "silent", why_hidden(stream));
    stream->regions_shown = stream->regions_said = false;
}

void sv_regions_update(struct sv_stream *stream)
{
    const char *why = why_hidden(stream);
    const uint64_t now = sv_now(stream->sv);
    const bool update = !why[0];
    if (!stream->settings.region_feed.on)
        return;
    if (update != stream->regions_shown) {
        stream->regions_shown = update;
        sv_event(stream->sv, "region-feed", stream->name, update ? "told" : "silent", why);
    }
    if (update == stream->regions_said ||
        (stream->regions_logged && now - stream->regions_logged < LOG_MS))
        return;
    stream->regions_said = update;
    stream->regions_logged = now;
    if (update)
        halo_log(HALO_LOG_INFO, "stream %s: its detector is sending regions", stream->name);
    else
        halo_log(HALO_LOG_WARNING,
                 "stream %s: no usable regions arrive from its detector (%s), so everything is "
                 "hidden",
                 stream->name, why);
}

static json_t *number_or_null(double number)
{
    return number < 0 ? json_null() : json_real(number);
}

json_t *sv_regions_status(const struct sv_stream *stream)
{
    const struct halo_link_regions *feed = &stream->stats.region_feed;
    const char *why = why_hidden(stream);
    return json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:o, s:I, s:I}", "state",
                     why[0] ? "silent" : "told", "why", why, "everything_hidden", why[0] != '\0',
                     "regions", (json_int_t)feed->regions, "updates", (json_int_t)feed->updates,
                     "refused", (json_int_t)feed->refused, "age_s",
                     number_or_null(feed->known ? feed->age : -1), "pictures",
                     (json_int_t)feed->frames, "pictures_hidden", (json_int_t)feed->whole);
}
