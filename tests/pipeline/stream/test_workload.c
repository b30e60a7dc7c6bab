/* SPDX-License-Identifier: BSD-2-Clause
 * Estimates of runs: which of two is faster, where that is clear. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "pipeline/stream/workload.h"
#include "tests/cmocka_all.h"

/* H.264 of about 0.07 bits a pixel, for so many seconds of 30 frames. */
static struct halo_workload workload(double pixels, double seconds)
{
    return (struct halo_workload){.codec = AV_CODEC_ID_H264,
                                  .frames = seconds * 30,
                                  .pixels = pixels,
                                  .bytes = pixels * 0.07 / 8,
                                  .filter_ns = 1,
                                  .processors = 16};
}

static double seconds_of(const struct halo_workload *w, enum halo_workload_place place)
{
    double seconds[HALO_WORKLOAD_PLACES];
    halo_workload_choose(w, seconds);
    return seconds[place];
}

static double cpu_seconds(const struct halo_workload *w)
{
    return seconds_of(w, HALO_WORKLOAD_CPU);
}

static double gpu_seconds(const struct halo_workload *w)
{
    return seconds_of(w, HALO_WORKLOAD_GPU);
}

static enum halo_workload_place place_of(const struct halo_workload *w)
{
    double seconds[HALO_WORKLOAD_PLACES];
    return halo_workload_choose(w, seconds);
}

static const double small = 640 * 360, hd = 1920 * 1080, uhd = 3840 * 2160;

static void test_short_runs_stay_on_the_cpu(void **state)
{
    (void)state;
    struct halo_workload w = workload(small, 20);
    assert_int_equal(place_of(&w), HALO_WORKLOAD_CPU);
    w = workload(hd, 2);
    assert_int_equal(place_of(&w), HALO_WORKLOAD_CPU);
    w = workload(uhd, 2); /* measured: 0.43 s instead of 0.80 s */
    assert_int_equal(place_of(&w), HALO_WORKLOAD_CPU);
    w = workload(uhd, 10); /* measured: 1.26 s instead of 1.81 s, with two groups */
    w.group = 250;
    assert_int_equal(place_of(&w), HALO_WORKLOAD_CPU);
}

static void test_long_runs_use_the_gpu(void **state)
{
    (void)state;
    struct halo_workload w = workload(uhd, 20);
    assert_int_equal(place_of(&w), HALO_WORKLOAD_GPU);
    w = workload(uhd, 8);
    w.group = 30; /* so that several decoders work */
    assert_int_equal(place_of(&w), HALO_WORKLOAD_GPU);
    w = workload(hd, 60);
    assert_int_equal(place_of(&w), HALO_WORKLOAD_GPU);
    w = workload(hd, 20);
    w.filter_ns = 100; /* a large dense mask */
    assert_int_equal(place_of(&w), HALO_WORKLOAD_GPU);
}

/* Measured with 480p, a minute, and discblur=radius=15: 1.34 s on the CPU, 1.06 s on the GPU,
 * 0.70 s with frames that the CPU decodes. */
static void test_small_frames_and_an_expensive_filter(void **state)
{
    (void)state;
    struct halo_workload w = workload(854 * 480, 60);
    w.filter_ns = 10;
    assert_int_equal(place_of(&w), HALO_WORKLOAD_FILTER);
    w = workload(hd, 60);
    w.filter_ns = 10;
    assert_int_equal(place_of(&w), HALO_WORKLOAD_GPU);
    w.codec = AV_CODEC_ID_FFV1;
    assert_true(seconds_of(&w, HALO_WORKLOAD_FILTER) == seconds_of(&w, HALO_WORKLOAD_GPU));
    assert_int_equal(place_of(&w), HALO_WORKLOAD_GPU);
}

/* Few processors make the GPU worthwhile sooner, and an encoder that needs them makes it matter
 * less. */
static void test_processors(void **state)
{
    (void)state;
    struct halo_workload w = workload(hd, 15);
    const double many = cpu_seconds(&w);
    w.processors = 2;
    assert_true(cpu_seconds(&w) > 2 * many);
    assert_int_equal(place_of(&w), HALO_WORKLOAD_GPU);
    const double ratio = cpu_seconds(&w) / gpu_seconds(&w);
    w.encodes = true;
    assert_true(cpu_seconds(&w) / gpu_seconds(&w) < ratio);
}

