/* SPDX-License-Identifier: BSD-2-Clause
 * Which chains a stream's privacy: setting allows. Every path by which a stream of the daemon gets
 * a chain calls these functions: loading, checking and reloading the configuration file, haloctl
 * set, and the engine, which trusts none of the others. The gate checks again when it knows the
 * frames' format (gate.h). */
#ifndef HALO_PRIVACY_H
#define HALO_PRIVACY_H

#include "config/daemon.h"
#include "pipeline/filter/filter.h"

/* A chain, planned for one frame format. */
struct halo_planned_chain {
    const struct halo_chain *chain;
    int planes;
    struct halo_plane_info info[HALO_MAX_PLANES];
    /* Returns the plan of filter f on plane p, which is valid until the next call, or NULL if the
     * filter cannot be planned. A chain that cannot be planned is refused elsewhere, and is not
     * judged here. */
    const struct halo_plane_plan *(*plan)(void *arg, int f, int p);
    void *arg;
};

/* Does a chain leave every plane of a frame unchanged (passthrough)? */
enum halo_chain_does {
    HALO_CHAIN_FILTERS,   /* no: a filter changes at least one plane, or cannot be planned */
    HALO_CHAIN_OPEN_NULL, /* yes, explicitly: all its filters are null */
    HALO_CHAIN_IDLE,      /* yes, by accident: with these options its filters change nothing */
};
enum halo_chain_does halo_planned_chain_does(const struct halo_planned_chain *planned);
enum halo_chain_does halo_planned_filter_does(const struct halo_planned_chain *planned, int f);

/* Checks whether this privacy setting allows the chain. Returns 0 if the chain is allowed, -EINVAL
 * if it is not, or -ENOMEM. After -EINVAL, err holds a message for the user; if the setting is
 * strict, the message names the plane and the detail that remains.
 *
 *   strict    Of every plane, an inverse filter must not bring back more than four fifths
 *             (residual.h), or nine tenths of chroma planes that are smaller than luma; of
 *             blocks, a quarter, or half. In a chain with regions, this limit on
 *             detail must hold in each region, for the region's filters together with those that
 *             apply everywhere. In a chain without regions, the limit on detail must hold for all
 *             filters together.
 *             A mask image, if it has been read, must be white somewhere: in a gray one, it is not
 *             clear what it hides.
 *   anonymous The same as strict, and what is left of each region has a bound (disclosure.h).
 *   changed   At least one filter must change at least one plane.
 *   off       Every chain is allowed. */
int halo_privacy_judge(const struct halo_planned_chain *planned, enum halo_privacy privacy,
                       struct halo_error *err);

/* Whether the setting limits the detail that may be left: strict and anonymous. */
bool halo_privacy_limits(enum halo_privacy privacy);

/* Computes which filters hide plane p, that is, leave as little detail of it as "privacy: strict"
 * requires. *ret_all is set to true if the filters that apply everywhere hide the plane.
 * ret_regions is an array of chain->count elements: the element at the index of a region's first
 * filter is set to true if all filters of that region, together with those that apply everywhere,
 * hide the plane; all other elements are set to false. Returns 0, or -ENOMEM with err filled. */
int halo_privacy_hides(const struct halo_planned_chain *planned, int p, bool *ret_all,
                       bool *ret_regions, struct halo_error *err);

/* Plans a chain before the frames' format is known, for frames with three 8-bit planes: 4:2:0 if
 * small_chroma is true, otherwise 4:4:4. *ret must not be moved or copied; free(ret->arg) frees its
 * memory. Returns 0 or -ENOMEM. */
int halo_chain_plan_assumed(struct halo_planned_chain *ret, const struct halo_chain *chain,
                            int width, int height, bool small_chroma);

/* Does the same as halo_planned_chain_does(), before the frames' format is known. Returns 0, or
 * -ENOMEM with err filled. Any thread. */
int halo_chain_does(const struct halo_chain *chain, enum halo_chain_does *ret,
                    struct halo_error *err);

/* Parses a chain as halo_chain_parse() does, except that the text "none" stands for the filter
 * null. If privacy does not allow the chain, returns -EINVAL with a message for the user in err.
 * The chain is judged for large 8-bit frames, in 4:2:0 if privacy is strict or anonymous,
 * otherwise in 4:4:4. */
int halo_chain_admit(struct halo_chain **ret, const char *text, enum halo_privacy privacy,
                     struct halo_error *err);

/* Checks text as halo_chain_admit() does, for callers that do not need the parsed chain; struct
 * halo_daemon_checks requires this signature. Also refuses text that is longer than HALO_MAX_CHAIN
 * bytes. */
int halo_chain_check(const char *text, enum halo_privacy privacy, struct halo_error *err);

/* Checks that each filter of the chain by itself hides what it applies to, as strict requires. So
 * none of them can restore detail, wherever the others apply: halo_chain_check() allows, for
 * example, a filter that sharpens the whole frame in a chain whose region is hidden. Returns 0, or
 * -EINVAL or -ENOMEM with err filled. */
int halo_chain_check_each(const char *text, struct halo_error *err);

/* Does the same as halo_chain_refuse_feed(), for a chain that is given as text. Returns 0 if the
 * text cannot be parsed; such text is refused elsewhere. */
int halo_chain_check_feed(const char *text, struct halo_error *err);

#endif
