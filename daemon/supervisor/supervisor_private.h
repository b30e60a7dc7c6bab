/* SPDX-License-Identifier: BSD-2-Clause
 * What the supervisor's files share.
 *
 *   supervisor.c     its life, the clock, what others may ask for
 *   sup_list.c       the streams that there are
 *   sup_stream.c     how a stream comes to where it is wanted
 *   sup_state.c      its state, as it is told
 *   sup_place.c      its wish, its place, and what it met there
 *   sup_feed.c       its feeds and viewers
 *   sup_ring.c       the rings that fill them
 *   sup_drain.c      which are read in turns
 *   sup_camera.c     its virtual cameras
 *   sup_engine.c     engines: a name, perhaps a process
 *   sup_choose.c     which of them a stream belongs to
 *   sup_ready.c      one has begun
 *   sup_lost.c       one is lost
 *   sup_gpu.c        which GPU a stream without a number goes to
 *   sup_suspects.c   which stream is the reason why engines end
 *   sup_process.c    their processes
 *   sup_end.c        how these end
 *   sup_environment.c  what they know of the service manager
 *   sup_message.c    what these say
 *   sup_files.c      which files they may open
 *   sup_hook.c       programs for the files that they finished
 *   sup_stray.c      what they do that no engine does
 *   sup_request.c    questions to an engine that somebody waits for
 *   sup_reload.c     new settings
 *   sup_masks.c      the files of its masks
 *   sup_status.c     all of it as JSON
 *   sup_event.c      its changes, for those that listen
 *   sup_regions.c    what detectors tell of its pictures
 *   sup_lack.c       what streams lack on this machine
 *   sup_words.c      what the service manager is told of it
 *
 * A stream has a wish and a place (sup_place.h); sv_stream_step() brings the place to the wish,
 * and is called whenever one of the two changed, and by the clock. So nothing is forgotten where an
 * engine dies between two steps.
 *
 * Times are milliseconds of CLOCK_MONOTONIC (uv_now). Loop thread only. */
#ifndef HALO_SUPERVISOR_PRIVATE_H
#define HALO_SUPERVISOR_PRIVATE_H

#include "config/encoding.h"
#include "config/log.h"
#include "config/output_kinds.h"
#include "daemon/link/link.h"
#include "daemon/link/link_stats.h"
#include "daemon/supervisor/sup_event.h"
#include "daemon/supervisor/sup_place.h"
#include "daemon/supervisor/sup_process.h"
#include "daemon/supervisor/sup_state.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/view/camera_out.h"
#include "daemon/view/viewers.h"
#include "pipeline/output/packet_ring.h"

enum sv_engine_state { SV_ENGINE_STARTING, SV_ENGINE_RUNNING, SV_ENGINE_PAUSED };

struct sv_engine {
    struct halo_supervisor *sv;
    struct sv_engine *next;
    char name[96];              /* "cpu", "gpu0", "cpu:STREAM"; "gpu": see below */
    int gpu;                    /* its number; -1: of the CPU, or it is not known which */
    bool choosing;              /* it is to say which GPUs there are, then it gets its number */
    uint64_t asked;             /* for that, and it has not said it yet; 0: no */
    struct sv_process *process; /* NULL: PAUSED */
    enum sv_engine_state state;
    struct sv_backoff backoff;
    int restarts;
    int device_failures; /* ends with status 75 in a row */
    bool stands;         /* is about to be lost for that */
    int stood;           /* lost for it, in a row */
    uint64_t idle_since; /* without streams; 0: has some */
    uint64_t room_after; /* when the next stream without room may try again */
    char why[600];       /* of the last failure, "" */
    int64_t ignored;     /* messages that made no sense, and connections */
    struct halo_link_gpu gpu_memory[HALO_LINK_GPUS];
    int gpus; /* of them, that it uses now */
};

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
    struct halo_encoding encoding[HALO_MOST_ENCODINGS];
    int of[HALO_MOST_OUTPUTS]; /* encoding of each output */
    int encodings;
    struct sv_outlet outlet[HALO_MOST_ENCODINGS];
    struct halo_viewers *viewers[HALO_MOST_OUTPUTS];
    /* Stay while it is restarted, and may be those of settings before; NULL: none. */
    struct halo_camera_out *camera[HALO_MOST_OUTPUTS];
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
    bool regions_told;       /* it does not hide everything for want of a detector */
    bool regions_said;       /* what the log said of that last */

    struct halo_link_stats stats;
    char lack[HALO_LACKS][HALO_LACK_WORDS]; /* as it was told; "" */
    char no_memory[HALO_LACK_WORDS];        /* the GPU's is full, says the engine; "" */
    uint64_t no_memory_since;
};

