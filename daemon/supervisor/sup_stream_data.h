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
#include "daemon/supervisor/sup_hides.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_state.h"

struct halo_camera_out;
struct halo_feed;
struct halo_supervisor;
struct halo_viewers;
struct sv_ring;

struct sv_packet_feed {
    struct sv_stream *stream;
    int encoding;
    struct halo_feed *feed; /* NULL: this encoding cannot be viewed */
    struct sv_ring *ring;   /* NULL: the engine has not provided a ring yet */
    bool watched;
    char why[600]; /* why the encoding does not work, or "" */
};

struct sv_stream {
    struct halo_supervisor *sv;
    struct sv_stream *next;
    char name[68];
    /* the settings in force, including changes made while running; owned */
    struct halo_stream_settings settings;
    struct sv_hides hides; /* the parts of settings.filters, or of coming->filters */
    int64_t revision;      /* the last one given out, also to changes not in force yet */
    /* replaces `settings` once the stream has left its engine; NULL: no new settings */
    struct halo_stream_settings *coming;
    char *camera_is; /* identity of the camera that the stream opened first (link.h), or NULL */
    struct halo_encoding encoding[HALO_MAX_ENCODINGS];
    int of[HALO_MAX_OUTPUTS]; /* for each output, the index of its encoding */
    int encodings;
    struct sv_packet_feed packet_feed[HALO_MAX_ENCODINGS];
    struct halo_viewers *viewers[HALO_MAX_OUTPUTS];
    /* The virtual camera of each output (NULL: none). Virtual cameras are kept while the stream is
     * restarted, so they may have been opened with earlier settings. */
    struct halo_camera_out *camera[HALO_MAX_OUTPUTS];
    bool open;                       /* the feeds are open, and all outputs that can be opened */
    bool served[HALO_MAX_OUTPUTS];   /* the output is open */
    char *refused[HALO_MAX_OUTPUTS]; /* why it cannot be opened; NULL: it can, as far as is known */
    uint64_t serve_again; /* when outputs are looked at again; only if the stream is open */

    struct sv_placement place;
    bool recording; /* the stream writes its output files (haloctl record) */
    enum sv_state state;
    char why[600];
    bool in_line;     /* the stream is waiting for its turn to open its source again */
    uint64_t started; /* when the stream began to run, for the uptime; 0: it is not running */
    int starts;       /* how often the stream was started in an engine */

    /* result of sv_masks_of() for the settings that were sent to an engine; NULL: not sent yet */
    json_t *masks;
    json_t *regions;         /* queue of a detector's updates for the engine; NULL: empty */
    uint64_t regions_sent;   /* when updates were last sent to the engine */
    uint64_t regions_logged; /* when the log last mentioned the detector; 0: never */
    bool regions_shown; /* usable regions arrive from the detector, so not everything is hidden */
    bool regions_said;  /* the last value of regions_shown that was logged */

    struct halo_link_stats stats;
    /* for each value of enum halo_degradation: why the stream is degraded in this way, or "" */
    char degradation[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS];
    /* the engine's report that the GPU's memory is full, or "" */
    char no_memory[HALO_DEGRADATION_WORDS];
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
