/* SPDX-License-Identifier: BSD-2-Clause
 * A live stream: one source, one or more chains, any number of encodings, until it is stopped.
 *
 *   source thread            filter thread      collect thread         a thread for each encoding
 *   open, demux, decode, ==> gate: lane|lane => output picture ==+==q==> encode --> packet()
 *   pace, loop, reconnect                                        +==q==> encode --> packet()
 *        \-- sound =================================================q==> copy or encode -/
 *
 * Where `halod run` (stream.h) ends with its file or its first error, a live stream goes on: a
 * source that ends or fails is opened again with growing pauses; an encoding that nobody takes is
 * not computed; filters are changed while it runs.
 *
 * A camera is found again by what it is, and looked for when nodes come and go; its pictures keep
 * the driver's times. With open: on-demand it is open only while an encoding runs.
 *
 * Live inputs (cameras, URLs, realtime files, test:) have bounded delay: where a stage is late the
 * oldest picture is dropped and counted. Other files have back-pressure, and lose nothing; one
 * encoding that is slow then slows all. Pictures of realtime files, test: and what comes over HTTP
 * wait for their time; those of other URLs come when they come.
 *
 * Times. All packets are in microseconds of CLOCK_MONOTONIC, absolute: the first picture of a
 * source is now, and later ones keep its clock. So a stream that begins anew, in another process
 * too, goes on later on the same line. A file that begins again goes on where it ended. Where a
 * live source's clock and ours part by more than a second, its picture is now again. Times of files
 * with back-pressure run ahead of the clock.
 *
 * Encoders hold no picture back (no B-frames, zerolatency), have a key frame every gop (1 s) by the
 * pictures' times, at once after a gap of 0.3 s, and when asked. Parameter sets are in the
 * parameters' extradata and before each key frame: muxers need to do nothing, and may do either.
 * Where no preset is given, one that is fast enough for live pictures is taken.
 *
 * The shape of the first pictures holds for the stream's life: later ones of another size or format
 * are brought to it. (One that was made up: see below.) Sound that changes its parameters is left
 * out.
 *
 * Epochs. A set of chains has a number. A new one is built aside (the gate of the present pictures'
 * shape) and takes over at a picture: that picture and all after it are filtered by it, in all
 * renditions. Pictures keep the number in which they entered.
 *
 * A change is confirmed (halo_live_events.set without err) when no picture of an older epoch is in
 * a gate, in an encoding or in a snapshot: no event but `begin`, whose cards show nothing, brings
 * one after it, through sessions of the source that follow, failures of filters and encodings that
 * are tried again, and the stop. However long a picture takes, that is waited for; it does not wait
 * for more than 1.5 s until a picture has passed all new filters, where none comes or they fail.
 * Whatever was told before, to viewers or to outputs, is theirs: a file or an URL that is slow may
 * write it later.
 *
 * Privacy: pictures leave through halo_gate_leave() (gate.h) alone. After a failure of a filter no
 * picture is made, the state is HALO_LIVE_WAITING (also while the GPU's memory is full) or FAILED,
 * and the words say why.
 *
 * Cards. While a live input is WAITING, encodings that somebody watches, and those of URLs, get a
 * card twice a second (on_error: card, and solid; with last after last_for; with stop never): the
 * stream's name and a few words, at the present time; for solid no words. They are ours alone,
 * never the source's nor an error's text. A card comes with its own event: it is a key frame, and
 * what follows begins with one, so it may be left out; files do.
 *
 * begin, with cards for who dies, has been called for all encodings before the first picture goes
 * into a filter, unless that takes longer than five seconds.
 *
 * A live input that cannot be opened within the first second gets a shape that is made up (a
 * camera's: from the settings), so that cards can be shown. Not where a file or an URL is written,
 * or sound is wanted: those are worth more with the source's own size and sound. When the source
 * comes the stream is formed anew with the source's own shape, and begin is called again; unless
 * somebody watches an encoding in Matroska or NUT, which cannot say that: then its pictures are
 * brought to the shape that is there, until a session begins while nobody does. A camera's stays.
 *
 * Threads: calls belong to one thread (the loop's) and do not block, but for join and destroy.
 * Events come from the stream's threads; they must not call back. */
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
    HALO_LIVE_STARTING, /* nothing has come through yet */
    HALO_LIVE_RUNNING,  /* pictures pass */
    HALO_LIVE_WAITING,  /* the source is away; it is tried again */
    HALO_LIVE_ENDED,    /* a file without loop is over, or the stream was stopped */
    HALO_LIVE_FAILED,   /* the error says why; the process may be needed anew (error.device) */
    HALO_LIVE_STATES,
};
extern const char *const halo_live_state_names[HALO_LIVE_STATES + 1]; /* NULL-terminated */