/* What the machine's GPUs have to spare, as an engine saw it. */
struct sv_gpus {
    struct halo_device_load load[HALO_LINK_GPUS];
    int count;
    uint64_t known; /* when; 0: never */
};

struct halo_supervisor {
    uv_loop_t *loop;
    const char *program;
    uv_exit_cb on_exit;                   /* of an engine's process: sup_end.c ... */
    const struct halo_link_ops *link_ops; /* ... and its words: sup_message.c */
    struct halo_daemon_settings *settings;
    struct sv_stream *streams;
    struct sv_engine *engines;
    struct sv_process *processes;
    struct sv_request *requests;
    struct halo_listener *listeners;
    struct sv_gpus gpus;
    uv_timer_t tick;
    uv_idle_t drain;    /* runs while rings have more */
    uv_timer_t regions; /* runs while some wait */
    int handles;        /* of these, that are not closed */
    AVPacket *packet;
    uint64_t ticked, next_id;
    double since; /* Unix time */
    bool stopping;
    uint64_t stop_deadline;
    void (*stopped)(void *arg);
    void *stopped_arg;
    int abandoned; /* processes that did not die in time */
    pid_t *dead;   /* engines that may have left a connection to the control socket */
    int deads;
};

static inline uint64_t sv_now(const struct halo_supervisor *sv)
{
    return uv_now(sv->loop);
}

/* ---- sup_list.c ---- */
int sv_stream_create(struct halo_supervisor *sv, const struct halo_stream_settings *settings,
                     struct halo_error *err);
struct sv_stream *sv_stream_find(struct halo_supervisor *sv, const char *name,
                                 struct halo_error *err); /* NULL: none; err names the nearest */
void sv_stream_destroy(struct sv_stream *stream);         /* unlinks it */
struct halo_stream_settings *sv_settings_copy(const struct halo_stream_settings *from,
                                              struct halo_error *err); /* NULL: err says why */
void sv_settings_free(struct halo_stream_settings *settings);

/* ---- sup_stream.c ---- */
/* May free it, where it is removed, and no other one. */
void sv_stream_step(struct sv_stream *stream);
void sv_stream_failed(struct sv_stream *stream,
                      const char *why); /* by itself: its policy decides */
void sv_stream_ended(struct sv_stream *stream);
void sv_stream_gone(struct sv_stream *stream);                  /* as the engine says */
void sv_stream_lost(struct sv_stream *stream, const char *why); /* its engine has died */
void sv_stream_start(struct sv_stream *stream); /* by hand: failures so far are forgotten */
void sv_stream_stop(struct sv_stream *stream);
void sv_stream_again(struct sv_stream *stream);
void sv_stream_remove(struct sv_stream *stream); /* may free it */
/* Takes settings over as what replaces the present ones. */
void sv_stream_replace(struct sv_stream *stream, struct halo_stream_settings *settings);
void sv_stream_tell_recording(struct sv_stream *stream);
void sv_stream_stats(struct sv_stream *stream, const json_t *from);

