/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs: the queue, the thread, and the handling of failures (output.h).
 *
 *   caller --begin, packets--> queue --> thread: closed --keyframe---> open --> cut, close
 *                                          ^------ pause <-- failure --/
 *
 * Everything that can block happens on the thread. */
#include "pipeline/output/output.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "config/output_kinds.h"
#include "kernels/clock.h"
#include "pipeline/output/output_place.h"
#include "pipeline/output/output_queue.h"

enum {
    US = 1000000,
    PATIENCE_US = 4 * US, /* time for the thread to finish after a stop request */
    DESTROY_US = 5 * US,  /* time after which the thread is abandoned */
    WRITES_US = 1 * US,   /* of writing after a failure, before the state changes */
    WELL_US = 5 * US,     /* of writing after a failure, before recovery is reported and a new
                             failure is logged */
};

struct halo_output {
    struct halo_place *place;
    char *name;
    struct halo_thread thread;
    struct halo_mutex lock;
    struct halo_cond changed;
    /* Under the lock: */
    struct halo_output_queue queue;
    bool on, stop, ended, left;
    void (*finished)(void *arg, const char *path);
    void *finished_arg;
    struct halo_output_stats stats;
    /* The thread's: */
    struct halo_parameters_copy begin;
    bool begun, open, keyed; /* keyed: the open file or connection has got the keyframe it needs */
    int pause_s;             /* 0: no failure */
    int64_t again_at;
    int64_t well_since; /* 0: nothing has been written since the failure */
    int64_t said_dropped;
    int said_code;
};

/* ---- the thread ---- */

static void set_state(struct halo_output *o, enum halo_output_state state, const char *why)
{
    halo_lock(&o->lock);
    o->stats.state = state;
    if (why)
        av_strlcpy(o->stats.why, why, sizeof o->stats.why);
    av_strlcpy(o->stats.path, o->open ? o->place->ops->where(o->place) : "", sizeof o->stats.path);
    halo_unlock(&o->lock);
}

static int64_t count(struct halo_output *o, int64_t packets, int64_t bytes, int64_t dropped)
{
    halo_lock(&o->lock);
    o->stats.packets += packets;
    o->stats.bytes += bytes;
    o->stats.dropped += o->on ? dropped : 0;
    o->stats.segments += o->place->segments;
    o->place->segments = 0;
    const int64_t all = o->stats.dropped;
    halo_unlock(&o->lock);
    return all;
}

/* Logs a failure once, until writing has worked for a while; further ones are counted in the
 * stats. */
static void say_failure(struct halo_output *o, const struct halo_error *err)
{
    o->pause_s = FFMIN(o->pause_s ? 2 * o->pause_s : 1, o->place->ops->most_pause_s);
    o->again_at = halo_now_us() + o->pause_s * (int64_t)US;
    o->well_since = 0;
    halo_lock(&o->lock);
    o->stats.failures++;
    const int64_t dropped = o->stats.dropped;
    halo_unlock(&o->lock);
    set_state(o, HALO_OUTPUT_FAILED, err->text);
    if (!o->said_code) {
        halo_log(HALO_LOG_WARNING, "stream %s: %s; this output drops packets until it can continue",
                 o->name, err->text);
        o->said_dropped = dropped;
    }
    o->said_code = err->code;
}

static void say_well(struct halo_output *o)
{
    o->pause_s = 0;
    if (!o->said_code)
        return;
    o->said_code = 0;
    halo_log(HALO_LOG_INFO, "stream %s: %s: this output continues; %lld packets were dropped",
             o->name, o->place->ops->where(o->place),
             (long long)(count(o, 0, 0, 0) - o->said_dropped));
    set_state(o, HALO_OUTPUT_WRITING, "");
}

/* cause NULL: no failure so far. */
static void close_place(struct halo_output *o, const struct halo_error *cause)
{
    struct halo_error err = {0};
    if (!o->open)
        return;
    o->place->ops->close(o->place, &err);
    o->open = o->keyed = false;
    const struct halo_error *worst = cause ? cause : &err;
    if (worst->code)
        say_failure(o, worst);
    else
        set_state(o, HALO_OUTPUT_IDLE, NULL);
}

