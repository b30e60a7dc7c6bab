/* SPDX-License-Identifier: BSD-2-Clause
 * The played world: the whole daemon (halo_run_daemon()) on a real libuv loop, in one thread of
 * one process, with a clock that is played and with everything around it as objects of this
 * process, behind the same sockets and rings: engines and detectors (played_engine.c), clients of
 * the control socket, browsers and viewers (played_client.c), the MQTT broker (played_broker.c),
 * the service manager (played_manager.c), users and their logins (played_users.c).
 *
 *   callbacks of the daemon --> epoll_wait() --> its sockets are ready: go on
 *             ^                      |
 *             |                      +--> nothing is: the world's next step, or the clock jumps to
 *             +--------------------------------------- the next timer
 *
 * The clock (clock.c) moves only in epoll_wait(): by what a step costs, which the seed draws, or to
 * whatever is due next. So a day takes seconds, a busy machine changes nothing, and the same seed
 * and the same events give the same trace, line by line; each run prints the trace's hash.
 *
 * Disturbances are events (events.c), one a line, in words that other versions understand as well:
 *
 *   at 12.350 engine cpu dies 9
 *   at 14.002 client set front
 *
 * The seed draws them, or a file lists them. What fails is written as such a list, which --shorten
 * makes as short as possible, and which tests/world/events keeps for the check. A list may also
 * have settings of its own, and say what it expects (expect.c):
 *
 *   at 2.000 call Set {"name": "front", "filters": "gblur=sigma=3"}
 *   at 5.000 expect status front filters "gblur=sigma=3"
 *
 * With --serve, other processes are the clients, after the list: the world has told "ready" and its
 * folder on stdout, plays at the machine's pace, checks nothing any more, and ends with SIGTERM.
 *
 * After each step, check.c looks at what must always hold. Every ten minutes the world is quiet for
 * one: then everything runs, and no descriptor and no memory may be left of what was. (Not with
 * settings of its own: such a list is over some seconds after its last event.) */
#ifndef HALO_WORLD_H
#define HALO_WORLD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <uv.h>

#include "tests/world/play.h"

struct halo_process;
struct halo_supervisor;
struct sv_stream;

enum {
    WORLD_QUIET_EVERY = 600, /* s; the last minute of them is quiet */
    WORLD_QUIET = 60,
    WORLD_BROKER = 1883,  /* its port */
    WORLD_SLACK_MS = 300, /* what a few costly steps, the daemon's tick of 50 ms and a played
                             process's delay may add to a limit */
};

/* ---- clock.c: time, chance, and what is due ---- */

typedef void world_step(void *arg);

void world_begin(uint64_t seed);
/* Frees what is still due, after the daemon has ended. */
void world_end(void);
/* us since the beginning; world_awake() leaves out what the daemon stood still. */
int64_t world_now(void);
int64_t world_awake(void);
int64_t world_thawed(void); /* when it last stood still, in us of world_awake() */
/* A number below `below`, from the seed. */
uint64_t world_draw(uint64_t below);
/* Has step(arg) called in `ms`, within epoll_wait(): it may read what the daemon's functions
 * return, but change nothing of libuv's; for that, see world_on_loop(). */
void world_after(double ms, world_step *step, void *arg);
/* What is due with this arg is due later. */
void world_delay(const void *arg, int ms);
/* Forgets all steps with this arg, due or on the loop. */
void world_forget(const void *arg);
/* Has step(arg) called by the loop, as soon as it turns. */
void world_on_loop(world_step *step, void *arg);
/* Has step(arg) called once, soon after fd can be read; a delay of `ms` is added. */
void world_watch(int fd, double ms, world_step *step, void *arg);
void world_unwatch(int fd);
/* Within a step of libuv's pool: its answer comes so much later. */
void world_work_takes(int ms);
/* The daemon stands still for so long, and (machine) so does everything else. */
void world_freeze(int ms, bool machine);
/* From now on the clock goes with that of the machine, and stands still where this process does. */
void world_serve(void);
/* Called when the loop exists, and before its last turn. */
void world_take_loop(uv_loop_t *loop);
void world_leave_loop(void);

/* ---- main.c ---- */

/* Writes halod.yaml: variant 0 has all streams. Each writing gives the chains new numbers. */
void world_write_settings(int variant);
/* The number of the next chain. Chains carry growing numbers ("gblur=sigma=20.000017"). */
int world_next_chain(char *ret, size_t size);
/* The number in a chain, or -1. */
int world_chain_number(const char *chain);
/* What a chain hides beside its base: a set of these. */
enum { WORLD_DOOR = 1, WORLD_SHUTTER = 2 };
int world_chain_hides(const char *chain);
/* The number that the settings file has for the stream. */
int world_file_chain(const char *stream);
extern const char *const world_streams[]; /* in a quiet minute; NULL at the end */
struct halo_supervisor *world_supervisor(void);
/* Tells the daemon to stop. Clients leave before, or (clients_stay) wait for their answers. */
void world_stop(bool clients_stay);
bool world_is_ending(void);      /* it was told so */
int world_code(void);            /* with which it has ended; -1: it runs */
void world_allow_code(int code); /* it may end with this, and not with 0 */
void world_fill_disk(bool full);
void world_leave_descriptors(int count); /* so many that may still be opened; -1: enough */
void world_make_folder(bool made);       /* of an output of `back` */
void world_remove_socket(const char *socket);

