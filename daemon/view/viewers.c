/* SPDX-License-Identifier: BSD-2-Clause
 * Viewers of a socket: accepted, monitored and closed here (viewers.h). The formats are in
 * viewer_*.c. */
#include "daemon/view/viewers.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "config/encoding.h"
#include "config/output_kinds.h"
#include "daemon/view/frames.h"
#include "daemon/view/listen.h"
#include "daemon/view/listen_tcp.h"
#include "daemon/view/viewer.h"
#include "kernels/clock.h"

enum {
    MAX_VIEWERS = 256,
    STUCK_MS = 10000, /* disconnected if no queued data was sent for this long */
    LOOK_MS = 1000,
    SEND_BUFFER = 128 << 10, /* the kernel's part of a viewer's queue */
    MAX_READ = 4096,         /* bytes received from a viewer in one turn */
};

struct halo_viewers {
    uv_poll_t poll; /* of the listening socket */
    uv_timer_t timer;
    struct halo_listen listen;
    char where[108]; /* its path or address */
    struct halo_feed *feed;
    const struct halo_viewer_ops *ops;
    struct halo_viewers_shared shared;
    struct halo_viewer *first;
    int count;
    int64_t cut, refused, ended;
    int handles; /* handles of this struct that are not closed yet; each viewer counts as one */
};

/* ---- the end of a viewer ---- */

static void release(struct halo_viewers *viewers)
{
    if (--viewers->handles > 0)
        return;
    halo_frames_destroy(viewers->shared.frames);
    free(viewers);
}

static void viewer_closed(uv_handle_t *handle)
{
    struct halo_viewer *viewer = handle->data;
    struct halo_viewers *viewers = viewer->viewers;
    viewer->ops->close(viewer);
    free(viewer);
    release(viewers);
}

static void remove_viewer(struct halo_viewer *viewer, const char *why)
{
    struct halo_viewers *viewers = viewer->viewers;
    struct halo_viewer **at = &viewers->first;
    halo_log(HALO_LOG_DEBUG, "%s: viewer (%s) disconnected: %s", viewers->where, viewer->peer, why);
    while (*at != viewer)
        at = &(*at)->next;
    *at = viewer->next;
    halo_feed_leave(&viewer->subscriber);
    uv_close((uv_handle_t *)&viewer->poll, viewer_closed);
    close(viewer->fd);
    if (--viewers->count > 0)
        return;
    /* otherwise the timer is to make it listen again */
    if (uv_is_active((uv_handle_t *)&viewers->poll))
        uv_timer_stop(&viewers->timer);
    halo_frames_trim(viewers->shared.frames);
}

/* ---- events of a viewer ---- */

static void polled(uv_poll_t *poll, int status, int events);

static void set_events(struct halo_viewer *viewer)
{
    const int events = (viewer->deaf ? 0 : UV_READABLE) | (viewer->wants_write ? UV_WRITABLE : 0);
    if (events == viewer->events)
        return;
    viewer->events = events;
    if (events)
        uv_poll_start(&viewer->poll, events, polled);
    else
        uv_poll_stop(&viewer->poll);
}

/* Continues with a viewer after a call of its format. */
static void settle(struct halo_viewer *viewer, int status, const struct halo_error *err)
{
    if (status < 0)
        remove_viewer(viewer, err->text[0] ? err->text : strerror(-status));
    else
        set_events(viewer);
}

static bool has_hung_up(const struct halo_viewer *viewer)
{
    struct pollfd fd = {.fd = viewer->fd};
    return halo_poll(&fd, 1, 0) && (fd.revents & (POLLHUP | POLLERR));
}

static int listen_to(struct halo_viewer *viewer, struct halo_error *err)
{
    uint8_t said[MAX_READ];
    const ssize_t size = recv(viewer->fd, said, sizeof said, MSG_DONTWAIT);
    if (size > 0 && !viewer->viewers->listen.path[0]) /* e.g. a browser, sent by a web page */
        return halo_fail(err, -EPROTO, "viewers must not send data");
    if (size > 0)
        return viewer->ops->receive(viewer, said, (size_t)size, err);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (size < 0)
        return halo_fail(err, -errno, "%s", strerror(errno));
    viewer->deaf = true;
    return has_hung_up(viewer) ? halo_fail(err, -EPIPE, "connection closed") : 0;
}

static void polled(uv_poll_t *poll, int status, int events)
{
    struct halo_viewer *viewer = poll->data;
    struct halo_error err = {0};
    if (status < 0)
        status = halo_fail(&err, status, "%s", uv_strerror(status));
    if (status == 0 && (events & UV_READABLE))
        status = listen_to(viewer, &err);
    if (status >= 0 && (events & UV_WRITABLE))
        status = viewer->ops->flush(viewer, &err);
    settle(viewer, status, &err);
}

