/* SPDX-License-Identifier: BSD-2-Clause
 * One find of a stream: the connection with its detector, frames to it, and what it answers. */
#include <errno.h>
#include <libavutil/common.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/clock.h"
#include "pipeline/base/av.h"
#include "pipeline/base/display.h"
#include "pipeline/base/stats.h"
#include "pipeline/detect/detect_private.h"

void halo_held_mask_clear(struct halo_held_mask *mask)
{
    av_buffer_unref(&mask->weight);
}

#define WINDOW INT64_C(10000000000) /* ns */

/* ---- connections ---- */

static void set_gone(struct halo_detect *d, enum halo_find find, bool pauses, int64_t now)
{
    struct halo_detect_client *client = &d->client[find];
    if (client->ready && pauses)
        halo_judge_pause(d->judge, find, now);
    else if (client->ready)
        halo_judge_gone(d->judge, find, now);
    client->ready = false;
    halo_lock(&d->lock);
    client->stats.ready = false;
    halo_unlock(&d->lock);
}

static bool is_patient(const struct halo_detect *d)
{
    return d->settings->live || d->settings->patient;
}

static void fail(struct halo_detect *d, enum halo_find find, const char *why)
{
    if (!is_patient(d) && !d->error.code)
        halo_fail(&d->error, -EIO, "detection of %s failed: %s", halo_find_names[find], why);
}

static void want(struct halo_detect *d, enum halo_find find)
{
    if (!d->settings->calls->want)
        fail(d, find, "this process cannot start detectors");
    else if (!d->client[find].wanted)
        d->settings->calls->want(d->settings->arg, find);
    d->client[find].wanted = true;
}

static void close_link(struct halo_detect_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    halo_detect_link_destroy(client->link);
    client->link = NULL;
    memset(client->asked, 0, sizeof client->asked);
}

void halo_detect_client_begin(struct halo_detect *d, enum halo_find find)
{
    struct halo_detect_client *client = &d->client[find];
    halo_lock(&d->lock);
    client->stats.needed = true;
    halo_unlock(&d->lock);
    want(d, find);
}

void halo_detect_client_end(struct halo_detect *d, enum halo_find find)
{
    struct halo_detect_client *client = &d->client[find];
    set_gone(d, find, false, halo_now_ns());
    close_link(client);
    halo_held_mask_clear(&client->newest);
    halo_lock(&d->lock);
    client->stats = (struct halo_detect_stats){0};
    client->spent = client->most_now = 0;
    halo_unlock(&d->lock);
    if (d->settings->calls->want)
        d->settings->calls->unwanted(d->settings->arg, find);
}

/* The frame that the next detector is sent first: "frame 7 (00:00:00.240)". */
static const char *describe_next(struct halo_detect *d, const struct halo_detect_client *client,
                                 char text[96])
{
    const struct halo_held *held = halo_held_find(d, client->answered + 1);
    char clock[32];
    const int length = snprintf(text, 96, "frame %lld", (long long)client->answered + 1);
    if (held)
        snprintf(text + length, 96 - (size_t)length, " (%s)",
                 halo_av_clock((double)held->time_us / 1e6, clock, sizeof clock));
    return text;
}

/* Files: one more detector was lost. Returns whether another one is wanted. */
static bool try_again(struct halo_detect *d, enum halo_find find, const char *why)
{
    struct halo_detect_client *client = &d->client[find];
    char frame[96], all[HALO_DETECT_WHY + 200];
    describe_next(d, client, frame);
    if (++client->lost < HALO_DETECT_TRIES) {
        halo_log(HALO_LOG_WARNING, "%s is sent to a new detector of %s: %s", frame,
                 halo_find_names[find], why);
        return true;
    }
    snprintf(all, sizeof all, "detectors failed %d times at %s: %s", client->lost, frame, why);
    fail(d, find, all);
    if (is_patient(d) && halo_judge_give_up(d->judge, find)) {
        halo_log(HALO_LOG_ERROR, "%s is hidden entirely, because %s", frame, all);
        client->answered++;
    }
    client->lost = 0;
    return is_patient(d);
}

static void lose(struct halo_detect *d, enum halo_find find, const char *why, int64_t now)
{
    set_gone(d, find, false, now);
    close_link(&d->client[find]);
    d->settings->calls->broken(d->settings->arg, find, why);
    if (d->settings->live || try_again(d, find, why))
        want(d, find);
}

