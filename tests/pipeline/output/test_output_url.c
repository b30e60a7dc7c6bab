/* SPDX-License-Identifier: BSD-2-Clause
 * Outputs to URLs: a server that comes, goes and comes again; one that hangs; and passwords. The
 * servers are the test's own threads. */
#include <arpa/inet.h>
#include <errno.h>
#include <libavutil/time.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/base/log.h"
#include "pipeline/output/output.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/output/clip.h"

enum {
    SECONDS = 4,
    PATIENCE_US = 900000000,
    NO_WAIT_US = 4000000, /* who waits for a server that hangs does so for longer */
};

/* As of tests in Python (tests/halotest): what measures time runs while nothing else runs. */
static bool measures_time(void)
{
    const char *alone = getenv("HALOTEST_ALONE");
    return !alone || strcmp(alone, "no") != 0;
}

static struct clip *clip;
static char url[128];
static int pause_us = 125000; /* after each quarter of a second of the clip */
static struct halo_output_settings settings = {.kind = HALO_OUTPUT_URL, .target = url};

/* ---- servers ---- */

static int listen_on(int *port)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
    const int yes = 1;
    socklen_t size = sizeof at;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* Whether the port is no other test's until this process ends, as in tests/halotest. */
static bool mark(int port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int size =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "halotest-port-%d", port);
    return !bind(fd, (struct sockaddr *)&name, (socklen_t)(sizeof(sa_family_t) + 1 + size));
}

/* A port at which nobody listens. It lies below those that the kernel gives to others while it is
 * closed. */
static int find_port(void)
{
    int port = 10000 + getpid() * 97 % 20000, fd = -1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (; fd < 0; port++) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        at.sin_port = htons(port);
        if (!mark(port) || bind(fd, (struct sockaddr *)&at, sizeof at) < 0) {
            close(fd);
            fd = -1;
        }
    }
    close(fd);
    return port - 1;
}

/* Takes one connection and keeps `most` bytes of it, then hangs up. */
struct server {
    int fd;
    char path[64];
    long most;
    atomic_long got;
};

static void *serve(void *arg)
{
    struct server *server = arg;
    static _Thread_local char bytes[65536];
    const int fd = accept(server->fd, NULL, NULL);
    close(server->fd);
    FILE *to = fopen(server->path, "w");
    ssize_t n = 1;
    while (fd >= 0 && n > 0 && atomic_load(&server->got) < server->most) {
        n = read(fd, bytes, sizeof bytes);
        if (n > 0) {
            fwrite(bytes, 1, n, to);
            atomic_fetch_add(&server->got, n);
        }
    }
    fclose(to);
    close(fd);
    return NULL;
}

static pthread_t start_server(struct server *server, int *port, long most)
{
    pthread_t thread;
    atomic_store(&server->got, 0);
    server->most = most;
    server->fd = listen_on(port);
    snprintf(server->path, sizeof server->path, "/tmp/halo-url-XXXXXX");
    close(mkstemp(server->path));
    assert_int_equal(pthread_create(&thread, NULL, serve, server), 0);
    return thread;
}

/* ---- feeding ---- */

/* A quarter of a second of the clip, over and over, twice as fast as the clock. */
static void feed(struct halo_output *output, int *quarter)
{
    const int part = *quarter % (4 * SECONDS), round = *quarter / (4 * SECONDS);
    AVPacket *pkt = av_packet_alloc();
    for (int i = 0; i < clip->count; i++) {
        const int64_t at = clip->pkt[i]->dts - clip->pkt[0]->dts + 100;
        if (at / 250000 != part)
            continue;
        assert_int_equal(av_packet_ref(pkt, clip->pkt[i]), 0);
        pkt->pts += round * SECONDS * INT64_C(1000000);
        pkt->dts += round * SECONDS * INT64_C(1000000);
        const int64_t began = av_gettime_relative();
        halo_output_packet(output, pkt);
        assert_true(!measures_time() || av_gettime_relative() - began < NO_WAIT_US);
        av_packet_unref(pkt);
    }
    av_packet_free(&pkt);
    ++*quarter;
    usleep(pause_us);
}

static bool feed_until(struct halo_output *output, int *quarter, enum halo_output_state state)
{
    struct halo_output_stats stats;
    const int64_t until = av_gettime_relative() + PATIENCE_US;
    do {
        feed(output, quarter);
        halo_output_stats(output, &stats);
    } while (stats.state != state && av_gettime_relative() < until);
    return stats.state == state;
}

