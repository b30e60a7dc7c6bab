/* SPDX-License-Identifier: BSD-2-Clause
 * Every strategy of every backend against the CPU reference: the same bytes, or it fails.
 *
 * A case is a picture, a mask, a border and a pattern; the reference runs once and each strategy's
 * whole buffer, guard bytes included, is compared with memcmp. The cases come from check_list.c or
 * check_random.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/check.h"
#include "tests/kernels/frames.h"
#include "tests/kernels/regions.h"
#include "tests/kernels/together.h"

enum { MAX_PRINTED = 20, TINY = 100 /* pixels */ };

static const char *const border_names[HALO_BORDER_COUNT] = {
    "constant", "replicate", "reflect", "reflect101", "wrap",
};

static void print_layout(const struct layout *l)
{
    printf("%d samples before, %d between rows%s", l->before, l->between,
           l->upside_down ? ", upside down" : "");
}

static void print_mismatch(const struct check *k, const struct row *r, const struct test_case *t,
                           const struct picture *got, const struct picture *want)
{
    const char *extent = k->thin == THINNER ? " --thinner"
                         : k->thin          ? " --thin"
                         : k->full          ? " --full"
                                            : "";
    printf("FAIL %s/%s: case %ld (--seed %llu%s%s): %dx%d depth %d channels %d shift %d, %s, "
           "border %s, %s%s%s%s; source: ",
           r->ops->name, r->strategy ? r->strategy->name : "auto", t->number,
           (unsigned long long)k->seed, extent, k->random ? " --random 1" : "", t->width, t->height,
           t->format.depth, t->format.channels, t->format.shift, t->mask,
           border_names[t->conv->border], pattern_names[t->pattern], t->region ? ", " : "",
           t->region ? t->region->name : "",
           t->region && t->region->region.invert ? ", inverted" : "");
    print_layout(&t->src);
    printf(", result: ");
    print_layout(&t->dst);
    printf("\n");
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

/* A device's scratch still has the rows of the picture before, which for a region are the right
 * ones where a pass has left some out: another picture takes their place. */
static void spoil_scratch(struct row *r, const struct test_case *t)
{
    struct picture src = picture_create(t->width, t->height, t->format, t->src);
    struct picture dst = picture_create(t->width, t->height, t->format, t->dst);
    const struct halo_job job = {t->conv, r->strategy, src.plane, dst.plane};
    (void)halo_backend_convolve(r->opened[t->number % 2], &job, 1);
    picture_destroy(&src);
    picture_destroy(&dst);
}

static void check_row(struct check *k, struct row *r, const struct test_case *t,
                      const struct picture *src, const struct picture *want)
{
    if (r->strategy && !halo_backend_can(r->opened[0], r->strategy, t->conv, t->format.channels))
        return;
    if (t->region && r->opened[0]->ops->submit)
        spoil_scratch(r, t);
    struct picture got = picture_create(t->width, t->height, t->format, t->dst);
    const struct halo_job job = {t->conv, r->strategy, src->plane, got.plane,
                                 t->region ? &t->region->region : NULL};
    const int error = halo_backend_convolve(r->opened[t->number % 2], &job, 1);
    if (error == 0 && !memcmp(got.memory, want->memory, want->size)) {
        r->passed++;
    } else {
        if (r->failed++ < MAX_PRINTED) {
            print_mismatch(k, r, t, &got, want);
            if (error)
                printf("     convolve: %s\n", strerror(-error));
        }
        if (k->first)
            exit(1);
    }
    picture_destroy(&got);
}

double reference_cost(const struct halo_conv *c, int width, int height, int channels)
{
    const double samples = (double)width * height * channels;
    const double taps_x = 2 * c->radius_x + 1, taps_y = 2 * c->radius_y + 1;
    if (c->kind == HALO_CONV_DENSE || c->kind == HALO_CONV_COPY)
        return samples * taps_x * taps_y;
    if (c->kind == HALO_CONV_GRADIENT)
        return samples * 3 * taps_x * taps_y; /* two masks and a root */
    if (c->kind == HALO_CONV_DECIMATED) {
        const double columns = width + 2.0 * c->radius_x, rows = height + 2.0 * c->radius_y;
        const double nodes = columns / c->step_x * rows / c->step_y;
        const double blurs = 2.0 * c->reach_x + 2.0 * c->reach_y + 2;
        return channels * (3 * columns * rows + blurs * nodes);
    }
    return samples * (taps_x * (height + 2 * c->radius_y) / height + taps_y);
}

uint64_t case_state(const struct check *k, long number)
{
    uint64_t z = (k->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)number;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* neighbours shall have nothing in common */
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z | 1;
}

static void check_rows(struct check *k, const struct test_case *t, const struct picture *src,
                       const struct picture *want)
{
    for (int i = 0; i < k->row_count; i++)
        check_row(k, &k->rows[i], t, src, want);
}

/* The same case once more, in a region; want becomes what is right there. */
static void check_region(struct check *k, const struct test_case *whole, const struct picture *src,
                         struct picture *want, uint64_t *state)
{
    static struct test_region region;
    struct test_case t = *whole;
    test_region_draw(&region, t.width, t.height, state);
    test_region_apply(&region, src, want);
    t.region = &region;
    check_rows(k, &t, src, want);
    if (region.mask.memory && !picture_guards_whole(&region.mask)) {
        printf("FAIL case %ld: the mask's guard bytes were written\n", t.number);
        k->rows[0].failed++;
    }
    test_region_finish(&region);
}

void check_case(struct check *k, const struct test_case *t)
{
    uint64_t state = t->state;
    struct picture src = picture_create(t->width, t->height, t->format, t->src);
    struct picture want = picture_create(t->width, t->height, t->format, t->dst);
    picture_fill(&src, t->pattern, t->conv, &state);
    const struct halo_job job = {t->conv, halo_strategy_find(halo_backends[0], "reference"),
                                 src.plane, want.plane};
    if (halo_backend_convolve(k->oracle, &job, 1) || !picture_guards_whole(&want)) {
        printf("FAIL the reference itself: case %ld\n", t->number);
        k->rows[0].failed++;
    }
    check_rows(k, t, &src, &want);
    if (t->width * t->height > TINY || next_random(&state) % 8 == 0)
        check_region(k, t, &src, &want, &state);
    if (!picture_guards_whole(&src)) {
        printf("FAIL case %ld: the source's guard bytes were written\n", t->number);
        k->rows[0].failed++;
    }
    picture_destroy(&src);
    picture_destroy(&want);
}

/* What a backend chooses by itself, for several planes in one call. */
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

void expect(struct check *k, const char *what, int got, int want)
{
    if (got == want)
        return;
    printf("FAIL %s: got %d, want %d\n", what, got, want);
    k->rows[0].failed++;
}

static void add_rows(struct check *k, const struct halo_backend_ops *ops)
{
    char text[200] = "";
    const int devices = ops->describe(text, sizeof text);
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
            k->thin = THIN;
        else if (!strcmp(argv[i], "--thinner"))
            k->thin = THINNER;
        else if (!strcmp(argv[i], "--first"))
            k->first = true;
        else if (!strcmp(argv[i], "--random") && value && strtol(value, NULL, 0) > 0)
            k->random = strtol(argv[++i], NULL, 0);
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
                "usage: %s [--full | --thin | --thinner] [--random N] [--first] [--backend NAME] "
                "[--seed N] "
                "[--case N]\n",
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
        for (int i = 0; i < k.row_count && k.only < 0; i++) {
            struct row *r = &k.rows[i];
            check_frames(k.oracle, r->opened[1], r->strategy, &r->passed, &r->failed);
            if (k.first && r->failed)
                exit(1);
        }
        if (k.random)
            check_random(&k);
        else
            check_list(&k);
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