/* Takes what halo_detect_connect() has delivered. */
static void take_connection(struct halo_detect *d, enum halo_find find)
{
    struct halo_detect_client *client = &d->client[find];
    char why[HALO_DETECT_WHY];
    halo_lock(&d->lock);
    const bool came = client->inbox.came;
    const int fd = client->inbox.fd;
    memcpy(why, client->inbox.why, sizeof why);
    client->inbox.came = false;
    client->inbox.fd = -1;
    halo_unlock(&d->lock);
    if (!came)
        return;
    client->wanted = false;
    if (!(d->finds & halo_find_bit(find))) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (fd >= 0) {
        client->fd = fd;
        return;
    }
    const bool was_there = client->stats.starts > 0;
    if (!was_there)
        fail(d, find, why);
    if (was_there && !d->settings->live ? try_again(d, find, why) : is_patient(d))
        want(d, find);
}

/* Says hello once the size of the frames is known, and again when it changes. */
static void greet(struct halo_detect *d, enum halo_find find, int64_t now)
{
    struct halo_detect_client *client = &d->client[find];
    const struct halo_detect_hello hello = {.stream = d->settings->stream,
                                            .find = find,
                                            .width = d->width,
                                            .height = d->height,
                                            .rate = d->settings->rate,
                                            .live = d->settings->live};
    int code = 0;
    if (d->width == 0 || (client->fd < 0 && !client->link) ||
        (client->link && client->said_width == d->width && client->said_height == d->height))
        return;
    if (client->link) {
        set_gone(d, find, true, now);
        code = halo_detect_link_hello(client->link, &hello, now);
    } else {
        code = halo_detect_link_create(&client->link, client->fd, &hello, now);
        client->fd = -1;
        halo_lock(&d->lock);
        client->stats.starts++;
        halo_unlock(&d->lock);
    }
    client->said_width = d->width;
    client->said_height = d->height;
    if (code == 0 && !client->maker)
        code = halo_detect_frame_create(&client->maker, d->memory);
    if (code < 0)
        lose(d, find, strerror(-code), now);
}

/* ---- answers ---- */

static void time_answer(struct halo_detect *d, struct halo_detect_client *client, int64_t since,
                        int64_t now)
{
    const double time = (double)(now - since) / 1e9;
    struct halo_detect_stats *stats = &client->stats;
    halo_lock(&d->lock);
    client->spent += time;
    stats->mean = client->spent / (double)++stats->verdicts;
    if (now - client->window > WINDOW) {
        stats->most = client->most_now;
        client->window = now;
        client->most_now = 0;
    }
    client->most_now = time > client->most_now ? time : client->most_now;
    stats->most = client->most_now > stats->most ? client->most_now : stats->most;
    halo_unlock(&d->lock);
}

/* The display orientation of frame n, which was sent; -1: it was not sent by this connection. */
static int take_asked(struct halo_detect *d, struct halo_detect_client *client, int64_t n,
                      int64_t now)
{
    for (int i = 0; i < HALO_DETECT_UNANSWERED; i++) {
        if (client->asked[i].n != n)
            continue;
        client->asked[i].n = 0;
        client->answered = n;
        client->lost = 0;
        halo_stats_span(d->settings->stats, HALO_STAGE_FACES + (int)(client - d->client),
                        FFMAX(client->asked[i].since, client->free_since), now);
        client->free_since = now;
        time_answer(d, client, client->asked[i].since, now);
        return client->asked[i].turn;
    }
    return -1;
}

/* Keeps the mask for its frame, if that still waits, and as the newest one. */
static int keep_mask(struct halo_detect *d, enum halo_find find,
                     const struct halo_detect_answer *answer, int turn)
{
    struct halo_detect_client *client = &d->client[find];
    struct halo_held *held = halo_held_find(d, answer->n);
    const bool sideways = turn & HALO_DISPLAY_SIDEWAYS;
    const size_t size = (size_t)answer->mask_width * (size_t)answer->mask_height;
    struct halo_held_mask mask = {av_buffer_alloc(size),
                                  sideways ? answer->mask_height : answer->mask_width,
                                  sideways ? answer->mask_width : answer->mask_height};
    if (!mask.weight)
        return -ENOMEM;
    halo_detect_mask_store(mask.weight->data, answer->mask, answer->mask_width, answer->mask_height,
                           turn);
    if (held) {
        halo_held_mask_clear(&held->mask[find]);
        held->mask[find] = mask;
        held->mask[find].weight = av_buffer_ref(mask.weight);
    }
    halo_held_mask_clear(&client->newest);
    client->newest = mask;
    return 0;
}