/* Whether packets became old during connecting: then output continues at the newest keyframe. */
static bool is_stale(struct halo_output *o)
{
    halo_lock(&o->lock);
    const int dropped = halo_output_queue_leave_out(&o->queue);
    o->stats.dropped += dropped;
    halo_unlock(&o->lock);
    return dropped > 0;
}

static bool open_place(struct halo_output *o)
{
    struct halo_error err = {0};
    const struct halo_encoding_parameters begin = halo_parameters_view(&o->begin);
    if (o->place->ops->open(o->place, &begin, &err) < 0) {
        if (!atomic_load(&o->place->stop_by))
            say_failure(o, &err);
        return false;
    }
    o->open = true;
    halo_lock(&o->lock);
    o->stats.segments++;
    halo_unlock(&o->lock);
    if (o->said_code) /* files can be opened on a full disk, and fail again when they grow */
        set_state(o, HALO_OUTPUT_FAILED, NULL);
    else
        set_state(o, HALO_OUTPUT_WRITING, "");
    o->keyed = !o->place->ops->live || !is_stale(o);
    return o->keyed;
}

static bool is_ready(struct halo_output *o, const AVPacket *pkt)
{
    const struct halo_place_ops *ops = o->place->ops;
    if (o->open && halo_output_is_key(pkt) && ops->is_over && ops->is_over(o->place, pkt))
        close_place(o, NULL);
    if (o->open)
        return true;
    return o->begun && halo_output_is_key(pkt) && (!o->pause_s || halo_now_us() >= o->again_at) &&
           open_place(o);
}

static void write_packet(struct halo_output *o, const AVPacket *pkt)
{
    struct halo_error err = {0};
    if (!is_ready(o, pkt) || (!o->keyed && !halo_output_is_key(pkt))) {
        count(o, 0, 0, o->pause_s || pkt->stream_index == 0);
        return;
    }
    o->keyed = true;
    if (o->place->ops->write(o->place, pkt, &err) < 0) {
        count(o, 0, 0, 1);
        close_place(o, &err);
        return;
    }
    count(o, 1, pkt->size, 0);
    if (!o->pause_s)
        return;
    const int64_t now = halo_now_us();
    if (!o->well_since)
        o->well_since = now;
    if (now - o->well_since > WRITES_US && o->stats.state == HALO_OUTPUT_FAILED)
        set_state(o, HALO_OUTPUT_WRITING, "");
    if (now - o->well_since > WELL_US)
        say_well(o);
}

static void take_begin(struct halo_output *o, struct halo_parameters_copy *begin)
{
    if (!o->begun || !halo_parameters_are_same(o->begin.video, begin->video) ||
        !halo_parameters_are_same(o->begin.audio, begin->audio))
        close_place(o, NULL);
    FFSWAP(struct halo_parameters_copy, o->begin, *begin);
    o->begun = true;
    o->keyed = false;
}

/* The next item, or NULL: the output was switched off, or it has to end. */
static struct halo_output_item *wait_for_item(struct halo_output *o, bool *ret_on, bool *ret_over)
{
    halo_lock(&o->lock);
    while (!o->queue.head && !o->stop && (o->on || !o->open))
        halo_cond_wait(&o->changed, &o->lock, INT64_MAX);
    const bool late = o->stop && halo_now_us() > atomic_load(&o->place->stop_by);
    struct halo_output_item *item = late ? NULL : halo_output_queue_take(&o->queue);
    *ret_on = o->on;
    *ret_over = !item && o->stop;
    halo_unlock(&o->lock);
    return item;
}

static void free_output(struct halo_output *o)
{
    halo_output_queue_finish(&o->queue);
    halo_parameters_copy_finish(&o->begin);
    if (o->place)
        o->place->ops->destroy(o->place);
    av_free(o->name);
    av_free(o);
}

static void *run(void *arg)
{
    struct halo_output *o = arg;
    bool on = true, over = false;
    halo_log_set_stream(o->name);
    while (!over) {
        struct halo_output_item *item = wait_for_item(o, &on, &over);
        if (item && !item->pkt)
            take_begin(o, &item->begin);
        else if (item && on)
            write_packet(o, item->pkt);
        halo_output_item_free(item);
        if (!on) {
            close_place(o, NULL);
            o->pause_s = o->said_code = 0;
            set_state(o, HALO_OUTPUT_IDLE, "");
        }
    }
    close_place(o, NULL);
    halo_lock(&o->lock);
    o->ended = true;
    const bool left = o->left;
    halo_cond_broadcast(&o->changed);
    halo_unlock(&o->lock);
    if (left)
        free_output(o);
    return NULL;
}

