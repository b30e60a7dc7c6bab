/* SPDX-License-Identifier: BSD-2-Clause
 * Every strategy of every backend against the CPU reference: the same bytes, or it fails.
 *
 * A case is a picture, a mask, a border and a pattern; the reference runs once and each strategy's
 * whole buffer, guard bytes included, is compared with memcmp. Cases whose reference would be slow
 * are drawn by lot, so that all of them have about the same expected cost; --full draws more of
 * them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "masks.h"
#include "picture.h"
#include "regions.h"
#include "together.h"

enum { MAX_ROWS = 32, MOST_PRINTED = 20, THINNED = 30, TINY = 100 /* pixels */ };

/* The widest one is three strips of the CPU's rows strategy. */
static const int sizes[][2] = {
    {1, 1},   {1, 7},     {7, 1},     {3, 5},    {17, 9},      {64, 48},
    {65, 33}, {257, 131}, {641, 363}, {8195, 5}, {1921, 1081}, {3840, 2160},
};

static const struct format formats[] = {
    {8, 1, 0},  {8, 2, 0},  {10, 1, 0}, {10, 2, 0}, {10, 1, 6}, {10, 2, 6},
    {12, 1, 0}, {12, 2, 0}, {12, 1, 4}, {12, 2, 4}, {16, 2, 0},
};

static const char *const border_names[HALO_BORDER_COUNT] = {
    "constant", "replicate", "reflect", "reflect101", "wrap",
};

/* One strategy under test, or a backend's own choice of one. */
struct row {
    const struct halo_backend_ops *ops;
    struct halo_backend *opened[2]; /* two thread counts: bands fall differently */
    const struct halo_strategy *strategy;
    long passed, failed;
};

struct check {
    bool full;
    bool thin;           /* for slow builds: few cases */
    bool first;          /* end at the first failure */
    const char *backend; /* NULL: all */
    uint64_t seed;
    long only; /* case number, -1: all */

    struct row rows[MAX_ROWS];
    int row_count;
    struct halo_backend *oracle;
    long skipped;
};

struct test_case {
    long number;
    int width, height;
    struct format format;
    const struct mask *mask;
    enum halo_border border;
    enum pattern pattern;
    bool src_flipped, dst_flipped;
    const struct test_region *region; /* NULL: everywhere */
};

static void print_mismatch(const struct check *k, const struct row *r, const struct test_case *t,
                           const struct picture *got, const struct picture *want)
{
    printf("FAIL %s/%s: case %ld (--seed %llu%s): %dx%d depth %d channels %d shift %d%s%s, %s, "
           "border %s, %s%s%s%s\n",
           r->ops->name, r->strategy ? r->strategy->name : "auto", t->number,
           (unsigned long long)k->seed, k->full ? " --full" : "", t->width, t->height,
           t->format.depth, t->format.channels, t->format.shift,
           t->src_flipped ? " src flipped" : "", t->dst_flipped ? " dst flipped" : "",
           t->mask->name, border_names[t->border], pattern_names[t->pattern], t->region ? ", " : "",
           t->region ? t->region->name : "",
           t->region && t->region->region.invert ? ", inverted" : "");
    for (int y = 0; y < t->height; y++) {
        for (int x = 0; x < t->width * t->format.channels; x++) {
            if (picture_word(got, x, y) != picture_word(want, x, y)) {
                printf("     first at sample %d of row %d: got %d, want %d\n", x, y,
                       picture_word(got, x, y), picture_word(want, x, y));
                return;
            }
        }
    }
    printf("     all samples agree: a guard byte was written\n");
}

static void check_row(struct check *k, struct row *r, const struct test_case *t,
                      const struct halo_conv *conv, const struct picture *src,
                      const struct picture *want)
{
    if (r->strategy && !halo_backend_can(r->opened[0], r->strategy, conv, t->format.channels))
        return;
    struct picture got = picture_create(t->width, t->height, t->format, t->dst_flipped);
    const struct halo_job job = {conv, r->strategy, src->plane, got.plane,
                                 t->region ? &t->region->region : NULL};
    const int error = halo_backend_convolve(r->opened[t->number % 2], &job, 1);
    if (error == 0 && !memcmp(got.memory, want->memory, want->size)) {
        r->passed++;
    } else {
        if (r->failed++ < MOST_PRINTED) {
            print_mismatch(k, r, t, &got, want);
            if (error)
                printf("     convolve: %s\n", strerror(-error));
        }
        if (k->first)
            exit(1);
    }
    picture_destroy(&got);
}

/* False where the mask cannot be made for this format, which is only right if it says -ERANGE. */
static bool make(struct check *k, const struct test_case *t, uint64_t draw, struct halo_conv *conv)
{
    const struct halo_conv_target target = {
        t->format.depth, t->border, (int)(draw % ((unsigned)halo_sample_max(t->format.depth) + 1))};
    const int error = mask_make(conv, t->mask, &target);
    if (error) {
        printf("%s %s at depth %d: %s\n", error == -ERANGE ? "skip" : "FAIL", t->mask->name,
               t->format.depth, strerror(-error));
        k->skipped++;
        k->rows[0].failed += error != -ERANGE;
    }
    return !error;
}

