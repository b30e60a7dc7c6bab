/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream: one source, one or more chains, any number of encodings, until it is stopped.
 *
 *   source thread            filter thread      collect thread         a thread for each encoding
 *   open, demux, decode, ==> gate: lane|lane => output frame   ==+==q==> encode --> packet()
 *   pace, loop, reconnect                                        +==q==> encode --> packet()
 *        \-- audio =================================================q==> copy or encode -/
 *
 * `halo_stream` (stream.h) ends with its file or its first error. A live stream continues: if its
 * source ends or fails, it is opened again after increasingly long pauses. Encodings without a
 * receiver are not computed, and filters can be changed while the stream runs.
 *
 * A camera is recognised by its identity; the stream searches for it when device nodes appear or
 * disappear. Its frames keep the driver's timestamps. With `open: on-demand`, the camera is open
 * only while an encoding runs or a snapshot is requested.
 *
 * The delay of live inputs (cameras, URLs, realtime files and `test:`) is bounded: if a stage is
 * late, the oldest frame is dropped and counted. Other files have backpressure and lose no frames;
 * one slow encoding then slows down all of them. Frames from realtime files, `test:` and HTTP wait
 * until they are due; frames from other URLs are processed as they arrive.
 *
 * Timestamps. All packets have absolute times in microseconds of CLOCK_MONOTONIC. The first frame
 * from a source gets the current time, and later frames follow the source's clock. A stream that is
 * restarted, even in another process, thus continues at later times on the same clock. When a file
 * starts over, its timestamps continue from its end. If a live source's clock and ours diverge by
 * more than a second, the next frame gets the current time again. The timestamps of files with
 * backpressure run ahead of the clock.
 *
 * Encoders hold no frames back (no B-frames, zerolatency). They produce a keyframe once per `gop`
 * (1 s by default), measured by the frames' timestamps, immediately after a gap of 0.3 s, and on
 * request. Parameter sets are both in the extradata of the codec parameters and before each
 * keyframe; muxers may use either, and need not add them. If no preset is given, one that is fast
 * enough for live video is chosen.
 *
 * The format of the first frames (dimensions, pixel format, audio) is kept for the stream's whole
 * life: later frames with another size or pixel format are converted to it. (For an assumed format,
 * see below.) If the audio's parameters change, the audio is left out.
 *
 * Epochs. Each set of chains has a number, its epoch. The worker (live_worker.h) builds a new
 * set, with gates for the current format. The set becomes active at one particular frame: that
 * frame and all later ones are filtered by it, in all renditions. A frame keeps the epoch in which
 * it entered the gates.
 *
 * A change is confirmed (halo_live_events.set without err) when no frame of an older epoch is left
 * in a gate, an encoding or a snapshot. From then on, no event delivers a frame of an older epoch;
 * `begin` may still be called, but its cards show nothing of any frame. This remains true when the
 * source is opened again, a filter fails, an encoding is retried or the stream stops. The
 * confirmation waits for older frames, however long they take. It also waits until a frame has
 * passed all new filters, but for at most 1.5 s, in case no frame arrives or the filters fail.
 * Packets that viewers or outputs received before the confirmation are not recalled: a slow file or
 * URL may write them later.
 *
 * Privacy: frames leave only through halo_gate_leave() (gate.h). If a filter fails, no frame is
 * output; the state is then HALO_LIVE_WAITING (also while the GPU's memory is full) or FAILED, and
 * its error gives the reason.
 *
 * Cards. While a live input is WAITING, encodings that are watched or sent to a URL get a card
 * twice a second: with `on_error: card` or `solid` at once, with `last` after `last_for`, and with
 * `stop` never. A card shows the stream's name and a short text (with `solid`, neither), and its
 * timestamp is the current time. Its text is always our own; it never comes from the source or from
 * an error. Cards have an event of their own. A card is a keyframe, and so is the frame after it,
 * so cards can be left out; files leave them out.
 *
 * Before the first frame enters a filter, `begin` has been called for every encoding, unless that
 * takes longer than five seconds. It passes the cards that are shown if the engine dies.
 *
 * If a live input cannot be opened within the first second, a format is assumed so that cards can
 * be shown. For a camera, the format follows from the settings and is kept. For other inputs, no
 * format is assumed if the stream writes a file or URL or has audio: these should have the source's
 * own size and audio. When such a source opens, the stream's threads are restarted with the
 * source's own format, and `begin` is called again. Matroska and NUT cannot announce such a change:
 * while an encoding in one of these formats is watched, frames are converted to the assumed format
 * instead, until a session begins while no such encoding is watched.
 *
 * Threads: only the event loop's thread may call these functions. None of them blocks, except
 * halo_live_create(), which may read mask images, and halo_live_destroy(). The callbacks in
 * halo_live_events are called by the stream's threads, and must not call these functions. */
#ifndef HALO_LIVE_H
#define HALO_LIVE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/daemon.h"
#include "config/encoding.h"
#include "config/base/error.h"
#include "pipeline/base/histogram.h"
#include "pipeline/base/degradation.h"
#include "pipeline/detect/detect_calls.h"
#include "pipeline/filter/coverage.h"
#include "pipeline/gate/hidden.h"
#include "pipeline/region/region_feed.h"

struct halo_live;
struct halo_encoding_parameters; /* parameters_wire.h */

enum halo_live_state {
    HALO_LIVE_STARTING, /* no frame has passed the filters yet */
    HALO_LIVE_RUNNING,  /* frames pass the filters */
    HALO_LIVE_WAITING,  /* the source is unavailable, or filters fail; the stream keeps trying */
    HALO_LIVE_ENDED,    /* a file without loop has ended, or the stream was stopped */
    /* the stream has failed, and the error gives the reason; if error.device is set, restarting the
     * stream in a new process may help */
    HALO_LIVE_FAILED,
    HALO_LIVE_STATES,
};
extern const char *const halo_live_state_names[HALO_LIVE_STATES + 1]; /* NULL-terminated */

enum halo_drop {
    HALO_DROP_LATE,    /* a newer frame arrived while this one waited for the filters */
    HALO_DROP_ENCODER, /* an encoding fell behind */
    HALO_DROP_DAMAGED, /* the decoder could not decode the frame */
    HALO_DROP_RATE,    /* the frame would have exceeded the encoding's frame rate (fps) */
    HALO_DROP_FILTER,  /* a filter failed */
    HALO_DROPS,
};
extern const char *const halo_drop_names[HALO_DROPS + 1]; /* "late" ...; NULL-terminated */

struct halo_live_events {
    /* Reports the stream's new state. err->code is 0 in all states except WAITING and FAILED. */
    void (*state)(void *arg, enum halo_live_state state, const struct halo_error *err);
    void (*begin)(void *arg, int encoding, const struct halo_encoding_parameters *begin);
    /* Delivers a packet; its stream_index is 0 for video and 1 for audio. The packet belongs to the
     * caller; use av_packet_ref() to keep it. For RAW encodings, the packet contains one frame
     * whose planes have no padding, as av_image_copy_to_buffer() with align 1 stores them. For each
     * encoding, only one thread calls this callback, and the timestamps of the packets increase. */
    void (*packet)(void *arg, int encoding, const AVPacket *pkt);
    /* Delivers a card in place of a packet (see above). If this callback is NULL, cards are left
     * out. */
    void (*card)(void *arg, int encoding, const AVPacket *pkt);
    /* Reports that an encoding has failed. The encoding will be retried, and `begin` is called when
     * it works again. The other encodings continue. */
    void (*failed)(void *arg, int encoding, const struct halo_error *err);
    /* Answers halo_live_control() or halo_live_set(). If err is NULL, the change is in force; if
     * chains were changed, the new chains have filtered all later frames (see above). A non-NULL
     * err means that the change is not in force, or that the stream ended before it could be
     * confirmed that the change is in force. */
    void (*set)(void *arg, uint64_t id, const struct halo_error *err);
    /* Reports that an unknown camera was opened: the stream's first camera, or one that differs
     * from the camera known so far. id is the text that halo_camera_id_write() writes. */
    void (*camera)(void *arg, const char *id);
    /* Answers halo_live_snapshot() with a complete image file or with err. */
    void (*snapshot)(void *arg, uint64_t id, const AVPacket *image, const struct halo_error *err);
    /* Ask for detectors, with the same arg. If `want` is NULL, there are none. */
    struct halo_detect_calls detector;
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
    int64_t failures; /* how often the camera failed; retries before it works again are not
                         counted */
    int64_t missed;   /* frames that the driver lost, according to the driver */
    /* complete frames skipped because a newer one was ready; also counted as HALO_DROP_LATE */
    int64_t late;
    int64_t damaged;       /* frames that are flagged by the driver, too short or torn; they are not
                              shown */
    int64_t width, height; /* size of the frames that the camera sends */
    char format[12];       /* the negotiated format, named as in v4l2.h; "" if there is none yet */
    double rate;           /* frames per second; 0: not reported */
};

/* The work of a stream with a detector. */
struct halo_live_detector {
    bool wanted;       /* the filters need it; otherwise the other fields are 0 */
    bool ready;        /* it is connected and has answered hello */
    int64_t verdicts;  /* frames that it has judged */
    int64_t late;      /* frames that were not shown because it was judging another one */
    int64_t hidden;    /* frames that were hidden completely because no verdict came in time */
    double mean, most; /* ms from sending a frame to its verdict; `most` of the last ten seconds */
    char name[64];     /* as it calls itself; "" */
};

struct halo_live_stats {
    /* `encoded`, `bytes` and `cards` are sums over all encodings */
    int64_t decoded, filtered, encoded, bytes;
    int64_t cards; /* cards are not included in `encoded` */
    int64_t dropped[HALO_DROPS];
    int64_t opened;  /* how often the source was opened successfully */
    int64_t damaged; /* damaged places in the input */
    int64_t epoch;   /* epoch of the frame that left the gate last */
    /* entry 0 is for the stream's own chain */
    struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1];
    struct halo_hidden_counts hidden; /* what hide has left of objects, in all chains */
    int64_t moved_at; /* when a frame last left the gate, in ns of CLOCK_MONOTONIC; 0: never */
    /* "open", "closed" (on-demand), or the reason why the camera is unavailable (v4l2.h); "" if the
     * input is not a camera */
    const char *camera;
    struct halo_live_capture capture;
    char backend[24]; /* where the filters run now (halo_ring_where); "": not opened yet */
    int gpu;          /* number of the GPU on which the lanes were opened; -1: none */
    /* position in the queue of streams that wait to open something on the GPU (1: next); 0: this
     * stream is not waiting */
    int turn;
    int width, height;
    double rate; /* frames per second, measured over the last few seconds */
    struct halo_histogram stage[HALO_LIVE_STAGES]; /* ns */
    /* the reason for each kind of degradation, as text; "": the stream is not degraded in this
     * way */
    char degradation[HALO_DEGRADATIONS][HALO_DEGRADATION_WORDS];
    bool has_region_feed;
    struct halo_region_feed_stats region_feed;
    struct halo_live_detector detector[HALO_FINDS];
};

