/* SPDX-License-Identifier: BSD-2-Clause
 * The listener of a live stream. */
#include "pipeline/stream/live_listener.h"

#include <libavutil/mem.h>

#include "config/base/thread.h"

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

/* Returns false if there is no such callback, or the stream was abandoned; end() must then not be
 * called. */
static bool begin(struct halo_live_listener *to, bool is_there)
{
    if (!is_there)
        return false;
    halo_lock(&to->lock);
    const bool ret = !to->abandoned;
    to->in_event += ret;
    halo_unlock(&to->lock);
    return ret;
}

static void end(struct halo_live_listener *to)
{
    halo_lock(&to->lock);
    to->in_event--;
    halo_unlock(&to->lock);
}

void halo_live_tell_state(struct halo_live_listener *to, enum halo_live_state state,
                          const struct halo_error *err)
{
    if (!begin(to, to->events->state))
        return;
    to->events->state(to->arg, state, err);
    end(to);
}

void halo_live_tell_begin(struct halo_live_listener *to, int encoding,
                          const struct halo_encoding_parameters *parameters)
{
    if (!begin(to, to->events->begin))
        return;
    to->events->begin(to->arg, encoding, parameters);
    end(to);
}

void halo_live_tell_packet(struct halo_live_listener *to, int encoding, const AVPacket *pkt)
{
    if (!begin(to, to->events->packet))
        return;
    to->events->packet(to->arg, encoding, pkt);
    end(to);
}

void halo_live_tell_card(struct halo_live_listener *to, int encoding, const AVPacket *pkt)
{
    if (!begin(to, to->events->card))
        return;
    to->events->card(to->arg, encoding, pkt);
    end(to);
}

void halo_live_tell_failed(struct halo_live_listener *to, int encoding,
                           const struct halo_error *err)
{
    if (!begin(to, to->events->failed))
        return;
    to->events->failed(to->arg, encoding, err);
    end(to);
}

void halo_live_tell_set(struct halo_live_listener *to, uint64_t id, const struct halo_error *err)
{
    if (!begin(to, to->events->set))
        return;
    to->events->set(to->arg, id, err);
    end(to);
}

void halo_live_tell_camera(struct halo_live_listener *to, const char *id)
{
    if (!begin(to, to->events->camera))
        return;
    to->events->camera(to->arg, id);
    end(to);
}

void halo_live_tell_snapshot(struct halo_live_listener *to, uint64_t id, const AVPacket *image,
                             const struct halo_error *err)
{
    if (!begin(to, to->events->snapshot))
        return;
    to->events->snapshot(to->arg, id, image, err);
    end(to);
}

void halo_live_tell_detector_want(struct halo_live_listener *to, enum halo_find find)
{
    if (!begin(to, to->events->detector.want))
        return;
    to->events->detector.want(to->arg, find);
    end(to);
}

void halo_live_tell_detector_broken(struct halo_live_listener *to, enum halo_find find,
                                    const char *why)
{
    if (!begin(to, to->events->detector.broken))
        return;
    to->events->detector.broken(to->arg, find, why);
    end(to);
}

void halo_live_tell_detector_unwanted(struct halo_live_listener *to, enum halo_find find)
{
    if (!begin(to, to->events->detector.unwanted))
        return;
    to->events->detector.unwanted(to->arg, find);
    end(to);
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
