/* SPDX-License-Identifier: BSD-2-Clause
 * The search for the stream that ends engines, played: streams with places, and deaths. */
#include <stdlib.h>
#include <string.h>

#include "daemon/supervisor/suspects.h"
#include "tests/cmocka_all.h"

enum { LIMIT = 256, CPU = -1 };

static struct halo_suspect stream[LIMIT], *all[LIMIT];
static int count;
static uint64_t now;

static int begin(void **state)
{
    (void)state;
    memset(stream, 0, sizeof stream);
    for (int i = 0; i < LIMIT; i++)
        all[i] = &stream[i];
    count = 0;
    now = 5;
    return 0;
}

static void add(int device, int how_many)
{
    while (how_many--)
        stream[count++].device = device;
}

/* Never more than the extra engines that there are, and each is one device's. */
static void check_places(void)
{
    for (int i = 0; i < count; i++) {
        assert_in_range(stream[i].extra, 0, HALO_EXTRA_ENGINES);
        for (int k = 0; k < i && stream[i].extra; k++)
            if (stream[k].extra == stream[i].extra)
                assert_int_equal(stream[k].device, stream[i].device);
    }
}

/* The engine of that place dies, with those that are active there. */
static enum halo_verdict die_with_active(int device, int extra, struct halo_suspect *asker)
{
    now += 1000;
    const struct halo_suspect before = stream[0];
    const enum halo_verdict ret = halo_suspects_died(all, count, device, extra, asker, now);
    if (ret == HALO_VERDICT_NONE || ret == HALO_VERDICT_SHARED)
        assert_int_equal(stream[0].extra, before.extra);
    for (int i = 0; i < count; i++) /* nobody is disturbed that was not on it */
        assert_true(!stream[i].moved || stream[i].active);
    check_places();
    return ret;
}

static enum halo_verdict die(int device, int extra, struct halo_suspect *asker)
{
    for (int i = 0; i < count; i++)
        stream[i].active = stream[i].device == device && stream[i].extra == extra;
    return die_with_active(device, extra, asker);
}

static int blamed(void)
{
    int ret = 0;
    for (int i = 0; i < count; i++)
        ret += stream[i].blamed;
    return ret;
}

static int beside(int which)
{
    int ret = 0;
    for (int i = 0; i < count; i++)
        ret += i != which && stream[i].device == stream[which].device &&
               stream[i].extra == stream[which].extra;
    return ret;
}

/* Deaths by that stream until it is blamed. */
static int find(int which)
{
    int deaths = 0;
    while (!stream[which].blamed && ++deaths < 50)
        die(stream[which].device, stream[which].extra, NULL);
    return deaths;
}

static void test_one_of_many(void **state)
{
    (void)state;
    for (int which = 0; which < 128; which++) {
        begin(NULL);
        add(0, 128);
        assert_in_range(find(which), 9, 9); /* the two that begin it, and seven halves */
        assert_int_equal(blamed(), 1);
        assert_int_equal(beside(which), 0);
        assert_int_equal(die(0, stream[which].extra, NULL), HALO_VERDICT_NONE);
    }
}

static void test_few(void **state)
{
    (void)state;
    for (int size = 2; size < 9; size++)
        for (int which = 0; which < size; which++) {
            begin(NULL);
            add(CPU, size);
            assert_in_range(find(which), 3, 5);
            assert_int_equal(blamed(), 1);
            assert_int_equal(beside(which), 0);
        }
}

