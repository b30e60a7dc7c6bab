/* SPDX-License-Identifier: BSD-2-Clause
 * The listener of a live stream. */
#include "pipeline/live/live_listener.h"

#include <libavutil/mem.h>

#include "pipeline/base/thread.h"

struct halo_live_listener *halo_live_listener_create(const struct halo_live_events *events,
                                                     void *arg)
{
    struct halo_live_listener *to = av_mallocz(sizeof *to);
    if (!to)
        return NULL;
    to->events = events;
    to->arg = arg;
    return to;
}

void halo_live_listener_destroy(struct halo_live_listener *to)
{
    av_free(to);
}

bool halo_live_event_begin(struct halo_live_listener *to)
{
    halo_lock(&to->lock);
    const bool ret = !to->abandoned;
    to->in_event += ret;
    halo_unlock(&to->lock);
    return ret;
}

void halo_live_event_end(struct halo_live_listener *to)
{
    halo_lock(&to->lock);
    to->in_event--;
    halo_unlock(&to->lock);
}

bool halo_live_listener_abandon(struct halo_live_listener *to, bool *ret_first)
{
    halo_lock(&to->lock);
    const bool silent = !to->in_event;
    *ret_first = !to->abandoned;
    to->abandoned = true;
    halo_unlock(&to->lock);
    return silent;
}
