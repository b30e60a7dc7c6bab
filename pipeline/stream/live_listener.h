/* SPDX-License-Identifier: BSD-2-Clause
 * The listener of a live stream holds the callbacks for its events. All threads of the stream call
 * them until the stream is abandoned.
 *
 * It has no single owner: every thread calls the callbacks, and the loop stops that when it
 * abandons the stream. The lock guards the number of running callbacks. It is never held during a
 * callback. It may be acquired under any other lock; no other lock is acquired under it. */
#ifndef HALO_LIVE_LISTENER_H
#define HALO_LIVE_LISTENER_H

#include "config/base/thread.h"
#include "pipeline/stream/live.h"

struct halo_live_listener {
    const struct halo_live_events *events; /* this and the next field are constant */
    void *arg;
    struct halo_mutex lock; /* guards the fields below; only live_listener.c uses it */
    int in_event;           /* number of threads that are in a callback now */
    bool abandoned;         /* no more callbacks are started */
};

/* Creates a listener; events and arg must outlive it. Returns NULL if out of memory. */
struct halo_live_listener *halo_live_listener_create(const struct halo_live_events *events,
                                                     void *arg);
void halo_live_listener_destroy(struct halo_live_listener *to); /* NULL: does nothing */

/* The callbacks with these names (live.h). All events pass through here, so an abandoned stream
 * sends no events. Any thread. */
void halo_live_tell_state(struct halo_live_listener *to, enum halo_live_state state,
                          const struct halo_error *err);
void halo_live_tell_begin(struct halo_live_listener *to, int encoding,
                          const struct halo_encoding_parameters *begin);
void halo_live_tell_packet(struct halo_live_listener *to, int encoding, const AVPacket *pkt);
void halo_live_tell_card(struct halo_live_listener *to, int encoding, const AVPacket *pkt);
void halo_live_tell_failed(struct halo_live_listener *to, int encoding,
                           const struct halo_error *err);
void halo_live_tell_set(struct halo_live_listener *to, uint64_t id, const struct halo_error *err);
void halo_live_tell_camera(struct halo_live_listener *to, const char *id);
void halo_live_tell_snapshot(struct halo_live_listener *to, uint64_t id, const AVPacket *image,
                             const struct halo_error *err);
void halo_live_tell_detector_want(struct halo_live_listener *to, enum halo_find find);
void halo_live_tell_detector_broken(struct halo_live_listener *to, enum halo_find find,
                                    const char *why);
void halo_live_tell_detector_unwanted(struct halo_live_listener *to, enum halo_find find);

/* Prevents all further callbacks. Sets *ret_first to whether this is the first call of this
 * function. Returns false if a callback is running now. */
bool halo_live_listener_abandon(struct halo_live_listener *to, bool *ret_first);

#endif
