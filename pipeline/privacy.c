/* SPDX-License-Identifier: BSD-2-Clause
 * Chains that a stream may not have (privacy.h). */
#include "pipeline/privacy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PLANES = 3, SIDE = 4096 }; /* 4:4:4, where sizes shrink in no plane */

/* What cannot be planned here will say so where it is used; it is not open. */
static bool is_idle(const struct halo_filter *filter, int index, struct halo_plane_plan *room)
{
    const struct halo_plane_info plane = {
        .index = index, .chroma = index > 0, .width = SIDE, .height = SIDE, .target.depth = 8};
    struct halo_error ignored = {0};
    return halo_filter_plan(filter, plane, room, &ignored) == 0 &&
           room->conv.kind == HALO_CONV_COPY;
}

bool halo_chain_is_open(const struct halo_chain *chain)
{
    struct halo_plane_plan *room = malloc(sizeof *room); /* large for a stack */
    bool open = true;
    for (int f = 0; f < chain->count && open; f++) {
        if (!strcmp(chain->filter[f].kind->name, "null"))
            continue;
        for (int p = 0; p < PLANES && open; p++)
            open = !room || is_idle(&chain->filter[f], p, room);
    }
    free(room);
    return open;
}

int halo_privacy_refuse(struct halo_error *err)
{
    return halo_fail_usage(err, "these filters let the raw picture through: use one that changes "
                                "it, or write privacy: off for this stream into the "
                                "configuration file");
}

int halo_chain_admit(struct halo_chain **ret, const char *text, enum halo_privacy privacy,
                     struct halo_error *err)
{
    struct halo_chain *chain;
    const int code = halo_chain_parse(&chain, strcmp(text, "none") ? text : "null", err);
    if (code)
        return code;
    if (privacy != HALO_PRIVACY_OFF && halo_chain_is_open(chain)) {
        halo_chain_destroy(chain);
        return halo_privacy_refuse(err);
    }
    *ret = chain;
    return 0;
}

int halo_chain_check_feed(const char *text, struct halo_error *err)
{
    struct halo_chain *chain = NULL;
    if (halo_chain_parse(&chain, text, NULL) < 0)
        return 0;
    const int code = halo_chain_refuse_feed(chain, err);
    halo_chain_destroy(chain);
    return code;
}

int halo_chain_check(const char *text, enum halo_privacy privacy, struct halo_error *err)
{
    if (strlen(text) > HALO_MOST_CHAIN)
        return halo_fail_usage(err, "the chain is longer than %d bytes", HALO_MOST_CHAIN);
    struct halo_chain *chain = NULL;
    const int code = halo_chain_admit(&chain, text, privacy, err);
    halo_chain_destroy(chain);
    return code;
}