/* Creates a live stream: checks settings and chains and reads mask images, but opens neither the
 * source nor a device. Settings are copied; events and arg must outlive the stream. The field
 * `hook` of outputs is ignored. Returns 0 (the caller then owns *ret), or -errno with err
 * filled. */
int halo_live_create(struct halo_live **ret, const struct halo_stream_settings *settings,
                     const struct halo_live_events *events, void *arg, struct halo_error *err);
/* Specifies which camera is the input: only the camera with this id is opened. id is a text that an
 * earlier stream passed to events.camera. Call this function before halo_live_start(). */
void halo_live_know_camera(struct halo_live *live, const char *id);
/* Starts the stream. Returns 0, or -errno with err filled if the source thread could not be
 * started. */
int halo_live_start(struct halo_live *live, struct halo_error *err);

/* Replaces all chains: chains[0] is the text of the stream's own chain, followed by one text for
 * each rendition. The texts are parsed immediately. If this function returns 0, events.set will be
 * called later. If halo_live_set() fails, it changes nothing and returns -errno with err filled
 * (-EINVAL: a chain is invalid). */
int halo_live_set(struct halo_live *live, uint64_t id, const char *const *chains,
                  struct halo_error *err);

/* Sets a control of the camera by its name (camera.h); events.set is called with the result. If the
 * camera is unavailable, the control is set when the camera becomes available again. Returns 0,
 * -EINVAL if the input is not a camera, or -EBUSY if too many changes are waiting or the stream has
 * ended. */