static inline bool sv_stream_is_up(const struct sv_stream *stream)
{
    return stream->state == SV_RUNNING || stream->state == SV_OVERLOADED;
}

static inline bool sv_stream_has_own_engine(const struct sv_stream *stream)
{
    return stream->settings.own_engine || stream->place.apart;
}

/* ---- sup_suspects.c ---- */
/* Engines that share a reason die one after the other: a stream that was moved to one that runs
 * waits whether that is among them, and is not suspected for it. */
bool sv_suspect_may_enter(const struct sv_stream *stream);
/* A thread of it is stuck in its engine, which goes on without it: it comes back elsewhere. */
void sv_suspect_stalled(struct sv_stream *stream);
/* In a way of which a stream may be the reason: first, any of those that were `active` in it.
 * asker: the name of the one that asked for it, "". Those to be moved have no engine then. */
void sv_suspect_engine_died(struct sv_engine *engine, const struct sv_stream *first,
                            const char *asker);

/* ---- sup_regions.c ---- */
/* list: borrowed, of the control socket. 0, or -errno with err filled. */
int sv_regions_tell(struct sv_stream *stream, int64_t picture_us, json_t *list,
                    struct halo_error *err);
void sv_regions_forget(struct sv_stream *stream); /* it is on no engine */
void sv_regions_look(struct sv_stream *stream);   /* after its numbers have come */
json_t *sv_regions_status(const struct sv_stream *stream);

/* ---- sup_masks.c ---- */
/* What the files are like that the masks of filters come from: equal to what was said before as
 * long as none of them was changed. The caller owns it. May block on those files. */
json_t *sv_masks_of(const struct halo_stream_settings *settings);
void sv_masks_add(json_t *files, const char *filters); /* those of one chain */
/* Before what names them is sent. May block on those files. */
void sv_masks_send(struct sv_engine *engine, const json_t *masks);

/* ---- sup_lack.c ---- */
void sv_lack_look(struct sv_stream *stream); /* after anything that may have changed it */
/* The engine's word with a state: of the GPU's memory, or NULL. */
void sv_lack_memory(struct sv_stream *stream, bool full, const char *why);
/* It could not begin for want of memory: waits, out of its engine, until it is tried again; the
 * caller has to step it. */
void sv_lack_wait(struct sv_stream *stream, const char *why);
/* Whether it may enter its engine now: of those that wait for room one at a time is tried, the one
 * first whose last try is longest ago. */
bool sv_lack_may_enter(struct sv_stream *stream);
/* The first of what it lacks as "WORD: why", or "". */
void sv_lack_words(const struct sv_stream *stream, char *ret, size_t size);

/* ---- sup_feed.c ---- */
int sv_feed_open(struct sv_stream *stream, struct halo_error *err);
void sv_feed_close(struct sv_stream *stream, const char *why);
void sv_feed_forget(struct sv_stream *stream);    /* what was shown under other filters */
void sv_feed_watch_all(struct sv_stream *stream); /* tells a new engine what is watched */

/* ---- sup_camera.c ---- */
int sv_camera_open(struct sv_stream *stream, struct halo_error *err); /* the feeds are there */
void sv_camera_leave(struct sv_stream *stream);  /* its feeds: gray until they are opened again */
void sv_camera_forget(struct sv_stream *stream); /* as sv_feed_forget() */
void sv_camera_close(struct sv_stream *stream);

/* ---- sup_files.c ---- */
/* What the engine may open: all that the streams name that are on it or may come to it. The caller
 * owns it. May block on those files. */
json_t *sv_files_of(const struct sv_engine *engine);
/* Whether the engine's process may open all that a stream with these settings names now, or has yet
 * to start. May block. */
bool sv_files_cover(const struct sv_engine *engine, const struct halo_stream_settings *settings);
/* Whether its engine may not open what has been replaced, and says so: it needs another one. May
 * block. */
bool sv_files_are_replaced(const struct sv_stream *stream);

#endif
