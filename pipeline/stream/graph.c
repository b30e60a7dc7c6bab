/* SPDX-License-Identifier: BSD-2-Clause
 * Filter graphs (graph.h). */
#include "pipeline/stream/graph.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <string.h>

#include "config/base/thread.h"

int halo_graph_parse(struct halo_graph **ret, const char *const *chains, int count,
                     enum halo_privacy privacy, struct halo_error *err)
{
    struct halo_graph *graph = av_mallocz(sizeof *graph);
    if (!graph)
        return halo_fail(err, -ENOMEM, "out of memory");
    for (int i = 0; i < count; i++) {
        const int code = halo_chain_admit(&graph->chain[i], chains[i], privacy, err);
        if (code < 0) {
            halo_graph_destroy(graph);
            return code;
        }
        halo_chain_add_needs(graph->chain[graph->chains++], &graph->needs);
    }
    *ret = graph;
    return 0;
}

int halo_graph_load(struct halo_graph *graph, const struct halo_region_feed *feed,
                    struct halo_error *err)
{
    int code = 0;
    for (int i = 0; i < graph->chains && code == 0; i++) {
        code = feed ? 0 : halo_chain_refuse_feed(graph->chain[i], err);
        if (code == 0)
            code = halo_chain_load(graph->chain[i], err);
    }
    return code;
}

int halo_graph_add(struct halo_graph *graph, struct halo_gate *gate, int track)
{
    struct halo_graph_gate *all =
        av_realloc_array(graph->gate, (size_t)graph->gates + 1, sizeof *all);
    if (!all) {
        halo_gate_destroy(gate);
        return -ENOMEM;
    }
    graph->gate = all;
    graph->gate[graph->gates++] = (struct halo_graph_gate){gate, track};
    return 0;
}

int halo_graph_build(struct halo_graph *graph, struct halo_ring *ring,
                     const struct halo_gate_input *input, struct halo_region_feed *feed,
                     struct halo_error *err)
{
    struct halo_gate_input own = *input;
    own.epoch = graph->epoch;
    for (int i = 0; i < graph->chains; i++) {
        struct halo_gate *gate;
        int same = 0;
        while (same < i && strcmp(graph->chain[same]->text, graph->chain[i]->text) != 0)
            same++;
        graph->of[i] = same < i ? graph->of[same] : graph->gates;
        if (same < i)
            continue;
        int code = halo_gate_create(&gate, graph->chain[i], ring, &own, err);
        if (code < 0)
            return code;
        halo_gate_set_feed(gate, feed);
        code = halo_graph_add(graph, gate, 0);
        if (code < 0)
            return halo_fail(err, code, "out of memory");
    }
    return 0;
}

static void destroy_gates(struct halo_graph *graph)
{
    for (int i = 0; i < graph->gates; i++)
        halo_gate_destroy(graph->gate[i].gate);
    av_freep(&graph->gate);
    graph->gates = 0;
}

void halo_graph_destroy(struct halo_graph *graph)
{
    if (!graph)
        return;
    destroy_gates(graph);
    for (int i = 0; i < graph->chains; i++)
        halo_chain_destroy(graph->chain[i]);
    av_free(graph);
}

/* ---- all graphs of a stream ---- */

struct halo_graphs {
    struct halo_mutex lock; /* of all fields below */
    struct halo_cond unused;
    struct halo_outline outline;
    int users;                 /* of the format: threads that the stages do not join */
    struct halo_graph *wanted; /* without gates, until the format is known */
    /* list of all that have gates, oldest first; the filter thread uses the last */
    struct halo_graph *oldest;
    struct halo_graph *next; /* becomes active with the next frame; not in that list */
    int64_t epochs;          /* the last epoch assigned */
    int64_t passed;
};

int halo_graphs_create(struct halo_graphs **ret)
{
    struct halo_graphs *all = av_mallocz(sizeof *all);
    if (!all)
        return -ENOMEM;
    *ret = all;
    return 0;
}

void halo_graphs_destroy(struct halo_graphs *all)
{
    if (!all)
        return;
    while (all->oldest) {
        struct halo_graph *next = all->oldest->next;
        halo_graph_destroy(all->oldest);
        all->oldest = next;
    }
    halo_graph_destroy(all->next);
    halo_graph_destroy(all->wanted);
    av_free(all);
}

/* ---- the format ---- */

struct halo_outline halo_graphs_outline(struct halo_graphs *all)
{
    halo_lock(&all->lock);
    struct halo_outline ret = {.forming = all->outline.forming};
    if (ret.forming >= HALO_FORMED)
        ret = all->outline;
    halo_unlock(&all->lock);
    return ret;
}

bool halo_graphs_use(struct halo_graphs *all)
{
    halo_lock(&all->lock);
    const bool ret = all->outline.forming == HALO_SHAPED;
    all->users += ret;
    halo_unlock(&all->lock);
    return ret;
}

void halo_graphs_lend(struct halo_graphs *all)
{
    halo_lock(&all->lock);
    all->users++;
    halo_unlock(&all->lock);
}

void halo_graphs_used(struct halo_graphs *all)
{
    halo_lock(&all->lock);
    if (--all->users == 0)
        halo_cond_broadcast(&all->unused);
    halo_unlock(&all->lock);
}