enum halo_drop {
    HALO_DROP_LATE,    /* came while the one before it was still waiting for the filters */
    HALO_DROP_ENCODER, /* an encoding was behind */
    HALO_DROP_DAMAGED, /* the decoder could make no picture of it */
    HALO_DROP_RATE,    /* more than the encoding's fps */
    HALO_DROP_FILTER,  /* a filter failed */
    HALO_DROPS,
};
extern const char *const halo_drop_names[HALO_DROPS + 1]; /* "late" ...; NULL-terminated */

struct halo_live_events {
    /* err has code 0 but for WAITING and FAILED. */
    void (*state)(void *arg, enum halo_live_state state, const struct halo_error *err);
    void (*begin)(void *arg, int encoding, const struct halo_live_begin *begin);
    /* stream_index 0: video, 1: sound. The packet stays the caller's (av_packet_ref keeps it). RAW
     * encodings: one picture, its planes without gaps, as av_image_copy_to_buffer(align 1) has
     * them. Per encoding one thread, times grow. */
    void (*packet)(void *arg, int encoding, const AVPacket *pkt);
    /* A card instead, see above; NULL: they are left out. */
    void (*card)(void *arg, int encoding, const AVPacket *pkt);
    /* An encoding does not work, for now: it is tried again, and told with begin. The others go
     * on. */
    void (*failed)(void *arg, int encoding, const struct halo_error *err);
    /* Answer to halo_live_control(), or to halo_live_set(): err NULL: what follows is of the new
     * chains, see above. Else they have not come into force, or the stream ended before that was
     * sure. */
    void (*set)(void *arg, uint64_t id, const struct halo_error *err);
    /* The camera that was opened, which another one is from now on (halo_camera_id_write()). */
    void (*camera)(void *arg, const char *id);
    /* Answer to halo_live_snapshot(): a whole image file, or err. */
    void (*snapshot)(void *arg, uint64_t id, const AVPacket *image, const struct halo_error *err);
};

enum halo_live_stage {
    HALO_LIVE_DECODE,
    HALO_LIVE_FILTER, /* entering the gate to leaving it */
    HALO_LIVE_ENCODE,
    HALO_LIVE_TOTAL, /* decoded (of cameras: captured) to encoded */
    HALO_LIVE_STAGES,
};
extern const char *const halo_live_stage_names[HALO_LIVE_STAGES + 1];

/* Of a camera; all zero: the input is none. */
struct halo_live_capture {
    int64_t failures; /* troubles that it came into, however often it was tried again meanwhile */
    int64_t missed;   /* pictures that the driver has lost, by its own count */
    int64_t late;     /* whole, but a newer one was ready; among those dropped as late */
    int64_t damaged;  /* flagged by the driver, too short or torn: not shown */
    int64_t width, height; /* as the camera sends it */
    char format[12];       /* what was agreed on last, as v4l2.h names it; "": nothing yet */
    double rate;           /* pictures a second; 0: it does not say */
};

struct halo_live_stats {
    int64_t decoded, filtered, encoded, bytes; /* encoded, bytes, cards: of all encodings */
    int64_t cards;                             /* not among encoded */
    int64_t dropped[HALO_DROPS];
    int64_t opened;  /* times that the source was opened with success */
    int64_t damaged; /* places */
    int64_t epoch;   /* of the picture that left the gate last */
    struct halo_coverage coverage[HALO_MAX_RENDITIONS + 1]; /* of its chains: the own comes first */
    int64_t moved_at;   /* ns of CLOCK_MONOTONIC when a picture left the gate last; 0: none did */
    const char *camera; /* "open", "closed" (on-demand), why it is away (v4l2.h), "": no camera's */
    struct halo_live_capture capture;
    char backend[24]; /* where the filters run now (halo_ring_where); "": there is none yet */
    int gpu;          /* number of the one that the stream's lanes were opened on; -1: none */
    int turn; /* its place among those that wait to open something on the GPU, 1: next; 0: it does
                 not */
    int width, height;
    double rate;                                   /* pictures a second, of the last seconds */
    struct halo_histogram stage[HALO_LIVE_STAGES]; /* ns */
    char degradation[HALO_DEGRADATIONS]
                    [HALO_DEGRADATION_WORDS]; /* why, in words; "": it does not lack that */
    bool has_region_feed;
    struct halo_region_feed_stats region_feed;
};

