/* SPDX-License-Identifier: BSD-2-Clause
 * The border rule against a walk that takes one step at a time. */
#include "kernels/border.h"
#include "tests/cmocka_all.h"

/* Walks |i| steps from cell 0, turning or jumping at each wall as border.h's pictures show. */
static int walk(int i, int size, enum halo_border border)
{
    if (i >= 0 && i < size)
        return i;
    if (border == HALO_BORDER_CONSTANT)
        return HALO_GHOST;
    int at = 0, direction = i < 0 ? -1 : 1;
    for (int steps = i < 0 ? -i : i; steps > 0; steps--) {
        int next = at + direction;
        if (next < 0 || next >= size) {
            switch (border) {
            case HALO_BORDER_REPLICATE:
                next = at;
                break;
            case HALO_BORDER_WRAP:
                next = next < 0 ? size - 1 : 0;
                break;
            case HALO_BORDER_REFLECT: /* the wall's own cell comes twice */
                next = at;
                direction = -direction;
                break;
            default: /* REFLECT101: the wall's own cell comes once */
                direction = -direction;
                next = size == 1 ? at : at + direction;
                break;
            }
        }
        at = next;
    }
    return at;
}

static void index_is_the_walk(void **state)
{
    (void)state;
    for (int border = 0; border < HALO_BORDER_COUNT; border++)
        for (int size = 1; size <= 9; size++)
            for (int i = -70; i <= 70; i++)
                assert_int_equal(halo_border_index(i, size, (enum halo_border)border),
                                 walk(i, size, (enum halo_border)border));
}

static void far_indices_stay_inside(void **state)
{
    (void)state;
    static const int far[] = {-(1 << 29) + 1, (1 << 29) - 1, -1025, 1 << 20};
    for (int border = HALO_BORDER_REPLICATE; border < HALO_BORDER_COUNT; border++)
        for (int size = 1; size <= 4096; size = size * 3 + 1)
            for (size_t k = 0; k < sizeof far / sizeof far[0]; k++)
                assert_in_range(halo_border_index(far[k], size, (enum halo_border)border), 0,
                                size - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_is_the_walk),
        cmocka_unit_test(far_indices_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
