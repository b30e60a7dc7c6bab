/* SPDX-License-Identifier: BSD-2-Clause
 * Finds the stream that makes engines die (suspects.h). */
#include "daemon/supervisor/suspects.h"

#include <stddef.h>

enum {
    MAX_SEARCHED = 2, /* extra engines of one device that may hold suspects */
    /* extra engines of all devices that may hold blamed streams: one is left for searching */
    MAX_CELLS = 3,
    NO_ENGINE = -1,
};

/* The death of an engine. */
struct death {
    struct halo_suspect *const *all;
    int count, device, extra;
};

static bool is_here(const struct death *d, const struct halo_suspect *m)
{
    return m->device == d->device && m->extra == d->extra && m->active;
}

static void move(struct halo_suspect *m, int extra)
{
    m->moved |= m->extra != extra;
    m->extra = extra;
}

/* Clears the records of all streams of the device that are not blamed. */
static void forget(const struct death *d)
{
    for (int i = 0; i < d->count; i++)
        if (d->all[i]->device == d->device && !d->all[i]->blamed) {
            d->all[i]->suspected = false;
            d->all[i]->deaths = 0;
        }
}

/* Streams that are neither suspected nor blamed return to the device's own engine: they have to
 * start again anyway. */
static void send_home(const struct death *d)
{
    for (int i = 0; i < d->count; i++)
        if (is_here(d, d->all[i]) && !d->all[i]->suspected && !d->all[i]->blamed)
            move(d->all[i], 0);
}

/* ---- extra engines ---- */

enum use { FREE, SEARCHED, CELL };

static enum use use_of(const struct death *d, int extra, bool *ret_own)
{
    enum use ret = FREE;
    *ret_own = true;
    for (int i = 0; i < d->count; i++) {
        const struct halo_suspect *m = d->all[i];
        if (m->extra != extra)
            continue;
        *ret_own = m->device == d->device;
        ret = m->blamed || ret == CELL ? CELL : SEARCHED;
    }
    return ret;
}

/* How many extra engines are used in this way: by this device, or by all. */
static int count_used(const struct death *d, enum use use, bool of_all)
{
    int count = 0;
    bool own;
    for (int i = 1; i <= HALO_EXTRA_ENGINES; i++)
        count += use_of(d, i, &own) == use && (of_all || own);
    return count;
}

/* An extra engine that this device uses in this way, other than the one that died. */
static int find(const struct death *d, enum use use)
{
    bool own;
    for (int i = 1; i <= HALO_EXTRA_ENGINES; i++)
        if (i != d->extra && use_of(d, i, &own) == use && own)
            return i;
    return NO_ENGINE;
}

/* Finds an engine for the half that is moved; preferably one that does not disturb cleared
 * streams. */
static int find_for_half(const struct death *d)
{
    int ret = find(d, SEARCHED);
    if (ret == NO_ENGINE && count_used(d, SEARCHED, false) < MAX_SEARCHED)
        ret = find(d, FREE);
    return ret == NO_ENGINE && d->extra ? 0 : ret;
}

/* Finds an engine for a blamed stream. It shares one with other blamed streams if otherwise none
 * would be left for searching. */
static int find_for_blamed(const struct death *d)
{
    const bool full = count_used(d, CELL, true) >= MAX_CELLS;
    int ret = full ? find(d, CELL) : d->extra ? d->extra : find(d, FREE);
    if (ret == NO_ENGINE)
        ret = d->extra ? d->extra : find(d, SEARCHED);
    return ret;
}

/* The same for a stream that leaves an engine that goes on. */
static int find_for_stalled(const struct death *d)
{
    const bool full = count_used(d, CELL, true) >= MAX_CELLS;
    return find(d, full ? CELL : FREE);
}

/* ---- conclusions from a death ---- */

/* Blames a stream. If it is on an extra engine, it stays there, and the others leave. */
static enum halo_verdict blame(const struct death *d, struct halo_suspect *m)
{
    const int place = find_for_blamed(d);
    forget(d);
    m->blamed = true;
    m->suspected = false;
    send_home(d);
    if (place != NO_ENGINE)
        move(m, place);
    return HALO_VERDICT_FOUND;
}

static enum halo_verdict halve(const struct death *d, int suspected)
{
    const int place = find_for_half(d);
    if (place == NO_ENGINE) {
        forget(d); /* the limit of simultaneous searches is reached */
        return HALO_VERDICT_NONE;
    }
    send_home(d);
    for (int i = 0, nth = 0; i < d->count; i++) {
        struct halo_suspect *m = d->all[i];
        if (is_here(d, m) && m->suspected && nth++ >= suspected / 2)
            move(m, place);
    }
    return HALO_VERDICT_HALVED;
}

static int count_here(const struct death *d)
{
    int count = 0;
    for (int i = 0; i < d->count; i++)
        count += is_here(d, d->all[i]);
    return count;
}

static bool is_searched(const struct death *d)
{
    for (int i = 0; i < d->count; i++)
        if (d->all[i]->device == d->device && d->all[i]->suspected)
            return true;
    return false;
}

/* Updates the suspects and returns how many are on this engine, and one of them. If there were
 * none, streams with enough deaths become suspects; otherwise suspects elsewhere are cleared. */
static int suspect(const struct death *d, struct halo_suspect **ret_one)
{
    const bool searched = is_searched(d);
    int count = 0;
    for (int i = 0; i < d->count; i++) {
        struct halo_suspect *m = d->all[i];
        if (m->device != d->device)
            continue;
        if (!is_here(d, m))
            m->suspected = false;
        else if (!searched)
            m->suspected = !m->blamed && m->deaths >= HALO_SUSPECT_DEATHS;
        count += m->suspected;
        *ret_one = m->suspected ? m : *ret_one;
    }
    return count;
}

enum halo_verdict halo_suspects_died(struct halo_suspect *const *all, int count, int device,
                                     int extra, struct halo_suspect *asker, uint64_t now)
{
    const struct death d = {all, count, device, extra};
    struct halo_suspect *one = NULL;
    for (int i = 0; i < count; i++) {
        all[i]->moved = false;
        if (is_here(&d, all[i]) && (!asker || asker == all[i])) {
            if (now - all[i]->died > HALO_SUSPECT_MS)
                all[i]->deaths = 0;
            all[i]->died = now;
            all[i]->deaths++;
        }
    }
    if (asker) {
        const bool parts = asker->deaths >= HALO_SUSPECT_DEATHS && !asker->blamed;
        return parts && count_here(&d) > 1 ? blame(&d, asker) : HALO_VERDICT_NONE;
    }
    const bool searched = is_searched(&d);
    const int suspected = suspect(&d, &one);
    if (suspected == 0) {
        if (searched)
            forget(&d);
        return searched ? HALO_VERDICT_SHARED : HALO_VERDICT_NONE;
    }
    if (suspected > 1)
        return halve(&d, suspected);
    if (searched || count_here(&d) > 1)
        return blame(&d, one);
    forget(&d); /* no other stream is affected */
    return HALO_VERDICT_NONE;
}

enum halo_verdict halo_suspects_stalled(struct halo_suspect *const *all, int count,
                                        struct halo_suspect *one)
{
    const struct death d = {all, count, one->device, one->extra};
    const int place = find_for_stalled(&d);
    if (place == NO_ENGINE)
        return HALO_VERDICT_NONE;
    one->blamed = true;
    one->suspected = false;
    one->extra = place;
    return HALO_VERDICT_FOUND;
}
