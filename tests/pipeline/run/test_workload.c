/* SPDX-License-Identifier: BSD-2-Clause
 * Estimates of runs: which of two is faster, where that is clear. */
#include <stdlib.h>
#include <unistd.h>

#include "pipeline/run/workload.h"
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

static bool is_faster_on_gpu(const struct halo_workload *w)
{
    return halo_workload_gpu_seconds(w) < halo_workload_cpu_seconds(w);
}

static const double small = 640 * 360, hd = 1920 * 1080, uhd = 3840 * 2160;

static void test_short_runs_stay_on_the_cpu(void **state)
{
    (void)state;
    struct halo_workload w = workload(small, 20);
    assert_false(is_faster_on_gpu(&w));
    w = workload(hd, 2);
    assert_false(is_faster_on_gpu(&w));
    w = workload(uhd, 2); /* measured: 0.43 s instead of 0.80 s */
    assert_false(is_faster_on_gpu(&w));
}

static void test_long_runs_use_the_gpu(void **state)
{
    (void)state;
    struct halo_workload w = workload(uhd, 8);
    assert_true(is_faster_on_gpu(&w));
    w = workload(hd, 60);
    assert_true(is_faster_on_gpu(&w));
    w = workload(hd, 20);
    w.filter_ns = 100; /* a large dense mask */
    assert_true(is_faster_on_gpu(&w));
}

/* Few processors make the GPU worthwhile sooner, and an encoder that needs them makes it matter
 * less. */
static void test_processors(void **state)
{
    (void)state;
    struct halo_workload w = workload(hd, 15);
    const double many = halo_workload_cpu_seconds(&w);
    w.processors = 2;
    assert_true(halo_workload_cpu_seconds(&w) > 2 * many);
    assert_true(is_faster_on_gpu(&w));
    const double ratio = halo_workload_cpu_seconds(&w) / halo_workload_gpu_seconds(&w);
    w.encodes = true;
    assert_true(halo_workload_cpu_seconds(&w) / halo_workload_gpu_seconds(&w) < ratio);
}

static void test_decoders(void **state)
{
    (void)state;
    struct halo_workload w = workload(small, 2);
    assert_int_equal(halo_workload_gpu_decoders(&w), 1);
    w = workload(uhd, 64);
    assert_int_equal(halo_workload_gpu_decoders(&w), 8);
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
    const double with = halo_workload_gpu_seconds(&w);
    w.codec = AV_CODEC_ID_FFV1;
    assert_true(halo_workload_gpu_seconds(&w) > 2 * with);
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
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_codec_of_no_gpu),
        cmocka_unit_test(test_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
