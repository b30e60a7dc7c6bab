/* SPDX-License-Identifier: BSD-2-Clause
 * Declarations that only stream.c (the life of a stream) shares with stage_source.c and
 * stage_encode.c (the work of its threads; stages.c has that of the threads between them). */
#ifndef HALO_STREAM_PRIVATE_H
#define HALO_STREAM_PRIVATE_H

#include <stdatomic.h>

#include "config/base/thread.h"
#include "pipeline/base/damage.h"
#include "pipeline/base/stats.h"
#include "pipeline/detect/detect.h"
#include "pipeline/stream/ends.h"
#include "pipeline/stream/graph.h"
#include "pipeline/stream/stages.h"
#include "pipeline/stream/stream.h"
#include "pipeline/stream/tracks.h"
#include "pipeline/stream/workload.h"

enum halo_stop {
    HALO_STOP_ASKED = 1,  /* reading ends; the output is completed with the frames that were read
                             until then */
    HALO_STOP_FAILED = 2, /* the output is discarded */
};

/* Packets of copied streams that wait for the frames before which they were read. If several
 * decoders work on a stream (decoders.h), packets are read many seconds before its frames; without
 * this, audio would arrive at the muxer so early that it would no longer be interleaved with the
 * video. Source thread. */
struct halo_held_packets {
    struct halo_held_packet *first, *last;
};
void halo_held_clear(struct halo_held_packets *held); /* frees all items */

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

    struct halo_stats *stats; /* NULL if no statistics were requested */
    struct halo_damage damage;
    struct halo_source *source;
    struct halo_source_limits limits; /* only its member `stop` is set */
    struct halo_sink *sink;
    struct halo_ring *ring;
    struct halo_tracks tracks;
    struct halo_held_packets held;
    const struct halo_ends *ends;
    struct halo_segment_ends segment;
    bool trial, only_opens;
    double estimates[HALO_WORKLOAD_PLACES]; /* estimated lengths of the run, in s; 0: none */
    enum halo_workload_place place;         /* HALO_WORKLOAD_GPU: or what the settings say */
    struct halo_graphs *graphs;
    struct halo_stages *stages;
    struct halo_queue *to_encode;
    struct halo_thread source_thread, encode_thread;
    bool started;

    atomic_int stop;  /* bits of enum halo_stop; if any is set, source and sink no longer wait */
    atomic_bool done; /* all threads have ended */
    atomic_bool running;
    atomic_llong opening; /* time at which opening the device began, as from halo_now_ns(); 0: the
                             device is not being opened */
    struct halo_ring_watch watch;
    atomic_llong frames, total, time_us, duration_us;

    struct halo_mutex lock;
    struct halo_error error; /* the first error; guarded by lock */
    const char *path;
};

/* Runs the source stage in the caller's thread: reads the input to its end, decodes it, and checks
 * that it was complete. Returns 0, -ECANCELED if another stage failed, or another -errno with err
 * filled. */
int halo_stream_demux(struct halo_stream *s, struct halo_error *err);

/* Prints what is done with each stream of the input (describe.c). */
void halo_stream_describe(const struct halo_stream *s, FILE *to);

/* Thread function of the encode stage, which encodes, muxes and writes; arg is the stream. */
void *halo_stream_encode_main(void *arg);

#endif