/* ---- events.c ---- */

/* Draws an event, and writes it without its time. */
void world_draw_event(uint64_t *state, char *ret, size_t size);
/* Makes an event happen, unless there is nobody whom it concerns. Returns false if it is not
 * understood. */
bool world_play(const char *event);

/* ---- expect.c ---- */

bool expect_play(const char *event); /* false: it is none of these */
void expect_take_log(const char *line);
void expect_end(void);
/* Puts what was remembered in the place of $NAME; $FOLDER is where the world is played. */
void expect_fill_in(const char *text, char *ret, size_t size);

/* ---- played_engine.c ---- */

void engines_begin(void); /* replaces halo_process_ops */
void engines_end(void);
void engine_play(const char *name, const char *what, int number);
void engine_stream_play(const char *stream, const char *what, int number);
void engine_tell(const char *name, const char *text);               /* this message */
void detector_play(const char *what, const char *text, int number); /* the newest one */
/* The machine's GPUs, as all engines will tell: "hold N" streams of one process at most, or
 * "MIB,BUSY ..." of each one, with " | " between what is told one after the other. */
void engines_find_gpus(const char *words);
void engines_heal(void);                          /* all do what they should from now on */
void engines_check(void);                         /* whose silence should have been noticed */
bool engine_runs(const struct sv_stream *stream); /* as it has told */
/* The chain by which an engine filters the stream now, or -1. */
int engine_chain(const struct sv_stream *stream, int rendition); /* 0: its own */
int engine_hides(const struct sv_stream *stream, int rendition);
/* The stream's filters are said to be this chain: no process may go on with an older one. */
void engines_check_set(const char *stream, int chain);
/* An engine is said to have failed: one that was killed must have done something. */
void engines_blame(const char *why);
int engines_surviving(void); /* killed, but kept by a driver */

/* ---- played_client.c ---- */

/* Calls a method of the control socket; one answer must come within `ms`. */
void client_call(const char *method, json_t *parameters, int ms);
/* Sets the stream's filters to the next chain. */
void client_set(const char *stream);
/* The same, and then calls done() with the answer; and for a request by HTTP. Returns false if the
 * daemon cannot be reached. */
typedef void world_answer(const char *text);
/* more: with each of several answers, which come as long as the world lasts. */
bool client_call_then(const char *method, json_t *parameters, bool more, int ms,
                      world_answer *done);
bool client_ask(const char *request, int ms, world_answer *done);
int client_number(void);     /* of the call that is being answered, or else was made last */
void client_subscribe(void); /* to events, until the world is quiet */
void client_browse(const char *path);
void client_be_rude(const char *how); /* a row of a table */
void client_crowd(int count);         /* of browsers that are silent */
/* Tells of regions so often, without a pause; the last time of two. */
void client_flood(const char *stream, int count);
void viewer_play(const char *socket, const char *what);
/* What the newest viewer of it got in the last second: "frames", "cards" or "nothing"; "ended":
 * there is none. "frames with gaps": it has lost some, as it did not read. */
const char *viewer_sees(const char *socket);
bool client_can_join(const char *socket);
void stranger_play(const char *what, const char *socket);
void clients_check(void); /* whose limits are over */
void clients_leave(void); /* all of them, and the viewers */

/* ---- played_broker.c ---- */

void broker_play(const char *what, const char *whom, int number);
void broker_send(const char *topic, const char *text, bool retained);
const char *broker_retained(const char *topic); /* NULL: nothing */
int broker_published(const char *topic);        /* how often, since it was empty */
void broker_heal(void);
void broker_check_opened(const char *stream); /* the daemon opens its shutter */
void broker_check(void);
void broker_command_all(void); /* in a quiet minute */
void broker_check_quiet(void);
void broker_end(void); /* after the daemon has ended */

/* ---- played_manager.c ---- */

const char *manager_status(void); /* the newest; "": none yet */
void manager_check(void);         /* whose limits are over */
void manager_end(void);           /* after the daemon has ended */

/* ---- played_users.c ---- */

void users_play(const char *what);
bool users_may_answer(const char *path, int status); /* a request of nobody by HTTP */

/* ---- asks.c: tables of requests, and talks ---- */

void asks_make_users(const char *words); /* "vera view anna admin" */
void asks_play(const char *who, const char *rows);
void asks_check(void); /* whether what was asked is answered */
void talks_play(const char *socket, const char *lines);
void talks_check(void);
void talks_end(void); /* after the daemon has ended */

/* ---- check.c ---- */

void check_step(void);                       /* before each wait of the loop */
void check_start(const char *engine);        /* the supervisor starts its process */
void check_stream_start(const char *stream); /* an engine is told to start it */
void check_status(void);
/* A client was told that the stream's filters are this chain. */
void check_set(const char *stream, int chain);
/* A broker is told that this is hidden in the stream. */
void check_shown(const char *stream, int hides);
/* us of world_awake(): when its state changed last. */
int64_t check_changed(const char *stream);
int check_hides(const char *stream); /* what is hidden, as far as is in force */
void check_quiet(void);              /* at the end of a quiet minute */
void check_end(void);                /* after the daemon has ended */

#endif
