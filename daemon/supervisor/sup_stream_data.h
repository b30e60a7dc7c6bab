/* SPDX-License-Identifier: BSD-2-Clause
 * The data of a stream that the supervisor's files share (sup_data.h). Loop thread only. */
#ifndef HALO_SUP_STREAM_DATA_H
#define HALO_SUP_STREAM_DATA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "config/encoding.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_state.h"

struct halo_camera_out;
struct halo_feed;
struct halo_supervisor;
struct halo_viewers;
struct sv_ring;

struct sv_outlet {
    struct sv_stream *stream;
    int encoding;
    struct halo_feed *feed; /* NULL: nobody can take it */
    struct sv_ring *ring;   /* NULL: the engine has not given one yet */
    bool watched;
    char why[600]; /* it does not work, "" */
};

struct sv_stream {
    struct halo_supervisor *sv;
    struct sv_stream *next;
    char name[68];
    struct halo_stream_settings settings; /* in force, live changes too; its own */
    struct halo_stream_settings *coming;  /* replaces them once the stream is out; NULL */
    char *camera_is; /* what its number meant when it was first opened (link.h), NULL */
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS]; /* encoding of each output */
    int encodings;
    struct sv_outlet outlet[HALO_MAX_ENCODINGS];
    struct halo_viewers *viewers[HALO_MAX_OUTPUTS];
    /* Stay while it is restarted, and may be those of settings before; NULL: none. */
    struct halo_camera_out *camera[HALO_MAX_OUTPUTS];
    bool open; /* feeds and viewers are there */

    struct sv_placement place;
    bool recording; /* haloctl record */
    enum sv_state state;
    char why[600];
    bool in_line;     /* waits, for its turn to open its source again */
    uint64_t started; /* when it began to run, for uptime; 0 */
    int starts;       /* on an engine */

    json_t *masks;           /* sv_masks_of() what an engine has read; NULL: nothing */
    json_t *regions;         /* a list of what is to be sent; NULL: nothing */
    uint64_t regions_sent;   /* when something was */
    uint64_t regions_logged; /* when the log last had a word of its detector; 0 */
    bool regions_shown;      /* it does not hide everything for want of a detector */
    bool regions_said;       /* what the log said of that last */

    struct halo_link_stats stats;
    char degradation[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS]; /* as it was told; "" */
    char no_memory[HALO_DEGRADATION_WORDS]; /* the GPU's is full, says the engine; "" */
    uint64_t no_memory_since;
};

static inline bool sv_stream_is_up(const struct sv_stream *stream)
{
    return stream->state == SV_RUNNING || stream->state == SV_OVERLOADED;
}

static inline bool sv_stream_has_own_engine(const struct sv_stream *stream)
{
    return stream->settings.own_engine || stream->place.apart;
}

#endif
