/* SPDX-License-Identifier: BSD-2-Clause
 * Events for listeners (halo_supervisor_listen). Loop thread only. */
#ifndef HALO_SUP_EVENT_H
#define HALO_SUP_EVENT_H

struct halo_supervisor;

/* Sends an event. `name` is the name of a stream (or of an engine, if the event is "engine"), or
 * NULL if the event concerns the whole daemon. */
void sv_event(struct halo_supervisor *sv, const char *event, const char *name, const char *state,
              const char *why);

#endif
