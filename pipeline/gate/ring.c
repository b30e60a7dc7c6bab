/* SPDX-License-Identifier: BSD-2-Clause
 * The lanes of a stream, used in turn (ring.h). */
#include "pipeline/gate/ring.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "config/base/log.h"
#include "config/base/thread.h"
#include "config/folders.h"
#include "kernels/clock.h"
#include "pipeline/base/stats.h"

enum { FIRST_PATIENCE = 12, OPENING_PATIENCE = 12 }; /* in deadlines */

/* ns: a longer time between two checks means that the process was stopped. */
static const int64_t PAUSE = INT64_C(2000000000);

struct halo_ring {
    struct halo_ring_settings settings;
    const struct halo_backend_ops *ops;
    struct halo_memory *memory;
    struct halo_arrival arrival; /* of the GPU; until then only the starter uses lane and depth */
    struct halo_lane lane[HALO_RING_MAX];
    int depth;
    struct halo_thread starter;
    bool in_background;     /* the starter has run */
    struct halo_lane early; /* on the CPU, until the GPU is there */
    atomic_llong opening;   /* ns: since when the starter opens the GPU; 0: it does not */
    atomic_llong taken;     /* number of frames that the early lane took */
    int next;               /* lane to be acquired next */
    /* Also protects the lanes' backends, but the holder of a lane reads its backend without
     * lock. */
    struct halo_mutex lock;
    struct halo_cond released;
    bool aborted, fell_back, memory_full; /* memory_full: the reason for falling back */
    char fell_why[200];
    atomic_int fallen;     /* number of lanes that are on the CPU after a failure */
    atomic_llong compiled; /* ns: end of the last submit that may have compiled kernels */
};

static bool is_auto(const struct halo_ring *ring)
{
    return !strcmp(ring->settings.backend, "auto");
}

/* Loads the times that halo-bench --tune has measured, if any. Without them filters are only
 * slower. */
static void tune(const struct halo_ring *ring, struct halo_backend *b)
{
    char path[PATH_MAX], text[PATH_MAX + 100];
    if (halo_cache_tuning_path(path, sizeof path, b->ops->name, ring->settings.device) < 0)
        return;
    const int code = halo_backend_tune(b, path, text, sizeof text);
    if (ring->depth > 0) /* logged only for the first lane */
        return;
    if (code == 0)
        halo_log(HALO_LOG_DEBUG, "using the strategies measured in %s", path);
    else if (code == -ESTALE)
        halo_log(HALO_LOG_INFO, "%s: this file is ignored; run halo-bench --tune again", text);
    else if (code != -ENOENT)
        halo_log(HALO_LOG_WARNING, "%s: this file is ignored; run halo-bench --tune again", text);
}

static int open_lane(const struct halo_ring *ring, const struct halo_backend_ops *ops,
                     struct halo_lane *ret)
{
    const struct halo_backend_settings settings = {.threads = ring->settings.threads,
                                                   .device = ring->settings.device,
                                                   .live = ring->settings.live};
    const int code = halo_backend_open(ops, &settings, &ret->backend);
    if (code == 0)
        tune(ring, ret->backend);
    if (code == 0 && ring->settings.stats)
        halo_frame_measure(ret->backend);
    return code;
}

static void choose_device(struct halo_ring *ring, const struct halo_backend_ops *ops)
{
    if (ring->settings.device >= 0)
        return;
    ring->settings.device = halo_backend_least_loaded(ops);
    halo_log(HALO_LOG_DEBUG, "using %s device %d", ops->name, ring->settings.device);
}

static int open_lanes(struct halo_ring *ring, const struct halo_backend_ops *ops)
{
    const int depth = ops->submit ? ring->settings.depth : 1;
    int code = 0;
    choose_device(ring, ops);
    for (ring->depth = 0; ring->depth < depth && code == 0; ring->depth += code == 0) {
        ring->lane[ring->depth].number = ring->depth;
        code = open_lane(ring, ops, &ring->lane[ring->depth]);
    }
    while (code < 0 && ring->depth > 0)
        halo_backend_close(ring->lane[--ring->depth].backend);
    if (!ring->early.backend)
        ring->ops = ops;
    return code;
}

/* The reason why the backend's last open failed with code. */
static const char *why_closed(const struct halo_backend_ops *ops, int code, char *text, size_t size)
{
    return ops->error_text ? halo_backend_error(ops, NULL, text, size) : strerror(-code);
}

/* Fills err with one line on why the backend cannot be opened, or why the requested device does not
 * exist. */
