/* SPDX-License-Identifier: BSD-2-Clause
 * Mattes: every build draws what the definition says, and on made clips, whose mattes are known,
 * mattes are better and calmer than the masks from which they are made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/matte.h"
#include "pipeline/detect/matte.h"
#include "pipeline/frame/raw_frame_private.h"
#include "tests/cmocka_all.h"

static uint32_t any(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* ---- one definition ---- */

static void fill_grid(struct halo_matte_grid *grid, uint32_t *state)
{
    const int count = grid->width * grid->height;
    for (int i = 0; i < count; i++) {
        const int side = i % grid->width / 5 % 3;
        grid->slope[i] = side < 2 ? 0 : (int16_t)((int)(any(state) % 4095) - 2047);
        grid->base[i] = side == 0   ? -5 * 2048
                        : side == 1 ? 260 * 2048
                                    : (int32_t)(any(state) % (1 << 24)) - (1 << 23) + 1;
    }
}

static void compare_sizes(int width, int height, int depth, uint32_t *state)
{
    struct halo_matte_grid grid = {16 + (int)(any(state) % 60), 16 + (int)(any(state) % 40), 0, 0};
    const size_t nodes = (size_t)grid.width * (size_t)grid.height;
    const size_t samples = (size_t)width * (size_t)height;
    grid.slope = malloc(nodes * sizeof *grid.slope);
    grid.base = malloc(nodes * sizeof *grid.base);
    uint16_t *frame = malloc(samples * sizeof *frame);
    uint8_t *want = malloc(samples), *got = malloc(samples);
    fill_grid(&grid, state);
    for (size_t i = 0; i < samples; i++)
        frame[i] = (uint16_t)any(state);
    const struct halo_plane luma = {frame, width * (depth > 8 ? 2 : 1), width, height, 1,
                                    depth, depth == 10 ? 6 : 0};
    const struct halo_plane *const guides[] = {&luma, NULL};
    for (int k = 0; k < 2; k++) {
        const struct halo_plane right = {want, width, width, height, 1, 8, 0};
        const struct halo_plane dst = {got, width, width, height, 1, 8, 0};
        halo_matte_draw_plainly(&grid, guides[k], &right);
        for (int level = 0; level < 3; level++) {
            memset(got, 77, samples);
            if (halo_matte_draw_as(level, &grid, guides[k], &dst) == -ENOTSUP)
                continue;
            assert_memory_equal(got, want, samples);
        }
    }
    free(grid.slope);
    free(grid.base);
    free(frame);
    free(want);
    free(got);
}

static void levels(void **state)
{
    static const int depths[] = {8, 10, 12};
    uint32_t lot = 1;
    (void)state;
    for (int i = 0; i < 3; i++) {
        compare_sizes(1, 1, depths[i], &lot);
        compare_sizes(7, 3, depths[i], &lot);
        compare_sizes(321, 181, depths[i], &lot);
    }
}

/* ---- clips with known mattes ---- */

enum { W = 640, H = 360, MW = 128, MH = 72 };

struct clip {
    uint8_t luma[W * H], truth[W * H], mask[MW * MH];
};

/* A textured disc on a textured background; its mask is small, blurred and noisy. */
static void make_clip(struct clip *c, int cx, uint32_t seed)
{
    uint32_t texture = 5, noise = seed;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const int dx = x - cx, dy = y - H / 2;
            const bool inside = dx * dx + dy * dy < 100 * 100;
            c->truth[y * W + x] = inside ? 255 : 0;
            c->luma[y * W + x] = (uint8_t)((inside ? 100 : 130) + any(&texture) % 24);
        }
    for (int y = 0; y < MH; y++)
        for (int x = 0; x < MW; x++) {
            int sum = 0, count = 0;
            for (int v = y * 5 - 5; v < y * 5 + 10; v++)
                for (int u = x * 5 - 5; u < x * 5 + 10; u++, count++)
                    sum += u >= 0 && u < W && v >= 0 && v < H ? c->truth[v * W + u] : 0;
            const int m = sum / count + (int)(any(&noise) % 181) - 90;
            c->mask[y * MW + x] = (uint8_t)(m < 0 ? 0 : m > 255 ? 255 : m);
        }
}

static uint8_t upscaled(const uint8_t *mask, int x, int y)
{
    const int u = halo_matte_at(x, W, MW), v = halo_matte_at(y, H, MH);
    const int x0 = u >> 7, x1 = x0 + (x0 + 1 < MW), y0 = v >> 7, y1 = y0 + (y0 + 1 < MH);
    return (uint8_t)halo_matte_between(
        halo_matte_between(mask[y0 * MW + x0], mask[y1 * MW + x0], v & 127),
        halo_matte_between(mask[y0 * MW + x1], mask[y1 * MW + x1], v & 127), u & 127);
}

static int64_t difference(const uint8_t *a, const uint8_t *b)
{
    int64_t sum = 0;
    for (int i = 0; i < W * H; i++)
        sum += abs(a[i] - b[i]);
    return sum;
}

