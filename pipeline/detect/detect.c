/* SPDX-License-Identifier: BSD-2-Clause
 * Detection (detect.h): frames wait here, in order, until the judge lets them pass. */
#include "pipeline/detect/detect.h"

#include <errno.h>
#include <libavutil/mathematics.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "kernels/backend.h"
#include "kernels/clock.h"
#include "pipeline/base/display.h"
#include "pipeline/detect/detect_private.h"
#include "pipeline/detect/replay.h"
#include "pipeline/frame/hw_frame.h"
#include "pipeline/frame/raw_frame.h"
#include "pipeline/frame/raw_frame_private.h"

/* ---- verdicts ---- */

/* The whole frame. */
static const struct halo_shape everything = {.kind = HALO_SHAPE_RECT,
                                             .x = {0, true},
                                             .y = {0, true},
                                             .width = {1, true},
                                             .height = {1, true}};

/* Makes the mattes that the filters need. A matte that they do not need hides everything. */
static int add_mattes(struct halo_detect *d, struct halo_verdict *verdict, enum halo_find find,
                      const struct halo_held *held, const struct halo_held_mask *mask,
                      struct halo_error *err)
{
    struct halo_detect_client *client = &d->client[find];
    const halo_find_set bit = halo_find_bit(find);
    const struct halo_matte_mask small = {mask->weight->data, mask->width, mask->height,
                                          held->cut || client->cut};
    struct halo_mask_image *hidden = NULL, *shown = NULL;
    if (!client->matte && !(client->matte = halo_matte_create(d->memory)))
        return halo_fail(err, -ENOMEM, "out of memory");
    const int code = halo_matte_make(client->matte, &small, held->item.raw,
                                     d->needs.hidden & bit ? &hidden : NULL,
                                     d->needs.shown & bit ? &shown : NULL, err);
    if (code < 0)
        return code;
    client->cut = false;
    struct halo_shape hide = everything, show = {.kind = HALO_SHAPE_MASK, .mask = shown};
    if (hidden)
        hide = (struct halo_shape){.kind = HALO_SHAPE_MASK, .mask = hidden};
    const struct halo_verdict_shapes hidden_shapes = {&hide, 1},
                                     shown_shapes = {&show, shown != NULL};
    return halo_verdict_set(verdict, find, &hidden_shapes, &shown_shapes);
}

/* NULL: none. With `wait: 0`, mask_n is an older frame's number. */
static const struct halo_held_mask *find_mask(const struct halo_detect *d, enum halo_find find,
                                              const struct halo_held *held, int64_t mask_n)
{
    const struct halo_held_mask *mask =
        mask_n == held->n ? &held->mask[find] : &d->client[find].newest;
    return mask->weight ? mask : NULL;
}

static int add_find(struct halo_detect *d, struct halo_verdict *verdict, enum halo_find find,
                    const struct halo_held *held, const struct halo_judge_step *step,
                    struct halo_error *err)
{
    if (!(step->masked & halo_find_bit(find)))
        return halo_verdict_set(verdict, find, &step->hidden[find], &step->shown[find]);
    const struct halo_held_mask *mask = find_mask(d, find, held, step->mask_n[find]);
    return mask ? add_mattes(d, verdict, find, held, mask, err) : 0;
}

static void detect_attach(struct halo_detect *d, struct halo_held *held,
                          const struct halo_judge_step *step)
{
    struct halo_verdict *verdict = halo_verdict_create();
    for (int find = 0; verdict && find < HALO_FINDS; find++) {
        struct halo_error err = {0};
        if (step->known & halo_find_bit(find) && add_find(d, verdict, find, held, step, &err) < 0)
            halo_log(
                HALO_LOG_WARNING,
                "a frame is hidden entirely, because detection of %s gave no result for it: %s",
                halo_find_names[find], err.text[0] ? err.text : "out of memory");
    }
    halo_raw_frame_judge(held->item.raw, verdict);
}

/* ---- life ---- */

static int create_judge(struct halo_detect *d, struct halo_judge **ret)
{
    struct halo_judge_settings settings = {.finds = d->finds, .live = d->settings->live};
    for (int find = 0; find < HALO_FINDS; find++)
        settings.detector[find] = &d->settings->detector[find];
    return halo_judge_create(ret, &settings);
}

