/* SPDX-License-Identifier: BSD-2-Clause
 * Which chains a stream's privacy: setting allows. Everything that accepts a chain for a stream of
 * the daemon calls these functions: the configuration file, its check and its reload, haloctl set,
 * and the engine, which trusts none of them. The gate checks once more, when it knows the frames'
 * format (gate.h). */
#ifndef HALO_PRIVACY_H
#define HALO_PRIVACY_H

#include "config/daemon.h"
#include "pipeline/filter/filter.h"

/* A chain, planned for one format of frames. */
struct halo_planned_chain {
    const struct halo_chain *chain;
    int planes;
    struct halo_plane_info info[HALO_MAX_PLANES];
    /* Returns the plan of filter f on plane p, valid until the next call. NULL: it cannot be
     * planned; such a chain is refused elsewhere, and is not judged here. */
    const struct halo_plane_plan *(*plan)(void *arg, int f, int p);
    void *arg;
};

/* Whether a chain leaves every plane of a frame unchanged (passthrough). */
enum halo_chain_does {
    HALO_CHAIN_FILTERS,   /* no: some filter changes some plane, or cannot be planned */
    HALO_CHAIN_OPEN_NULL, /* yes, explicitly: all its filters are null */
    HALO_CHAIN_IDLE,      /* yes, by accident: with these options its filters change nothing */
};
enum halo_chain_does halo_planned_chain_does(const struct halo_planned_chain *planned);
enum halo_chain_does halo_planned_filter_does(const struct halo_planned_chain *planned, int f);

/* Whether this privacy setting allows the chain: 0, or -ENOMEM, or -EINVAL with err filled with a
 * sentence for the user (for strict it names the plane and what is left of it).
 *
 * strict: on every plane, at most a quarter of the detail (remains.h) is left, or half on chroma
 * planes that are smaller than luma. This is required for each region of the chain, of its filters
 * together with those that apply everywhere; for a chain without regions, of all its filters.
 * changed: some filter changes some plane.
 * off: every chain is allowed. */
int halo_privacy_judge(const struct halo_planned_chain *planned, enum halo_privacy privacy,
                       struct halo_error *err);

/* Whether filters leave as little detail of plane p as strict requires. *ret_all: those that apply
 * everywhere. ret_regions[chain->count]: at the index of each region's first filter, those together
 * with all filters of that region; false at all other indices. 0, or -ENOMEM with err filled. */
int halo_privacy_hides(const struct halo_planned_chain *planned, int p, bool *ret_all,
                       bool *ret_regions, struct halo_error *err);

/* Plans a chain before the frames' format is known, for three planes of 8 bits, 4:2:0 or 4:4:4.
 * *ret must not move; free(ret->arg) frees it. 0 or -ENOMEM. */
int halo_chain_plan_assumed(struct halo_planned_chain *ret, const struct halo_chain *chain,
                            int width, int height, bool small_chroma);

/* halo_planned_chain_does() before the frames' format is known. 0 or -ENOMEM with err filled. Any
 * thread. */
int halo_chain_does(const struct halo_chain *chain, enum halo_chain_does *ret,
                    struct halo_error *err);

/* halo_chain_parse(), but "none" alone means null, and a chain that privacy does not allow is
 * refused (-EINVAL, with err in words for the user). The chain is judged for large 8-bit frames,
 * 4:2:0 if privacy is strict, otherwise 4:4:4. */
int halo_chain_admit(struct halo_chain **ret, const char *text, enum halo_privacy privacy,
                     struct halo_error *err);

/* The same for callers that do not need the chain, with the signature that struct
 * halo_daemon_checks requires. Also refuses a text longer than HALO_MAX_CHAIN. */
int halo_chain_check(const char *text, enum halo_privacy privacy, struct halo_error *err);

/* halo_chain_refuse_feed() for a text; 0 if it cannot be parsed, which is refused elsewhere. */
int halo_chain_check_feed(const char *text, struct halo_error *err);

#endif
