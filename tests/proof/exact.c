/* SPDX-License-Identifier: BSD-2-Clause
 * The gate judged sample by sample (exact.h). */
#include "tests/proof/exact.h"

#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/gate/gate.h"
#include "pipeline/input/source_test.h"
#include "pipeline/frame/format.h"
#include "pipeline/frame/raw_frame.h"
#include "tests/proof/example.h"
#include "tests/proof/moves.h"

enum {
    DEPTH = 3,   /* frames in the gate at a time */
    EVERY = 4,   /* frames of one size */
    FRAMES = 9,  /* of a case */
    MOVING = 14, /* of one with a feed */
    SHARE = 4,   /* of such cases: one for so many others */
    SAME_RING = 50,
    NUMBERS = 60000,
    LOUD = 20, /* cases that are told of */
};

struct sums {
    long cases, failed, frames, scaled, unsure, hidden, shown, soft, wrong;
    struct proof_moves_counts moves;
};

/* ---- through the gate ---- */

struct passage {
    struct proof_example *example;
    struct proof_moves *moves; /* NULL: there is no feed */
    struct halo_gate *gate;
    struct halo_test_source *source;
    int depth, frames;
    struct sums *sums;
};

static void add(struct sums *s, const struct proof_example *e, const struct proof_verdict *v,
                const char *what)
{
    s->frames++;
    s->hidden += v->hidden;
    s->shown += v->shown;
    s->soft += v->soft;
    if (v->wrong && s->wrong++ < LOUD)
        proof_example_say(e, what, v);
}

/* The frame that entered the gate as number i. */
static bool leave(struct passage *p, struct halo_pending *pending, int i)
{
    struct proof_example *e = p->example;
    struct halo_error err = {0};
    struct halo_output_frame *out;
    struct proof_verdict v;
    char what[60];
    if (halo_gate_leave(pending, 0, &out, &err) < 0) {
        proof_example_say(e, err.text, NULL);
        return false;
    }
    const bool other =
        i / EVERY % 2 && (e->other_width != e->width || e->other_height != e->height);
    if (p->moves && !proof_moves_judge(p->moves, i, e->judge)) {
        p->sums->unsure++;
        halo_output_frame_destroy(out);
        return true;
    }
    if (other)
        proof_judge_hidden(e->judge, halo_output_frame_frame(out),
                           &(struct proof_raw){true, e->other_width, e->other_height}, &v);
    else
        proof_judge_see(e->judge, halo_output_frame_frame(out), e->number % NUMBERS + (unsigned)i,
                        &v);
    p->sums->scaled += other;
    snprintf(what, sizeof what, "picture %d%s", i, other ? ", scaled" : "");
    add(p->sums, e, &v, what);
    halo_output_frame_destroy(out);
    return true;
}

static bool enter(struct passage *p, struct halo_pending **ret, int i)
{
    struct halo_error err = {0};
    struct halo_raw_frame *raw = NULL;
    int64_t time = i;
    bool fine = halo_test_source_read(p->source, &raw) == 1 &&
                (!p->moves || proof_moves_enter(p->moves, i, &time, err.text));
    if (fine && p->moves)
        halo_raw_frame_set_pts(raw, time);
    fine = fine && halo_gate_enter(p->gate, raw, ret, &err) >= 0;
    halo_raw_frame_destroy(raw);
    if (!fine)
        proof_example_say(p->example, err.text, NULL);
    return fine;
}

static bool pass(struct passage *p)
{
    struct halo_pending *pending[DEPTH] = {NULL};
    bool fine = true;
    for (int i = 0; i < p->frames + p->depth && fine; i++) {
        if (i >= p->depth)
            fine = leave(p, pending[i % p->depth], i - p->depth);
        if (fine && i < p->frames)
            fine = enter(p, &pending[i % p->depth], i);
    }
    return fine;
}

