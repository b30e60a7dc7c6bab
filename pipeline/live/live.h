/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream: one source, one or more chains, any number of encodings, until it is stopped.
 *
 *   source thread            filter thread      collect thread         a thread for each encoding
 *   open, demux, decode, ==> gate: lane|lane => output frame   ==+==q==> encode --> packet()
 *   pace, loop, reconnect                                        +==q==> encode --> packet()
 *        \-- audio =================================================q==> copy or encode -/
 *
 * `halo_stream` (stream.h) ends with its file or its first error. A live stream goes on: a source
 * that ends or fails is opened again after increasing pauses, encodings without a receiver are not
 * computed, and filters can be changed while it runs.
 *
 * A camera is recognised by its identity, and searched for when device nodes appear or disappear.
 * Its frames keep the driver's timestamps. With open: on-demand it is open only while an encoding
 * runs or a snapshot is requested.
 *
 * Live inputs (cameras, URLs, realtime files, test:) have bounded delay: if a stage is late, the
 * oldest frame is dropped and counted. Other files have backpressure and lose nothing; one slow
 * encoding then slows all. Frames of realtime files, test: and HTTP wait until they are due; those
 * of other URLs are processed as they arrive.
 *
 * Timestamps. All packets have absolute times in microseconds of CLOCK_MONOTONIC. The first frame
 * of a source gets the present time, and later frames follow the source's clock. A stream that is
 * restarted, even in another process, thus continues at later times of the same clock. A file that
 * starts over continues where it ended. If the clock of a live source and ours diverge by more than
 * a second, its frame gets the present time again. Timestamps of files with backpressure run ahead
 * of the clock.
 *
 * Encoders hold no frame back (no B-frames, zerolatency). They produce a keyframe every gop (1 s),
 * measured by the frames' timestamps, at once after a gap of 0.3 s, and on request. Parameter sets
 * are in the extradata of the codec parameters and before each keyframe; muxers need to add
 * nothing, and may use either. If no preset is given, one that is fast enough for live video is
 * chosen.
 *
 * The format of the first frames (dimensions, pixel format, audio) holds for the stream's life:
 * later frames of another size or pixel format are converted to it. (For an assumed format, see
 * below.) Audio whose parameters change is left out.
 *
 * Epochs. A set of chains has a number, its epoch. A new set is built by the extra thread
 * (live_aside.h), with gates for the present format, and becomes active at one frame: that frame
 * and all later ones are filtered by it, in all renditions. Frames keep the epoch in which they
 * entered.
 *
 * A change is confirmed (halo_live_events.set without err) when no frame of an older epoch is in a
 * gate, an encoding or a snapshot. From then on no event delivers a frame of an older epoch;
 * `begin` may still come, but its cards show nothing of any frame. This holds through later
 * sessions of the source, failed filters, retried encodings, and the stop. The confirmation waits
 * for older frames however long they take. It also waits until a frame has passed all new filters,
 * but for at most 1.5 s, in case no frame arrives or the filters fail. Packets that viewers or
 * outputs received before that are not recalled: a slow file or URL may write them later.
 *
 * Privacy: frames leave only through halo_gate_leave() (gate.h). If a filter fails, no frame is
 * output, the state is HALO_LIVE_WAITING (also while the GPU's memory is full) or FAILED, and its
 * text says why.
 *
 * Cards. While a live input is WAITING, encodings that are watched, and those sent to URLs, get a
 * card twice a second (on_error: card and solid; with last, after last_for; with stop, never). A
 * card shows the stream's name and a short text, or for solid nothing, and has the present time.
 * Its text is always our own, never from the source or an error. Cards have an event of their own.
 * A card is a keyframe, and so is the frame after it, so cards can be left out; files leave them
 * out.
 *
 * Before the first frame enters a filter, `begin`, with the cards to show if the engine dies, has
 * been called for all encodings, unless that takes longer than five seconds.
 *
 * If a live input cannot be opened within the first second, a format is assumed so that cards can
 * be shown. For a camera it follows from the settings, and is kept. For other inputs none is
 * assumed if a file or URL is written or audio is wanted: these should have the source's own size
 * and audio. When the source opens, the stream's threads are restarted with the source's own
 * format, and `begin` is called again. Matroska and NUT cannot announce such a change: while an
 * encoding in one of them is watched, frames are converted to the assumed format instead, until a
 * session begins while none is.
 *
 * Threads: all functions are called by one thread, that of the event loop. None of them blocks,
 * except halo_live_create(), which may read mask images, and halo_live_destroy(). Events are called
 * by the stream's threads, and must not call back. */
#ifndef HALO_LIVE_H
#define HALO_LIVE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "config/encoding.h"
#include "config/error.h"
#include "pipeline/base/histogram.h"
#include "pipeline/base/degradation.h"
#include "pipeline/filter/coverage.h"
#include "pipeline/region/region_feed.h"

struct halo_live;
struct halo_live_begin; /* begin_wire.h */

enum halo_live_state {
    HALO_LIVE_STARTING, /* no frame has passed the filters yet */
    HALO_LIVE_RUNNING,  /* frames pass the filters */
    HALO_LIVE_WAITING,  /* the source is away or filters fail; retried */
    HALO_LIVE_ENDED,    /* a file without loop has ended, or the stream was stopped */
    HALO_LIVE_FAILED,   /* the error says why; a new process may be needed (error.device) */
    HALO_LIVE_STATES,
};
extern const char *const halo_live_state_names[HALO_LIVE_STATES + 1]; /* NULL-terminated */

enum halo_drop {
    HALO_DROP_LATE,    /* a newer frame arrived while it waited for the filters */
    HALO_DROP_ENCODER, /* an encoding was late */
    HALO_DROP_DAMAGED, /* the decoder could not decode it */
    HALO_DROP_RATE,    /* exceeds the encoding's fps */
    HALO_DROP_FILTER,  /* a filter failed */
    HALO_DROPS,
};
extern const char *const halo_drop_names[HALO_DROPS + 1]; /* "late" ...; NULL-terminated */

struct halo_live_events {
    /* err has code 0 except in WAITING and FAILED. */
    void (*state)(void *arg, enum halo_live_state state, const struct halo_error *err);
    void (*begin)(void *arg, int encoding, const struct halo_live_begin *begin);
    /* stream_index 0: video, 1: audio. The packet belongs to the caller; av_packet_ref keeps it.
     * RAW encodings: one frame, its planes without padding, as
     * av_image_copy_to_buffer(align 1) stores them. For each encoding only one thread calls this,
     * and timestamps increase. */
    void (*packet)(void *arg, int encoding, const AVPacket *pkt);
    /* A card in place of a packet, see above; NULL: cards are left out. */
    void (*card)(void *arg, int encoding, const AVPacket *pkt);
    /* An encoding has failed for now. It is retried, and `begin` is called when it works again. The
     * others go on. */
    void (*failed)(void *arg, int encoding, const struct halo_error *err);
    /* Answer to halo_live_control() or halo_live_set(). err NULL: the change is in force; for
     * chains, all that follows is filtered by the new ones, see above. Otherwise it is not, or the
     * stream ended before that was certain. */
    void (*set)(void *arg, uint64_t id, const struct halo_error *err);
    /* A camera was opened that is not known yet: the first, or another than before. id is as
     * written by halo_camera_id_write(). */
    void (*camera)(void *arg, const char *id);
    /* Answer to halo_live_snapshot(): a complete image file, or err. */
    void (*snapshot)(void *arg, uint64_t id, const AVPacket *image, const struct halo_error *err);
};

enum halo_live_stage {
    HALO_LIVE_DECODE,
    HALO_LIVE_FILTER, /* from entering the gate to leaving it */
    HALO_LIVE_ENCODE,
    HALO_LIVE_TOTAL, /* from decoding (for cameras: from capture) to the encoded packet */
    HALO_LIVE_STAGES,
};
extern const char *const halo_live_stage_names[HALO_LIVE_STAGES + 1];

/* Statistics of a camera; all zero if the input is not a camera. */
struct halo_live_capture {
    int64_t failures;      /* times that it got into trouble; retries meanwhile do not count */
    int64_t missed;        /* frames that the driver lost, by its own count */
    int64_t late;          /* complete, but a newer one was ready; also dropped as late */
    int64_t damaged;       /* flagged by the driver, too short or torn: not shown */
    int64_t width, height; /* of its frames, as the camera sends them */
    char format[12];       /* the agreed format, named as in v4l2.h; "": none yet */
    double rate;           /* frames per second; 0: not reported */
};

struct halo_live_stats {
    int64_t decoded, filtered, encoded, bytes; /* encoded, bytes, cards: of all encodings */
    int64_t cards;                             /* not included in encoded */
    int64_t dropped[HALO_DROPS];
    int64_t opened;  /* times that the source was opened successfully */
    int64_t damaged; /* damaged places in the input */
    int64_t epoch;   /* of the frame that left the gate last */
    struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1]; /* [0]: the stream's own chain */
    int64_t moved_at; /* when a frame last left the gate: ns of CLOCK_MONOTONIC; 0: never */
    /* "open", "closed" (on-demand) or why it is away (v4l2.h); "": the input is not a camera */
    const char *camera;
    struct halo_live_capture capture;
    char backend[24]; /* where the filters run now (halo_ring_where); "": not opened yet */
    int gpu;          /* number of the GPU on which the lanes were opened; -1: none */
    /* its place among streams that wait to open something on the GPU, 1: next; 0: not waiting */
    int turn;
    int width, height;
    double rate;                                   /* frames per second, over the last seconds */
    struct halo_histogram stage[HALO_LIVE_STAGES]; /* ns */
    char degradation[HALO_DEGRADATIONS]
                    [HALO_DEGRADATION_WORDS]; /* why, as text; "": not degraded in this way */
    bool has_region_feed;
    struct halo_region_feed_stats region_feed;
};

