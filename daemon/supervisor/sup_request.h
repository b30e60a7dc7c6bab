/* SPDX-License-Identifier: BSD-2-Clause
 * Requests to engines whose answers clients are waiting for. Loop thread only. */
#ifndef HALO_SUP_REQUEST_H
#define HALO_SUP_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/daemon.h"
#include "daemon/supervisor/supervisor.h"

enum sv_request_kind { SV_SET, SV_CONTROL, SV_SNAPSHOT };

struct sv_hides;
struct sv_stream;

/* A change of a stream's chains. Additions are made to all of them. */
struct sv_change {
    const char *base; /* the new base of the stream's own chain (sup_hides.h); NULL: as before */
    const char *id, *hide; /* the addition to set; "" removes it. NULL: none changes */
    /* new settings from a reload, whose filters for the stream's renditions are set at the same
     * time; NULL: the change comes from a client */
    const struct halo_stream_settings *file;
};

/* Checks whether the stream accepts the whole chain. */
int sv_request_check(const struct sv_stream *stream, const char *filters, struct halo_error *err);
/* Changes the stream's chain. If the stream is not in an engine, the filters take effect at its
 * next start. */
int sv_request_set(struct sv_stream *stream, const struct sv_change *change, halo_reply *reply,
                   void *arg, struct halo_error *err);
/* Returns the additions that were last requested, also if they are not in force yet; borrowed. */
const struct sv_hides *sv_request_hides(const struct sv_stream *stream);
/* Changes the bases in all requested changes of filters that are not in force yet, because these
 * settings replace the stream's, and gives them and the stream new revisions. Returns 0 or
 * -ENOMEM. */
int sv_request_rebase(struct sv_stream *stream, const struct halo_stream_settings *settings);
/* Returns whether a requested change of filters is not in force yet. */
bool sv_request_sets(const struct sv_stream *stream);
/* Returns whether a requested change of bases is waiting until the engine has released the
 * stream. */
bool sv_request_waits(const struct sv_stream *stream);
/* Refuses such changes, because of new settings. Changes of added filters keep waiting. */
void sv_request_refuse_waiting(struct sv_stream *stream, const char *why);
int sv_request_control(struct sv_stream *stream, const struct halo_control_value *to,
                       halo_reply *reply, void *arg, struct halo_error *err);
int sv_request_snapshot(struct sv_stream *stream, const struct halo_shot *shot, halo_reply *reply,
                        void *arg, struct halo_error *err);
/* An engine's answer to a request. */
struct sv_answer {
    uint64_t id;
    const char *why;        /* NULL: it was done; otherwise why not */
    bool ended;             /* it was not done because the stream has ended */
    const json_t *coverage; /* SV_SET: of the new chains; NULL: not known yet */
    int fd;                 /* -1: none */
};

/* Handles an answer, and closes its descriptor. An answer of kind SV_SET may also belong to a
 * request of kind SV_CONTROL. */
void sv_request_answer(struct sv_stream *stream, enum sv_request_kind kind,
                       const struct sv_answer *answer);
/* Ends all requests of a stream that has left its engine. Changes of filters that are to take
 * effect at its next start are put in force; the others are refused. */
void sv_request_fail_all(struct sv_stream *stream, const char *why);
void sv_request_tick(struct halo_supervisor *sv);

#endif
