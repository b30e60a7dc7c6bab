/* SPDX-License-Identifier: BSD-2-Clause
 * When a virtual camera is written, with a source and a clock that are played: frames of a source
 * whose rate is a little off are neither late nor repeated. */
#include "daemon/view/pace.h"
#include "tests/cmocka_all.h"

enum { PERIOD = 32000000, QUARTER = PERIOD / 4, FRAMES = 3000 };

static const int64_t START = INT64_C(5000000000), MS = 1000000;

struct seen {
    int written, repeated, lost; /* lost: another frame came before it was written */
    int64_t latest;              /* the longest that a frame waited */
    int64_t closest;             /* the shortest time between two writes */
};

static struct halo_pace pace;
static struct seen seen;
static int64_t written_at;

static void begin(int64_t now)
{
    halo_pace_start(&pace, PERIOD, now);
    written_at = pace.written_at;
    seen = (struct seen){.closest = INT64_MAX};
}

static void write_at(int64_t now, bool fresh)
{
    halo_pace_note(&pace, now, fresh);
    seen.written++;
    seen.repeated += !fresh;
    seen.closest = now - written_at < seen.closest ? now - written_at : seen.closest;
    written_at = now;
}

/* All writes between two frames. came: the first arrives; next: the second. */
static void pass_frame(int64_t came, int64_t next)
{
    int64_t at = halo_pace_next(&pace, true);
    at = at > came ? at : came;
    if (at >= next) {
        seen.lost++;
        return;
    }
    seen.latest = at - came > seen.latest ? at - came : seen.latest;
    write_at(at, true);
    while ((at = halo_pace_next(&pace, false)) < next)
        write_at(at, false);
}

static int64_t jitter(int i, int64_t most)
{
    return (int64_t)(i * 7919u % 101) * most / 100;
}

/* A source with this period, whose frames are late by up to `most`. */
static void play(int64_t period, int64_t most)
{
    for (int i = 0; i < FRAMES; i++)
        pass_frame(START + i * period + jitter(i, most),
                   START + (i + 1) * period + jitter(i + 1, most));
}

static void test_same_rate(void **state)
{
    (void)state;
    begin(START - 3 * MS);
    write_at(START - 3 * MS, false);
    play(PERIOD, 4 * MS);
    assert_int_equal(seen.repeated, 1);
    assert_int_equal(seen.lost, 0);
    assert_int_equal(seen.latest, QUARTER - 3 * MS); /* the first one: soon after the start */
}

/* Its phase relative to the grid passes through all values many times. */
static void test_slower(void **state)
{
    (void)state;
    begin(START - PERIOD);
    play(PERIOD + PERIOD / 40, 4 * MS);
    assert_int_equal(seen.repeated, 0);
    assert_int_equal(seen.lost, 0);
    assert_int_equal(seen.latest, 0);
}

static void test_faster(void **state)
{
    (void)state;
    begin(START - PERIOD);
    play(PERIOD - PERIOD / 100, 2 * MS);
    assert_int_equal(seen.repeated, 0);
    assert_int_equal(seen.lost, 0);
    assert_int_equal(seen.latest, 0);
}

static void test_half_the_rate(void **state)
{
    (void)state;
    begin(START - PERIOD);
    play(2 * PERIOD, 2 * MS);
    assert_in_range(seen.repeated, FRAMES - 2, FRAMES);
    assert_int_equal(seen.lost, 0);
    assert_true(seen.latest <= 2 * MS);
}

/* The rate of writes stays limited, so some frames are lost. */
static void test_twice_the_rate(void **state)
{
    (void)state;
    begin(START - PERIOD);
    play(PERIOD / 2, 2 * MS);
    assert_int_equal(seen.repeated, 0);
    assert_in_range(seen.written, FRAMES / 2, FRAMES * 11 / 20);
    assert_true(seen.closest >= QUARTER);
}

/* One late frame delays no later one. */
static void test_late_frame(void **state)
{
    (void)state;
    begin(START - PERIOD);
    for (int i = 0; i < 100; i++)
        pass_frame(START + i * (int64_t)PERIOD + (i == 50 ? 15 * MS : 0),
                   START + (i + 1) * (int64_t)PERIOD + (i == 49 ? 15 * MS : 0));
    assert_int_equal(seen.repeated, 0);
    assert_int_equal(seen.latest, 0);
}

/* A first frame that is late, as when memory is still being allocated, delays no later one. */
static void test_late_first_frame(void **state)
{
    (void)state;
    begin(START - PERIOD);
    pass_frame(START + 20 * MS, START + PERIOD);
    for (int i = 1; i < 100; i++)
        pass_frame(START + i * (int64_t)PERIOD, START + (i + 1) * (int64_t)PERIOD);
    assert_int_equal(seen.repeated, 0);
    assert_int_equal(seen.latest, 0);
}

/* A source that comes back at another time of the period is followed at once. */
static void test_another_phase(void **state)
{
    (void)state;
    begin(START - PERIOD);
    pass_frame(START, START + 10 * (int64_t)PERIOD);
    assert_int_equal(seen.repeated, 9);
    halo_pace_loosen(&pace);
    const int64_t came = written_at + QUARTER;
    pass_frame(came, came + PERIOD);
    pass_frame(came + PERIOD, came + 2 * PERIOD);
    assert_int_equal(seen.latest, 0);
    assert_int_equal(seen.repeated, 9);
}

static void test_jump_of_the_clock(void **state)
{
    (void)state;
    begin(START);
    const int64_t later = START + 1000 * (int64_t)PERIOD;
    write_at(later, false);
    assert_int_equal(halo_pace_next(&pace, false), later + PERIOD + 3 * QUARTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_rate),
        cmocka_unit_test(test_slower),
        cmocka_unit_test(test_faster),
        cmocka_unit_test(test_half_the_rate),
        cmocka_unit_test(test_twice_the_rate),
        cmocka_unit_test(test_late_frame),
        cmocka_unit_test(test_late_first_frame),
        cmocka_unit_test(test_another_phase),
        cmocka_unit_test(test_jump_of_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
