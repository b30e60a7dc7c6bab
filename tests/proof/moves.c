/* SPDX-License-Identifier: BSD-2-Clause
 * What a detector might tell (moves.h). */
#include "tests/proof/moves.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/clock.h"
#include "tests/proof/mover.h"
#include "tests/proof/expected.h"

enum {
    MS = 1000,
    BEAT = 16 * MS, /* us: times of frames are whole ones of it */
    BEHIND = 2,     /* frames that were given out while one waits for the gate */
    MOVERS = 4,
    TIMES = 64,  /* frames */
    FUTURE = 30, /* seconds: words of then are not silence, however slow this machine is */
    PAST = 15,   /* seconds: words of then are; more than any limit */
    AGO = 20,    /* seconds: the first frame */
};

struct proof_moves {
    struct proof_chance chance;
    int side[2];
    struct halo_region_feed *feed;
    struct proof_expected *expected;
    int64_t now; /* us, when it began */
    int64_t time[TIMES];
    int passed; /* frames that were given out */
    struct proof_mover mover[MOVERS];
    struct proof_place place[PROOF_MOVES_LATE];
    struct proof_moves_counts counts;
};

static int from_to(struct proof_moves *m, int least, int most)
{
    return proof_from_to(&m->chance, least, most);
}

/* ---- words ---- */

/* Of a frame that was given out, mostly a late one; or of none; or of one to come. */
static int64_t choose_frame(struct proof_moves *m)
{
    const int last = m->passed - 1, at = last - from_to(m, 0, last < 1 ? last : 1);
    switch (proof_chance(&m->chance, 16)) {
    case 0:
        return m->time[at] + from_to(m, -3, 3) * MS;
    case 1:
        return m->time[last] + 100 * MS; /* as far ahead as it may be */
    case 2:
        return m->time[last] + 100 * MS + 1;
    case 3:
        return m->time[at] - 500 * MS;
    default:
        return m->time[at];
    }
}

static void choose_update(struct proof_moves *m, struct proof_update *u)
{
    *u = (struct proof_update){.frame = choose_frame(m)};
    const int seconds = proof_chance(&m->chance, 16) == 0 ? -PAST : FUTURE;
    u->came = (m->now + (int64_t)seconds * 1000 * MS) * 1000;
    for (int i = 0; i < MOVERS; i++) {
        if (proof_chance(&m->chance, 4) == 0)
            continue;
        proof_mover_move(&m->mover[i], m->side, &m->chance);
        memcpy(u->thing[u->count].id, m->mover[i].id, sizeof m->mover[i].id);
        u->thing[u->count].shape = m->mover[i].shape;
        u->thing[u->count++].ttl = proof_chance(&m->chance, 3) ? 0 : from_to(m, 1, 40) * 25 * MS;
    }
}

static bool update(struct proof_moves *m, char ret_words[200])
{
    struct proof_update u;
    struct halo_region_update expected[PROOF_THINGS];
    struct halo_length corners[PROOF_THINGS][PROOF_CORNERS][2];
    struct halo_error err = {0};
    choose_update(m, &u);
    if (proof_expected_mixes(m->expected, &u))
        return true;
    proof_update_say(&u, expected, corners);
    const int must = proof_expected_update(m->expected, &u);
    const int got = halo_region_feed_update(m->feed, u.frame, expected, u.count, u.came, &err);
    *(must ? &m->counts.refused : &m->counts.updates) += 1;
    snprintf(ret_words, 200, "words about %lld us: %d (%.100s), not %d",
             (long long)(u.frame - m->now), got, err.text, must);
    return got == must;
}

/* ---- frames ---- */

static void pass(struct proof_moves *m, int upto)
{
    for (; m->passed < upto && m->passed < TIMES; m->passed++) {
        const int64_t time = m->time[m->passed];
        if (m->passed == 0 || proof_chance(&m->chance, 24) == 0) {
            halo_region_feed_begin(m->feed, time);
            proof_expected_begin(m->expected, time);
        }
        halo_region_feed_pass(m->feed, time);
        proof_expected_pass(m->expected, time);
    }
}

bool proof_moves_enter(struct proof_moves *m, int i, int64_t *ret_time, char ret_words[200])
{
    bool fine = true;
    struct proof_place *place = &m->place[i % PROOF_MOVES_LATE];
    pass(m, i + 1 + from_to(m, 0, BEHIND));
    const int updates = i == 0 ? 1 : from_to(m, 0, 2);
    for (int k = 0; k < updates && fine; k++)
        fine = update(m, ret_words);
    *ret_time = m->time[i];
    proof_expected_at(m->expected, *ret_time, halo_now_ns(), m->side[0], m->side[1], place);
    m->counts.known += place->known;
    m->counts.moving += place->moving;
    m->counts.held += place->held;
    return fine;
}

bool proof_moves_judge(const struct proof_moves *m, int i, struct proof_judge *judge)
{
    struct proof_region regions[2];
    const struct proof_place *place = &m->place[i % PROOF_MOVES_LATE];
    proof_place_regions(place, regions);
    return proof_judge_expect(judge, regions) && !place->unsure;
}

struct proof_moves_counts proof_moves_counts(const struct proof_moves *m)
{
    return m->counts;
}

struct halo_region_feed *proof_moves_feed(struct proof_moves *m)
{
    return m->feed;
}

/* ---- a case ---- */

static void choose_times(struct proof_moves *m)
{
    int64_t time = m->now - (int64_t)AGO * 1000 * MS;
    for (int i = 0; i < TIMES; i++) {
        m->time[i] = time;
        time += (int64_t)from_to(m, 1, 8) * BEAT;
        if (proof_chance(&m->chance, 40) == 0)
            time += 1500 * MS;
    }
}

struct proof_moves *proof_moves_open(unsigned number, int width, int height)
{
    static const double limits[] = {0.5, 1, 2};
    static const int holds[] = {0, 100, 400}; /* ms */
    struct proof_moves *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    m->chance = (struct proof_chance){number * 2246822519u + 7};
    m->side[0] = width;
    m->side[1] = height;
    m->now = halo_now_ns() / 1000;
    const int margin = from_to(m, 0, 2), hold = holds[proof_chance(&m->chance, 3)];
    const double limit = limits[proof_chance(&m->chance, 3)];
    m->expected = proof_expected_open(
        &(struct proof_expected_settings){margin, (int64_t)hold * MS, (int64_t)(limit * 1e6)});
    if (halo_region_feed_create(
            &m->feed,
            &(struct halo_region_feed_settings){
                .on = true, .margin = margin / 8.0, .hold = hold / 1e3, .limit = limit}) < 0)
        abort();
    for (int i = 0; i < MOVERS; i++)
        proof_mover_choose(&m->mover[i], i < MOVERS - 1 ? "abc"[i] : '\0', m->side, &m->chance);
    choose_times(m);
    return m;
}

void proof_moves_close(struct proof_moves *m)
{
    if (!m)
        return;
    halo_region_feed_destroy(m->feed);
    proof_expected_close(m->expected);
    free(m);
}