int halo_detect_create(struct halo_detect **ret, const struct halo_detect_settings *settings)
{
    struct halo_detect *d = av_mallocz(sizeof *d);
    if (!d)
        return -ENOMEM;
    d->settings = settings;
    d->last = &d->first;
    d->track = -1;
    for (int find = 0; find < HALO_FINDS; find++)
        d->client[find].fd = d->client[find].inbox.fd = -1;
    d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    d->memory = halo_memory_create(halo_backend_find("cpu"), 0);
    d->download = d->memory ? halo_hw_download_create(d->memory) : NULL;
    if (d->wake < 0 || !d->download || create_judge(d, &d->judge) < 0) {
        halo_detect_destroy(d);
        return -ENOMEM;
    }
    *ret = d;
    return 0;
}

static void free_held(struct halo_held *held)
{
    for (int find = 0; find < HALO_FINDS; find++)
        halo_held_mask_clear(&held->mask[find]);
    av_free(held->boxes);
    av_free(held);
}

void halo_detect_destroy(struct halo_detect *d)
{
    if (!d)
        return;
    while (d->first) {
        struct halo_held *held = d->first;
        d->first = held->next;
        halo_item_finish(&held->item);
        free_held(held);
    }
    d->last = &d->first;
    for (int find = 0; find < HALO_FINDS; find++) {
        struct halo_detect_client *client = &d->client[find];
        halo_detect_link_destroy(client->link);
        if (client->fd >= 0)
            close(client->fd);
        if (client->inbox.fd >= 0)
            close(client->inbox.fd);
        halo_detect_frame_destroy(client->maker);
        halo_matte_destroy(client->matte);
        halo_held_mask_clear(&client->newest);
    }
    halo_judge_destroy(d->judge);
    halo_hw_download_destroy(d->download);
    halo_memory_destroy(d->memory);
    if (d->wake >= 0)
        close(d->wake);
    av_free(d);
}

int halo_detect_need(struct halo_detect *d, const struct halo_chain_needs *needs)
{
    const halo_find_set before = d->finds;
    const halo_find_set finds = d->settings->replay ? 0 : needs->hidden | needs->shown;
    d->needs = *needs;
    if (d->settings->record)
        d->settings->record->finds = finds;
    if (finds == before)
        return 0;
    const int code = halo_judge_finds(d->judge, finds, halo_now_ns());
    if (code < 0)
        return code;
    d->finds = finds;
    for (int find = 0; find < HALO_FINDS; find++) {
        const halo_find_set bit = halo_find_bit(find);
        if (finds & ~before & bit)
            halo_detect_client_begin(d, find);
        else if (before & ~finds & bit)
            halo_detect_client_end(d, find);
    }
    return 0;
}

void halo_detect_wake(struct halo_detect *d)
{
    const uint64_t one = 1;
    if (write(d->wake, &one, sizeof one) < 0)
        return; /* its counter is not 0: it will be read */
}

void halo_detect_connect(struct halo_detect *d, enum halo_find find, int fd, const char *why)
{
    struct halo_detect_client *client = &d->client[find];
    halo_lock(&d->lock);
    const int old = client->inbox.fd;
    client->inbox.came = true;
    client->inbox.fd = fd;
    snprintf(client->inbox.why, sizeof client->inbox.why, "%s", why ? why : "");
    halo_unlock(&d->lock);
    if (old >= 0)
        close(old);
    halo_detect_wake(d);
}

/* ---- items in ---- */

static void count(struct halo_detect *d, int64_t *counter)
{
    halo_lock(&d->lock);
    ++*counter;
    halo_unlock(&d->lock);
}

static bool is_stopped(const struct halo_detect *d)
{
    return d->settings->stop && !d->settings->live && atomic_load(d->settings->stop);
}

static int hold(struct halo_detect *d, const struct halo_item *item, struct halo_held **ret)
{
    struct halo_held *held = av_mallocz(sizeof *held);
    if (!held)
        return -ENOMEM;
    held->item = *item;
    held->passes = true;
    *d->last = held;
    d->last = &held->next;
    *ret = held;
    return 0;
}

/* A frame on a GPU is read several times, and the decoder has few of them. */
static int bring_to_host(struct halo_detect *d, struct halo_raw_frame *raw, struct halo_error *err)
{
    AVFrame *host;
    if (!halo_hw_frame_is(raw->frame))
        return 0;
    const int code = halo_hw_download(d->download, raw->frame, raw->format, &host, err);
    if (code < 0)
        return code;
    av_frame_free(&raw->frame);
    raw->frame = host;
    return 0;
}