static int fail_open(const struct halo_ring *ring, const struct halo_backend_ops *ops, int code,
                     struct halo_error *err)
{
    char words[200], text[200];
    const char *why = why_closed(ops, code, words, sizeof words); /* describe() may fail, too */
    const int devices = ops->describe(text, sizeof text);
    if (devices > 0 && ring->settings.device >= devices)
        return halo_fail_usage(err, "-gpu %d: this machine has %d GPU%s, counted from 0",
                               ring->settings.device, devices, devices == 1 ? "" : "s");
    if (code == -ENOMEM && devices > 0 && ops->submit)
        return halo_fail_scarce(err, "the GPU's memory is full: %s", why);
    if (code == -EIO || (devices > 0 && ops->submit))
        return halo_fail_device(err, "the %s backend failed to start: %s", ops->name, why);
    return halo_fail(err, code, "the %s backend failed to start: %s", ops->name,
                     devices > 0 ? strerror(-code) : text);
}

/* Records that "auto" fell back to the CPU. Returns whether that was recorded before. */
static bool note_fall(struct halo_ring *ring, int code, const char *why)
{
    halo_lock(&ring->lock);
    const bool before = ring->fell_back;
    if (!before) {
        snprintf(ring->fell_why, sizeof ring->fell_why, "%s", why);
        ring->memory_full = code == -ENOMEM;
    }
    ring->fell_back = true;
    halo_unlock(&ring->lock);
    return before;
}

bool halo_ring_fell_back(struct halo_ring *ring, bool *ret_memory, char *why, size_t size)
{
    halo_lock(&ring->lock);
    const bool ret = ring->fell_back;
    *ret_memory = ring->memory_full;
    snprintf(why, size, "%s", ring->fell_why);
    halo_unlock(&ring->lock);
    return ret;
}

/* Opens the lanes on the GPU, or logs why that is impossible. */
static int open_gpu(struct halo_ring *ring)
{
    char text[200];
    const struct halo_backend_ops *cuda = halo_backend_find("cuda");
    const int code = open_lanes(ring, cuda);
    if (code >= 0)
        return code;
    const bool none = code == -ENODEV && ring->settings.device == 0;
    const char *why = why_closed(cuda, code, text, sizeof text);
    halo_log(none ? HALO_LOG_DEBUG : HALO_LOG_WARNING,
             "the GPU cannot be used (%s): filtering on the CPU", why);
    if (code == -EIO || code == -ENOMEM)
        note_fall(ring, code, why);
    return code;
}

static int open_auto(struct halo_ring *ring, struct halo_error *err)
{
    const struct halo_backend_ops *cpu = halo_backend_find("cpu");
    int code = open_gpu(ring);
    if (code < 0)
        code = open_lanes(ring, cpu);
    return code < 0 ? fail_open(ring, cpu, code, err) : 0;
}

/* ---- a GPU that starts while the CPU filters ---- */

static void *starter_main(void *arg)
{
    struct halo_ring *ring = arg;
    const int64_t begin = halo_now_ns();
    const bool there = open_gpu(ring) >= 0;
    if (there)
        halo_log(HALO_LOG_DEBUG, "the GPU has started after %.2f s and takes over from the CPU",
                 (double)(halo_now_ns() - begin) / 1e9);
    atomic_store(&ring->opening, 0);
    halo_arrival_set(&ring->arrival, there ? HALO_ARRIVAL_THERE : HALO_ARRIVAL_NEVER);
    return NULL;
}

static int open_in_background(struct halo_ring *ring, struct halo_error *err)
{
    const struct halo_backend_ops *cpu = halo_backend_find("cpu");
    ring->ops = halo_backend_find("cuda");
    choose_device(ring, ring->ops);
    int code = open_lane(ring, cpu, &ring->early);
    if (code < 0)
        return fail_open(ring, cpu, code, err);
    atomic_store(&ring->arrival.state, HALO_ARRIVAL_DUE);
    atomic_store(&ring->opening, halo_now_ns());
    code = halo_thread_start(&ring->starter, "gpu", starter_main, ring, err);
    ring->in_background = code >= 0;
    return code;
}

static bool is_there(const struct halo_ring *ring)
{
    return halo_arrival_state(&ring->arrival) == HALO_ARRIVAL_THERE;
}

struct halo_arrival *halo_ring_arrival(struct halo_ring *ring)
{
    return &ring->arrival;
}

int64_t halo_ring_early(const struct halo_ring *ring)
{
    return atomic_load(&ring->taken);
}

struct halo_ring_settings halo_ring_settings_of(const struct halo_device_settings *device)
{
    return (struct halo_ring_settings){.backend = halo_run_backends[device->backend],
                                       .device = device->gpu,
                                       .depth = device->depth,
                                       .threads = device->threads,
                                       .locked = -1,
                                       .deadline = device->gpu_timeout};
}

