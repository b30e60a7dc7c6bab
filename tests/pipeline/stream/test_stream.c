/* SPDX-License-Identifier: BSD-2-Clause
 * Failures that no input can cause end a stream with an error, and leave no file. The linker puts
 * __wrap_NAME in the place of NAME. */
#include <errno.h>
#include <fcntl.h>
#include <libavcodec/packet.h>
#include <libavutil/log.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/run.h"
#include "pipeline/base/av.h"
#include "pipeline/filter/filter.h"
#include "pipeline/output/sink_file.h"
#include "pipeline/stream/stream.h"
#include "tests/cmocka_all.h"

enum { BYTES = 32 * 16 * 6 }; /* whole frames in all formats of the tests */

static char folder[] = "/tmp/halo-stream-XXXXXX";
static char input[64], output[64];
static bool scaler_fails, sink_fails;

int __real_sws_scale(struct SwsContext *c, const uint8_t *const from[], const int from_stride[],
                     int y, int height, uint8_t *const to[], const int to_stride[]);
int __wrap_sws_scale(struct SwsContext *c, const uint8_t *const from[], const int from_stride[],
                     int y, int height, uint8_t *const to[], const int to_stride[]);
int __real_halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb,
                           struct halo_error *err);
int __wrap_halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb,
                           struct halo_error *err);

int __wrap_sws_scale(struct SwsContext *c, const uint8_t *const from[], const int from_stride[],
                     int y, int height, uint8_t *const to[], const int to_stride[])
{
    const int rows = __real_sws_scale(c, from, from_stride, y, height, to, to_stride);
    return scaler_fails ? rows - 1 : rows;
}

/* Fails without words. */
int __wrap_halo_sink_write(struct halo_sink *sink, AVPacket *pkt, AVRational tb,
                           struct halo_error *err)
{
    if (!sink_fails)
        return __real_halo_sink_write(sink, pkt, tb, err);
    av_packet_unref(pkt);
    return -EIO;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

/* Runs raw frames of that format through a stream; returns how it ended. */
static struct halo_error run(const char *pixel_format)
{
    char *words[] = {
        "-f",  "rawvideo", "-pixel_format", (char *)pixel_format, "-s",   "32x16",   "-i",  input,
        "-vf", "gblur",    "-preset",       "ultrafast",          "-c:v", "libx264", output};
    struct halo_run_settings settings;
    struct halo_chain *chain = NULL;
    struct halo_stream *stream = NULL;
    struct halo_error err = {0};
    assert_int_equal(halo_run_parse(&settings, sizeof words / sizeof *words, words, &err), 0);
    assert_int_equal(halo_chain_parse(&chain, settings.filters, &err), 0);
    if (halo_stream_create(&stream, &settings, chain, do_nothing, NULL, &err) < 0 ||
        halo_stream_start(stream, &err) < 0)
        fail_msg("%s", err.text);
    struct halo_stream_result result;
    halo_stream_join(stream, &result);
    halo_stream_destroy(stream);
    halo_chain_destroy(chain);
    halo_run_finish(&settings);
    return result.error;
}

static void expect_failure(const char *pixel_format, const char *says)
{
    const struct halo_error err = run(pixel_format);
    assert_int_equal(err.code, -EIO);
    if (!strstr(err.text, says))
        fail_msg("not '%s': %s", says, err.text);
    assert_int_equal(access(output, F_OK), -1);
}

static void test_well(void **state)
{
    (void)state;
    static const char *const formats[] = {"yuv420p", "yuyv422", "gbrp"};
    for (int i = 0; i < 3; i++) {
        const struct halo_error err = run(formats[i]);
        assert_string_equal(err.text, "");
        assert_int_equal(unlink(output), 0);
    }
}

static void test_scaler_before_the_filters(void **state)
{
    (void)state;
    scaler_fails = true;
    expect_failure("yuyv422", "for filtering");
}

static void test_scaler_before_the_encoder(void **state)
{
    (void)state;
    scaler_fails = true;
    expect_failure("gbrp", "for the encoder");
}

static void test_failure_without_words(void **state)
{
    (void)state;
    sink_fails = true;
    expect_failure("yuv420p", "the encode stage failed");
}

static int all_well(void **state)
{
    (void)state;
    scaler_fails = sink_fails = false;
    return 0;
}

static int make_input(void **state)
{
    (void)state;
    static const char frames[BYTES];
    if (!mkdtemp(folder))
        return -1;
    snprintf(input, sizeof input, "%s/in.raw", folder);
    snprintf(output, sizeof output, "%s/out.mkv", folder);
    halo_log_set_level(HALO_LOG_ERROR);
    halo_av_init_log();
    const int fd = open(input, O_CREAT | O_WRONLY, 0600);
    const ssize_t n = fd < 0 ? -1 : write(fd, frames, sizeof frames);
    if (fd >= 0)
        close(fd);
    return n != sizeof frames;
}

static int remove_input(void **state)
{
    (void)state;
    return unlink(input) < 0 || rmdir(folder) < 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_well, all_well),
        cmocka_unit_test_teardown(test_scaler_before_the_filters, all_well),
        cmocka_unit_test_teardown(test_scaler_before_the_encoder, all_well),
        cmocka_unit_test_teardown(test_failure_without_words, all_well),
    };
    return cmocka_run_group_tests(tests, make_input, remove_input);
}
