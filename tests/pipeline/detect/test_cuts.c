/* SPDX-License-Identifier: BSD-2-Clause
 * What is a cut, by made thumbnails. */
#include <string.h>

#include "pipeline/detect/cuts.h"
#include "tests/cmocka_all.h"

static struct halo_cuts cuts_;
static uint8_t frame_[HALO_CUT_BYTES];

static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 16) * 0x45d9f3bu;
    x = (x ^ x >> 16) * 0x45d9f3bu;
    return x ^ x >> 16;
}

static uint8_t limited(int level)
{
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

/* A scene of blocks of 8 x 8 samples with levels around 128, seen from x, y. */
static void draw(uint32_t scene, int x, int y, int contrast, int light, int noise)
{
    for (int i = 0; i < HALO_CUT_BYTES; i++) {
        const uint32_t column = (uint32_t)(i % HALO_CUT_WIDTH + x + 1024) / 8;
        const uint32_t row = (uint32_t)(i / HALO_CUT_WIDTH + y + 1024) / 8;
        const int level = (int)(mixed(scene * 65537u + row * 1031u + column) % 201) - 100;
        const int grain =
            noise ? (int)(mixed((uint32_t)i + 7919u * scene) % (uint32_t)(2 * noise + 1)) - noise
                  : 0;
        frame_[i] = limited(128 + level * contrast / 100 + light + grain);
    }
}

static bool is_cut(void)
{
    return halo_cuts_is_cut(&cuts_, frame_);
}

static int setup(void **state)
{
    (void)state;
    memset(&cuts_, 0, sizeof cuts_);
    draw(1, 0, 0, 100, 0, 0);
    assert_true(is_cut()); /* the first frame */
    return 0;
}

static void test_first(void **state)
{
    (void)state;
    assert_false(is_cut());
    memset(&cuts_, 0, sizeof cuts_);
    assert_true(is_cut()); /* the same frame, of another stream */
    assert_false(is_cut());
    memset(&cuts_, 0, sizeof cuts_);
    memset(frame_, 0, sizeof frame_);
    assert_true(is_cut()); /* even if it is black */
    assert_false(is_cut());
}

static void test_cut(void **state)
{
    (void)state;
    for (uint32_t scene = 2; scene < 20; scene++) {
        draw(scene, 0, 0, 100, 0, 0);
        assert_true(is_cut());
        assert_false(is_cut()); /* compared with the frame before, not with the first */
    }
}

static void test_pan(void **state)
{
    (void)state;
    for (int i = 1; i < 40; i++) {
        draw(1, 6 * i, i % 2 ? 3 : 0, 100, 0, 0);
        assert_false(is_cut());
        draw(1, 6 * i, i % 2 ? 0 : 3, 100, 0, 0);
        assert_false(is_cut());
    }
    draw(1, 6 * 39 + 32, 16, 100, 0, 0); /* too far to be the same view */
    assert_true(is_cut());
}

static void test_fade(void **state)
{
    (void)state;
    for (int part = 96; part >= 0; part -= 4) { /* to grey, and to another scene */
        draw(1, 0, 0, part, 0, 0);
        assert_false(is_cut());
    }
    for (int part = 0; part <= 100; part += 4) {
        draw(2, 0, 0, part, 0, 0);
        assert_false(is_cut());
    }
}

static void test_light(void **state)
{
    (void)state;
    static const int lights[] = {20, -20, 25, 0};
    for (size_t i = 0; i < sizeof lights / sizeof *lights; i++) {
        draw(1, 0, 0, 100, lights[i], 0);
        assert_false(is_cut());
    }
}

static void test_noise(void **state)
{
    (void)state;
    draw(1, 0, 0, 100, 0, 20);
    assert_false(is_cut());
    draw(1, 0, 0, 0, -110, 4); /* the dark: noise alone */
    (void)is_cut();
    draw(2, 0, 0, 0, -110, 4);
    assert_false(is_cut());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_first, setup), cmocka_unit_test_setup(test_cut, setup),
        cmocka_unit_test_setup(test_pan, setup),   cmocka_unit_test_setup(test_fade, setup),
        cmocka_unit_test_setup(test_light, setup), cmocka_unit_test_setup(test_noise, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