static void check_rows(struct check *k, const struct test_case *t, const struct halo_conv *conv,
                       const struct picture *src, const struct picture *want)
{
    for (int i = 0; i < k->row_count; i++)
        check_row(k, &k->rows[i], t, conv, src, want);
}

/* The same case once more, in a region; want becomes what is right there. */
static void check_region(struct check *k, struct test_case *t, const struct halo_conv *conv,
                         const struct picture *src, struct picture *want, uint64_t *state)
{
    static struct test_region region;
    test_region_draw(&region, t->width, t->height, state);
    test_region_apply(&region, src, want);
    t->region = &region;
    check_rows(k, t, conv, src, want);
    if (region.mask.memory && !picture_guards_whole(&region.mask)) {
        printf("FAIL case %ld: the mask's guard bytes were written\n", t->number);
        k->rows[0].failed++;
    }
    test_region_finish(&region);
}

/* Samples times taps that the reference will visit. */
static double cost(const struct test_case *t, const struct halo_conv *c)
{
    const double samples = (double)t->width * t->height * t->format.channels;
    const double taps_x = 2 * c->radius_x + 1, taps_y = 2 * c->radius_y + 1;
    if (c->kind == HALO_CONV_DENSE || c->kind == HALO_CONV_COPY)
        return samples * taps_x * taps_y;
    if (c->kind == HALO_CONV_GRADIENT)
        return samples * 3 * taps_x * taps_y; /* two masks and a root */
    return samples * (taps_x * (t->height + 2 * c->radius_y) / t->height + taps_y);
}

static void run_case(struct check *k, struct test_case *t)
{
    if (k->only >= 0 && t->number != k->only)
        return;
    uint64_t state = (k->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)t->number;
    const uint64_t draw = next_random(&state);
    t->src_flipped = draw >> 10 & 1;
    t->dst_flipped = draw >> 11 & 1;

    struct halo_conv conv;
    if (!make(k, t, draw >> 12, &conv))
        return;
    const double affordable = k->full ? 1e7 : 5e5;
    const double lot = (double)(next_random(&state) % 1000000) / 1e6;
    if (k->only < 0 && lot * cost(t, &conv) > affordable)
        return;
    if (k->only < 0 && k->thin && next_random(&state) % THINNED)
        return;

    struct picture src = picture_create(t->width, t->height, t->format, t->src_flipped);
    struct picture want = picture_create(t->width, t->height, t->format, t->dst_flipped);
    picture_fill(&src, t->pattern, &conv, &state);
    const struct halo_job job = {&conv, halo_strategy_find(halo_backends[0], "reference"),
                                 src.plane, want.plane};
    if (halo_backend_convolve(k->oracle, &job, 1) || !picture_guards_whole(&want)) {
        printf("FAIL the reference itself: case %ld\n", t->number);
        k->rows[0].failed++;
    }
    check_rows(k, t, &conv, &src, &want);
    if (t->width * t->height > TINY || next_random(&state) % 8 == 0)
        check_region(k, t, &conv, &src, &want, &state);
    if (!picture_guards_whole(&src)) {
        printf("FAIL case %ld: the source's guard bytes were written\n", t->number);
        k->rows[0].failed++;
    }
    picture_destroy(&src);
    picture_destroy(&want);
}

/* Small pictures meet every border and pattern; for the larger ones both go round. */
static void run_all(struct check *k)
{
    long number = 0, turn = (long)(k->seed % 97);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (int m = 0; m < mask_count; m++) {
            for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
                const bool small = sizes[s][0] * sizes[s][1] <= (k->full ? 4000 : 40);
                const int rounds = small ? HALO_BORDER_COUNT * PATTERN_COUNT : k->full ? 4 : 1;
                for (int i = 0; i < rounds; i++, turn++) {
                    struct test_case t = {
                        .number = number++,
                        .width = sizes[s][0],
                        .height = sizes[s][1],
                        .format = formats[f],
                        .mask = &masks[m],
                        .border = (enum halo_border)(turn % HALO_BORDER_COUNT),
                        /* Half of the turns are random data, the one pattern with no structure. */
                        .pattern = small      ? (enum pattern)(i / HALO_BORDER_COUNT)
                                   : turn % 2 ? RANDOM
                                              : (enum pattern)(turn / 2 % PATTERN_COUNT),
                    };
                    run_case(k, &t);
                }
            }
        }
    }
}

/* What a backend chooses by itself, for the planes of a frame together. */
static void run_together(struct check *k)
{
    for (int i = 0; i < k->row_count && k->only < 0; i++) {
        struct row *r = &k->rows[i];
        if (r->strategy)
            continue;
        for (int n = 0; n < 2; n++) {
            const int wrong = check_together(r->opened[n], k->oracle, k->seed, k->thin ? 20 : 100);
            r->failed += wrong;
            r->passed += wrong == 0;
        }
    }
}

static void expect(struct check *k, const char *what, int got, int want)
{
    if (got == want)
        return;
    printf("FAIL %s: got %d, want %d\n", what, got, want);
    k->rows[0].failed++;
}

