/* SPDX-License-Identifier: BSD-2-Clause
 * The histogram of times against sorted values, the bounds of its memory, and what the recorder
 * makes of lanes that wait for each other. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "pipeline/base/histogram.h"
#include "pipeline/base/stats_private.h"
#include "tests/cmocka_all.h"

enum { MANY = 20 * 1024 };

static uint64_t seed = 1;

static int64_t draw(int bits)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    const int64_t all = (int64_t)(seed >> 1);
    return all >> (63 - 1 - (int)(seed >> 59) % bits);
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void test_percentiles(void **state)
{
    (void)state;
    static struct halo_histogram h;
    static int64_t values[MANY];
    for (int i = 0; i < MANY; i++) {
        values[i] = draw(38);
        halo_histogram_add(&h, values[i]);
    }
    qsort(values, MANY, sizeof *values, compare);
    for (int i = 0; i <= 1024; i++) {
        const int at = i * MANY / 1024;
        const int64_t wanted = values[at > 0 ? at - 1 : 0];
        const int64_t got = halo_histogram_percentile(&h, i / 1024.0);
        assert_in_range(got, wanted - wanted / 31, wanted + wanted / 31);
    }
    assert_int_equal(h.count, MANY);
    assert_int_equal(h.least, values[0]);
    assert_int_equal(h.most, values[MANY - 1]);
}

/* Counts below the edges are those of the values themselves, not of buckets that straddle one. */
static void test_edges(void **state)
{
    (void)state;
    static struct halo_histogram h;
    static int64_t values[MANY];
    int64_t below[HALO_HISTOGRAM_EDGES];
    for (int i = 0; i < MANY; i++) {
        const int64_t edge = halo_histogram_edge(i % HALO_HISTOGRAM_EDGES);
        values[i] = i % 3 == 0 ? draw(38) : edge + i % 3 - 1;
        halo_histogram_add(&h, values[i]);
    }
    halo_histogram_below(&h, below);
    for (int e = 0; e < HALO_HISTOGRAM_EDGES; e++) {
        int64_t wanted = 0;
        for (int i = 0; i < MANY; i++)
            wanted += values[i] <= halo_histogram_edge(e);
        assert_int_equal(below[e], wanted);
    }
}

static void test_small_values_are_exact(void **state)
{
    (void)state;
    static struct halo_histogram h;
    for (int i = 1; i <= 60; i++)
        halo_histogram_add(&h, i);
    assert_int_equal(halo_histogram_percentile(&h, 0.5), 30);
    assert_int_equal(halo_histogram_percentile(&h, 0), 1);
    assert_int_equal(halo_histogram_percentile(&h, 1), 60);
    assert_int_equal(h.sum, 60 * 61 / 2);
}

static void test_ends(void **state)
{
    (void)state;
    static struct halo_histogram h;
    assert_int_equal(halo_histogram_percentile(&h, 0.5), 0);
    halo_histogram_add(&h, -5);
    assert_int_equal(h.most, 0);
    for (int bit = 0; bit < 63; bit++) {
        halo_histogram_add(&h, INT64_C(1) << bit);
        halo_histogram_add(&h, (INT64_C(1) << bit) - 1);
        halo_histogram_add(&h, (INT64_C(1) << bit) + 1);
    }
    halo_histogram_add(&h, INT64_MAX);
    int64_t counted = 0;
    for (int i = 0; i < HALO_HISTOGRAM_BUCKETS; i++)
        counted += h.bucket[i];
    assert_int_equal(counted, h.count);
    assert_int_equal(h.most, (INT64_C(1) << HALO_HISTOGRAM_MAX) - 1);
    static struct halo_histogram one;
    halo_histogram_add(&one, 123456789);
    assert_int_equal(halo_histogram_percentile(&one, 0.01), 123456789);
}

static struct halo_stats *make_stats(void)
{
    static const struct halo_run_settings settings = {.stats = true};
    struct halo_stats *stats = NULL;
    assert_int_equal(halo_stats_create(&stats, &settings, NULL), 0);
    assert_non_null(stats);
    return stats;
}