static bool run_example(struct proof_example *e, struct proof_moves *moves, struct halo_ring *ring,
                        struct sums *s)
{
    char input[200];
    struct halo_error err = {0};
    struct halo_chain *chain = NULL;
    struct passage p = {.example = e,
                        .moves = moves,
                        .depth = halo_ring_depth(ring),
                        .frames = moves ? MOVING : FRAMES,
                        .sums = s};
    const struct halo_gate_input in = {.format = e->format,
                                       .width = e->width,
                                       .height = e->height,
                                       .spill = e->spill,
                                       .privacy = HALO_PRIVACY_CHANGED,
                                       .space = halo_format_is_rgb(e->format) ? AVCOL_SPC_RGB
                                                                              : AVCOL_SPC_SMPTE170M,
                                       .range = proof_range(e->format)};
    snprintf(input, sizeof input, "test:size=%dx%d:format=%s:other=%dx%d:every=%d:canary=%u",
             e->width, e->height, av_get_pix_fmt_name(e->format), e->other_width, e->other_height,
             EVERY, e->number % NUMBERS);
    bool fine = halo_chain_parse(&chain, e->spec.text, &err) >= 0 &&
                halo_chain_load(chain, &err) >= 0 &&
                halo_gate_create(&p.gate, chain, ring, &in, &err) >= 0 &&
                halo_test_source_create(&p.source, input, halo_ring_memory(ring), &err) >= 0;
    if (fine && moves)
        halo_gate_set_feed(p.gate, proof_moves_feed(moves));
    if (!fine)
        proof_example_say(e, err.text, NULL);
    else
        fine = pass(&p);
    halo_test_source_destroy(p.source);
    halo_gate_destroy(p.gate);
    halo_chain_destroy(chain);
    return fine;
}

static struct halo_ring *open_ring(const char *backend, unsigned number)
{
    struct halo_error err = {0};
    struct halo_ring *ring;
    const struct halo_ring_settings set = {.backend = backend,
                                           .depth = 1 + (int)(number % DEPTH),
                                           .threads = 1 + (int)(number % 2),
                                           .locked = -1,
                                           .deadline = 10};
    if (halo_ring_create(&ring, &set, &err) >= 0)
        return ring;
    fprintf(stderr, "proof: %s\n", err.text);
    exit(HALO_EXIT_FAILED);
}

static void run_moving(struct proof_example *e, struct halo_ring *ring, struct sums *s)
{
    struct proof_moves *moves = proof_moves_open(e->number, e->width, e->height);
    s->failed += !run_example(e, moves, ring, s);
    const struct proof_moves_counts c = proof_moves_counts(moves);
    s->moves.known += c.known;
    s->moves.moving += c.moving;
    s->moves.held += c.held;
    s->moves.updates += c.updates;
    s->moves.refused += c.refused;
    proof_moves_close(moves);
}

/* Cases with a feed, or without. */
static void run_all(const char *backend, unsigned seed, bool moving, const char *folder,
                    struct sums *s)
{
    struct halo_ring *ring = NULL;
    for (long i = 0; i < s->cases; i++) {
        struct proof_example e;
        proof_example_open(&e, seed * 100003u + (unsigned)i, moving ? PROOF_MOVING : PROOF_ANY,
                           folder);
        if (i % SAME_RING == 0) {
            halo_ring_destroy(ring);
            ring = open_ring(backend, (unsigned)(i / SAME_RING));
        }
        if (moving)
            run_moving(&e, ring, s);
        else
            s->failed += !run_example(&e, NULL, ring, s);
        proof_example_close(&e);
    }
    halo_ring_destroy(ring);
}

static bool print(const char *what, const struct sums *s)
{
    printf("%s: %ld cases, %ld pictures (%ld from another size); samples judged: %ld hidden, %ld "
           "shown, %ld between; wrong pictures: %ld, failed cases: %ld\n",
           what, s->cases, s->frames, s->scaled, s->hidden, s->shown, s->soft, s->wrong, s->failed);
    return s->wrong == 0 && s->failed == 0;
}

bool proof_exact_run(const char *backend, unsigned seed, long cases, const char *folder)
{
    struct sums still = {.cases = cases}, moving = {.cases = (cases + SHARE - 1) / SHARE};
    run_all(backend, seed, false, folder, &still);
    run_all(backend, seed, true, folder, &moving);
    bool ret = print("exact", &still);
    ret &= print("exact, with a feed", &moving);
    printf("    of those pictures %ld were told of, in %ld something moved, in %ld something was "
           "held; left out: %ld; words: %ld, and %ld refused\n",
           moving.moves.known, moving.moves.moving, moving.moves.held, moving.unsure,
           moving.moves.updates, moving.moves.refused);
    fflush(stdout);
    return ret;
}
