/* SPDX-License-Identifier: BSD-2-Clause
 * The stages of every stream between its source and its encoders, with their threads:
 *
 *   filter    takes what the source gave, with what detectors found in it, and lets frames enter
 *             every gate of their track; everything else goes around the gates
 *   collect   takes frames out of the gates in the same order, and passes them on
 *
 *   halo_stages_give() ─► to_filter ─► filter ─► in_gate ─► collect ─► to_encode, or encodings
 *
 * The stages of a run are started once. Those of a live stream are started when the format of its
 * frames is known, and again if that format was assumed and the source reports another. */
#ifndef HALO_STAGES_H
#define HALO_STAGES_H

#include <stdbool.h>

#include "config/base/error.h"
#include "config/base/thread.h"
#include "pipeline/base/stats.h"
#include "pipeline/gate/queue.h"

struct halo_detect;
struct halo_graphs;
struct halo_frozen;
struct halo_live;
struct halo_replay;

struct halo_stages_settings {
    const char *name; /* of the stream, for the log; NULL: none */
    bool drops;       /* a full queue drops its oldest frame; otherwise it blocks */
    struct halo_detect *detect;
    struct halo_graphs *graphs;
    struct halo_stats *stats; /* NULL: nobody asked for them */
    /* What gates show in place of objects (NULL: each gate takes its own values), and what says
     * which frame of the file enters them (NULL: nothing does). */
    struct halo_frozen *frozen;
    const struct halo_replay *replay;
    /* Who gets the frames: the encoder stage of a run, or the encodings of a live stream
     * (live_encodings.h). The other one is NULL. */
    struct halo_queue *to_encode;
    struct halo_live *live;
    /* A frame could not be filtered. Returns 0 if the stream goes on without it, or -ECANCELED if
     * it ends. Filter and collect thread. */
    int (*lose)(void *arg, int code, struct halo_error *err);
    /* Nothing more can be filtered: ends the stream. Filter thread. */
    void (*fail)(void *arg, int code, struct halo_error *err);
    void *arg;
};

struct halo_stages {
    struct halo_stages_settings set; /* constant while the threads run; pointers are borrowed */
    struct halo_thread filter, collect;
    bool running; /* the threads are to be joined; the caller lets one thread in at once */
    struct halo_mutex lock; /* of the next two pointers; the locks of queues are taken under it */
    struct halo_queue *to_filter, *in_gate;
};

struct halo_stages *halo_stages_create(void);                         /* NULL: out of memory */
void halo_stages_destroy(struct halo_stages *s);                      /* NULL: does nothing */
int halo_stages_start(struct halo_stages *s, struct halo_error *err); /* 0, or -errno, err filled */
/* Lets everything out that was given, then joins the threads. */
void halo_stages_end(struct halo_stages *s);
void halo_stages_abort(struct halo_stages *s); /* makes the threads end. Any thread */
/* Ends the stages for good. Waits for the frames that are in a gate; meanwhile the loop still
 * watches the device. */
void halo_stages_close(struct halo_stages *s);

/* Queues an item, which belongs to the stages from now on. Returns the number of frames that were
 * dropped for it, or -ECANCELED. Source thread. */
int halo_stages_give(struct halo_stages *s, struct halo_item item);

/* As halo_queue_put() and halo_queue_get(); the waiting is recorded for the stage `wait`. */
int halo_stage_put(struct halo_stats *stats, struct halo_queue *to, struct halo_item item,
                   enum halo_stage wait);
int halo_stage_get(struct halo_stats *stats, struct halo_queue *from, struct halo_item *ret,
                   enum halo_stage wait);

#endif
