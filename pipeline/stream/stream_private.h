/* SPDX-License-Identifier: BSD-2-Clause
 * Declarations that only stream.c (the life of a stream) shares with stage_source.c, stage_filter.c
 * and stage_encode.c (the work of its threads, in the order in which a frame passes through
 * them). */
#ifndef HALO_STREAM_PRIVATE_H
#define HALO_STREAM_PRIVATE_H

#include <stdatomic.h>

#include "pipeline/base/damage.h"
#include "pipeline/base/stats.h"
#include "pipeline/base/thread.h"
#include "pipeline/detect/detect.h"
#include "pipeline/gate/queue.h"
#include "pipeline/stream/held_packets.h"
#include "pipeline/stream/piece.h"
#include "pipeline/stream/stream.h"
#include "pipeline/stream/tracks.h"
#include "pipeline/stream/workload.h"

enum halo_stop {
    HALO_STOP_ASKED = 1,  /* reading ends; the output is completed with the frames that were read
                             until then */
    HALO_STOP_FAILED = 2, /* the output is discarded */
};

struct halo_stream {
    /* Stores the first error and stops all stages: later errors are only consequences of it. Any
     * thread. */
    void (*fail)(struct halo_stream *s, const struct halo_error *err);
    const struct halo_run_settings *settings;
    const struct halo_chain *chain;
    void (*notify)(void *arg);
    void *arg;
    struct halo_detect_calls detect_calls; /* `want` NULL: there are no detectors */
    struct halo_detect_settings detect_settings;
    struct halo_detect *detect; /* used by the filter thread */
    bool detects;               /* detectors judge the frames */

    struct halo_stats *stats; /* NULL if no statistics were requested */
    struct halo_damage damage;
    struct halo_source *source;
    struct halo_source_limits limits; /* only its member `stop` is set */
    struct halo_sink *sink;
    struct halo_ring *ring;
    struct halo_tracks tracks;
    struct halo_held_packets held;
    struct halo_piece piece;
    bool trial, only_opens;
    double estimates[HALO_WORKLOAD_PLACES]; /* of the run's length; 0: none were made */
    enum halo_workload_place place;         /* HALO_WORKLOAD_GPU: or what the settings say */
    struct halo_queue *to_filter, *in_gate, *to_encode;
    struct halo_thread source_thread, filter_thread, collect_thread, encode_thread;
    bool started;

    atomic_int stop;  /* bits of enum halo_stop; if any is set, source and sink no longer wait */
    atomic_bool done; /* all threads have ended */
    atomic_bool running;
    atomic_llong opening; /* time at which opening the device began, as from halo_now_ns(); 0: the
                             device is not being opened */
    struct halo_ring_watch watch;
    atomic_llong frames, bytes, total, time_us, duration_us;

    struct halo_mutex lock;
    struct halo_error error; /* the first error; guarded by lock */
    struct halo_thread
        writer; /* the encode thread while it writes; `writer` and `writing` are guarded by
                         lock */
    bool writing;
    const char *path;
};

/* These functions work like halo_queue_put() and halo_queue_get(), and also record the waiting time
 * for the stage `wait`. */
static inline int halo_stage_put(struct halo_stream *s, struct halo_queue *to,
                                 struct halo_item item, enum halo_stage wait)
{
    const int64_t begin = halo_stats_begin(s->stats, wait);
    const int code = halo_queue_put(to, item);
    halo_stats_end(s->stats, wait, begin);
    return code;
}

static inline int halo_stage_get(struct halo_stream *s, struct halo_queue *from,
                                 struct halo_item *ret, enum halo_stage wait)
{
    const int64_t begin = halo_stats_begin(s->stats, wait);
    const int got = halo_queue_get(from, ret);
    halo_stats_end(s->stats, wait, begin);
    return got;
}

/* Runs the source stage in the caller's thread: reads the input to its end, decodes it, and checks
 * that it was complete. Returns 0, -ECANCELED if another stage failed, or another -errno with err
 * filled. */
int halo_stream_demux(struct halo_stream *s, struct halo_error *err);

/* Prints what is done with each stream of the input (describe.c). */
void halo_stream_describe(const struct halo_stream *s, FILE *to);

/* Thread functions of the other stages; arg is the stream. The filter thread puts frames into the
 * gate, and the collect thread takes them out (stage_filter.c); the encode thread encodes, muxes
 * and writes. */
void *halo_stream_filter_main(void *arg);
void *halo_stream_collect_main(void *arg);
void *halo_stream_encode_main(void *arg);

#endif
