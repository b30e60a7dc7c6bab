/* SPDX-License-Identifier: BSD-2-Clause
 * What a live stream's region feed was told while it ran, and which of that was in force for a
 * frame: all that had been told before the frame's time, for it entered the filters later than
 * that; and perhaps some of what was told since. One thread tells; any may judge. */
#ifndef HALO_PROOF_HEARD_H
#define HALO_PROOF_HEARD_H

#include "tests/proof/judge.h"
#include "tests/proof/expected.h"

struct proof_heard;

struct proof_heard *proof_heard_open(const struct proof_expected_settings *settings);
void proof_heard_close(struct proof_heard *heard); /* NULL: nothing */

/* Before and after the feed is told. */
void proof_heard_begin(struct proof_heard *heard, const struct proof_update *update);
void proof_heard_end(struct proof_heard *heard, bool taken);

enum proof_heard_verdict {
    PROOF_HEARD_RIGHT,
    PROOF_HEARD_WRONG,
    PROOF_HEARD_UNKNOWN, /* it came too late, or rounding could say either */
};

/* judge: of a chain whose step is told (spec.h). us: the frame's time; number: of its raw frame,
 * where it is known, else any. ret: of what explains it, or of the last that does not. */
enum proof_heard_verdict proof_heard_judge(struct proof_heard *heard, struct proof_judge *judge,
                                           const AVFrame *frame, int64_t us, unsigned number,
                                           struct proof_verdict *ret);

/* Frames that were right only if words had been forgotten before: where no session with the source
 * began, these are wrong. */
long proof_heard_forgotten(const struct proof_heard *heard);

#endif