/* ---- the caller ---- */

static int create_place(struct halo_output *o, const struct halo_output_settings *settings,
                        struct halo_error *err)
{
    static int (*const create[HALO_OUTPUT_KINDS])(struct halo_place **, const char *,
                                                  const struct halo_output_settings *,
                                                  struct halo_error *) = {
        [HALO_OUTPUT_FILE] = halo_place_file_create,
        [HALO_OUTPUT_HLS] = halo_place_hls_create,
        [HALO_OUTPUT_URL] = halo_place_url_create,
    };
    if (!settings->target)
        return halo_fail_usage(err, "an output has no target");
    if (!create[settings->kind])
        return halo_fail_usage(err, "%s: the target is neither a file nor a URL", settings->target);
    return create[settings->kind](&o->place, o->name, settings, err);
}

int halo_output_check(const struct halo_output_settings *settings, struct halo_error *err)
{
    struct halo_output o = {.name = (char *)""};
    const int code = create_place(&o, settings, err);
    if (code >= 0)
        o.place->ops->destroy(o.place);
    return code;
}

int halo_output_create(struct halo_output **ret, const char *name,
                       const struct halo_output_settings *settings, struct halo_error *err)
{
    struct halo_output *o = av_mallocz(sizeof *o);
    if (!o)
        return halo_fail(err, -ENOMEM, "out of memory");
    o->on = o->queue.waiting = true;
    o->name = av_strdup(name);
    int code = o->name ? create_place(o, settings, err) : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        code = halo_thread_start(&o->thread, "output", run, o, err);
    if (code < 0) {
        free_output(o);
        return code;
    }
    *ret = o;
    return 0;
}

static void report_finished(struct halo_output *o, const char *path)
{
    halo_lock(&o->lock);
    if (!o->left)
        o->finished(o->finished_arg, path);
    halo_unlock(&o->lock);
}

void halo_output_listen(struct halo_output *o, void (*finished)(void *arg, const char *path),
                        void *arg)
{
    o->finished = finished;
    o->finished_arg = arg;
    o->place->output = o;
    o->place->finished = report_finished;
}

int halo_output_begin(struct halo_output *o, const struct halo_encoding_parameters *begin)
{
    halo_lock(&o->lock);
    const int code = halo_output_queue_begin(&o->queue, begin);
    halo_cond_broadcast(&o->changed);
    halo_unlock(&o->lock);
    return code;
}

void halo_output_packet(struct halo_output *o, const AVPacket *pkt)
{
    if (pkt->stream_index < 0 || pkt->stream_index > 1)
        return;
    halo_lock(&o->lock);
    if (halo_output_queue_put(&o->queue, pkt))
        halo_cond_broadcast(&o->changed);
    else
        o->stats.dropped += o->on;
    halo_unlock(&o->lock);
}

void halo_output_switch(struct halo_output *o, bool on)
{
    halo_lock(&o->lock);
    o->on = on;
    halo_cond_broadcast(&o->changed);
    halo_unlock(&o->lock);
}

void halo_output_stats(struct halo_output *o, struct halo_output_stats *ret)
{
    halo_lock(&o->lock);
    *ret = o->stats;
    halo_unlock(&o->lock);
}

void halo_output_destroy(struct halo_output *o)
{
    if (!o)
        return;
    const int64_t now = halo_now_us();
    halo_lock(&o->lock);
    atomic_store(&o->place->stop_by, now + PATIENCE_US);
    o->stop = true;
    halo_cond_broadcast(&o->changed);
    while (!o->ended && halo_cond_wait(&o->changed, &o->lock, (now + DESTROY_US) * 1000))
        ;
    const bool ended = o->ended;
    o->left = !ended;
    struct halo_thread thread = o->thread;
    if (!ended)
        halo_thread_detach(thread);
    halo_unlock(&o->lock);
    if (!ended)
        return; /* it is blocked by a disk or a name server, and frees everything when it
                   continues */
    halo_thread_join(thread);
    free_output(o);
}
