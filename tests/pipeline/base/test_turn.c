/* SPDX-License-Identifier: BSD-2-Clause
 * Turns: only so many at once, in the order in which they came, and who is stopped goes. */
#include <pthread.h>
#include <sched.h>

#include "pipeline/base/turn.h"
#include "tests/cmocka_all.h"

enum { MANY = 12 };

static struct person {
    struct halo_turn turn;
    pthread_t thread;
    atomic_int stop, got; /* got: -1: was stopped; else how many had come before it */
} all[MANY];
static atomic_int came;

static void *wait_for_it(void *arg)
{
    struct person *p = arg;
    const bool got = halo_turn_take(&p->turn, &p->stop);
    atomic_store(&p->got, got ? atomic_fetch_add(&came, 1) + 1 : -1);
    return NULL;
}

/* Stands in the line, or has got its turn. */
static void start(struct person *p)
{
    *p = (struct person){0};
    assert_int_equal(pthread_create(&p->thread, NULL, wait_for_it, p), 0);
    while (!halo_turn_place(&p->turn) && !atomic_load(&p->got))
        sched_yield();
}

static int begin(void **state)
{
    (void)state;
    atomic_store(&came, 0);
    for (int i = 0; i < MANY; i++)
        start(&all[i]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, begin),
        cmocka_unit_test_setup(test_stop, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
