/* SPDX-License-Identifier: BSD-2-Clause
 * What the played worlds (world.h, tests/box/box.h) share: chance, the trace and its hash, lists of
 * events, and the command line:
 *
 *   PROGRAM [--seed N] [--seeds N] [--hours H | --seconds S] [--every S]
 *           [--events FILE [--shorten | --serve]] [--trace FILE] [--twice]
 *
 *   --every S    a disturbance every S played seconds on average
 *   --events     plays the events of a file, and no others; of a folder, each file by itself
 *   --shorten    writes the shortest list of events that fails in the same way, FILE.short
 *   --twice      plays it again: the hash must be the same
 *   --serve      plays a list in this process, and goes on for others (main.c)
 *
 * A list of events may begin with settings, and some events take a block of lines; both are
 * indented, and end with `end`:
 *
 *   # what it shows
 *   seed 1
 *   settings
 *     version: 1
 *   end
 *   at 2.500 write halod.yaml
 *     version: 1
 *   end
 *
 * What has a time below 0 happens before the daemon starts; what is left when it has ended, then.
 *
 * Prints the hash of the trace, or what failed and the events before. Each run is a process. */
#ifndef HALO_PLAY_H
#define HALO_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is played. */
struct play_world {
    const char *name;
    double every, length; /* s, if nothing else is asked for */
    int seeds; /* with so many, from its own on, each list of a folder is played; 0: with one; those
                  with settings of their own, which are short, with three */
    int64_t (*now)(void); /* us since the beginning */
    void (*run)(void);    /* in a folder of its own; returns when all is over and well */
    /* Makes an event happen; false: it is not understood. */
    bool (*play)(const char *event);
    void (*log)(const char *line); /* each line of halod's log; NULL: nobody looks at it */
    /* Draws an event, and writes it without its time. */
    void (*draw)(uint64_t *state, char *ret, size_t size);
};
int play_main(const struct play_world *world, int argc, char **argv);

struct play_event {
    double at;        /* s */
    const char *text; /* the lines of a block, if it has one, follow its own */
};
extern struct play {
    uint64_t seed;
    double length, every;      /* s */
    bool drawn;                /* the events are drawn; otherwise a file lists them */
    bool serves;               /* after the list, other processes are clients */
    struct play_event *events; /* those of the file; else those drawn so far */
    int count, next;
    const char *settings; /* what stands between `settings` and `end`; NULL: there is none */
    char folder[64];
} play;

double play_pause(void); /* s until the next event that is drawn */
void play_drawn(void);   /* draws an event, and plays it */
void play_listed(void);  /* plays the next one of the list */

/* Adds a line to the trace and its hash. */
void world_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something does not hold: prints the end of the trace and writes the events so far; no return. */
void world_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* A number below `below`, from a state of its own: events are drawn apart from everything else, so
 * a list of them replays the run from which it was written. */
uint64_t world_draw_from(uint64_t *state, uint64_t below);

/* %s is one of a list, %d a number below `below`, plus `least`. */
struct play_row {
    int weight;
    const char *format;
    const char *const *one_of;
    int least, below;
};
void play_draw_row(const struct play_row *rows, int count, uint64_t *state, char *ret, size_t size);

/* ---- play_clock.c: libc's clock. Each world has these ---- */

enum { PLAY_MONOTONIC_S = 1000 }; /* CLOCK_MONOTONIC at the beginning */
int64_t play_ns(void);            /* since the beginning */
void play_asked(void);            /* CLOCK_MONOTONIC is asked for: others may run first */

#endif