int halo_live_control(struct halo_live *live, uint64_t id, const char *name, int64_t value,
                      struct halo_error *err);

/* Passes on the regions that a detector found in the frame with this timestamp. All filters with
 * region=feed in the stream's chains use these regions. At the start of each session with the
 * source, these filters apply to the whole frame until this function is called. Works like
 * halo_region_feed_update() with the current time, and returns the same codes, or -ENOENT if the
 * stream has no region feed. */
int halo_live_regions(struct halo_live *live, int64_t frame_us,
                      const struct halo_region_update *updates, int count, struct halo_error *err);

/* Answers events.detector.want: fd is a connection to a detector (docs/detectors.md), of which the
 * stream takes ownership, or -1; `why` then says why there is none. A connection for which the
 * stream has no use any more is closed. */
void halo_live_connect(struct halo_live *live, enum halo_find find, int fd, const char *why);

/* Sets whether an encoding has a receiver; at first no encoding has one. Encodings with `writes`
 * set (encoding.h) always run. `begin` is called for all encodings as soon as the format of the
 * frames is known. */
void halo_live_watch(struct halo_live *live, int encoding, bool watched);
/* Requests a keyframe for a new viewer. At most two such keyframes per second are produced. */
void halo_live_key_frame(struct halo_live *live, int encoding);
/* Requests the next filtered frame of the stream's own chain as "png" or "jpg". Returns 0, or
 * -errno with err filled. If this returns 0, events.snapshot is always called, within two seconds
 * if `filters` is NULL. Otherwise, the image is additionally filtered by this chain, as a preview;
 * frames for others are not. Its regions cannot be those that detectors find. */