static void hear(struct halo_detect *d, enum halo_find find, struct halo_detect_answer *answer,
                 int64_t now)
{
    const int turn = take_asked(d, &d->client[find], answer->n, now);
    if (turn < 0)
        return;
    if (answer->mask && d->settings->record) {
        if (!d->error.code)
            halo_fail_usage(&d->error,
                            "the detector for %s answers with masks, which depend on earlier "
                            "frames: a job needs one that answers with boxes",
                            halo_find_names[find]);
        return;
    }
    if (answer->mask) {
        if (keep_mask(d, find, answer, turn) == 0)
            halo_judge_mask(d->judge, find, answer->n, now);
        return; /* without memory the frame remains without a verdict */
    }
    for (int i = 0; i < answer->count; i++)
        answer->box[i] = halo_detect_box_store(answer->box[i], turn);
    if (d->settings->record)
        halo_detect_keep(d, find, answer);
    halo_judge_boxes(d->judge, find, answer->n, answer->box, answer->count, now);
}

/* The detector is ready when it has said so, and has room for a frame. */
static void update_ready(struct halo_detect *d, enum halo_find find, int64_t now)
{
    struct halo_detect_client *client = &d->client[find];
    const struct halo_detect_ready *ready = halo_detect_link_ready(client->link);
    if (client->ready || !ready || halo_detect_link_unanswered(client->link) > 0)
        return;
    client->ready = true;
    halo_judge_ready(d->judge, find, now);
    halo_lock(&d->lock);
    client->stats.ready = true;
    snprintf(client->stats.name, sizeof client->stats.name, "%s", ready->name);
    if (d->settings->record)
        memcpy(d->settings->record->name[find], client->stats.name, sizeof client->stats.name);
    halo_unlock(&d->lock);
}

static void read_link(struct halo_detect *d, enum halo_find find, int64_t now)
{
    struct halo_detect_client *client = &d->client[find];
    struct halo_detect_answer answer;
    struct halo_error err = {0};
    int code;
    while ((code = halo_detect_link_read(client->link, now, &answer, &err)) > 0)
        hear(d, find, &answer, now);
    if (code < 0)
        lose(d, find, err.text, now);
    else
        update_ready(d, find, now);
}

void halo_detect_client_run(struct halo_detect *d, enum halo_find find, int64_t now)
{
    struct halo_detect_client *client = &d->client[find];
    take_connection(d, find);
    greet(d, find, now);
    if (client->link)
        read_link(d, find, now);
}

int64_t halo_detect_client_deadline(const struct halo_detect_client *client)
{
    return client->link ? halo_detect_link_deadline(client->link) : INT64_MAX;
}

/* ---- frames ---- */

static void remember(struct halo_detect_client *client, const struct halo_held *held, int turn,
                     int64_t now)
{
    int i = 0;
    while (i + 1 < HALO_DETECT_UNANSWERED && client->asked[i].n)
        i++;
    client->asked[i] = (struct halo_asked){held->n, turn, now};
}

/* The detector's frame. The first detector that gets a frame also finds out whether it is a cut. */
static int make(struct halo_detect *d, enum halo_find find, struct halo_held *held,
                struct halo_detect_made *ret, struct halo_error *err)
{
    struct halo_detect_client *client = &d->client[find];
    return halo_detect_frame_make(client->maker, held->item.raw,
                                  halo_detect_link_ready(client->link), ret, err);
}

static void note_cut(struct halo_detect *d, struct halo_held *held,
                     const struct halo_detect_made *made)
{
    if (held->looked)
        return;
    held->looked = true;
    held->cut = halo_cuts_is_cut(&d->cuts, &made->thumbnail[0]);
    if (d->settings->record)
        halo_detect_keep_thumbnail(d, &made->thumbnail[0]);
    if (held->cut)
        halo_judge_cut(d->judge, held->n);
}

void halo_detect_client_send(struct halo_detect *d, enum halo_find find, struct halo_held *held,
                             int64_t now)
{
    struct halo_detect_client *client = &d->client[find];
    struct halo_error err = {0};
    struct halo_detect_made made = {.memfd = -1};
    int code = client->link && halo_detect_link_ready(client->link)
                   ? make(d, find, held, &made, &err)
                   : -EAGAIN;
    if (code == 0) {
        struct halo_detect_sent sent = {.n = held->n, .time_us = held->time_us};
        memcpy(sent.inside, made.inside, sizeof sent.inside);
        note_cut(d, held, &made);
        code = halo_detect_link_send(client->link, &sent, made.memfd, now);
        close(made.memfd);
    }
    if (code == 0) {
        remember(client, held, made.turn, now);
        return;
    }
    if (err.code && !client->said) {
        halo_log(HALO_LOG_WARNING,
                 "some frames are hidden entirely, because detection of %s failed: %s",
                 halo_find_names[find], err.text);
        client->said = true;
    }
    if (!d->settings->live && code != -EPIPE && !d->error.code) {
        d->error = err;
        halo_fail(&d->error, code, "detection of %s failed: %s", halo_find_names[find],
                  strerror(-code));
    }
    set_gone(d, find, false, now); /* until the detector has answered everything */
}