/* ---- from the feed ---- */

static void subscriber_begin(struct halo_feed_subscriber *subscriber,
                             const struct halo_encoding_parameters *begin)
{
    struct halo_viewer *viewer = (struct halo_viewer *)subscriber;
    struct halo_error err = {0};
    const int code = viewer->ops->begin(viewer, begin, &err);
    viewer->viewers->ended += code < 0;
    settle(viewer, code, &err);
}

static void subscriber_packet(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    struct halo_viewer *viewer = (struct halo_viewer *)subscriber;
    struct halo_error err = {0};
    settle(viewer, viewer->ops->packet(viewer, pkt, &err), &err);
}

static void subscriber_end(struct halo_feed_subscriber *subscriber, const char *why)
{
    struct halo_viewer *viewer = (struct halo_viewer *)subscriber;
    viewer->ops->end(viewer);
    remove_viewer(viewer, why);
}

/* ---- new viewers ---- */

static void came(uv_poll_t *poll, int status, int events);

static void check(uv_timer_t *timer)
{
    struct halo_viewers *viewers = timer->data;
    const int64_t since = halo_now_us() - STUCK_MS * INT64_C(1000);
    for (struct halo_viewer *viewer = viewers->first, *next; viewer; viewer = next) {
        next = viewer->next;
        if (viewer->deaf && has_hung_up(viewer)) {
            remove_viewer(viewer, "connection closed");
            continue;
        }
        if (viewer->waits_since == 0 || viewer->waits_since > since)
            continue;
        viewers->cut++;
        halo_log(HALO_LOG_INFO, "%s: viewer (%s) was disconnected: it read nothing for %d seconds",
                 viewers->where, viewer->peer, STUCK_MS / 1000);
        remove_viewer(viewer, "nothing was read in time");
    }
    if (!uv_is_active((uv_handle_t *)&viewers->poll))
        uv_poll_start(&viewers->poll, UV_READABLE, came);
    if (viewers->count == 0)
        uv_timer_stop(timer);
}