int halo_live_snapshot(struct halo_live *live, uint64_t id, const char *format, const char *filters,
                       struct halo_error *err);

/* Fills *ret with the statistics. halo_live_stats() also checks whether the stream keeps up, so
 * call it at least once a second. */
void halo_live_stats(struct halo_live *live, struct halo_live_stats *ret);

/* Returns whether the stream is stuck; if so, fills err. If err->device is set, the device has not
 * responded for too long (as in halo_stream_is_stuck()), or the driver has not opened the decoder
 * within 30 seconds. If err->device is not set, the decoder or an encoder has been working on one
 * frame for eight seconds. The caller must then abandon the stream or end the process with _exit().
 * Call this at least once a second. */
bool halo_live_is_stuck(struct halo_live *live, struct halo_error *err);

/* Returns whether a stuck stream may be abandoned. A stream may be abandoned if its stuck calls are
 * in software decoders or encoders, which do not wait for a device, and if its input can be opened
 * a second time meanwhile. */
bool halo_live_stalls_alone(const struct halo_live *live);

/* Ends all threads except the stuck one. Call this instead of halo_live_stop() if a thread is
 * stuck. If this returns false, a thread is in an event callback at the moment: call this function
 * again. Once this function has returned true, no event callback is invoked any more, whatever the
 * stuck thread does when its blocked call returns. halo_live_done() returns true when all threads
 * have ended, which may never happen; before that, neither the stream nor anything that its events
 * use may be freed. This function does not block. Further calls to this function also wake threads
 * that have begun to wait in the meantime. */
bool halo_live_abandon(struct halo_live *live);

/* Ends the stream: encoders are flushed and outputs are finished. Returns at once; halo_live_done()
 * returns true when the stream has ended. */
void halo_live_stop(struct halo_live *live);
bool halo_live_done(const struct halo_live *live);
void halo_live_destroy(struct halo_live *live); /* stops the stream and joins its threads; NULL:
                                                   does nothing */

#endif