static int take_frame(struct halo_detect *d, struct halo_item *item, struct halo_error *err)
{
    struct halo_held *held;
    if (d->track >= 0 && item->track != d->track) {
        halo_item_finish(item);
        return halo_fail(err, -ENOTSUP,
                         "the input has several video streams, but detectors can work on only one: "
                         "copy that stream to a file of its own (ffmpeg -i IN -map 0:v:0 -c copy "
                         "ONE.mkv)");
    }
    d->track = item->track;
    int code = bring_to_host(d, item->raw, err);
    if (code == 0)
        code = hold(d, item, &held);
    if (code < 0) {
        halo_item_finish(item);
        return halo_fail(err, code, "out of memory");
    }
    const AVFrame *frame = item->raw->frame;
    const bool sideways = item->raw->turn & HALO_DISPLAY_SIDEWAYS;
    d->width = sideways ? frame->height : frame->width;
    d->height = sideways ? frame->width : frame->height;
    held->n = ++d->numbers;
    held->passes = false;
    held->time_us =
        av_rescale_q(item->raw->frame->pts, d->settings->time_base, (AVRational){1, 1000000});
    if (halo_judge_arrive(d->judge, held->n, held->time_us, halo_now_ns()) < 0)
        held->dropped = held->passes = true;
    return 0;
}

/* Takes items for as long as the judge has room: 0 or -errno. */
static int take_items(struct halo_detect *d, struct halo_queue *from, struct halo_error *err)
{
    struct halo_held *held;
    struct halo_item item;
    int code = 1;
    while (code > 0 && !d->ending && (is_stopped(d) || halo_judge_has_room(d->judge))) {
        code = halo_queue_try(from, &item);
        if (code <= 0)
            break;
        int taken = 0;
        if (item.kind == HALO_ITEM_RAW && is_stopped(d)) {
            halo_item_finish(&item);
            count(d, &d->counts.dropped);
        } else if (item.kind == HALO_ITEM_RAW) {
            taken = take_frame(d, &item, err);
        } else if ((taken = hold(d, &item, &held)) < 0) {
            halo_item_finish(&item);
        }
        if (taken < 0)
            return halo_fail(err, taken, "out of memory");
        if (item.kind == HALO_ITEM_END) {
            d->ending = true;
            halo_judge_finish(d->judge);
        }
    }
    return code < 0 ? code : 0;
}

/* ---- items out ---- */

/* A matte that this frame does not get must begin again after a cut. */
static void skip_mattes(struct halo_detect *d, const struct halo_held *held)
{
    for (int find = 0; find < HALO_FINDS; find++)
        d->client[find].cut |= held->cut;
}

static void carry_out(struct halo_detect *d, struct halo_held *held,
                      const struct halo_judge_step *step, int64_t now)
{
    switch (step->what) {
    case HALO_JUDGE_SEND:
        for (int find = 0; find < HALO_FINDS; find++)
            if (step->to & halo_find_bit(find))
                halo_detect_client_send(d, find, held, now);
        return;
    case HALO_JUDGE_PASS:
        if (!d->settings->record)
            detect_attach(d, held, step);
        count(d, &d->counts.judged);
        break;
    case HALO_JUDGE_HIDE:
        skip_mattes(d, held);
        count(d, &d->counts.hidden);
        break;
    default:
        skip_mattes(d, held);
        count(d, &d->counts.dropped);
        held->dropped = true;
        break;
    }
    held->passes = true;
}

static void note_why(struct halo_detect *d)
{
    halo_lock(&d->lock);
    for (int find = 0; find < HALO_FINDS; find++) {
        const bool needed = d->finds & halo_find_bit(find);
        const char *why = needed ? halo_judge_why(d->judge, find) : NULL;
        d->client[find].stats.why = why;
    }
    halo_unlock(&d->lock);
}

/* Does what the judge says until it waits. Returns until when, in ns. */
static int64_t follow_judge(struct halo_detect *d)
{
    struct halo_judge_step *step = &d->step;
    for (;;) {
        const int64_t now = halo_now_ns();
        halo_judge_next(d->judge, now, step);
        if (step->what == HALO_JUDGE_WAIT) {
            note_why(d);
            return step->time;
        }
        struct halo_held *held = d->first;
        while (held && held->n != step->n)
            held = held->next;
        if (held)
            carry_out(d, held, step, now);
    }
}

/* The stages may begin again with another queue: frames from before are no measure for it. */
static int start_again(struct halo_detect *d)
{
    struct halo_judge *judge;
    const int code = create_judge(d, &judge);
    if (code < 0)
        return code;
    halo_judge_destroy(d->judge);
    d->judge = judge;
    d->ending = false;
    d->from = NULL;
    d->track = -1;
    for (int find = 0; find < HALO_FINDS; find++)
        if (d->client[find].ready)
            halo_judge_ready(judge, find, halo_now_ns());
    return 0;
}