int halo_ring_create(struct halo_ring **ret, const struct halo_ring_settings *settings,
                     struct halo_error *err)
{
    struct halo_ring *ring = av_mallocz(sizeof *ring);
    if (!ring)
        return halo_fail(err, -ENOMEM, "out of memory");
    ring->settings = *settings;
    atomic_store(&ring->arrival.state, HALO_ARRIVAL_THERE);
    int code;
    if (is_auto(ring)) {
        code = settings->in_background ? open_in_background(ring, err) : open_auto(ring, err);
    } else {
        const struct halo_backend_ops *ops = halo_backend_find(settings->backend);
        code = open_lanes(ring, ops);
        if (code < 0)
            code = fail_open(ring, ops, code, err);
    }
    if (code >= 0 && !(ring->memory = halo_memory_create(ring->ops, settings->locked)))
        code = halo_fail(err, -ENOMEM, "out of memory");
    if (code < 0) {
        halo_ring_destroy(ring);
        return code;
    }
    halo_memory_expect(ring->memory, &ring->arrival);
    *ret = ring;
    return 0;
}

void halo_ring_destroy(struct halo_ring *ring)
{
    if (!ring)
        return;
    halo_backend_close(ring->early.backend);
    if (ring->in_background && halo_backend_is_left()) {
        halo_thread_detach(ring->starter); /* it may still use the ring */
        return;
    }
    if (ring->in_background)
        halo_thread_join(ring->starter);
    for (int i = 0; i < ring->depth; i++)
        halo_backend_close(ring->lane[i].backend);
    halo_memory_destroy(ring->memory);
    av_free(ring);
}

const struct halo_backend_ops *halo_ring_ops(const struct halo_ring *ring)
{
    return ring->ops;
}

void halo_ring_where(const struct halo_ring *ring, char *ret, size_t size)
{
    const int fallen = atomic_load(&ring->fallen);
    if (!is_there(ring)) {
        snprintf(ret, size, "cpu");
        return;
    }
    snprintf(ret, size, "%s%s%s", fallen < ring->depth ? ring->ops->name : "",
             fallen > 0 && fallen < ring->depth ? "+" : "", fallen > 0 ? "cpu" : "");
}

int halo_ring_device(const struct halo_ring *ring)
{
    return ring->settings.device;
}

int halo_ring_gpu(const struct halo_ring *ring, int asked)
{
    if (ring->ops->submit)
        return ring->settings.device;
    return asked < 0 ? 0 : asked;
}

int halo_ring_depth(const struct halo_ring *ring)
{
    return is_there(ring) ? ring->depth : 1;
}

struct halo_stats *halo_ring_stats(const struct halo_ring *ring)
{
    return ring->settings.stats;
}

struct halo_memory *halo_ring_memory(const struct halo_ring *ring)
{
    return ring->memory;
}

/* Lanes that have fallen back to the CPU choose strategies themselves. */
bool halo_ring_can(struct halo_ring *ring, const struct halo_strategy *strategy,
                   const struct halo_conv *conv, int channels)
{
    bool ret = false;
    halo_lock(&ring->lock);
    for (int i = 0; is_there(ring) && i < ring->depth && !ret; i++)
        ret = halo_backend_can(ring->lane[i].backend, strategy, conv, channels);
    halo_unlock(&ring->lock);
    return ret;
}

static struct halo_lane *next_lane(struct halo_ring *ring)
{
    return is_there(ring) ? &ring->lane[ring->next] : &ring->early;
}

struct halo_lane *halo_ring_acquire(struct halo_ring *ring)
{
    const int64_t begin = halo_stats_begin(ring->settings.stats, HALO_STAGE_LANE_WAIT);
    halo_lock(&ring->lock);
    struct halo_lane *lane = NULL;
    while (!ring->aborted && (lane = next_lane(ring))->busy)
        halo_cond_wait(&ring->released, &ring->lock, INT64_MAX);
    if (ring->aborted) {
        lane = NULL;
    } else {
        lane->busy = true;
        if (lane == &ring->early)
            atomic_fetch_add(&ring->taken, 1);
        else
            ring->next = (ring->next + 1) % ring->depth;
    }
    halo_unlock(&ring->lock);
    halo_stats_end(ring->settings.stats, HALO_STAGE_LANE_WAIT, begin);
    return lane;
}

void halo_ring_release(struct halo_ring *ring, struct halo_lane *lane)
{
    halo_lock(&ring->lock);
    lane->busy = false;
    halo_cond_broadcast(&ring->released);
    halo_unlock(&ring->lock);
}

void halo_ring_abort(struct halo_ring *ring)
{
    halo_lock(&ring->lock);
    ring->aborted = true;
    halo_cond_broadcast(&ring->released);
    halo_unlock(&ring->lock);
}

