/* SPDX-License-Identifier: BSD-2-Clause
 * A filter graph: the chains of a stream and its renditions and, once the format of the frames is
 * known, the gates that run them: for each filtered track, one gate for each distinct chain.
 *
 * The graphs of a stream: a run has one from its first frame to its last. A live stream has one
 * without gates, the wanted one, before the format of its frames is known; afterwards a list has
 * those that frames have entered, oldest first, and at most one further graph becomes active with
 * the next frame. Each of these has a number, its epoch.
 *
 * A graph is constant while it is in use; before that, it belongs to the thread that makes it. The
 * worker adds new graphs; the filter thread switches to them and counts the frames that
 * enter; the collect thread counts the frames that leave and frees old graphs. The thread that
 * starts the stages sets whether a format exists. One lock, which only graph.c uses, guards all of
 * this. It may be acquired under the locks of the cards and of the snapshots; no other lock is
 * acquired under it. */
#ifndef HALO_GRAPH_H
#define HALO_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "pipeline/filter/privacy.h"
#include "pipeline/gate/gate.h"

enum { HALO_GRAPH_CHAINS = HALO_MAX_RENDITIONS + 1 };

struct halo_graph_gate {
    struct halo_gate *gate; /* owned */
    int track;              /* whose frames enter it; 0 in a live stream */
};

struct halo_graph {
    int64_t epoch;
    int chains, gates;
    struct halo_chain *chain[HALO_GRAPH_CHAINS]; /* by rendition; owned */
    int of[HALO_GRAPH_CHAINS];                   /* index of each chain's gate */
    struct halo_graph_gate *gate;
    struct halo_chain_needs needs; /* what detectors have to find for its chains */
    uint64_t id; /* the id of the halo_live_set() call that requested this graph */
    bool failed; /* a frame could not be filtered; owned by the collect thread */
    /* the files that its chains need have been read; this field is owned by the worker */
    bool loaded;
    /* `inside`: the number of frames that are in the graph's gates or about to enter them, each
     * counted once for each gate; `next`: the next newer graph in the stream's list (NULL: none).
     * Both fields are guarded by the lock of graph.c, which no other file uses. */
    int inside;
    struct halo_graph *next;
};

/* A graph without gates. The texts are those of the chains, by rendition. Returns 0, or -errno with
 * err filled. */
int halo_graph_parse(struct halo_graph **ret, const char *const *chains, int count,
                     enum halo_privacy privacy, struct halo_error *err);
/* Reads the mask images. Returns 0, or -errno with err filled. It is also an error if a chain uses
 * a region feed but feed is NULL. This may block. */
int halo_graph_load(struct halo_graph *graph, const struct halo_region_feed *feed,
                    struct halo_error *err);
/* Adds a gate, which belongs to the graph from now on, also on failure. Returns 0 or -ENOMEM. */
int halo_graph_add(struct halo_graph *graph, struct halo_gate *gate, int track);
/* Creates the gates of a live stream. feed is NULL if the stream has no region feed. */
int halo_graph_build(struct halo_graph *graph, struct halo_ring *ring,
                     const struct halo_gate_input *input, struct halo_region_feed *feed,
                     struct halo_error *err);
/* Destroys the graph and its gates, which must be empty; NULL: does nothing. */
void halo_graph_destroy(struct halo_graph *graph);

/* ---- all graphs of a stream ---- */

struct halo_graphs;

int halo_graphs_create(struct halo_graphs **ret);  /* 0 or -ENOMEM */
void halo_graphs_destroy(struct halo_graphs *all); /* NULL: does nothing */

/* ---- the format ---- */

enum halo_forming {
    HALO_UNFORMED,
    /* the format is being replaced, and nothing new starts with the old format */
    HALO_REFORMING,
    HALO_FORMED, /* the format is known, but its first graph is not built yet */
    HALO_SHAPED, /* the first graph is also built, so cards can be made */
};

/* What threads that do not use the format itself may know of it; all zero if there is none. */
struct halo_outline {
    enum halo_forming forming;
    bool made_up;
    int width, height;
};
struct halo_outline halo_graphs_outline(struct halo_graphs *all); /* any thread */
/* If the format is SHAPED, keeps the format in use until halo_graphs_used() is called, and returns
 * true. Otherwise returns false. Any thread. */
bool halo_graphs_use(struct halo_graphs *all);
/* Works like halo_graphs_use(), but always succeeds. Called by a stage's thread when it passes on
 * something that uses the format. */
void halo_graphs_lend(struct halo_graphs *all);
void halo_graphs_used(struct halo_graphs *all);

/* ---- called by the thread that starts the stages ---- */

/* Sets the graph with which the stages will begin, and takes ownership of it. */
void halo_graphs_want(struct halo_graphs *all, struct halo_graph *graph);
/* Declares that a format of this size exists; made_up: it was assumed. Returns the format's first
 * graph, which has the wanted chains. The caller must build this graph but does not own it. */
struct halo_graph *halo_graphs_make(struct halo_graphs *all, int width, int height, bool made_up);
/* Records that the format's first graph has been built. */
void halo_graphs_formed(struct halo_graphs *all);
/* To change the format, these three functions are called in this order. After halo_graphs_turn(),
 * nothing new starts with the old format. halo_graphs_keep() must be called after all threads of
 * the stages have ended. It waits until the format has no users, and keeps the newest chains as the
 * wanted ones. halo_graphs_turned() records that the format was removed. */
void halo_graphs_turn(struct halo_graphs *all);
void halo_graphs_keep(struct halo_graphs *all);
void halo_graphs_turned(struct halo_graphs *all);

/* ---- frames ---- */

/* Returns the graph for a frame of the track that is about to enter its gates, and counts the frame
 * as being inside each of them. previous: the previous frame's graph, or NULL for the first frame.
 * Filter thread. */
struct halo_graph *halo_graphs_enter(struct halo_graphs *all, struct halo_graph *previous,
                                     int track);
/* Sets *ret to what detectors have to find for the graph that the next frame enters. Filter
 * thread. */
void halo_graphs_needs(struct halo_graphs *all, struct halo_chain_needs *ret);
/* Records that a frame has left a gate, or will not enter it. whole: this was the frame's last
 * gate, and all of its gates have filtered it. Called by the filter and collect threads. */
void halo_graphs_leave(struct halo_graphs *all, struct halo_graph *graph, bool whole);
/* Frees the graphs that are older than this one; none of their frames may be in a gate any more.
 * Collect thread. */
void halo_graphs_forget_older(struct halo_graphs *all, const struct halo_graph *graph);

/* ---- worker ---- */

/* Returns the oldest epoch of the frames that are inside the gates, or INT64_MAX if the gates are
 * empty. */
int64_t halo_graphs_oldest(struct halo_graphs *all);
/* Returns the newest epoch of the frames that have passed all gates. */
int64_t halo_graphs_passed(struct halo_graphs *all);
/* Assigns an epoch to a requested graph. If the result is UNFORMED, the stages will begin with this
 * graph, and `all` now owns it. If the result is REFORMING, nothing was done: try again later. If
 * the result is FORMED or SHAPED, the caller must build the graph, and the format remains in use
 * until halo_graphs_used() is called. */
enum halo_forming halo_graphs_take_up(struct halo_graphs *all, struct halo_graph *graph);
/* Takes ownership of a graph that was built, and makes it active from the next frame on. */
void halo_graphs_put(struct halo_graphs *all, struct halo_graph *graph);

#endif
