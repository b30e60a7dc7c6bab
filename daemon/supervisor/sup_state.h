/* SPDX-License-Identifier: BSD-2-Clause
 * The state of a stream as shown in the log, in events and in the status. A stream's placement
 * (sup_place.h) describes where the stream is and whether it should run. Loop thread only. */
#ifndef HALO_SUP_STATE_H
#define HALO_SUP_STATE_H

enum sv_state {
    SV_STARTING,
    SV_RUNNING,
    SV_OVERLOADED, /* running, but too slow for the frame rate */
    SV_WAITING,
    SV_RESTARTING,
    SV_ENDED,
    SV_FAILED,
    SV_STOPPED,
    SV_DISABLED,
};
extern const char *const sv_state_names[];

struct sv_stream;

/* Sets the stream's state and the reason for it. If the state or the reason has changed, the change
 * is logged and sent as an event. `why` may be NULL, which means "". */
void sv_stream_state(struct sv_stream *stream, enum sv_state state, const char *why);

#endif
