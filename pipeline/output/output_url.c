/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs that FFmpeg sends to a URL. Every wait for the remote side is limited by is_over().
 * Messages contain only FFmpeg's text for the error's number, because its log may contain the URL
 * with its password. */
#include <errno.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/secrets.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/output/container.h"
#include "pipeline/output/output_mux.h"
#include "pipeline/output/output_place.h"

enum {
    US = 1000000,
    CONNECT_US = 10 * US,
    WRITE_US = 10 * US,
    END_US = 2 * US,
    HURRY_US = 3 * US, /* a connection attempt ends this much before the caller stops waiting */
};

struct url_place {
    struct halo_place place;
    char *url, *shown;
    const AVOutputFormat *container;
    struct halo_mux mux;
    AVIOContext *pb;
    int64_t wait_until; /* us, monotonic */
    bool connecting;
};

/* FFmpeg calls this while it waits. */
static int is_over(void *opaque)
{
    const struct url_place *u = opaque;
    const int64_t now = halo_now_us(), stop_by = atomic_load(&u->place.stop_by);
    return now > u->wait_until || (stop_by && now > stop_by - (u->connecting ? HURRY_US : 0));
}

static int fail(const struct url_place *u, int averror, const char *what, struct halo_error *err)
{
    char why[AV_ERROR_MAX_STRING_SIZE];
    if (averror == AVERROR_EXIT)
        return halo_fail(err, -ETIMEDOUT, "%s: %s: no answer within %d seconds", u->shown, what,
                         CONNECT_US / US);
    av_strerror(averror, why, sizeof why);
    return halo_fail(err, halo_av_errno(averror), "%s: %s: %s", u->shown, what, why);
}

static int set_options(const struct url_place *u, AVDictionary **protocol, AVDictionary **muxer)
{
    int code = halo_mux_options(u->container, muxer);
    if (code >= 0 && !strcmp(u->container->name, "rtsp"))
        code = av_dict_set(muxer, "rtsp_transport", "tcp", 0); /* so that losses are noticed */
    if (code >= 0 && av_strstart(u->url, "udp:", NULL))
        code = av_dict_set(protocol, "pkt_size", "1316", 0); /* seven whole MPEG-TS packets */
    return code < 0 ? AVERROR(ENOMEM) : 0;
}

static int connect_to(struct url_place *u, const struct halo_encoding_parameters *begin,
                      AVDictionary **protocol, AVDictionary **muxer)
{
    AVFormatContext *format = NULL;
    int code = avformat_alloc_output_context2(&format, u->container, NULL, u->url);
    if (code < 0)
        return code;
    format->interrupt_callback = (AVIOInterruptCB){is_over, u};
    if (!(u->container->flags & AVFMT_NOFILE))
        code = avio_open2(&u->pb, u->url, AVIO_FLAG_WRITE, &format->interrupt_callback, protocol);
    if (code < 0) {
        avformat_free_context(format);
        return code;
    }
    format->pb = u->pb;
    return halo_mux_open(&u->mux, format, begin, muxer);
}

static int open_url(struct halo_place *place, const struct halo_encoding_parameters *begin,
                    struct halo_error *err)
{
    struct url_place *u = (struct url_place *)place;
    AVDictionary *protocol = NULL, *muxer = NULL;
    int code = halo_container_check(u->container, u->shown, begin->video, err);
    if (code >= 0)
        code = halo_container_check(u->container, u->shown, begin->audio, err);
    if (code < 0)
        return code;
    u->wait_until = halo_now_us() + CONNECT_US;
    code = set_options(u, &protocol, &muxer);
    u->connecting = true;
    if (code >= 0)
        code = connect_to(u, begin, &protocol, &muxer);
    av_dict_free(&protocol);
    av_dict_free(&muxer);
    u->connecting = false;
    if (code >= 0)
        return 0;
    u->wait_until = 0;
    avio_closep(&u->pb);
    return fail(u, code, "no connection", err);
}

static int write_url(struct halo_place *place, const AVPacket *pkt, struct halo_error *err)
{
    struct url_place *u = (struct url_place *)place;
    u->wait_until = halo_now_us() + WRITE_US;
    const int code = halo_mux_write(&u->mux, pkt);
    return code < 0 ? fail(u, code, "cannot be written", err) : 0;
}

static int close_url(struct halo_place *place, struct halo_error *err)
{
    struct url_place *u = (struct url_place *)place;
    u->wait_until = halo_now_us() + END_US;
    int code = halo_mux_close(&u->mux);
    const int closed = avio_closep(&u->pb);
    code = code < 0 ? code : closed;
    return code < 0 ? fail(u, code, "cannot be closed properly", err) : 0;
}

static const char *where_is_url(const struct halo_place *place)
{
    return ((const struct url_place *)place)->shown;
}

static void destroy_url(struct halo_place *place)
{
    struct url_place *u = (struct url_place *)place;
    av_free(u->url);
    free(u->shown);
    av_free(u);
}

static const struct halo_place_ops url_ops = {
    .open = open_url,
    .write = write_url,
    .close = close_url,
    .where = where_is_url,
    .destroy = destroy_url,
    .live = true,
    .most_pause_s = 10,
};

static int choose_container(struct url_place *u, const struct halo_output_settings *settings,
                            struct halo_error *err)
{
    u->container = halo_container_of(settings);
    if (u->container)
        return 0;
    return settings->format
               ? halo_fail_usage(err, "%s: FFmpeg has no muxer %s", u->shown, settings->format)
               : halo_fail_usage(err, "%s: specify the output's format (mpegts, flv, rtsp ...)",
                                 u->shown);
}

int halo_place_url_create(struct halo_place **ret, const char *name,
                          const struct halo_output_settings *settings, struct halo_error *err)
{
    (void)name;
    struct url_place *u = av_mallocz(sizeof *u);
    if (!u)
        return halo_fail(err, -ENOMEM, "out of memory");
    u->place.ops = &url_ops;
    u->url = av_strdup(settings->target);
    u->shown = halo_hide_secrets(settings->target);
    int code = u->url && u->shown ? choose_container(u, settings, err)
                                  : halo_fail(err, -ENOMEM, "out of memory");
    if (code < 0) {
        destroy_url(&u->place);
        return code;
    }
    *ret = &u->place;
    return 0;
}