static struct halo_mask_image *pass(struct halo_matte *matte, struct clip *c, bool cut, bool shown)
{
    AVFrame frame = {.format = AV_PIX_FMT_GRAY8, .width = W, .height = H};
    frame.data[0] = c->luma;
    frame.linesize[0] = W;
    const struct halo_raw_frame raw = {.frame = &frame, .format = AV_PIX_FMT_GRAY8};
    const struct halo_matte_mask mask = {c->mask, MW, MH, cut};
    struct halo_mask_image *image = NULL;
    struct halo_error err = {0};
    assert_int_equal(
        halo_matte_make(matte, &mask, &raw, shown ? NULL : &image, shown ? &image : NULL, &err), 0);
    assert_true(image->width == W && image->height == H);
    return image;
}

/* Where nothing moves, neither does the matte; its edge is the frame's. */
static void calm_and_sharp(void **state)
{
    (void)state;
    struct clip *c = malloc(sizeof *c);
    uint8_t *raw = malloc(W * H), *before = malloc(W * H);
    struct halo_matte *matte = halo_matte_create(NULL), *single = halo_matte_create(NULL);
    struct halo_mask_image *last = NULL, *last_single = NULL;
    int64_t alone = 0, raw_flicker = 0, flicker = 0, raw_error = 0, error = 0;
    for (int k = 0; k < 20; k++) {
        make_clip(c, W / 2, 100 + (uint32_t)k);
        struct halo_mask_image *image = pass(matte, c, false, true);
        struct halo_mask_image *own = pass(single, c, true, true); /* of this frame alone */
        for (int i = 0; i < W * H; i++)
            raw[i] = upscaled(c->mask, i % W, i / W);
        if (k >= 10) {
            flicker += difference(image->weight, last->weight);
            alone += difference(own->weight, last_single->weight);
            raw_flicker += difference(raw, before);
            error += difference(image->weight, c->truth);
            raw_error += difference(raw, c->truth);
        }
        memcpy(before, raw, W * H);
        halo_mask_image_destroy(last);
        halo_mask_image_destroy(last_single);
        last = image;
        last_single = own;
    }
    print_message("flicker %.3f of the mask's, error %.3f\n", (double)flicker / (double)raw_flicker,
                  (double)error / (double)raw_error);
    assert_true(4 * flicker <= raw_flicker);
    assert_true(4 * flicker <= alone);
    assert_true(2 * error <= raw_error);
    halo_mask_image_destroy(last);
    halo_mask_image_destroy(last_single);
    halo_matte_destroy(matte);
    halo_matte_destroy(single);
    free(c);
    free(raw);
    free(before);
}

static int64_t wrong(struct halo_matte *matte, struct clip *c, bool cut, bool shown)
{
    struct halo_mask_image *image = pass(matte, c, cut, shown);
    const int64_t sum = difference(image->weight, c->truth);
    halo_mask_image_destroy(image);
    return sum;
}

/* A jump is followed within the frame that shows it, and nothing is left of a scene after a cut. */
static void follows(void **state)
{
    (void)state;
    struct clip *c = malloc(sizeof *c);
    struct halo_matte *matte = halo_matte_create(NULL), *fresh = halo_matte_create(NULL);
    make_clip(c, 200, 1);
    for (int k = 0; k < 5; k++)
        wrong(matte, c, false, true);
    make_clip(c, 400, 2);
    const int64_t moved = wrong(matte, c, false, true), restarted = wrong(fresh, c, false, true);
    print_message("after a jump %.2f of the mask, from the start %.2f\n", (double)moved / (W * H),
                  (double)restarted / (W * H));
    assert_true(moved <= restarted + restarted / 4);
    make_clip(c, 250, 3);
    struct halo_mask_image *a = pass(matte, c, true, true);
    halo_matte_reset(fresh);
    struct halo_mask_image *b = pass(fresh, c, false, true);
    assert_memory_equal(a->weight, b->weight, W * H);
    halo_mask_image_destroy(a);
    halo_mask_image_destroy(b);
    halo_matte_destroy(matte);
    halo_matte_destroy(fresh);
    free(c);
}

/* What may be a person is never less in the matte that hides people than in the one that shows
 * them. */
static void safe_sides(void **state)
{
    (void)state;
    struct clip *c = malloc(sizeof *c);
    struct halo_matte *one = halo_matte_create(NULL), *other = halo_matte_create(NULL);
    make_clip(c, 300, 4);
    struct halo_mask_image *hidden = pass(one, c, false, false),
                           *shown = pass(other, c, false, true);
    for (int i = 0; i < W * H; i++)
        assert_true(hidden->weight[i] >= shown->weight[i]);
    halo_mask_image_destroy(hidden);
    halo_mask_image_destroy(shown);
    halo_matte_destroy(one);
    halo_matte_destroy(other);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(calm_and_sharp),
        cmocka_unit_test(follows),
        cmocka_unit_test(safe_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
