/* SPDX-License-Identifier: BSD-2-Clause
 * A stream in a box: one live stream (live.h) with all of its threads, in one process, with a clock
 * that is played and with a scheduler (threads.c) that lets one thread run at a time.
 *
 *   source --> filter --> collect --> encode ...        threads of the stream, which wait by
 *   aside, card, detectors, the loop (main.c)           base/thread.h and are in threads.c then
 *
 * At each lock, unlock, wait, start and look at the clock the seed draws which thread runs next,
 * and how long that took. When all wait, the clock jumps to the first time for which one waits;
 * when none waits for a time, that is a deadlock, and the trace says what each waits for. So the
 * same seed and the same events give the same trace, however busy the machine is.
 *
 * The source, the detectors, and how encoders and filters behave are played (played.c). Events
 * (events.c; play.h) are words such as
 *
 *   at 0.000 stream url card
 *   at 2.350 source dies
 *   at 3.100 set faces
 *
 * check.c receives the stream's events and judges them by live.h. Each frame shows its number, and
 * each chain paints its own number, so a packet tells which frame it is and which chain filtered
 * it:
 *
 *   +-------+---+---+
 *   | the   | n | n |   left half: the chain's number, by its filter; 250 if nothing filtered it
 *   | chain | n | + |   n: nine bits of the frame's number, and a check (+)
 *   |       |f  |  f|   f: a face, which moves, for detectors
 *   +-------+---+---+
 *
 * Every half minute is quiet at its end: then everything works, and the stream must, too. A list
 * may say "quiet" sooner, so that no more frames are played than it needs. */
#ifndef HALO_BOX_H
#define HALO_BOX_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/thread.h"
#include "pipeline/stream/live.h"
#include "tests/world/play.h"

enum {
    BOX_QUIET_EVERY = 30, /* s; the last seconds of them are quiet */
    BOX_QUIET = 9,
    BOX_CHAINS = 24,      /* numbers that a chain can paint */
    BOX_NUMBERS = 512,    /* numbers that a frame can show */
    BOX_UNFILTERED = 250, /* luma of the left half before it is filtered */
};

#define BOX_MS INT64_C(1000000) /* ns */
#define BOX_S  (1000 * BOX_MS)

/* ---- threads.c ---- */

void box_begin(uint64_t seed); /* the calling thread is one of them, the loop */
uint64_t box_draw(uint64_t below);
int64_t box_now(void); /* ns since the beginning */
/* Sleeps, until halo_thread_wake() at the latest; false: that woke it. */
bool box_sleep(int64_t ns);
void box_wake_loop(void);
/* Threads besides the loop that have not been joined. */
int box_threads(void);
/* Name of the calling thread, and how many others of this name there were at its start. */
const char *box_thread_name(void);
int box_thread_number(void);
void box_say_waits(void); /* tells the trace what each thread waits for */

/* ---- played.c ---- */

/* What an event tells the played parts; all zeros: they work. */
struct box_trouble {
    bool source_away;      /* it cannot be opened, and a session fails */
    bool source_breaks;    /* the session fails, once */
    bool source_ends;      /* the session ends, once */
    int source_late, jump; /* ms, once: the next frame is late; its time jumps */
    int opening, closing;  /* ms that it takes to open or close the source */
    int encoder_slow[4];   /* ms for a frame */
    int encoder_holds[4];  /* frames */
    bool encoder_fails[4], encoder_stuck[4];
    int encoder_opening; /* ms */
    int building;        /* ms for the gates of new filters, a snapshot or a card */
    int filter_slow;     /* ms for a frame */
    int filter_fails;    /* so many frames */
    int detector_late;   /* ms for a verdict */
    bool detector_away;  /* there is none */
    bool detector_dies, detector_lies, detector_mute; /* with the next frame */
};
extern struct box_trouble box_trouble;
extern int64_t box_lost;        /* ns: when a session failed, and nobody has been told; 0: none */
extern int64_t box_stuck_since; /* ns: a call does not come back; 0: none */
extern int box_encoders[4];     /* that are open */
extern int box_shape;           /* the form of the frames of the next sessions, 0 to 2 */
extern int64_t box_given;       /* frames of the source so far; the number of the last one */

/* The box is asked for a detector; it is connected by box_connect(), from the loop. */
void box_want(enum halo_find find);
void box_unwanted(enum halo_find find);
void box_broken(enum halo_find find, const char *why);
int64_t box_connect_due(void); /* ns */
void box_connect(struct halo_live *live);
void box_detectors_forget(void); /* the stream has ended: its connections are closed */

/* ---- check.c ---- */

extern const struct halo_live_events box_events;
/* A chain with the next number. what: "", "faces", "bad" (cannot be loaded). */
int check_chain(const char *what, char *ret, size_t size);

struct box_stream {
    const char *input;
    bool bounded; /* its delay is: late frames are dropped */
    bool paced;
    enum halo_on_error on_error;
    double last_for;
    int encodings, chains; /* chains: besides the stream's own */
    bool writes[4], raw[4];
};
void check_begin(const struct box_stream *stream, struct halo_live *live);
void check_set(uint64_t id, int chain, bool bad);
int check_sets(void);          /* that are not answered yet */
void check_unset(uint64_t id); /* it was refused at once */
void check_snapshot(uint64_t id, bool plain);
void check_unshot(uint64_t id);
void check_watch(int encoding, bool watched);
void check_stop(void);
void check_mute(void);    /* from now on no event may come */
void check_trouble(void); /* after an event */
void check_tick(void);    /* limits of time */
void check_quiet(void);   /* at the end of a quiet time */
void check_done(void);    /* halo_live_done() */
void check_end(void);     /* after halo_live_destroy() */
bool check_ended(void);   /* as it has told */

/* ---- main.c, events.c ---- */

void box_stream_begin(const char *kind, const char *on_error, const char *more);
void box_stream_end(bool asked);
bool box_has_stream(void);
void box_stop(void);
void box_set(const char *what);
void box_watch(int encoding, bool watched);
void box_key(int encoding);
void box_snapshot(const char *format, bool preview);
/* Sets filters ("set"), asks for a snapshot or stops, as soon as the stream has told something. */
void box_then(const char *what, int times);
void box_react(void); /* it has told something */
void box_heal(void);
bool box_play(const char *event);
void box_draw_event(uint64_t *state, char *ret, size_t size);

#endif
