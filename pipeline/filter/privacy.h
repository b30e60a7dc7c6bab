/* SPDX-License-Identifier: BSD-2-Clause
 * What a stream's privacy: lets its chains be. Everything that takes a chain for a stream of the
 * daemon comes here: the file, its check and its reload, haloctl set, and the engine, which trusts
 * none of them. The gate looks once more, when it knows the pictures (gate.h). */
#ifndef HALO_PRIVACY_H
#define HALO_PRIVACY_H

#include "config/daemon.h"
#include "pipeline/filter/filter.h"

/* A chain that is planned for pictures of some kind. */
struct halo_planned_chain {
    const struct halo_chain *chain;
    int planes;
    struct halo_plane_info info[HALO_MAX_PLANES];
    /* Filter f on plane p; valid until the next call. NULL: it cannot be planned, which is refused
     * elsewhere, and is not judged here. */
    const struct halo_plane_plan *(*plan)(void *arg, int f, int p);
    void *arg;
};

/* Whether frames leave as they came, on every plane. */
enum halo_chain_does {
    HALO_CHAIN_FILTERS,   /* no: some filter changes some plane, or cannot be planned */
    HALO_CHAIN_OPEN_NULL, /* yes, and all its filters are null, which says so openly */
    HALO_CHAIN_IDLE,      /* yes, by accident: the options of its filters leave nothing to do */
};
enum halo_chain_does halo_planned_chain_does(const struct halo_planned_chain *planned);
enum halo_chain_does halo_planned_filter_does(const struct halo_planned_chain *planned, int f);

/* Whether the chain may be one of a stream with this privacy: 0, or -EINVAL with a sentence for the
 * user that names the plane and says what is left of it, or -ENOMEM.
 *
 * strict: on every plane, detail (remains.h) is at most a quarter of what it was, or half on planes
 * of chroma that are smaller than luma. That is asked of the filters that apply everywhere, and of
 * these with those of each region, for every region of the chain.
 * changed: some filter changes some plane.
 * off: all are. */
int halo_privacy_judge(const struct halo_planned_chain *planned, enum halo_privacy privacy,
                       struct halo_error *err);

/* Of plane p: *ret_all, whether the filters that apply everywhere leave as little as strict wants,
 * and of the first filter of each region whether these do with all of that region
 * (ret_regions[chain->count]; false for all others). 0, or -ENOMEM with err filled. */
int halo_privacy_hides(const struct halo_planned_chain *planned, int p, bool *ret_all,
                       bool *ret_regions, struct halo_error *err);

/* For pictures that nobody has seen: three planes of 8 bits, 4:2:0 or 4:4:4. *ret must not move;
 * free(ret->arg) ends it. -ENOMEM. */
int halo_chain_plan_assumed(struct halo_planned_chain *ret, const struct halo_chain *chain,
                            int width, int height, bool small_chroma);

/* The same of pictures that nobody has seen. 0 or -ENOMEM with err filled. Any thread. */
int halo_chain_does(const struct halo_chain *chain, enum halo_chain_does *ret,
                    struct halo_error *err);

/* halo_chain_parse(), where "none" alone is null, too; a chain that privacy does not allow is
 * refused in words for the user, -EINVAL. It is judged as for large 8-bit pictures, 4:2:0 where
 * privacy is strict. */
int halo_chain_admit(struct halo_chain **ret, const char *text, enum halo_privacy privacy,
                     struct halo_error *err);

/* The same for who does not need the chain, as struct halo_daemon_checks wants it: a text longer
 * than HALO_MAX_CHAIN is refused, too. */
int halo_chain_check(const char *text, enum halo_privacy privacy, struct halo_error *err);

/* halo_chain_refuse_feed() of a text; one that is no chain is not refused here. */
int halo_chain_check_feed(const char *text, struct halo_error *err);

#endif