/* What came is a whole number of groups of frames from a key frame on, but for its end. */
static void check_received(const struct server *server, int least)
{
    static struct content content;
    memset(&content, 0, sizeof content);
    assert_int_equal(content_add(&content, server->path), 0);
    unlink(server->path);
    assert_true(content.frames >= least);
    int from = 0;
    while (from < clip->frames && clip->hash[from] != content.hash[0])
        from += CLIP_RATE;
    assert_true(from < clip->frames);
    for (int i = 0; i + 2 < content.frames; i++)
        assert_int_equal(content.hash[i], clip->hash[(from + i) % clip->frames]);
}

static void test_comes_and_goes(void **state)
{
    (void)state;
    struct server first = {0}, second = {0};
    int port = find_port(), quarter = 0;
    snprintf(url, sizeof url, "tcp://user:secret@127.0.0.1:%d?token=hidden", port);
    struct halo_output *output = clip_open_output(clip, &settings);
    struct halo_output_stats stats;
    assert_true(feed_until(output, &quarter, HALO_OUTPUT_FAILED));
    halo_output_stats(output, &stats);
    assert_non_null(strstr(stats.why, strerror(ECONNREFUSED)));
    assert_non_null(strstr(stats.why, "tcp://127.0.0.1/***: "));
    assert_null(strstr(stats.why, "secret"));
    assert_null(strstr(stats.why, "hidden"));
    pthread_t thread = start_server(&first, &port, 700000);
    assert_true(feed_until(output, &quarter, HALO_OUTPUT_WRITING));
    assert_true(feed_until(output, &quarter, HALO_OUTPUT_FAILED)); /* it hung up */
    pthread_join(thread, NULL);
    check_received(&first, CLIP_RATE);
    thread = start_server(&second, &port, 1 << 30);
    assert_true(feed_until(output, &quarter, HALO_OUTPUT_WRITING));
    for (int i = 0; i < 16; i++)
        feed(output, &quarter);
    halo_output_destroy(output);
    pthread_join(thread, NULL);
    check_received(&second, 2 * CLIP_RATE);
}

/* Destroyed within five seconds, and never blocking who feeds it: for a test that runs alone. */
static void check_hangs(const char *what, int port, double quarters)
{
    int quarter = 0;
    snprintf(url, sizeof url, what, port);
    struct halo_output *output = clip_open_output(clip, &settings);
    struct halo_output_stats stats;
    while (quarter < quarters)
        feed(output, &quarter);
    halo_output_stats(output, &stats);
    const int64_t began = av_gettime_relative();
    halo_output_destroy(output);
    const double took = (av_gettime_relative() - began) / 1e6;
    print_message("%s hangs: destroyed in %.1f s; %d packets written, %d dropped %s\n", url, took,
                  (int)stats.packets, (int)stats.dropped, stats.why);
    assert_true(took < 5.5 + NO_WAIT_US / 1e6);
}

static void test_hangs(void **state)
{
    (void)state;
    int port = 0;
    if (!measures_time())
        skip();
    const int fd = listen_on(&port); /* connects, but nobody reads */
    check_hangs("rtmp://127.0.0.1:%d/live/x", port, 6);
    check_hangs("rtsp://127.0.0.1:%d/x", port, 6);
    pause_us = 10000;
    check_hangs("tcp://127.0.0.1:%d", port, 240); /* more than the system keeps for it */
    pause_us = 125000;
    close(fd);
}

static int first_frame(void)
{
    int i = 0;
    while (clip->pkt[i]->stream_index)
        i++;
    return i;
}

/* Faster than the server takes: dropped up to key frames, in bounded memory. */
static void test_bounded(void **state)
{
    (void)state;
    int port = 0;
    const int fd = listen_on(&port);
    snprintf(url, sizeof url, "rtmp://127.0.0.1:%d/live/x", port);
    struct halo_output *output = clip_open_output(clip, &settings);
    AVPacket *pkt = av_packet_clone(clip->pkt[first_frame()]);
    for (int i = 0; i < 100000; i++) {
        pkt->pts = pkt->dts = i * INT64_C(1000);
        halo_output_packet(output, pkt);
    }
    struct halo_output_stats stats;
    halo_output_stats(output, &stats);
    assert_true(stats.dropped > 90000);
    av_packet_free(&pkt);
    halo_output_destroy(output);
    close(fd);
}

int main(void)
{
    clip = clip_create(SECONDS, 128, 0);
    if (!clip)
        return 77;
    halo_log_set_level(HALO_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_and_goes),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_hangs),
    };
    const int failed = cmocka_run_group_tests_name("outputs to URLs", tests, NULL, NULL);
    clip_destroy(clip);
    return failed;
}