/* Checks settings and chains, and reads mask images; opens neither source nor device. settings are
 * copied; events and arg must outlive the stream. 0 or -errno with err filled; the caller owns
 * *ret. Ignores the hooks of outputs. */
int halo_live_create(struct halo_live **ret, const struct halo_stream_settings *settings,
                     const struct halo_live_events *events, void *arg, struct halo_error *err);
/* Before the start: the input's camera is this one and no other; id comes from events.camera of an
 * earlier stream. */
void halo_live_know_camera(struct halo_live *live, const char *id);
/* -errno: the thread could not be started */
int halo_live_start(struct halo_live *live, struct halo_error *err);

/* Replaces all chains by new texts: chains[0] is the stream's own, then one for each of its
 * renditions. They are parsed at once. On an error, -errno with err filled, and nothing is changed
 * (-EINVAL: a chain is invalid); otherwise 0, and events.set follows. */
int halo_live_set(struct halo_live *live, uint64_t id, const char *const *chains,
                  struct halo_error *err);

/* Sets a control of the camera by its name (camera.h); events.set answers. If the camera is away,
 * the control is set when it returns. -EINVAL: the input is not a camera; -EBUSY: too many changes
 * are waiting, or the stream is over. */
int halo_live_control(struct halo_live *live, uint64_t id, const char *name, int64_t value,
                      struct halo_error *err);