/* Two lanes that had the copy engine one after the other, though both asked for it at once. */
static void test_waiting_lanes_do_not_count_twice(void **state)
{
    (void)state;
    struct halo_stats *stats = make_stats();
    struct halo_frame_times t = {.upload = {1000, 2000}, .kernels = {2000, 2500}, .up = {3, 1, 30}};
    halo_stats_device(stats, 0, &t);
    t.upload = (struct halo_span){1100, 3000};
    t.kernels = (struct halo_span){3000, 3100};
    halo_stats_device(stats, 1, &t);
    assert_int_equal(stats->stage[HALO_STAGE_UPLOAD].busy, 2000);
    assert_int_equal(stats->stage[HALO_STAGE_KERNELS].busy, 600);
    assert_int_equal(stats->stage[HALO_STAGE_DOWNLOAD].times.count, 0);
    assert_int_equal(stats->device_frames, 2);
    assert_int_equal(stats->up.count, 6);
    assert_int_equal(stats->up.pageable, 2);
    assert_int_equal(stats->up.bytes, 60);
    halo_stats_destroy(stats);
}

static void test_frames_of_several_spans(void **state)
{
    (void)state;
    struct halo_stats *stats = make_stats();
    for (int i = 0; i < 6; i++)
        halo_stats_end(stats, HALO_STAGE_DECODE, halo_stats_begin(stats, HALO_STAGE_DECODE) - 1000);
    assert_int_equal(stats->stage[HALO_STAGE_DECODE].times.count, 0);
    halo_stats_frame(stats, HALO_STAGE_DECODE);
    assert_int_equal(stats->stage[HALO_STAGE_DECODE].times.count, 1);
    assert_true(stats->stage[HALO_STAGE_DECODE].times.sum >= 6000);
    assert_int_equal(stats->stage[HALO_STAGE_DECODE].times.sum,
                     stats->stage[HALO_STAGE_DECODE].busy);
    halo_stats_destroy(stats);
}

/* A full track keeps its beginning and says how much is missing; the others go on. */
static void test_full_trace(void **state)
{
    (void)state;
    char path[] = "/tmp/halo-trace-XXXXXX", text[400] = "";
    struct halo_trace *trace = NULL;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(halo_trace_create(&trace, path, 0, NULL), 0);
    for (int i = 0; i < HALO_TRACE_MAX + 5; i++)
        halo_trace_add(trace, HALO_TRACK_FILTER,
                       &(struct halo_trace_event){"submit", 10000 * i, 10000 * i + 5000, i});
    halo_trace_add(trace, HALO_TRACKS, &(struct halo_trace_event){"nowhere", 0, 5000, 0});
    halo_trace_add(trace, HALO_TRACK_LANES + 2, &(struct halo_trace_event){"upload", 0, 5, 0});
    halo_log_set_level(HALO_LOG_QUIET);
    halo_trace_write(trace, "cpu");
    halo_trace_destroy(trace);
    close(fd); /* of the file that was there before */
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    long long lines = 0, lanes = 0, left_out = 0;
    while (fgets(text, sizeof text, file)) {
        lines += strstr(text, "\"submit\"") != NULL;
        lanes += strstr(text, "\"lane 2\"") != NULL;
        left_out += strstr(text, "\"dropped\":5}") != NULL;
        assert_null(strstr(text, "nowhere"));
    }
    fclose(file);
    unlink(path);
    assert_int_equal(lines, HALO_TRACE_MAX);
    assert_int_equal(lanes, 1);
    assert_int_equal(left_out, 1);
}

static void test_nobody_asked(void **state)
{
    (void)state;
    static const struct halo_run_settings settings = {0};
    struct halo_stats *stats = NULL;
    assert_int_equal(halo_stats_create(&stats, &settings, NULL), 0);
    assert_null(stats);
    halo_stats_end(stats, HALO_STAGE_READ, halo_stats_begin(stats, HALO_STAGE_READ));
    halo_stats_frame(stats, HALO_STAGE_DECODE);
    halo_stats_device(stats, 0, &(struct halo_frame_times){0});
    halo_stats_running(stats, true);
    halo_stats_report(stats, &(struct halo_stats_about){0}, stderr);
    halo_stats_destroy(stats);
}

static void test_every_stage_has_a_row(void **state)
{
    (void)state;
    for (int i = 0; i < HALO_STAGES; i++) {
        assert_non_null(halo_stage_table[i].name);
        for (int k = 0; k < i; k++)
            assert_true(halo_stage_table[i].thread != halo_stage_table[k].thread ||
                        strcmp(halo_stage_table[i].name, halo_stage_table[k].name) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_small_values_are_exact),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_waiting_lanes_do_not_count_twice),
        cmocka_unit_test(test_frames_of_several_spans),
        cmocka_unit_test(test_full_trace),
        cmocka_unit_test(test_nobody_asked),
        cmocka_unit_test(test_every_stage_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