/* ---- deadlines ---- */

/* Work on the CPU has no deadline: nothing can prevent it from finishing. */
int halo_ring_submit(struct halo_ring *ring, struct halo_lane *lane, const struct halo_frame *frame,
                     bool first)
{
    if (!lane->backend->ops->submit)
        return halo_frame_submit(lane->backend, frame);
    atomic_store(&lane->patience, first ? FIRST_PATIENCE : 1);
    atomic_store(&lane->submitting, halo_now_ns());
    const int code = halo_frame_submit(lane->backend, frame);
    if (first)
        atomic_store(&ring->compiled, halo_now_ns());
    atomic_store(&lane->submitting, 0);
    return code;
}

int halo_ring_finish(struct halo_ring *ring, struct halo_lane *lane)
{
    (void)ring;
    atomic_store(&lane->waiting, halo_now_ns());
    const int code = halo_frame_finish(lane->backend);
    atomic_store(&lane->waiting, 0);
    return code;
}

static bool is_over(const struct halo_ring *ring, int64_t since, int deadlines)
{
    return halo_now_ns() - since > deadlines * ring->settings.deadline * 1e9;
}

/* Whether a lane is past its deadline, which starts at `from` at the earliest. Waiting for frames
 * is not checked while the driver may be compiling kernels. */
static bool is_stuck(struct halo_ring *ring, int64_t from, struct halo_error *err)
{
    bool stuck = false, compiling = false;
    const int depth = is_there(ring) ? ring->depth : 0;
    for (int i = 0; i < depth && !stuck; i++) {
        const int64_t since = atomic_load(&ring->lane[i].submitting);
        const int patience = atomic_load(&ring->lane[i].patience);
        compiling |= since && patience > 1;
        stuck = since && is_over(ring, FFMAX(since, from), patience);
    }
    for (int i = 0; i < depth && !stuck && !compiling; i++) {
        const int64_t since = atomic_load(&ring->lane[i].waiting);
        stuck = since && is_over(ring, FFMAX(since, from), 1) &&
                is_over(ring, atomic_load(&ring->compiled), 1);
    }
    if (stuck)
        halo_fail_device(err,
                         "the %s backend did not finish a frame within %g seconds (-gpu_timeout); "
                         "nothing unfiltered is written",
                         ring->ops->name, ring->settings.deadline);
    return stuck;
}

bool halo_ring_watch_is_stuck(struct halo_ring_watch *watch, struct halo_ring *ring,
                              int64_t opening, double deadline, struct halo_error *err)
{
    const int64_t now = halo_now_ns();
    const double limit = OPENING_PATIENCE * deadline;
    if (watch->checked && now - watch->checked > PAUSE)
        watch->resumed = now;
    watch->checked = now;
    if (ring && is_stuck(ring, watch->resumed, err))
        return true;
    if (ring)
        opening = atomic_load(&ring->opening);
    if (!opening || now - FFMAX(opening, watch->resumed) < limit * 1e9)
        return false;
    halo_fail_device(err, "the driver did not start the GPU within %g seconds", limit);
    return true;
}

int halo_ring_fall_back(struct halo_ring *ring, struct halo_lane *lane, int code,
                        struct halo_error *err)
{
    char why[200];
    const struct halo_backend_ops *ops = lane->backend->ops;
    const struct halo_backend_ops *cpu = halo_backend_find("cpu");
    halo_backend_error(ops, lane->backend, why, sizeof why);
    if ((!is_auto(ring) || ops == cpu) && code == -ENOMEM)
        return halo_fail_scarce(err,
                                "the %s backend failed: its memory is full (%s); nothing "
                                "unfiltered is written",
                                ops->name, why);
    if (!is_auto(ring) || ops == cpu)
        return halo_fail_device(err, "the %s backend failed: %s; nothing unfiltered is written",
                                ops->name, why);
    struct halo_lane fresh = {NULL};
    const int ret = open_lane(ring, cpu, &fresh);
    if (ret < 0)
        return halo_fail(err, ret, "the cpu backend failed to start: %s", strerror(-ret));
    halo_lock(&ring->lock);
    struct halo_backend *failed = lane->backend;
    lane->backend = fresh.backend;
    halo_unlock(&ring->lock);
    atomic_store(&lane->waiting, halo_now_ns()); /* closing calls the device */
    halo_backend_close(failed);
    atomic_store(&lane->waiting, 0);
    atomic_fetch_add(&ring->fallen, 1);
    if (!note_fall(ring, code, why))
        halo_log(HALO_LOG_WARNING, "the %s backend failed: %s; continuing on the CPU", ops->name,
                 why);
    return 0;
}
