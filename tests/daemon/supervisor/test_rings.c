/* SPDX-License-Identifier: BSD-2-Clause
 * Rings as the supervisor reads them: no engine keeps its loop by writing much, or on and on. */
#include <fcntl.h>
#include <libavutil/mem.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/supervisor/sup_data.h"
#include "daemon/supervisor/sup_drain.h"
#include "daemon/supervisor/sup_ring.h"
#include "daemon/supervisor/sup_stream_data.h"
#include "daemon/view/feed.h"
#include "pipeline/output/packet_ring.h"
#include "tests/cmocka_all.h"

enum { FRAME = 10 << 20, FRAMES = 8, SMALL = 65536, SMALL_PACKET = 1000 };

static struct scene {
    uv_loop_t loop;
    struct halo_supervisor sv;
    struct sv_stream stream;
    struct halo_packet_writer *writer;
    struct halo_feed_subscriber subscriber;
    int taken;
    int64_t written;
    bool goes_on; /* writes again what was read */
} * scene;

static void write_packet(int size)
{
    AVPacket *pkt = av_packet_alloc();
    assert_int_equal(av_new_packet(pkt, size), 0);
    memset(pkt->data, 1, (size_t)size);
    pkt->pts = pkt->dts = (int64_t)(uv_hrtime() / 1000) + scene->written++;
    pkt->flags = AV_PKT_FLAG_KEY;
    assert_int_equal(halo_packet_write(scene->writer, pkt), 0);
    av_packet_free(&pkt);
}

static void on_begin(struct halo_feed_subscriber *subscriber,
                     const struct halo_encoding_parameters *begin)
{
    (void)subscriber;
    (void)begin;
}

static void on_packet(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    (void)subscriber;
    scene->taken++;
    if (scene->goes_on)
        write_packet(pkt->size);
}

static void on_end(struct halo_feed_subscriber *subscriber, const char *why)
{
    (void)subscriber;
    (void)why;
}

static void wish_watched(void *arg, bool watched)
{
    (void)arg;
    (void)watched;
}

static void wish_key(void *arg)
{
    (void)arg;
}

static const struct halo_feed_wishes wishes = {.watched = wish_watched, .key = wish_key};

static void add_ring(size_t size)
{
    AVCodecParameters *video = avcodec_parameters_alloc();
    video->codec_type = AVMEDIA_TYPE_VIDEO;
    video->codec_id = AV_CODEC_ID_H264;
    video->width = video->height = 16;
    const struct halo_encoding_parameters begin = {.video = video, .framerate = {25, 1}};
    assert_int_equal(halo_packet_writer_create(&scene->writer, size, NULL), 0);
    assert_int_equal(halo_packet_write_begin(scene->writer, &begin), 0);
    avcodec_parameters_free(&video);
    const int fds[] = {fcntl(halo_packet_writer_memory(scene->writer), F_DUPFD_CLOEXEC, 3),
                       fcntl(halo_packet_writer_event(scene->writer), F_DUPFD_CLOEXEC, 3)};
    sv_drain_add(&scene->stream, 0, fds);
    assert_non_null(scene->stream.packet_feed[0].ring);
}

static int set_up(void **state)
{
    (void)state;
    scene = calloc(1, sizeof *scene);
    struct sv_packet_feed *packet_feed = &scene->stream.packet_feed[0];
    uv_loop_init(&scene->loop);
    uv_idle_init(&scene->loop, &scene->sv.drain);
    scene->sv.drain.data = &scene->sv;
    scene->sv.loop = &scene->loop;
    scene->sv.streams = &scene->stream;
    scene->sv.packet = av_packet_alloc();
    scene->stream.sv = &scene->sv;
    scene->stream.encodings = 1;
    packet_feed->stream = &scene->stream;
    scene->subscriber =
        (struct halo_feed_subscriber){.begin = on_begin, .packet = on_packet, .end = on_end};
    if (halo_feed_create(&packet_feed->feed, &scene->loop, &scene->stream.settings, &wishes, NULL))
        return -1;
    halo_feed_join(packet_feed->feed, &scene->subscriber);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scene->goes_on = false;
    sv_ring_close_all(&scene->stream, false);
    halo_packet_writer_destroy(scene->writer);
    halo_feed_destroy(scene->stream.packet_feed[0].feed, "the test is over");
    uv_close((uv_handle_t *)&scene->sv.drain, NULL);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    const int left = uv_loop_close(&scene->loop);
    av_packet_free(&scene->sv.packet);
    free(scene);
    return left;
}

/* Others have their turn between large frames; all come in the end. */
static void large_ones_come_in_turns(void **state)
{
    (void)state;
    add_ring((size_t)FRAMES * (FRAME + 4096));
    for (int i = 0; i < FRAMES; i++)
        write_packet(FRAME);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_in_range(scene->taken, 1, FRAMES / 2);
    for (int i = 0; i < 10; i++)
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->taken, FRAMES);
}

/* A writer that fills it while it is emptied. */
static void emptying_ends(void **state)
{
    (void)state;
    add_ring(SMALL);
    for (int i = 0; i < 10; i++)
        write_packet(SMALL_PACKET);
    scene->goes_on = true;
    sv_ring_close_all(&scene->stream, true);
    assert_in_range(scene->taken, 10, SMALL / SMALL_PACKET + 10);
}

/* The frame waits until there is some again. */
static void without_memory_it_waits(void **state)
{
    (void)state;
    add_ring((size_t)FRAMES * (FRAME + 4096));
    write_packet(FRAME);
    av_max_alloc(FRAME / 2);
    for (int i = 0; i < 3; i++)
        uv_run(&scene->loop, UV_RUN_NOWAIT);
    sv_drain_tick(&scene->stream);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    av_max_alloc(INT_MAX);
    assert_int_equal(scene->taken, 0);
    assert_non_null(scene->stream.packet_feed[0].ring);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->taken, 0); /* the loop does not turn for it */
    sv_drain_tick(&scene->stream);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->taken, 1);
    write_packet(FRAME);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
    assert_int_equal(scene->taken, 2);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        A_TEST(large_ones_come_in_turns),
        A_TEST(emptying_ends),
        A_TEST(without_memory_it_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