/* The rules of backend.h that a job may break. */
static void check_front_door(struct check *k)
{
    static unsigned char a[64], b[64];
    struct halo_conv box;
    struct halo_conv_target target = {.depth = 8};
    if (halo_conv_box(&box, 1, 1, &target))
        exit(1);
    const struct halo_plane src = {a, 8, 8, 8, 1, 8, 0}, dst = {b, 8, 8, 8, 1, 8, 0};
    const struct halo_job good = {&box, NULL, src, dst};
    struct halo_job j = good;
    expect(k, "good job", halo_backend_convolve(k->oracle, &j, 1), 0);
    expect(k, "no jobs", halo_backend_convolve(k->oracle, NULL, 0), 0);
    j.dst.data = a + 63;
    expect(k, "overlap", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.dst.width = 7;
    expect(k, "other width", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.src.stride = j.dst.stride = 7;
    expect(k, "rows that overlap", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.src.depth = j.dst.depth = 10;
    expect(k, "other depth", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.src.data = NULL;
    expect(k, "no picture", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    j = good, j.strategy = halo_strategy_find(halo_backends[0], "rows");
    expect(k, "a strategy that cannot", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);

    struct halo_region region = {0}; /* nowhere */
    j = good, j.region = &region;
    expect(k, "a region without a pixel", halo_backend_convolve(k->oracle, &j, 1), 0);
    region.rect_count = 1;
    expect(k, "no rectangles", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    region = (struct halo_region){.mask = src};
    expect(k, "the source as mask", halo_backend_convolve(k->oracle, &j, 1), 0);
    region.mask.height = 7;
    expect(k, "a mask of other height", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
    region.mask = dst;
    expect(k, "a mask that is written", halo_backend_convolve(k->oracle, &j, 1), -EINVAL);
}

static void add_rows(struct check *k, const struct halo_backend_ops *ops)
{
    char text[200] = "";
    const int devices = ops->describe(text, sizeof(text));
    printf("%s: %s\n", ops->name, text);
    struct halo_backend *opened[2] = {NULL};
    const struct halo_backend_settings settings[2] = {{.threads = 1}, {.threads = 3}};
    for (int i = 0; i < 2 && devices > 0; i++) {
        const int error = halo_backend_open(ops, &settings[i], &opened[i]);
        expect(k, "open", error, 0);
        if (error)
            return;
    }
    for (int i = 0; k->row_count < MAX_ROWS; i++) {
        const struct halo_strategy *s = ops->strategies[i];
        if (devices > 0)
            k->rows[k->row_count++] = (struct row){ops, {opened[0], opened[1]}, s, 0, 0};
        else if (s)
            printf("skip %s/%s\n", ops->name, s->name);
        k->skipped += devices == 0;
        if (!s)
            break;
    }
}

static int report(const struct check *k)
{
    long passed = 0, failed = 0;
    for (int i = 0; i < k->row_count; i++) {
        const struct row *r = &k->rows[i];
        printf("%s/%s: %ld passed, %ld failed\n", r->ops->name,
               r->strategy ? r->strategy->name : "auto", r->passed, r->failed);
        passed += r->passed;
        failed += r->failed;
    }
    printf("%ld passed, %ld failed, %ld skipped\n", passed, failed, k->skipped);
    return failed ? 1 : passed ? 0 : 77;
}

static bool parse(struct check *k, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--full"))
            k->full = true;
        else if (!strcmp(argv[i], "--thin"))
            k->thin = true;
        else if (!strcmp(argv[i], "--first"))
            k->first = true;
        else if (!strcmp(argv[i], "--backend") && value && halo_backend_find(value))
            k->backend = argv[++i];
        else if (!strcmp(argv[i], "--seed") && value)
            k->seed = strtoull(argv[++i], NULL, 0);
        else if (!strcmp(argv[i], "--case") && value)
            k->only = strtol(argv[++i], NULL, 0);
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct check k = {.seed = 1, .only = -1};
    if (!parse(&k, argc, argv)) {
        fprintf(stderr,
                "usage: %s [--full | --thin] [--first] [--backend NAME] [--seed N] [--case N]\n",
                argv[0]);
        return 2;
    }
    const struct halo_backend_settings settings = {.threads = 0};
    if (halo_backend_open(halo_backends[0], &settings, &k.oracle)) {
        fprintf(stderr, "the cpu backend does not open\n");
        return 1;
    }
    for (int i = 0; halo_backends[i]; i++) {
        if (!k.backend || !strcmp(k.backend, halo_backends[i]->name))
            add_rows(&k, halo_backends[i]);
    }
    if (k.row_count > 0) {
        check_front_door(&k);
        run_all(&k);
        run_together(&k);
    }
    for (int i = 0; i < k.row_count; i++) {
        if (k.rows[i].strategy == NULL) { /* one row of each backend */
            halo_backend_close(k.rows[i].opened[0]);
            halo_backend_close(k.rows[i].opened[1]);
        }
    }
    halo_backend_close(k.oracle);
    return report(&k);
}