/* Checks settings and chains; opens nothing. events and arg must outlive it, settings are copied.
 * 0 or -errno with err filled; the caller owns *ret. Hooks of outputs are not looked at. */
int halo_live_create(struct halo_live **ret, const struct halo_stream_settings *settings,
                     const struct halo_live_events *events, void *arg, struct halo_error *err);
/* Before the start: the camera of the input is this one (events.camera of a stream before), and no
 * other. */
void halo_live_know_camera(struct halo_live *live, const char *id);
int halo_live_start(struct halo_live *live, struct halo_error *err); /* -errno: no thread */

/* New texts for all chains: chain[0] the stream's own, then its renditions, as many as there are.
 * Parsed at once: -EINVAL with err filled and nothing changed; else 0 and events.set comes. */
int halo_live_set(struct halo_live *live, uint64_t id, const char *const *chains,
                  struct halo_error *err);

/* A control of the camera by its name (camera.h); events.set answers. Where the camera is away it
 * gets it when it is back. -EINVAL: the input is no camera; -EBUSY. */
int halo_live_control(struct halo_live *live, uint64_t id, const char *name, int64_t value,
                      struct halo_error *err);

/* What a detector found in the picture of that time, for filters with region=feed in any of the
 * stream's chains; until the first such call, and in each session with the source, these filter all
 * of the picture. As halo_region_feed_update(), with the present time; -ENOENT: the stream has no
 * region feed. */
int halo_live_regions(struct halo_live *live, int64_t picture_us,
                      const struct halo_region_update *updates, int count, struct halo_error *err);

/* Whether somebody takes the encoding; nobody does at first. Ones that write (encoding.h) always
 * run. begin comes for all of them as soon as the shape of the pictures is known. */
void halo_live_watch(struct halo_live *live, int encoding, bool watched);
/* A key frame soon, for a new viewer; more than two a second are one. */
void halo_live_key_frame(struct halo_live *live, int encoding);
/* The next filtered picture of the stream's own chain as "png" or "jpg"; err, or events.snapshot
 * comes: within two seconds in any case. */
int halo_live_snapshot(struct halo_live *live, uint64_t id, const char *format,
                       struct halo_error *err);

/* Also judges whether the stream keeps up: once or more a second. */
void halo_live_stats(struct halo_live *live, struct halo_live_stats *ret);

/* As halo_stream_is_stuck(), if err is a device's, or the driver has not opened its decoder within
 * 30 seconds; else its decoder or an encoder has been at one picture for eight. The stream has to
 * be abandoned, or the process to end by _exit(). At least once a second. */
bool halo_live_is_stuck(struct halo_live *live, struct halo_error *err);

/* Of a stream that is stuck: it may be abandoned. What does not come back is a decoder or an
 * encoder of software, which waits for no device, and its input can be opened again meanwhile. */
bool halo_live_stalls_alone(const struct halo_live *live);

/* In place of halo_live_stop() where a thread is stuck: the others end, and from the first `true`
 * on no event comes, whatever the stuck one does when it comes back. False: a thread is in an event
 * now; ask again. done says when all have come back, if ever: before that neither the stream nor
 * what its events use may be freed. Does not block; more calls also wake what began to wait
 * since. */
bool halo_live_abandon(struct halo_live *live);

/* Ends it: encoders are flushed, outputs finished. Comes back at once; done says when. */
void halo_live_stop(struct halo_live *live);
bool halo_live_done(const struct halo_live *live);
void halo_live_destroy(struct halo_live *live); /* stops and joins; NULL is nothing to do */

#endif
