/* SPDX-License-Identifier: BSD-2-Clause
 * Who looks at what came out: takes packets as viewers get them, decodes them again and counts what
 * it sees. One thread at a time. */
#ifndef HALO_PROOF_EYE_H
#define HALO_PROOF_EYE_H

#include <libavcodec/avcodec.h>

#include "tests/proof/exam.h"
#include "tests/proof/tally.h"

struct proof_eye;

struct proof_eye *proof_eye_open(struct proof_tally *tally, enum proof_seen kind);
void proof_eye_close(struct proof_eye *eye); /* with what its decoder still holds; NULL: nothing */

/* Only there nothing may be (canary.h), from now on. */
void proof_eye_limit(struct proof_eye *eye, const struct halo_canary_area *area);

/* Frames are of a stream whose chains exam knows, from now on. exact: bytes, or what was encoded
 * without a loss, come as the filters made them, and are judged sample by sample; others where
 * exam's regions hide whole cells. Cards are looked at everywhere. */
void proof_eye_examine(struct proof_eye *eye, struct proof_exam *exam, bool exact);

/* What the packets from now on are: the decoder begins again. */
void proof_eye_begin(struct proof_eye *eye, const AVCodecParameters *par);

/* Another look at the packet, as that kind. Before a begin nothing is seen. */
void proof_eye_take(struct proof_eye *eye, const AVPacket *pkt, enum proof_seen kind);
/* A packet by itself, with those parameters. */
void proof_eye_take_alone(struct proof_eye *eye, const AVCodecParameters *par, const AVPacket *pkt,
                          enum proof_seen kind);
void proof_eye_see(struct proof_eye *eye, const AVFrame *frame, enum proof_seen kind);

#endif
