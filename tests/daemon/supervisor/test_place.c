/* SPDX-License-Identifier: BSD-2-Clause
 * A stream's place: what a reset forgets and keeps, when the stream chooses its engine again, and
 * pauses between failures. */
#include "daemon/supervisor/sup_place.h"
#include "tests/cmocka_all.h"

static struct sv_engine *const engine = (struct sv_engine *)&(int){0};

static struct sv_placement met_much(enum sv_phase phase)
{
    return (struct sv_placement){
        .wanted = true,
        .phase = phase,
        .since = 7,
        .engine = engine,
        .given = 5,
        .moved = 6,
        .backoff = {.failures = 3, .not_before = 900, .good_since = 8},
        .suspect = {.device = 2, .extra = 1, .suspected = true, .blamed = true, .deaths = 2},
        .on_cpu = true,
        .for_memory = true,
        .no_room = true,
        .apart = true,
    };
}

static void test_reset(void **state)
{
    (void)state;
    struct sv_placement place = met_much(SV_OUT);
    sv_placement_reset(&place);
    assert_false(place.on_cpu || place.for_memory || place.no_room || place.apart);
    assert_false(place.suspect.extra || place.suspect.suspected || place.suspect.blamed);
    assert_int_equal(place.suspect.deaths, 0);
    assert_int_equal(place.backoff.failures, 0);
    assert_int_equal(place.backoff.not_before, 0);
    assert_int_equal(place.backoff.good_since, 0);
    /* Kept: */
    assert_true(place.wanted);
    assert_int_equal(place.since, 7);
    assert_int_equal(place.moved, 6);
    assert_int_equal(place.suspect.device, 2);
}

/* At once when it is out, else when it has left: also if it is leaving already. */
static void test_engine_again(void **state)
{
    (void)state;
    static const enum sv_phase phases[] = {SV_OUT, SV_IN, SV_LEAVING};
    for (int i = 0; i < 3; i++) {
        struct sv_placement place = met_much(phases[i]);
        sv_placement_leave(&place);
        assert_int_equal(place.phase, phases[i]);
        assert_int_equal(place.again, phases[i] != SV_OUT);
        assert_ptr_equal(place.engine, phases[i] == SV_OUT ? NULL : engine);
        assert_true(place.on_cpu); /* which is why it leaves */
        place = met_much(phases[i]);
        sv_placement_reset(&place);
        assert_int_equal(place.again, phases[i] != SV_OUT);
        assert_ptr_equal(place.engine, phases[i] == SV_OUT ? NULL : engine);
    }
}

static void test_pauses(void **state)
{
    (void)state;
    static const uint64_t pauses[] = {0, 250, 500, 1000, 2000, 4000, 5000, 5000};
    struct sv_backoff backoff = {0};
    uint64_t now = 100000;
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        sv_backoff_failed(&backoff, now);
        assert_int_equal(backoff.not_before - now, pauses[i]);
        now += 1000;
        backoff.good_since = now - SV_GOOD_MS + 1; /* not long enough */
    }
    backoff.good_since = now - SV_GOOD_MS;
    sv_backoff_failed(&backoff, now);
    assert_int_equal(backoff.not_before, now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_engine_again),
        cmocka_unit_test(test_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
