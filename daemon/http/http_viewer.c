/* SPDX-License-Identifier: BSD-2-Clause
 * Sends frames to HTTP clients. A connection with nothing to send is suspended, and resumed by the
 * next frame. If its socket is full, libmicrohttpd waits for it, and closes it after a timeout. */
#include "daemon/http/http_viewer.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/clock.h"

/* ---- pauses ---- */

void halo_http_suspend(struct halo_http_pause *pause)
{
    pause->suspended = true;
    MHD_suspend_connection(pause->connection);
}

void halo_http_resume(struct halo_http_pause *pause)
{
    if (!pause->suspended)
        return;
    pause->suspended = false;
    MHD_resume_connection(pause->connection);
    pause->wake(pause->arg);
}

static int client_fd(const struct halo_http_pause *pause)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(pause->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

bool halo_http_has_left(const struct halo_http_pause *pause)
{
    struct pollfd pfd = {.fd = client_fd(pause), .events = POLLRDHUP};
    return pause->suspended && halo_poll(&pfd, 1, 0) &&
           (pfd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void halo_http_disconnect(const struct halo_http_pause *pause)
{
    shutdown(client_fd(pause), SHUT_RDWR);
}

/* ---- viewers ---- */

enum {
    SNAPSHOT_MS = 5000, /* for an engine to begin encoding */
    FRAME_MS = 30000,   /* for a client to read one frame of a stream */
    BLOCK = 65536,
};
#define BOUNDARY "halodframe"

struct halo_http_viewer {
    struct halo_feed_subscriber subscriber; /* must be first: callbacks cast it to the viewer */
    struct halo_http_viewers *viewers;
    struct halo_http_viewer *next;
    struct halo_http_pause pause;
    struct halo_http_who who;
    AVPacket *now, *newest; /* NULL: none */
    double came;            /* of newest: seconds since 1970 */
    char head[192];         /* of now, sent before it */
    size_t head_length, sent;
    uint64_t deadline; /* of a snapshot, or of `now`, ms; 0: not known yet */
    bool over, snapshot;
};

static void on_begin(struct halo_feed_subscriber *subscriber,
                     const struct halo_encoding_parameters *begin)
{
    (void)subscriber;
    (void)begin;
}

static void on_packet(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    struct halo_http_viewer *viewer = (struct halo_http_viewer *)subscriber;
    if (pkt->stream_index != 0 || pkt->size <= 0)
        return;
    AVPacket *copy = av_packet_clone(pkt);
    if (!copy)
        return;
    if (viewer->newest)
        viewer->viewers->dropped++;
    av_packet_free(&viewer->newest);
    viewer->newest = copy;
    viewer->came = halo_unix_time();
    halo_http_resume(&viewer->pause);
}

static void end(struct halo_http_viewer *viewer)
{
    viewer->over = true;
    halo_http_resume(&viewer->pause);
}

static void on_end(struct halo_feed_subscriber *subscriber, const char *why)
{
    (void)why;
    end((struct halo_http_viewer *)subscriber);
}

int halo_http_viewer_create(struct halo_http_viewer **ret, struct halo_http_viewers *viewers,
                            struct halo_feed *feed, struct MHD_Connection *connection,
                            const struct halo_http_who *who)
{
    struct halo_http_viewer *viewer = calloc(1, sizeof *viewer);
    if (!viewer)
        return -ENOMEM;
    *viewer = (struct halo_http_viewer){
        .subscriber = {.begin = on_begin, .packet = on_packet, .end = on_end},
        .viewers = viewers,
        .next = viewers->first,
        .pause = {.connection = connection, .wake = viewers->wake, .arg = viewers->arg},
        .who = *who,
    };
    viewers->first = viewer;
    viewers->count++;
    halo_feed_join(feed, &viewer->subscriber);
    *ret = viewer;
    return 0;
}

void halo_http_viewer_destroy(struct halo_http_viewer *viewer)
{
    if (!viewer)
        return;
    struct halo_http_viewer **at = &viewer->viewers->first;
    while (*at != viewer)
        at = &(*at)->next;
    *at = viewer->next;
    viewer->viewers->count--;
    halo_feed_leave(&viewer->subscriber);
    av_packet_free(&viewer->now);
    av_packet_free(&viewer->newest);
    free(viewer);
}

/* Makes the newest frame the one being sent. A part ends with the boundary of the next one, so that
 * a client shows it without waiting for that. */
static void take_newest(struct halo_http_viewer *viewer)
{
    const bool first = viewer->head_length == 0;
    viewer->now = viewer->newest;
    viewer->newest = NULL;
    viewer->sent = 0;
    viewer->head_length = (size_t)snprintf(
        viewer->head, sizeof viewer->head,
        "%sContent-Type: image/jpeg\r\nContent-Length: %d\r\nX-Timestamp: %.6f\r\n\r\n",
        first ? "--" BOUNDARY "\r\n" : "", viewer->now->size, viewer->came);
}

/* Copies from the part's head, frame or tail, depending on `sent`. */
static size_t copy_part(struct halo_http_viewer *viewer, char *buffer, size_t most)
{
    static const char tail[] = "\r\n--" BOUNDARY "\r\n";
    const struct {
        const void *data;
        size_t size;
    } pieces[] = {
        {viewer->head, viewer->head_length},
        {viewer->now->data, (size_t)viewer->now->size},
        {tail, sizeof tail - 1},
    };
    size_t copied = 0, begin = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const size_t end_at = begin + pieces[i].size;
        if (viewer->sent < end_at && copied < most) {
            size_t n = end_at - viewer->sent;
            n = n < most - copied ? n : most - copied;
            memcpy(buffer + copied, (const char *)pieces[i].data + (viewer->sent - begin), n);
            viewer->sent += n;
            copied += n;
        }
        begin = end_at;
    }
    if (viewer->sent == begin) {
        av_packet_free(&viewer->now);
        viewer->deadline = 0;
    }
    return copied;
}

static ssize_t read_stream(void *arg, uint64_t position, char *buffer, size_t most)
{
    struct halo_http_viewer *viewer = arg;
    (void)position;
    if (!viewer->now && viewer->newest) {
        take_newest(viewer);
        viewer->viewers->frames++;
    }
    if (viewer->now) {
        const size_t n = copy_part(viewer, buffer, most);
        viewer->viewers->bytes += (int64_t)n;
        return (ssize_t)n;
    }
    if (viewer->over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    halo_http_suspend(&viewer->pause);
    return 0;
}

struct MHD_Response *halo_http_viewer_stream(struct halo_http_viewer *viewer)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, viewer, NULL);
    if (response) {
        MHD_add_response_header(response, "Content-Type",
                                "multipart/x-mixed-replace; boundary=" BOUNDARY);
        MHD_add_response_header(response, "Connection", "close"); /* clients wait until it ends */
    }
    return response;
}

void halo_http_viewers_count(struct halo_http_viewers *viewers, size_t bytes)
{
    viewers->frames++;
    viewers->bytes += (int64_t)bytes;
}

struct MHD_Response *halo_http_viewer_snapshot(struct halo_http_viewer *viewer, bool head,
                                               bool *ret_wait)
{
    char stamp[48];
    *ret_wait = !viewer->newest && !viewer->over;
    viewer->snapshot = true;
    if (*ret_wait)
        halo_http_suspend(&viewer->pause);
    if (!viewer->newest)
        return NULL;
    halo_feed_leave(&viewer->subscriber); /* it needs only one frame */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        (size_t)viewer->newest->size, viewer->newest->data, MHD_RESPMEM_MUST_COPY);
    snprintf(stamp, sizeof stamp, "%.6f", viewer->came);
    if (response) {
        MHD_add_response_header(response, "Content-Type", "image/jpeg");
        MHD_add_response_header(response, "X-Timestamp", stamp);
    }
    if (!head)
        halo_http_viewers_count(viewer->viewers, (size_t)viewer->newest->size);
    return response;
}

