/* SPDX-License-Identifier: BSD-2-Clause
 * What a live stream may show of painted frames under chains that change: a pool of chains
 * (spec.h), and which of them frames can be of now. A change that has been asked for may be in
 * force; once it is confirmed nothing older may come. Any thread. */
#ifndef HALO_PROOF_EXAM_H
#define HALO_PROOF_EXAM_H

#include "pipeline/base/canary.h"
#include "tests/proof/judge.h"

enum { PROOF_POOL = 3 };

struct proof_heard;

struct proof_exam_settings {
    enum AVPixelFormat format; /* of the source, native */
    enum AVColorRange range;
    int width, height;
    unsigned number; /* of its first frame */
    bool resized;    /* frames of other sizes come in between */
    bool feed;
    bool foreign;   /* seen from outside: all of the pool may be in force at any time, what has not
                   * the source's format was converted, and cards come in between */
    unsigned first; /* chain of the pool, by number */
    const char *folder;
};

struct proof_exam;

/* NULL: it cannot be written. */
struct proof_exam *proof_exam_open(const struct proof_exam_settings *settings);
void proof_exam_close(struct proof_exam *exam); /* NULL: nothing */

/* What the feed is told, not only the chain's own shapes; it outlives exam. Before any frame; NULL:
 * nobody hears that. */
void proof_exam_hear(struct proof_exam *exam, struct proof_heard *heard);

/* Chain i of the pool; with 0 it begins. */
const struct proof_spec *proof_exam_spec(const struct proof_exam *exam, int i);

/* It has been asked for under that number, each larger than the one before; that is in force. */
void proof_exam_ask(struct proof_exam *exam, uint64_t id, int i);
void proof_exam_confirm(struct proof_exam *exam, uint64_t id);

/* A frame that nothing has touched since the filters. What is wrong is printed, at first; one of
 * one shade that is of no chain in force is blank, and not wrong, for it shows nothing. */
void proof_exam_see(struct proof_exam *exam, const AVFrame *frame, struct proof_verdict *ret);

/* Whether a frame that was encoded without a loss is to be seen so. raw: it never was encoded. */
bool proof_exam_takes(const struct proof_exam *exam, const AVFrame *frame, bool raw);

/* It has two shades and one colour, or is all black, as cards are and nothing that is painted. */
bool proof_exam_is_card(const struct proof_exam *exam, const AVFrame *frame);

/* "FIRST:FORMAT:WxH:NUMBER" of a foreign one, into settings that are zeroed. */
bool proof_exam_read(struct proof_exam_settings *ret, const char *text);

/* For frames that were encoded since: cells with all those around them hidden; none, where frame
 * is of another size than the source. What ret leads to lasts as long as exam. */
void proof_exam_area(struct proof_exam *exam, const AVFrame *frame, struct halo_canary_area *ret);

/* Whether chains in force, or those before, may make a frame all black. */
bool proof_exam_may_be_black(struct proof_exam *exam);

/* Prints what the stream is and which chains are in force, of a frame that leaks; the first few
 * times. */
void proof_exam_say(struct proof_exam *exam, const AVFrame *frame);

#endif