/* Returns true with the first item if that may pass. */
static bool give(struct halo_detect *d, struct halo_item *ret)
{
    while (d->first && d->first->passes && !(d->settings->record && d->error.code)) {
        struct halo_held *held = d->first;
        const bool records = held->n && d->settings->record;
        const bool dropped = held->dropped || records;
        if (records)
            halo_detect_record(d, held);
        d->first = held->next;
        if (!d->first)
            d->last = &d->first;
        if (dropped)
            halo_item_finish(&held->item);
        else
            *ret = held->item;
        free_held(held);
        if (!dropped)
            return true;
    }
    return false;
}

/* Sleeps until something may have happened. */
static void sleep_until(struct halo_detect *d, int64_t until)
{
    struct pollfd fds[1 + HALO_FINDS] = {{.fd = d->wake, .events = POLLIN}};
    uint64_t ignored;
    const bool stopped = is_stopped(d); /* only the queue matters then */
    for (int find = 0; find < HALO_FINDS; find++) {
        const struct halo_detect_client *client = &d->client[find];
        const int64_t deadline = stopped ? INT64_MAX : halo_detect_client_deadline(client);
        fds[1 + find] =
            (struct pollfd){.fd = client->link && !stopped ? halo_detect_link_fd(client->link) : -1,
                            .events = POLLIN};
        until = deadline < until ? deadline : until;
    }
    halo_poll(fds, 1 + HALO_FINDS, until);
    if (read(d->wake, &ignored, sizeof ignored) < 0)
        return; /* something else woke this thread */
}

static int get(struct halo_detect *d, struct halo_queue *from, struct halo_item *ret,
               struct halo_error *err)
{
    for (;;) {
        int code = take_items(d, from, err);
        if (code < 0)
            return code;
        int64_t until = INT64_MAX;
        if (is_stopped(d)) {
            /* What waits for its verdict waits no longer. */
            for (struct halo_held *held = d->first; held; held = held->next) {
                if (held->passes)
                    continue;
                held->dropped = held->passes = true;
                count(d, &d->counts.dropped);
            }
        } else {
            for (int find = 0; find < HALO_FINDS; find++)
                halo_detect_client_run(d, find, halo_now_ns());
            until = follow_judge(d);
        }
        if (give(d, ret))
            return 0;
        if (d->error.code) {
            *err = d->error;
            return err->code;
        }
        sleep_until(d, until);
    }
}

/* Gives each frame the verdict that it had when detectors judged it. */
static int get_replayed(struct halo_detect *d, struct halo_queue *from, struct halo_item *ret,
                        struct halo_error *err)
{
    const struct halo_judge_step *step;
    struct halo_item item;
    const int got = halo_queue_get(from, &item);
    if (got < 0)
        return got;
    int code = 0;
    if (item.kind == HALO_ITEM_RAW)
        code = halo_replay_next(d->settings->replay, item.raw->frame->pts, &step, err);
    else if (item.kind == HALO_ITEM_END)
        code = halo_replay_end(d->settings->replay, err);
    if (code < 0) {
        halo_item_finish(&item);
        return code;
    }
    if (item.kind == HALO_ITEM_RAW) {
        struct halo_held held = {.item = item};
        if (step->what == HALO_JUDGE_PASS)
            detect_attach(d, &held, step);
        count(d, step->what == HALO_JUDGE_PASS ? &d->counts.judged : &d->counts.hidden);
    }
    *ret = item;
    return 0;
}

int halo_detect_get(struct halo_detect *d, struct halo_queue *from, struct halo_item *ret,
                    struct halo_error *err)
{
    int code = 0;
    if (d->settings->replay)
        return get_replayed(d, from, ret, err);
    if (d->from != from)
        halo_queue_tell(from, d->wake);
    d->from = from;
    if (d->finds == 0 && !d->first && !d->settings->record)
        code = halo_queue_get(from, ret);
    else if (!give(d, ret))
        code = get(d, from, ret, err);
    if (code == 0 && ret->kind == HALO_ITEM_END) {
        halo_queue_tell(from, -1);
        code = start_again(d);
        if (code < 0)
            return halo_fail(err, code, "out of memory");
    }
    return code;
}

void halo_detect_stats(struct halo_detect *d, struct halo_detect_stats ret[HALO_FINDS],
                       struct halo_detect_counts *ret_counts)
{
    halo_lock(&d->lock);
    for (int find = 0; find < HALO_FINDS; find++)
        ret[find] = d->client[find].stats;
    *ret_counts = d->counts;
    halo_unlock(&d->lock);
}
