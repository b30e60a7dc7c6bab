/* SPDX-License-Identifier: BSD-2-Clause
 * Something that a detector sees, by chance: a rectangle, an ellipse or a polygon, in pixels or in
 * parts of the frame. */
#ifndef HALO_PROOF_MOVER_H
#define HALO_PROOF_MOVER_H

#include "tests/proof/spec.h"

struct proof_mover {
    char id[4];
    struct proof_shape shape;
};

/* id 0: it has none. side: of the frame, luma pixels. */
void proof_mover_choose(struct proof_mover *ret, char id, const int side[2],
                        struct proof_chance *chance);

/* A bit farther; now and then it stays, is somewhere else, or has another size, kind or unit. */
void proof_mover_move(struct proof_mover *mover, const int side[2], struct proof_chance *chance);

#endif