/* Regions that a detector found in the frame with this timestamp, for filters with region=feed in
 * any of the stream's chains. Before the first such call of each session with the source, these
 * filters apply to the whole frame. As halo_region_feed_update(), with the present time; -ENOENT:
 * the stream has no region feed. */
int halo_live_regions(struct halo_live *live, int64_t picture_us,
                      const struct halo_region_update *updates, int count, struct halo_error *err);

/* Sets whether an encoding has a receiver; at first none has. Encodings that write (encoding.h)
 * always run. begin is called for all of them as soon as the format of the frames is known. */
void halo_live_watch(struct halo_live *live, int encoding, bool watched);
/* Requests a keyframe soon, for a new viewer. At most two a second are made. */
void halo_live_key_frame(struct halo_live *live, int encoding);
/* Requests the next filtered frame of the stream's own chain as "png" or "jpg". Returns -errno with
 * err filled, or 0: then events.snapshot follows within two seconds, in any case. */
int halo_live_snapshot(struct halo_live *live, uint64_t id, const char *format,
                       struct halo_error *err);

/* Also judges whether the stream keeps up: call it at least once a second. */
void halo_live_stats(struct halo_live *live, struct halo_live_stats *ret);

/* Whether the stream is stuck; err is then filled. If err.device is set, the device has been silent
 * for too long (as for halo_stream_is_stuck()), or the driver has not opened the decoder within 30
 * seconds. Otherwise the decoder or an encoder has worked on one frame for eight seconds. The
 * stream must be abandoned, or the process ended by _exit(). Call it at least once a second. */
bool halo_live_is_stuck(struct halo_live *live, struct halo_error *err);

/* Whether a stuck stream may be abandoned: its stuck calls are in a software decoder or encoder,
 * which waits for no device, and its input can be opened again meanwhile. */
bool halo_live_stalls_alone(const struct halo_live *live);

/* Used instead of halo_live_stop() if a thread is stuck: ends the other threads. From the first
 * time that it returns true, no event is called, whatever the stuck thread does when its call
 * returns. False: a thread is in an event now; call this again. halo_live_done() reports when all
 * threads have ended, if ever; before that, neither the stream nor anything that its events use may
 * be freed. Does not block. Further calls also wake threads that began to wait in the meantime. */
bool halo_live_abandon(struct halo_live *live);

/* Ends the stream: encoders are flushed, outputs finished. Returns at once; halo_live_done()
 * reports the end. */
void halo_live_stop(struct halo_live *live);
bool halo_live_done(const struct halo_live *live);
void halo_live_destroy(struct halo_live *live); /* stops and joins; NULL: does nothing */

#endif