static void test_decoders(void **state)
{
    (void)state;
    struct halo_workload w = workload(small, 2);
    assert_int_equal(halo_workload_gpu_decoders(&w), 1);
    w = workload(uhd, 64);
    assert_int_equal(halo_workload_gpu_decoders(&w), 8);
    w.group = 640;
    assert_int_equal(halo_workload_gpu_decoders(&w), 3);
    w.group = w.frames - 0.5; /* a rounded duration */
    assert_int_equal(halo_workload_gpu_decoders(&w), 1);
    w.group = 100 * w.frames;
    assert_int_equal(halo_workload_gpu_decoders(&w), 1);
    int before = 1;
    for (double seconds = 1; seconds < 100; seconds *= 1.5) {
        w = workload(uhd, seconds);
        assert_true(halo_workload_gpu_decoders(&w) >= before);
        before = halo_workload_gpu_decoders(&w);
    }
}

/* A codec that no GPU decodes is decoded by the CPU in both cases. */
static void test_codec_of_no_gpu(void **state)
{
    (void)state;
    struct halo_workload w = workload(uhd, 60);
    const double with = gpu_seconds(&w);
    w.codec = AV_CODEC_ID_FFV1;
    assert_true(gpu_seconds(&w) > 2 * with);
}

static AVFormatContext *make_input(double seconds)
{
    AVFormatContext *f = avformat_alloc_context();
    char path[] = "/tmp/halo-workload-XXXXXX";
    const int file = mkstemp(path);
    assert_int_equal(write(file, "0123456789", 10), 10);
    close(file);
    assert_int_equal(avio_open(&f->pb, path, AVIO_FLAG_READ), 0);
    unlink(path);
    f->duration = (int64_t)(seconds * AV_TIME_BASE);
    AVStream *st = avformat_new_stream(f, NULL);
    st->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
    st->codecpar->codec_id = AV_CODEC_ID_H264;
    st->codecpar->width = 64;
    st->codecpar->height = 48;
    st->avg_frame_rate = (AVRational){25, 1};
    return f;
}

static void free_input(AVFormatContext *f)
{
    avio_closep(&f->pb);
    avformat_free_context(f);
}

static void test_header(void **state)
{
    (void)state;
    struct halo_error err = {0};
    struct halo_chain *null, *blur;
    struct halo_workload w = {.processors = 4};
    assert_int_equal(halo_chain_parse(&null, "null", &err), 0);
    assert_int_equal(halo_chain_parse(&blur, "gblur=sigma=5,gblur=sigma=9", &err), 0);
    AVFormatContext *f = make_input(10);
    assert_true(halo_workload_of(&w, f, &(struct halo_source_part){0, -1}, null));
    assert_true(w.frames == 250 && w.pixels == 64 * 48);
    const double plain = w.filter_ns;
    assert_true(w.group == 0);
    f->streams[0]->time_base = (AVRational){1, 25};
    for (int i = 0; i < 250; i++)
        av_add_index_entry(f->streams[0], i, i, 1, 0, i % 140 ? 0 : AVINDEX_KEYFRAME);
    assert_true(halo_workload_of(&w, f, &(struct halo_source_part){0, -1}, null));
    assert_true(fabs(w.group - 140) < 0.01);
    av_add_index_entry(f->streams[0], 140, 140, 1, 0, 0); /* one group, up to the end */
    assert_true(halo_workload_of(&w, f, &(struct halo_source_part){0, -1}, null));
    assert_true(fabs(w.group - 250) < 0.01);
    assert_true(halo_workload_of(&w, f, &(struct halo_source_part){4, -1}, blur));
    assert_true(w.frames == 150 && w.filter_ns > 3 * plain);
    assert_true(halo_workload_of(&w, f, &(struct halo_source_part){4, 2}, null));
    assert_true(w.frames == 50);
    assert_false(
        halo_workload_of(&w, f, &(struct halo_source_part){40, 2}, null)); /* nothing is left */
    f->streams[0]->codecpar->width = 0; /* as in MPEG-TS, before it is probed */
    assert_false(halo_workload_of(&w, f, &(struct halo_source_part){0, -1}, null));
    f->streams[0]->codecpar->width = 64;
    f->duration = AV_NOPTS_VALUE;
    assert_false(halo_workload_of(&w, f, &(struct halo_source_part){0, -1}, null));
    free_input(f);
    halo_chain_destroy(null);
    halo_chain_destroy(blur);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_runs_stay_on_the_cpu),
        cmocka_unit_test(test_long_runs_use_the_gpu),
        cmocka_unit_test(test_small_frames_and_an_expensive_filter),
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_codec_of_no_gpu),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