/* ---- the thread that starts the stages ---- */

static void set_forming(struct halo_graphs *all, enum halo_forming forming)
{
    halo_lock(&all->lock);
    all->outline.forming = forming;
    halo_unlock(&all->lock);
}

void halo_graphs_want(struct halo_graphs *all, struct halo_graph *graph)
{
    halo_lock(&all->lock);
    all->wanted = graph;
    halo_unlock(&all->lock);
}

struct halo_graph *halo_graphs_make(struct halo_graphs *all, int width, int height, bool made_up)
{
    halo_lock(&all->lock);
    struct halo_graph *first = all->wanted;
    all->wanted = NULL;
    all->oldest = first;
    all->outline = (struct halo_outline){HALO_FORMED, made_up, width, height};
    halo_unlock(&all->lock);
    return first;
}

void halo_graphs_formed(struct halo_graphs *all)
{
    set_forming(all, HALO_SHAPED);
}

void halo_graphs_turn(struct halo_graphs *all)
{
    set_forming(all, HALO_REFORMING);
}

/* Keeps the active chains, without gates, for the next format; all frames have left. Under the
 * lock. */
static void keep_chains(struct halo_graphs *all)
{
    if (all->next) {
        all->next->next = all->oldest;
        all->oldest = all->next;
        all->next = NULL;
    }
    for (struct halo_graph *l = all->oldest, *next; l; l = next) {
        next = l->next;
        struct halo_graph *older = all->wanted;
        if (older && older->epoch > l->epoch) {
            halo_graph_destroy(l);
            continue;
        }
        all->wanted = l;
        halo_graph_destroy(older);
    }
    all->oldest = NULL;
    destroy_gates(all->wanted);
    all->wanted->next = NULL;
}

void halo_graphs_keep(struct halo_graphs *all)
{
    halo_lock(&all->lock);
    while (all->users)
        halo_cond_wait(&all->unused, &all->lock, INT64_MAX);
    keep_chains(all);
    halo_unlock(&all->lock);
}

void halo_graphs_turned(struct halo_graphs *all)
{
    set_forming(all, HALO_UNFORMED);
}

/* ---- frames ---- */

struct halo_graph *halo_graphs_enter(struct halo_graphs *all, struct halo_graph *now, int track)
{
    halo_lock(&all->lock);
    if (!now)
        now = all->oldest;
    if (all->next) {
        now->next = all->next;
        now = all->next;
        all->next = NULL;
    }
    for (int i = 0; i < now->gates; i++)
        now->inside += now->gate[i].track == track;
    halo_unlock(&all->lock);
    return now;
}

void halo_graphs_leave(struct halo_graphs *all, struct halo_graph *graph, bool whole)
{
    halo_lock(&all->lock);
    graph->inside--;
    if (whole)
        all->passed = graph->epoch;
    halo_unlock(&all->lock);
}

void halo_graphs_forget_older(struct halo_graphs *all, const struct halo_graph *graph)
{
    for (;;) {
        halo_lock(&all->lock);
        struct halo_graph *old = all->oldest;
        const bool goes = old != graph;
        if (goes)
            all->oldest = old->next;
        halo_unlock(&all->lock);
        if (!goes)
            return;
        halo_graph_destroy(old);
    }
}

void halo_graphs_needs(struct halo_graphs *all, struct halo_chain_needs *ret)
{
    *ret = (struct halo_chain_needs){0};
    halo_lock(&all->lock);
    const struct halo_graph *graph = all->next;
    for (const struct halo_graph *l = all->oldest; l && !all->next; l = l->next)
        graph = l;
    if (graph)
        *ret = graph->needs;
    halo_unlock(&all->lock);
}

/* ---- worker ---- */

int64_t halo_graphs_oldest(struct halo_graphs *all)
{
    int64_t oldest = INT64_MAX;
    halo_lock(&all->lock);
    for (const struct halo_graph *l = all->oldest; l && oldest == INT64_MAX; l = l->next)
        if (l->inside)
            oldest = l->epoch;
    halo_unlock(&all->lock);
    return oldest;
}

int64_t halo_graphs_passed(struct halo_graphs *all)
{
    halo_lock(&all->lock);
    const int64_t ret = all->passed;
    halo_unlock(&all->lock);
    return ret;
}

enum halo_forming halo_graphs_take_up(struct halo_graphs *all, struct halo_graph *graph)
{
    struct halo_graph *old = NULL;
    halo_lock(&all->lock);
    const enum halo_forming ret = all->outline.forming;
    if (ret != HALO_REFORMING)
        graph->epoch = ++all->epochs; /* stays unused if its gates cannot be built */
    if (ret == HALO_UNFORMED) {
        old = all->wanted;
        all->wanted = graph;
    } else if (ret != HALO_REFORMING) {
        all->users++;
    }
    halo_unlock(&all->lock);
    halo_graph_destroy(old);
    return ret;
}

void halo_graphs_put(struct halo_graphs *all, struct halo_graph *graph)
{
    halo_lock(&all->lock);
    struct halo_graph *unused = all->next;
    all->next = graph;
    halo_unlock(&all->lock);
    halo_graph_destroy(unused);
}
