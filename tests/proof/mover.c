/* SPDX-License-Identifier: BSD-2-Clause
 * Things that move by chance (mover.h). */
#include "tests/proof/mover.h"

enum { FARTHEST = 3 * PROOF_UNIT / 2 }; /* that something moves at a time */

/* Along a side: eighths of it, or in pixels, one in three whole ones. */
static struct proof_length length(struct proof_chance *chance, int side, bool relative, int least,
                                  int most)
{
    const int eighths = proof_from_to(chance, least, most);
    int value =
        side * eighths * (PROOF_UNIT / PROOF_EIGHTHS) + proof_from_to(chance, 0, PROOF_UNIT - 1);
    if (proof_chance(chance, 3) == 0)
        value -= value % PROOF_UNIT;
    return (struct proof_length){relative ? eighths : value, relative};
}

static struct proof_length size(struct proof_chance *chance, int side, bool relative)
{
    const struct proof_length ret = length(chance, side, relative, 0, 3);
    return ret.value > 0 ? ret : (struct proof_length){relative ? 1 : PROOF_UNIT / 3, relative};
}

static void choose_shape(struct proof_shape *s, enum proof_shape_kind kind, bool relative,
                         const int side[2], struct proof_chance *chance)
{
    *s = (struct proof_shape){.kind = kind};
    for (int d = 0; d < 2 && kind < PROOF_POLYGON; d++) {
        s->at[d] = length(chance, side[d], relative, -2, 7);
        s->size[d] = size(chance, side[d], relative);
    }
    s->corners = kind == PROOF_POLYGON ? proof_from_to(chance, 3, 5) : 0;
    for (int i = 0; i < s->corners; i++)
        for (int d = 0; d < 2; d++)
            s->corner[i][d] = length(chance, side[d], relative, -2, 10);
}

static void move_by(struct proof_shape *s, int d, int by)
{
    s->at[d].value += by;
    for (int i = 0; i < s->corners; i++)
        s->corner[i][d].value += by;
}

void proof_mover_move(struct proof_mover *mover, const int side[2], struct proof_chance *chance)
{
    struct proof_shape *s = &mover->shape;
    const bool relative = proof_shape_is_relative(s);
    const unsigned what = proof_chance(chance, 12);
    if (what == 0)
        choose_shape(s, s->kind, relative, side, chance);
    else if (what == 1)
        choose_shape(s, (enum proof_shape_kind)proof_from_to(chance, PROOF_RECT, PROOF_POLYGON),
                     proof_chance(chance, 4) == 0, side, chance);
    else if (what < 4 && s->kind != PROOF_POLYGON)
        for (int d = 0; d < 2; d++)
            s->size[d] = size(chance, side[d], relative);
    const bool still = proof_chance(chance, 4) == 0;
    for (int d = 0; d < 2 && !still; d++)
        move_by(s, d,
                proof_shape_is_relative(s) ? proof_from_to(chance, -1, 1)
                                           : proof_from_to(chance, -FARTHEST, FARTHEST));
}

void proof_mover_choose(struct proof_mover *ret, char id, const int side[2],
                        struct proof_chance *chance)
{
    *ret = (struct proof_mover){.id = {id}};
    choose_shape(&ret->shape,
                 (enum proof_shape_kind)proof_from_to(chance, PROOF_RECT, PROOF_POLYGON),
                 proof_chance(chance, 4) == 0, side, chance);
}
