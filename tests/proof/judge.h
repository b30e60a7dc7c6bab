/* SPDX-License-Identifier: BSD-2-Clause
 * Judges every sample of a frame whose bytes nothing has touched since the filters: it must be
 * what the chain (spec.h) makes of the raw sample, which is painted once more by its number
 * (canary.h), to the last bit. Raw samples are odd and the filter of hidden ones is known, so one
 * single sample that should be hidden and is not is found, at the very border of a region too. */
#ifndef HALO_PROOF_JUDGE_H
#define HALO_PROOF_JUDGE_H

#include <libavutil/frame.h>

#include "tests/proof/spec.h"

enum { PROOF_COMPONENTS = 3 };

struct proof_judge;

/* Of frames in a native format. Aborts without memory. */
struct proof_judge *proof_judge_open(const struct proof_spec *spec, enum AVPixelFormat format,
                                     enum AVColorRange range, int width, int height);
void proof_judge_close(struct proof_judge *judge); /* NULL: nothing */

/* Where a feed's steps apply from now on: those without, and with invert. False: some sample is too
 * near to a border (spec.h), so that nothing can be judged by it. */
bool proof_judge_expect(struct proof_judge *judge, const struct proof_region expected[2]);

struct proof_verdict {
    long wrong;                             /* samples; 0: it is as it must be */
    long hidden, shown, soft;               /* samples that were judged, by what they must be */
    int component, x, y, got, want, weight; /* of the first wrong one */
    bool by_feed;                           /* it was judged by what a feed was told (heard.h) */
    bool blank; /* of one shade, which no chain makes of it (exam.h): nothing was judged */
};

/* The raw frame had that number. */
void proof_judge_see(struct proof_judge *judge, const AVFrame *frame, unsigned number,
                     struct proof_verdict *ret);

/* It had one of the numbers from *number on, or any at all; the next to be looked for is left in
 * it. Wrong where none explains the frame: the verdict is then of the one that does best of those
 * that a look at some samples leaves. */
void proof_judge_find(struct proof_judge *judge, const AVFrame *frame, unsigned *number,
                      struct proof_verdict *ret);

/* The size that a raw frame had before it was scaled to the judge's. */
struct proof_raw {
    bool scaled;       /* regions in pixels hide everything */
    int width, height; /* 0: not known */
};

/* Nothing is known of the raw frame: what one colour hides is judged, and nothing else. Where it
 * was scaled, regions are larger by three samples on each side, raw ones or its own, whichever are
 * larger. */
void proof_judge_hidden(struct proof_judge *judge, const AVFrame *frame,
                        const struct proof_raw *raw, struct proof_verdict *ret);

/* Of one step with one colour, which may hide more than it must: other samples are hidden or raw,
 * those of one number, which is looked for as above. */
void proof_judge_least(struct proof_judge *judge, const AVFrame *frame, unsigned *number,
                       struct proof_verdict *ret);

/* What has to come out of raw frames of that number, into a frame of the judge's format. */
void proof_judge_make(struct proof_judge *judge, unsigned number, AVFrame *ret);

/* The weights of a component's samples by step i. */
const uint8_t *proof_judge_weights(const struct proof_judge *judge, int step, int component);

/* Each component is of one shade, give or take that much; and its first sample is as dark as
 * black. */
bool proof_is_blank(const AVFrame *frame, int slack);
bool proof_is_dark(const AVFrame *frame);

/* A sample of a native format, by component. */
int proof_sample_get(const AVFrame *frame, int component, int x, int y);
void proof_sample_set(AVFrame *frame, int component, int x, int y, int value);
int proof_component_width(const AVFrame *frame, int component);
int proof_component_height(const AVFrame *frame, int component);

#endif