/* Names the viewer for the log: a process of this machine, or an address. */
static void name_peer(struct halo_viewer *viewer)
{
    struct sockaddr_storage from = {0};
    struct ucred who = {0};
    char host[64], port[8];
    socklen_t length = sizeof from;
    getpeername(viewer->fd, (struct sockaddr *)&from, &length);
    if (from.ss_family != AF_UNIX &&
        getnameinfo((const struct sockaddr *)&from, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        snprintf(viewer->peer, sizeof viewer->peer, "%s port %s", host, port);
        return;
    }
    length = sizeof who;
    getsockopt(viewer->fd, SOL_SOCKET, SO_PEERCRED, &who, &length);
    snprintf(viewer->peer, sizeof viewer->peer, "pid %d, uid %d", (int)who.pid, (int)who.uid);
}

static int add_viewer(struct halo_viewers *viewers, int fd)
{
    struct halo_viewer *viewer = calloc(1, sizeof *viewer);
    if (!viewer)
        return -ENOMEM;
    const int size = SEND_BUFFER, on = 1;
    viewer->subscriber = (struct halo_feed_subscriber){
        .begin = subscriber_begin, .packet = subscriber_packet, .end = subscriber_end};
    viewer->viewers = viewers;
    viewer->shared = &viewers->shared;
    viewer->ops = viewers->ops;
    viewer->fd = fd;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* fails on others: harmless */
    name_peer(viewer);
    int code = viewer->ops->open(viewer);
    if (code == 0)
        code = uv_poll_init(viewers->poll.loop, &viewer->poll, fd);
    if (code < 0) {
        viewer->ops->close(viewer);
        free(viewer);
        return code;
    }
    halo_log(HALO_LOG_DEBUG, "%s: viewer (%s)", viewers->where, viewer->peer);
    viewer->poll.data = viewer;
    viewer->next = viewers->first;
    viewers->first = viewer;
    viewers->handles++;
    if (viewers->count++ == 0)
        uv_timer_start(&viewers->timer, check, LOOK_MS, LOOK_MS);
    set_events(viewer);
    halo_feed_join(viewers->feed, &viewer->subscriber);
    return 0;
}

static void send_away(struct halo_viewers *viewers, enum halo_log_level level, const char *why)
{
    viewers->refused++;
    halo_log(level, "%s: a viewer was refused: %s", viewers->where, why);
}

/* A waiting client can be neither accepted nor rejected, because no descriptor is left at all. The
 * socket stays readable, so the loop would spin: polling stops until the timer starts it again. */
static void rest(struct halo_viewers *viewers, int error)
{
    halo_log(HALO_LOG_WARNING, "%s: cannot accept a viewer: %s", viewers->where, strerror(error));
    uv_poll_stop(&viewers->poll);
    if (!uv_is_active((uv_handle_t *)&viewers->timer))
        uv_timer_start(&viewers->timer, check, LOOK_MS, LOOK_MS);
}

static void came(uv_poll_t *poll, int status, int events)
{
    struct halo_viewers *viewers = poll->data;
    (void)events;
    if (status < 0)
        return;
    const int fd = halo_listen_accept(viewers->listen.fd, HALO_LISTEN_SPARE_VIEWERS, NULL, NULL);
    if (fd == -EAGAIN)
        return;
    if (fd == -EUSERS)
        send_away(viewers, HALO_LOG_WARNING, "too many open files");
    else if (fd < 0)
        rest(viewers, -fd);
    if (fd < 0 || (viewers->count < MAX_VIEWERS && add_viewer(viewers, fd) == 0))
        return;
    close(fd);
    send_away(viewers, HALO_LOG_DEBUG, "too many viewers");
}

/* ---- the name ---- */

void halo_viewers_look(struct halo_viewers *viewers)
{
    halo_listen_look(&viewers->listen, &viewers->poll);
    if (viewers->listen.path[0] && !uv_is_active((uv_handle_t *)&viewers->poll))
        uv_poll_start(&viewers->poll, UV_READABLE, came);
}

/* ---- life ---- */

static int choose_format(struct halo_viewers *viewers, const struct halo_output_settings *output,
                         struct halo_error *err)
{
    const struct halo_viewer_format *format = halo_output_format(output);
    char list[64];
    if (!format)
        return halo_fail(
            err, -EINVAL, "%s: the name of an output socket must end in %s", output->target,
            halo_viewer_format_list(list, sizeof list, HALO_VIEWER_FORMATS_SUFFIXES, "or"));
    viewers->ops = format->muxer ? &halo_viewer_mux : &halo_viewer_frames;
    viewers->shared.format = format;
    return 0;
}

static int listen_at(struct halo_viewers *viewers, const struct halo_output_settings *output,
                     struct halo_error *err)
{
    snprintf(viewers->where, sizeof viewers->where, "%s", output->target);
    if (halo_output_row(output)->target == HALO_AT_SOCKET)
        return halo_listen_open(&viewers->listen, output->target, err);
    viewers->listen.fd = halo_listen_tcp(output->target, err);
    return viewers->listen.fd < 0 ? viewers->listen.fd : 0;
}

int halo_viewers_create(struct halo_viewers **ret, uv_loop_t *loop, struct halo_feed *feed,
                        const struct halo_output_settings *output, struct halo_error *err)
{
    struct halo_viewers *viewers = calloc(1, sizeof *viewers);
    if (!viewers)
        return halo_fail(err, -ENOMEM, "out of memory");
    int code = choose_format(viewers, output, err);
    if (code == 0)
        code = listen_at(viewers, output, err);
    if (code < 0) {
        free(viewers);
        return code;
    }
    code = uv_poll_init(loop, &viewers->poll, viewers->listen.fd);
    if (code < 0) {
        halo_listen_close(&viewers->listen);
        free(viewers);
        return halo_fail(err, code, "%s: %s", output->target, uv_strerror(code));
    }
    viewers->shared.origin = halo_feed_origin(feed);
    viewers->feed = feed;
    uv_timer_init(loop, &viewers->timer);
    viewers->poll.data = viewers->timer.data = viewers;
    viewers->handles = 2;
    uv_poll_start(&viewers->poll, UV_READABLE, came);
    *ret = viewers;
    return 0;
}

static void own_closed(uv_handle_t *handle)
{
    release(handle->data);
}

void halo_viewers_destroy(struct halo_viewers *viewers, const char *why)
{
    if (!viewers)
        return;
    for (struct halo_viewer *viewer = viewers->first, *next; viewer; viewer = next) {
        next = viewer->next;
        subscriber_end(&viewer->subscriber, why);
    }
    uv_close((uv_handle_t *)&viewers->poll, own_closed);
    uv_close((uv_handle_t *)&viewers->timer, own_closed);
    halo_listen_close(&viewers->listen);
}

const char *halo_viewers_failure(const struct halo_viewers *viewers)
{
    if (viewers->listen.why[0])
        return viewers->listen.why;
    return viewers->shared.why[0] ? viewers->shared.why : NULL;
}

json_t *halo_viewers_status(const struct halo_viewers *viewers)
{
    return json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:I}", "target", viewers->where, "viewers",
                     viewers->count, "sent_bytes", (json_int_t)viewers->shared.sent,
                     "dropped_packets", (json_int_t)viewers->shared.dropped, "cut",
                     (json_int_t)viewers->cut, "refused", (json_int_t)viewers->refused, "ended",
                     (json_int_t)viewers->ended);
}
