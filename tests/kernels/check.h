/* SPDX-License-Identifier: BSD-2-Clause
 * The kernel check: what a case is, and where cases come from. */
#ifndef HALO_TEST_CHECK_H
#define HALO_TEST_CHECK_H

#include "kernels/backend.h"
#include "tests/kernels/picture.h"

struct test_region;

enum { MAX_ROWS = 32 };

/* One strategy under test, or a backend's own choice of one. */
struct row {
    const struct halo_backend_ops *ops;
    struct halo_backend *opened[2]; /* two thread counts: bands fall differently */
    const struct halo_strategy *strategy;
    long passed, failed;
};

enum { THIN = 30, THINNER = 200 }; /* --thin, --thinner */

struct check {
    bool full;
    int thin;            /* for slow builds: one of so many cases (0: all) */
    bool first;          /* end at the first failure */
    long random;         /* this many random cases instead of the listed ones */
    const char *backend; /* NULL: all */
    uint64_t seed;
    long only; /* case number, -1: all */

    struct row rows[MAX_ROWS];
    int row_count;
    struct halo_backend *oracle;
    long skipped;
};

/* All of it follows from the seed and the number. */
struct test_case {
    long number;
    int width, height;
    struct format format;
    struct layout src, dst;
    const struct halo_conv *conv;
    const char *mask; /* conv in words */
    enum pattern pattern;
    uint64_t state;                   /* of the picture's random samples */
    const struct test_region *region; /* NULL: everywhere; set by check_case() alone */
};

/* Compares every strategy that can with the reference, everywhere and (of tiny pictures, now and
 * then) in a region, and counts. */
void check_case(struct check *k, const struct test_case *t);

/* The rules of backend.h that a job may break. */
void check_front_door(struct check *k);
void expect(struct check *k, const char *what, int got, int want);

/* Listed sizes, formats and masks, each with the others; and k->random cases in which everything
 * is random. */
void check_list(struct check *k);
void check_random(struct check *k);

/* The random numbers of a case begin here; never 0. */
uint64_t case_state(const struct check *k, long number);

/* Samples times taps that the reference will visit. */
double reference_cost(const struct halo_conv *c, int width, int height, int channels);

#endif