/* Without this, a client that reads a byte now and then would keep its connection and its frame
 * indefinitely. */
static void check_pace(struct halo_http_viewer *viewer, uint64_t now)
{
    if (!viewer->now)
        return;
    if (viewer->deadline == 0)
        viewer->deadline = now + FRAME_MS;
    if (now < viewer->deadline)
        return;
    halo_http_disconnect(&viewer->pause);
    viewer->deadline = UINT64_MAX;
    viewer->viewers->cut++;
    halo_log(HALO_LOG_WARNING,
             "http: a viewer was disconnected: it did not read a frame within 30 seconds");
}

/* Ends every image and video that its viewer may no longer see. */
static void check_role(struct halo_http_viewer *viewer)
{
    if (halo_http_role_now(viewer->viewers->gate, &viewer->who) != HALO_ROLE_NONE)
        return;
    halo_feed_leave(&viewer->subscriber);
    av_packet_free(&viewer->newest);
    halo_http_disconnect(&viewer->pause);
    end(viewer);
}

void halo_http_viewers_check(struct halo_http_viewers *viewers, uint64_t now)
{
    for (struct halo_http_viewer *v = viewers->first; v; v = v->next) {
        if (v->snapshot && v->deadline == 0)
            v->deadline = now + SNAPSHOT_MS;
        if (halo_http_has_left(&v->pause) ||
            (v->pause.suspended && v->snapshot && now >= v->deadline))
            end(v);
        check_pace(v, now);
        check_role(v);
    }
}

void halo_http_viewers_end(struct halo_http_viewers *viewers)
{
    for (struct halo_http_viewer *v = viewers->first; v; v = v->next) {
        halo_feed_leave(&v->subscriber);
        end(v);
    }
}