/* One that is alone harms nobody, and its engine is its own already. */
static void test_one(void **state)
{
    (void)state;
    add(0, 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(die(0, 0, NULL), HALO_VERDICT_NONE);
    assert_int_equal(stream[0].extra, 0);
    assert_int_equal(blamed(), 0);
}

/* All engines of the device die each time, as with a driver that fails: no stream is blamed, and
 * nothing grows. */
static void test_what_all_share(void **state)
{
    (void)state;
    add(0, 128);
    for (int round = 0; round < 100; round++) {
        int place[LIMIT], extras = 0;
        for (int i = 0; i < count; i++)
            place[i] = stream[i].extra;
        for (int extra = 0; extra <= HALO_EXTRA_ENGINES; extra++) {
            bool used = false;
            for (int i = 0; i < count; i++)
                used |= stream[i].active = place[i] == extra && stream[i].extra == extra;
            extras += used && extra;
            if (used)
                die_with_active(0, extra, NULL);
        }
        assert_in_range(extras, 0, 2);
        assert_int_equal(blamed(), 0);
    }
}

/* More of them than there are extra engines: all are found, some share. */
static void test_several(void **state)
{
    (void)state;
    add(0, 64);
    for (int which = 3; which < 64; which += 10)
        assert_in_range(find(which), 1, 20);
    assert_int_equal(blamed(), 7);
    for (int i = 0; i < count; i++)
        assert_int_equal(stream[i].blamed, i % 10 == 3);
    for (int which = 3; which < 64; which += 10)
        assert_true(stream[which].extra > 0);
}

/* Devices have their own searches, of the same few extra engines. */
static void test_devices(void **state)
{
    (void)state;
    for (int device = CPU; device < 7; device++)
        add(device, 16);
    for (int deaths = 0; deaths < 30; deaths++)
        for (int device = 0; device < 8; device++) {
            struct halo_suspect *m = &stream[device * 16 + device];
            if (!m->blamed)
                die(m->device, m->extra, NULL);
        }
    for (int i = 0; i < count; i++)
        assert_true(!stream[i].blamed || i % 17 == 0);
    assert_in_range(blamed(), 3, 8);
}

/* Deaths of any engine, by chance. */
static void test_chance(void **state)
{
    (void)state;
    add(0, 40);
    add(1, 40);
    srand(25);
    for (int i = 0; i < 5000; i++) {
        const struct halo_suspect *m = &stream[rand() % count];
        if (rand() % 8 == 0)
            now += HALO_SUSPECT_MS;
        die(m->device, m->extra, NULL);
    }
}

static void test_long_ago(void **state)
{
    (void)state;
    add(0, 8);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(die(0, 0, NULL), HALO_VERDICT_NONE);
        now += HALO_SUSPECT_MS;
    }
}

/* A stream that said so itself: the others are not counted. */
static void test_an_asker(void **state)
{
    (void)state;
    add(0, 32);
    assert_int_equal(die(0, 0, &stream[7]), HALO_VERDICT_NONE);
    assert_int_equal(die(0, 0, &stream[8]), HALO_VERDICT_NONE);
    assert_int_equal(die(0, 0, &stream[7]), HALO_VERDICT_FOUND);
    assert_true(stream[7].blamed && stream[7].moved);
    assert_int_equal(beside(7), 0);
    assert_int_equal(stream[8].extra, 0);
    assert_int_equal(blamed(), 1);
}

/* Streams that stall leave an engine that goes on: nobody else is moved, and each gets a place of
 * its own as long as there is one. */
static void test_stalls(void **state)
{
    (void)state;
    add(0, 8);
    add(1, 8);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(halo_suspects_stalled(all, count, &stream[i]), HALO_VERDICT_FOUND);
        assert_true(stream[i].blamed && stream[i].extra);
        assert_int_equal(beside(i), 0);
        check_places();
    }
    assert_int_equal(halo_suspects_stalled(all, count, &stream[3]), HALO_VERDICT_FOUND);
    assert_int_equal(beside(3), 1); /* with another one of these */
    assert_int_equal(halo_suspects_stalled(all, count, &stream[8]), HALO_VERDICT_NONE);
    assert_false(stream[8].extra || stream[8].blamed); /* none of its device is left */
    assert_int_equal(halo_suspects_stalled(all, count, &stream[3]), HALO_VERDICT_FOUND);
    assert_int_equal(beside(3), 1); /* elsewhere again */
    check_places();
    assert_int_equal(blamed(), 4);
    for (int i = 0; i < count; i++)
        assert_true(stream[i].blamed || !stream[i].extra);
}

/* One that was suspected is the one that stalled: the search goes on without it. */
static void test_a_stall_of_a_suspect(void **state)
{
    (void)state;
    add(0, 8);
    die(0, 0, NULL);
    assert_int_equal(die(0, 0, NULL), HALO_VERDICT_HALVED);
    int one = 0;
    while (!stream[one].extra)
        one++;
    const int before = stream[one].extra;
    assert_int_equal(halo_suspects_stalled(all, count, &stream[one]), HALO_VERDICT_FOUND);
    assert_true(stream[one].extra && stream[one].extra != before && !stream[one].suspected);
    assert_int_equal(beside(one), 0);
    check_places();
    assert_in_range(find(one == count - 1 ? one - 1 : one + 1), 1, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_of_many, begin),
        cmocka_unit_test_setup(test_few, begin),
        cmocka_unit_test_setup(test_one, begin),
        cmocka_unit_test_setup(test_what_all_share, begin),
        cmocka_unit_test_setup(test_several, begin),
        cmocka_unit_test_setup(test_devices, begin),
        cmocka_unit_test_setup(test_chance, begin),
        cmocka_unit_test_setup(test_long_ago, begin),
        cmocka_unit_test_setup(test_an_asker, begin),
        cmocka_unit_test_setup(test_stalls, begin),
        cmocka_unit_test_setup(test_a_stall_of_a_suspect, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
