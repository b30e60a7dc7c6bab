/* SPDX-License-Identifier: BSD-2-Clause
 * A detector for tests (docs/detectors.md). It finds marks that the tests have put into frames, so
 * that they know what it must find, and it breaks the contract when it is told to. It also holds
 * halod to the contract: if a message, a frame or its memory is not as docs/detectors.md says, it
 * writes a line that begins with "breach: " to standard error and exits with status 70.
 *
 * standin-detector [OPTION ...] [faces | people]
 *   --look WHAT      what it finds:
 *                    mark     rectangles of magenta (255, 0, 255); needs rgb24 or bgr24 (default)
 *                    spot     the spot (spot.h) of the number in the frame's canary
 *                    none     nothing
 *                    all      the whole frame
 *                    rows     the rows of --rows
 *   --rows FILE      text, each line "TIME X Y WIDTH HEIGHT [SCORE]": boxes relative to the frame
 *                    that are in the frames with this time in microseconds; it is read at the start
 *   --within US      for --rows: the largest difference between the time of a row and that of a
 *                    frame, in microseconds (default 0)
 *   --box X,Y,W,H[,SCORE]  a box that it finds in every frame, too; may be repeated
 *   --stay N         for --look spot: number of frames for which the spot stays in its place (4)
 *   --score S        the score of its boxes (default 0.9)
 *   --size WxH       size of the frames that it asks for (default: that of the stream)
 *   --format F       rgb24 (default), bgr24 or gray8
 *   --mask WxH       answers with masks of this size, in which its boxes are 255
 *   --do WHAT[=VALUE][@WHEN]  misbehaves; may be repeated; see detector_faults.c for WHAT
 *   --seed N         seed of all that happens by chance (default 1)
 *   --say            writes a line to standard error for each message: "hello WIDTHxHEIGHT FIND
 *                    STREAM", "frame N", "verdict N COUNT"
 *
 * WHEN is the number of a frame, counted from 1 on each connection: "7" is this frame, "7+" this
 * frame and all later ones, "1/20" one frame of twenty by chance; without it, all frames. */
#ifndef HALO_STANDIN_DETECTOR_H
#define HALO_STANDIN_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define DETECTOR_TYPE "type" /* the field of a message that names it */

enum { DETECTOR_BOXES = 64, DETECTOR_FAULTS = 16, DETECTOR_BREACH = 70 };

struct detector_box {
    double x, y, width, height, score; /* relative to the frame without padding */
};

struct detector_row {
    int64_t time;
    struct detector_box box;
};

enum detector_look { LOOK_MARK, LOOK_SPOT, LOOK_NONE, LOOK_ALL, LOOK_ROWS };

/* What it asked for, and a frame in it. */
struct detector_frame {
    const uint8_t *data;
    int width, height, channels;
    bool blue_first;
    int inside[4]; /* x, y, width, height of the frame without padding, in pixels */
    int stream_width, stream_height;
    int64_t n, time;
};

struct detector_looker {
    enum detector_look look;
    double score;
    unsigned stay;
    int64_t within;
    struct detector_row *row;
    int rows;
    struct detector_box always[DETECTOR_BOXES];
    int always_count;
};

/* Fills box with what is in the frame and returns how many boxes these are. */
int detector_find(const struct detector_looker *looker, const struct detector_frame *frame,
                  struct detector_box box[DETECTOR_BOXES]);

/* Reads --rows. Exits if that is impossible. */
void detector_read_rows(struct detector_looker *looker, const char *path);

/* ---- what it does wrong (detector_faults.c) ---- */

struct detector_fault {
    int what;      /* row of the table in detector_faults.c */
    double value;  /* after "=", or its default */
    long from, to; /* first and last frame */
    long one_in;   /* of so many frames one, by chance; 0: each */
};

/* Reads an argument of --do. Exits if it is malformed. */
void detector_fault_read(struct detector_fault *ret, const char *text);

struct detector_fault_plan {
    struct detector_fault fault[DETECTOR_FAULTS];
    int count;
    uint64_t chance; /* state of the random numbers */
};

/* A connection on which verdicts are sent. */
struct detector_answer {
    int fd;
    int64_t n;      /* the frame that is to be judged */
    int64_t before; /* the frame judged before it; 0: none */
    struct detector_box box[DETECTOR_BOXES];
    int count;
    int mask_width, mask_height; /* 0: boxes */
};

/* Decides once for each frame, the count-th on its connection. Returns the seconds for which its
 * verdict is withheld; INFINITY: for ever. *wrong is the fault that the verdict will have, or NULL.
 * What concerns the whole process happens here. */
double detector_fault_plan_next(struct detector_fault_plan *plan, long count,
                                const struct detector_fault **wrong);
/* Sends what the fault says in place of the verdict. May close answer->fd, which is -1 then. */
void detector_fault_send(const struct detector_fault *fault, struct detector_answer *answer,
                         struct detector_fault_plan *plan);

/* ---- messages (detector_wire.c) ---- */

/* Sends size bytes with a descriptor (-1: none), which it closes. Ignores that the peer is gone. */
void detector_send(int fd, const void *text, size_t size, int attached);
/* Sends the verdict that the contract requires. */
void detector_send_verdict(const struct detector_answer *answer);
/* Writes the verdict's text about frame n with count boxes; returns its length. */
int detector_write_verdict(char *text, size_t size, int64_t n, const struct detector_box *box,
                           int count);
/* A memory file with the boxes as a mask; seals: of fcntl(2). */
int detector_make_mask(const struct detector_answer *answer, int seals);

double detector_chance(uint64_t *state); /* 0 to 1, without 1 */

#endif
