/* SPDX-License-Identifier: BSD-2-Clause
 * Turns: only so many at once, in the order in which they came, and who is stopped goes. */
#include <pthread.h>
#include <sched.h>

#include "pipeline/base/turn.h"
#include "tests/cmocka_all.h"

enum { MANY = 12 };

static struct person {
    struct halo_turn turn;
    enum halo_turn_queue queue;
    int64_t until;
    pthread_t thread;
    atomic_int stop, got; /* got: -1: was stopped; else how many had come before it */
} all[MANY];
static atomic_int came;

static void *wait_for_it(void *arg)
{
    struct person *p = arg;
    const bool got = halo_turn_take(&p->turn, p->queue, &p->stop, p->until);
    atomic_store(&p->got, got ? atomic_fetch_add(&came, 1) + 1 : -1);
    return NULL;
}

/* Has got its turn, or else stands in the line. Who gets a turn has a place for a moment, too. */
static void start(struct person *p, bool gets_it)
{
    *p = (struct person){.until = INT64_MAX};
    assert_int_equal(pthread_create(&p->thread, NULL, wait_for_it, p), 0);
    while (!atomic_load(&p->got) && (gets_it || !halo_turn_place(&p->turn)))
        sched_yield();
}

static int begin(void **state)
{
    (void)state;
    atomic_store(&came, 0);
    for (int i = 0; i < MANY; i++)
        start(&all[i], i < HALO_TURNS);
    return 0;
}

static int wait_got(struct person *p)
{
    pthread_join(p->thread, NULL);
    return atomic_load(&p->got);
}

static void test_order(void **state)
{
    (void)state;
    for (int i = 0; i < HALO_TURNS; i++)
        assert_int_equal(wait_got(&all[i]), i + 1);
    for (int i = HALO_TURNS; i < MANY; i++) {
        assert_int_equal(halo_turn_place(&all[i].turn), 1); /* nobody was let in meanwhile */
        assert_int_equal(atomic_load(&all[i].got), 0);
        assert_int_equal(halo_turn_place(&all[MANY - 1].turn), MANY - i);
        halo_turn_end(&all[i - HALO_TURNS].turn);
        assert_int_equal(wait_got(&all[i]), i + 1);
    }
    for (int i = MANY - HALO_TURNS; i < MANY; i++)
        halo_turn_end(&all[i].turn);
}

/* One that is stopped leaves the line, the others move up; and it has no turn to end. */
static void test_stop(void **state)
{
    (void)state;
    struct person *gone = &all[HALO_TURNS + 1];
    atomic_store(&gone->stop, 1);
    halo_turns_wake();
    assert_int_equal(wait_got(gone), -1);
    assert_int_equal(halo_turn_place(&gone->turn), 0);
    assert_int_equal(halo_turn_place(&all[HALO_TURNS].turn), 1);
    assert_int_equal(halo_turn_place(&all[HALO_TURNS + 2].turn), 2);
    halo_turn_end(&gone->turn);
    assert_int_equal(halo_turn_place(&all[HALO_TURNS].turn), 1);
    for (int i = 0; i < MANY; i++) {
        if (&all[i] == gone)
            continue;
        assert_true(wait_got(&all[i]) > 0);
        halo_turn_end(&all[i].turn);
    }
}

/* A queue has turns of its own, and who has waited for long enough goes on without one. */
static void test_files(void **state)
{
    (void)state;
    const atomic_int stop = 0;
    struct halo_turn turn[HALO_FILE_TURNS + 2] = {0};
    for (int i = 0; i < HALO_FILE_TURNS; i++)
        assert_true(halo_turn_take(&turn[i], HALO_TURNS_FILE, &stop, INT64_MAX));
    assert_int_equal(halo_turn_place(&all[HALO_TURNS].turn), 1);
    assert_true(halo_turn_take(&turn[HALO_FILE_TURNS], HALO_TURNS_FILE, &stop, 1));
    halo_turn_end(&turn[HALO_FILE_TURNS]); /* it had none, so the next one must not get it */
    halo_turn_end(&turn[0]);
    assert_true(halo_turn_take(&turn[HALO_FILE_TURNS + 1], HALO_TURNS_FILE, &stop, INT64_MAX));
    assert_int_equal(halo_turn_place(&turn[HALO_FILE_TURNS + 1]), 0);
    for (int i = 1; i < HALO_FILE_TURNS + 2; i++)
        halo_turn_end(&turn[i]);
    for (int i = 0; i < MANY; i++) {
        assert_true(wait_got(&all[i]) > 0);
        halo_turn_end(&all[i].turn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, begin),
        cmocka_unit_test_setup(test_stop, begin),
        cmocka_unit_test_setup(test_files, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
