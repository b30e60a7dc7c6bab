/* SPDX-License-Identifier: BSD-2-Clause
 * FFmpeg's log and its versions: whose error a line is, what a copy of parameters leaves out. */
#include "pipeline/base/av.h"

#include <libavcodec/avcodec.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "pipeline/base/av_version.h"
#include "tests/cmocka_all.h"

static int begin(void **state)
{
    (void)state;
    halo_log_set_level(HALO_LOG_ERROR);
    halo_av_init_log();
    return 0;
}

/* Options of FFmpeg's own program are no use to those who run halod. */
static void advice_of_ffmpeg_is_cut(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"Non full-range YUV is non-standard, set strict_std_compliance to at most unofficial.",
         "ffmpeg: Non full-range YUV is non-standard"},
        {"It is experimental, add '-strict -2' if you want to use it.",
         "ffmpeg: It is experimental"},
        {"Rate 23/1. Set -strict option to 'unofficial'!", "ffmpeg: Rate 23/1"},
        {"Use vstrict=-2 / -strict -2 to use it anyway.", ""},
        {"Non-strict, or strictly so", "ffmpeg: Non-strict, or strictly so"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[400];
        halo_av_last_line(NULL, line, sizeof line);
        av_log(NULL, AV_LOG_ERROR, "%s\n", rows[i][0]);
        assert_string_equal(halo_av_last_line(NULL, line, sizeof line), rows[i][1]);
    }
}

/* After it FFmpeg aborts, so the line is shown at once. */
static void test_panic(void **state)
{
    (void)state;
    char text[200] = "";
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    av_log(NULL, AV_LOG_PANIC, "Assertion i < 3 failed at a.c:7\n");
    av_log(NULL, AV_LOG_FATAL, "not shown yet\n");
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "ffmpeg: Assertion i < 3 failed at a.c:7"));
    assert_null(strstr(text, "not shown yet"));
    halo_av_last_line(NULL, text, sizeof text);
}

static AVCodecContext *decoder(struct halo_av_packet *packet)
{
    const AVCodec *codec = avcodec_find_decoder(AV_CODEC_ID_RAWVIDEO);
    AVCodecContext *c = avcodec_alloc_context3(codec);
    assert_non_null(c);
    c->opaque = packet;
    return c;
}

static void *log_elsewhere(void *context)
{
    av_log(context, AV_LOG_ERROR, "logged by another thread\n");
    return NULL;
}

static void call_elsewhere(void *context)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, log_elsewhere, context), 0);
    pthread_join(thread, NULL);
}

/* The errors of one stream are not told by another: each stream has its codecs, and threads of its
 * own for everything else. */
static void lines_belong_to_their_codec_or_thread(void **state)
{
    (void)state;
    char line[400];
    struct halo_complaints one = {.until = INT64_MAX, .latest = INT64_MIN}, other = one;
    struct halo_av_packet of_one = {&one, 5}, later = {&one, 8}, of_other = {&other, 7};
    AVCodecContext *a = decoder(&of_one), *b = decoder(&of_other);
    halo_av_last_line(NULL, line, sizeof line);

    call_elsewhere(a);
    assert_string_equal(halo_av_last_line(&other, line, sizeof line), "");
    assert_string_equal(halo_av_last_line(&one, line, sizeof line),
                        "rawvideo: logged by another thread");
    assert_int_equal(one.lines, 1);
    assert_int_equal(one.latest, 5);
    assert_int_equal(other.lines, 0);

    a->opaque = &later;
    call_elsewhere(a);
    assert_int_equal(one.latest, 8);

    call_elsewhere(NULL);
    assert_string_equal(halo_av_last_line(NULL, line, sizeof line), "");
    av_log(NULL, AV_LOG_ERROR, "logged here\n");
    av_log(b, AV_LOG_ERROR, "of b\n");
    assert_string_equal(halo_av_reason(AVERROR(EIO), &other, line, sizeof line),
                        "Input/output error (rawvideo: of b)");
    assert_string_equal(halo_av_last_line(NULL, line, sizeof line), "");
    avcodec_free_context(&a);
    avcodec_free_context(&b);
}

static const uint8_t *side_data(const AVStream *stream, enum AVPacketSideDataType type)
{
    size_t size;
    return halo_av_stream_side_data(stream, type, &size);
}

static void parameters_are_copied_without_side_data(void **state)
{
    (void)state;
    AVFormatContext *f = avformat_alloc_context();
    AVStream *from = avformat_new_stream(f, NULL), *to = avformat_new_stream(f, NULL);
    assert_true(from && to);
    from->codecpar->width = 320;
    assert_non_null(halo_av_stream_new_side_data(from, AV_PKT_DATA_SPHERICAL, 8));
    assert_non_null(halo_av_stream_new_side_data(to, AV_PKT_DATA_STEREO3D, 8));
    assert_non_null(side_data(from, AV_PKT_DATA_SPHERICAL));
    for (int again = 0; again < 2; again++) {
        assert_int_equal(halo_av_parameters_copy(to->codecpar, from->codecpar), 0);
        assert_int_equal(to->codecpar->width, 320);
        assert_null(side_data(to, AV_PKT_DATA_SPHERICAL));
        assert_non_null(side_data(to, AV_PKT_DATA_STEREO3D));
    }
    avformat_free_context(f);
}

/* systemd refuses sockets with an error that does not say what to do. */
static void services_need_a_network(void **state)
{
    char why[200], line[HALO_AV_LINE];
    (void)state;
    halo_av_last_line(NULL, line, sizeof line);
    assert_string_equal(halo_av_reason(AVERROR(EAFNOSUPPORT), NULL, why, sizeof why),
                        "no network (a halod service needs the drop-in network.conf)");
}

/* Damaged files contain any times. */
static void clocks_show_times_that_exist(void **state)
{
    const double zero = 0;
    char text[32];
    (void)state;
    assert_string_equal(halo_av_clock(3723.0456, text, sizeof text), "01:02:03.046");
    assert_string_equal(halo_av_clock(-0.5, text, sizeof text), "-00:00:00.500");
    assert_string_equal(halo_av_clock((double)INT64_MAX, text, sizeof text), "an unknown time");
    assert_string_equal(halo_av_clock(0 / zero, text, sizeof text), "an unknown time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_panic),
        cmocka_unit_test(advice_of_ffmpeg_is_cut),
        cmocka_unit_test(lines_belong_to_their_codec_or_thread),
        cmocka_unit_test(parameters_are_copied_without_side_data),
        cmocka_unit_test(services_need_a_network),
        cmocka_unit_test(clocks_show_times_that_exist),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
