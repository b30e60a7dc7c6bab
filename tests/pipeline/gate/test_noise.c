/* SPDX-License-Identifier: BSD-2-Clause
 * The noise of hide=noise: its distribution, and what happens without random numbers. The numbers
 * come from a generator with a fixed seed, so the tests always draw the same. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/gate/noise.h"
#include "tests/cmocka_all.h"

enum { DRAWS = 200000, BINS = 41, MIDDLE = BINS / 2 };

/* splitmix64 */
static int fill(void *arg, void *to, size_t size)
{
    uint64_t *state = arg;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        memcpy((char *)to + i, &z, 8);
    }
    return 0;
}

static int64_t draw(struct halo_random *random, uint64_t s, uint64_t t)
{
    int64_t ret = 0;
    assert_int_equal(halo_noise_draw(random, s, t, &ret), 0);
    return ret;
}

/* Pearson's chi-squared over the values near 0, and the two tails. */
static void distribution(void **state)
{
    static const uint64_t scales[][2] = {{1, 1}, {1, 5}, {7, 3}, {1000, 2500}};
    (void)state;
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        uint64_t seed = k + 1;
        struct halo_random random = {.fill = fill, .arg = &seed};
        const double a = (double)scales[k][0] / (double)scales[k][1];
        double seen[BINS + 2] = {0}, chi = 0, rest = 1;
        int used = 0;
        for (int i = 0; i < DRAWS; i++) {
            const int64_t x = draw(&random, scales[k][0], scales[k][1]);
            const int64_t bin = x < -MIDDLE ? BINS : x > MIDDLE ? BINS + 1 : x + MIDDLE;
            seen[bin]++;
        }
        for (int i = 0; i < BINS; i++) {
            const double p = tanh(a / 2) * exp(-a * abs(i - MIDDLE)), want = p * DRAWS;
            rest -= p;
            if (want < 10)
                continue;
            used++;
            chi += (seen[i] - want) * (seen[i] - want) / want;
        }
        if (rest * DRAWS / 2 >= 10)
            for (int i = BINS; i < BINS + 2; i++, used++) {
                const double want = rest * DRAWS / 2;
                chi += (seen[i] - want) * (seen[i] - want) / want;
            }
        /* 4.5 standard deviations of chi-squared */
        if (used < 3 || chi > used + 4.5 * sqrt(2.0 * used))
            fail_msg("scale %zu: chi-squared is %g in %d bins", k, chi, used);
    }
}

/* Scales as frames of 16 bits have them. */
static void large(void **state)
{
    uint64_t seed = 9;
    struct halo_random random = {.fill = fill, .arg = &seed};
    const uint64_t s = 1, t = UINT64_C(768) * 65535 * 1000;
    double sum = 0, sizes = 0;
    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        const double x = (double)draw(&random, s, t) / (double)t;
        sum += x;
        sizes += fabs(x);
    }
    /* the mean is 0, with a deviation of sqrt(2); that of the sizes is 1, with one of 1 */
    assert_true(fabs(sum / DRAWS) < 4.5 * sqrt(2.0 / DRAWS));
    assert_true(fabs(sizes / DRAWS - 1) < 4.5 * sqrt(1.0 / DRAWS));
}

static void kernel(void **state)
{
    struct halo_random random = {.left = 0};
    int64_t one[8], two[8];
    (void)state;
    for (int i = 0; i < 8; i++)
        one[i] = draw(&random, 1, 1000000);
    for (int i = 0; i < 8; i++)
        two[i] = draw(&random, 1, 1000000);
    assert_memory_not_equal(one, two, sizeof one);
    halo_random_finish(&random);
    static const uint8_t none[sizeof random.bytes];
    assert_memory_equal(random.bytes, none, sizeof none);
}

static int no_numbers(void *arg, void *to, size_t size)
{
    (void)to;
    (void)size;
    return --*(int *)arg < 0 ? -EIO : 0;
}

static void without_numbers(void **state)
{
    int times = 0;
    struct halo_random random = {.fill = no_numbers, .arg = &times};
    int64_t ret = 7;
    (void)state;
    assert_int_equal(halo_noise_draw(&random, 1, 1000, &ret), -EIO);
    assert_int_equal(ret, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distribution),
        cmocka_unit_test(large),
        cmocka_unit_test(kernel),
        cmocka_unit_test(without_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
