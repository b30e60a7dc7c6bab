/* SPDX-License-Identifier: BSD-2-Clause
 * A feed with an engine, a clock and a timer that are played: when cards come, what becomes of
 * times, who gets what, and that engines cannot hurt. */
#include <string.h>
#include <time.h>

#include "daemon/view/feed.h"
#include "pipeline/output/packet_ring.h"
#include "tests/cmocka_all.h"

enum {
    LIMIT = 512,
    LEAST_HURRY = 9, /* in half a second, of which 400 ms are silence */
};

struct seen {
    struct halo_feed_subscriber subscriber;
    int begins, ends, packets;
    int64_t dts[LIMIT], pts[LIMIT], at[LIMIT]; /* at: ms of the test's clock */
    uint8_t first[LIMIT];                      /* byte of the data: says what it is */
    int stream[LIMIT];
    bool leave_in_begin, leave_in_packet;
};

struct scene {
    uv_loop_t loop;
    struct halo_feed *feed;
    struct halo_stream_settings settings;
    int watched, keys;
    struct seen seen[3];
    uv_timer_t *timer; /* the feed's, where it is started */
    uv_timer_cb callback;
    int64_t due;
};

static struct scene *scene;

/* ---- time, which passes in pass() alone ---- */

static int64_t now = 3600000700; /* us */

static int64_t us(void)
{
    return now;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    (void)clock;
    *ret = (struct timespec){.tv_sec = now / 1000000, .tv_nsec = now % 1000000 * 1000};
    return 0;
}

/* Of libuv: the loop's time is in whole ms, so that timers come up to one too early. */
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t ms, uint64_t repeat);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t ms, uint64_t repeat)
{
    assert_int_equal(repeat, 0);
    scene->timer = timer;
    scene->callback = callback;
    scene->due = (now / 1000 + (int64_t)ms) * 1000;
    return 0;
}

int __wrap_uv_timer_stop(uv_timer_t *timer);
int __wrap_uv_timer_stop(uv_timer_t *timer)
{
    if (scene->timer == timer)
        scene->timer = NULL;
    return 0;
}

static void pass(int ms)
{
    const int64_t until = now + ms * 1000;
    while (scene->timer && scene->due <= until) {
        uv_timer_t *timer = scene->timer;
        now = scene->due > now ? scene->due : now;
        scene->timer = NULL;
        scene->callback(timer);
    }
    now = until;
}

/* ---- who takes ---- */

static void saw_begin(struct halo_feed_subscriber *subscriber,
                      const struct halo_encoding_parameters *begin)
{
    struct seen *seen = (struct seen *)subscriber;
    assert_non_null(begin->video);
    seen->begins++;
    if (seen->leave_in_begin)
        halo_feed_leave(subscriber);
}

static void saw_packet(struct halo_feed_subscriber *subscriber, const AVPacket *pkt)
{
    struct seen *seen = (struct seen *)subscriber;
    assert_in_range(seen->packets, 0, LIMIT - 1);
    seen->dts[seen->packets] = pkt->dts;
    seen->pts[seen->packets] = pkt->pts;
    seen->at[seen->packets] = us() / 1000;
    seen->first[seen->packets] = pkt->data[0];
    seen->stream[seen->packets++] = pkt->stream_index;
    if (seen->leave_in_packet)
        halo_feed_leave(subscriber);
}

static void saw_end(struct halo_feed_subscriber *subscriber, const char *why)
{
    assert_non_null(why);
    assert_null(subscriber->feed);
    ((struct seen *)subscriber)->ends++;
}

static void wish_watched(void *arg, bool watched)
{
    (void)arg;
    scene->watched += watched ? 1 : -1;
}

static void wish_key(void *arg)
{
    (void)arg;
    scene->keys++;
}

static const struct halo_feed_wishes wishes = {.watched = wish_watched, .key = wish_key};

static void make(enum halo_on_error on_error)
{
    scene->settings = (struct halo_stream_settings){.on_error = on_error, .last_for = 0.7};
    assert_int_equal(halo_feed_create(&scene->feed, &scene->loop, &scene->settings, &wishes, NULL),
                     0);
    for (int i = 0; i < 3; i++)
        scene->seen[i].subscriber =
            (struct halo_feed_subscriber){.begin = saw_begin, .packet = saw_packet, .end = saw_end};
}

static int set_up(void **state)
{
    (void)state;
    scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    return uv_loop_init(&scene->loop);
}

static int tear_down(void **state)
{
    (void)state;
    halo_feed_destroy(scene->feed, "the test is over");
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    const int left = uv_loop_close(&scene->loop);
    const int watched = scene->watched;
    free(scene);
    return left || watched;
}

static AVPacket *new_packet(uint8_t what, int64_t time, bool key)
{
    AVPacket *pkt = av_packet_alloc();
    assert_non_null(pkt);
    assert_int_equal(av_new_packet(pkt, 8), 0);
    memset(pkt->data, what, 8);
    pkt->pts = pkt->dts = time;
    pkt->flags = key ? AV_PKT_FLAG_KEY : 0;
    return pkt;
}

/* 'K' key frame, 'P' other, 'A' sound, 'W' a card. */
static void play_at(uint8_t what, int64_t time)
{
    AVPacket *pkt = new_packet(what, time, what != 'P');
    pkt->flags |= what == 'W' ? HALO_PACKET_CARD : 0;
    pkt->stream_index = what == 'A';
    halo_feed_packet(scene->feed, pkt);
    av_packet_free(&pkt);
}

/* Now, or a microsecond after the one before: two of one time would be one too many. */
static void play(uint8_t what)
{
    static int64_t last;
    last = now > last ? now : last + 1;
    play_at(what, last);
}

static void begin_coded(enum AVCodecID codec, int width, bool sound)
{
    AVCodecParameters *video = avcodec_parameters_alloc(), *audio = avcodec_parameters_alloc();
    AVPacket *card = new_packet('C', 5, true), *solid = new_packet('S', 7, true);
    video->codec_id = codec;
    video->width = video->height = width;
    audio->codec_id = AV_CODEC_ID_AAC;
    const struct halo_encoding_parameters begin = {
        .video = video, .audio = sound ? audio : NULL, .card = card, .solid = solid};
    halo_feed_begin(scene->feed, &begin);
    avcodec_parameters_free(&video);
    avcodec_parameters_free(&audio);
    av_packet_free(&card);
    av_packet_free(&solid);
}

static void begin_as(int width, bool sound)
{
    begin_coded(AV_CODEC_ID_H264, width, sound);
}

/* With somebody who has been in it from the beginning. */
static struct seen *make_taken(enum halo_on_error on_error, bool sound)
{
    make(on_error);
    begin_as(16, sound);
    halo_feed_join(scene->feed, &scene->seen[0].subscriber);
    return &scene->seen[0];
}

/* What came, as letters. */
static void check(const struct seen *seen, const char *letters)
{
    char got[LIMIT + 1] = "";
    memcpy(got, seen->first, (size_t)seen->packets);
    assert_string_equal(got, letters);
    int64_t last[2] = {-1, -1};
    for (int i = 0; i < seen->packets; i++) {
        assert_true(seen->dts[i] > last[seen->stream[i]]);
        assert_true(seen->pts[i] >= seen->dts[i]);
        last[seen->stream[i]] = seen->dts[i];
    }
}

/* Of who came back: many of `card`, then these. */
static void check_hurry(struct seen *seen, uint8_t card, const char *letters)
{
    int many = 0;
    while (many < seen->packets && seen->first[many] == card)
        many++;
    assert_in_range(many, LEAST_HURRY, LIMIT);
    struct seen rest = {.packets = seen->packets - many};
    for (int i = 0; i < rest.packets; i++) {
        rest.first[i] = seen->first[many + i];
        rest.stream[i] = seen->stream[many + i];
        rest.dts[i] = seen->dts[many + i];
        rest.pts[i] = seen->pts[many + i];
        assert_true(rest.dts[i] > seen->dts[many - 1]);
    }
    check(&rest, letters);
}

static void test_waits_for_begin(void **state)
{
    (void)state;
    make(HALO_ON_ERROR_CARD);
    struct seen *a = &scene->seen[0];
    halo_feed_join(scene->feed, &a->subscriber);
    assert_int_equal(scene->watched, 1);
    assert_int_equal(scene->keys, 1);
    play('K');
    pass(600);
    check(a, "");
    begin_as(16, false);
    assert_int_equal(a->begins, 1);
    play('P');
    check(a, "");
    play('K');
    play('P');
    play('A'); /* nobody spoke of sound */
    check(a, "KP");
}

static void test_card_in_time(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, false), *b = &scene->seen[1];
    play('K');
    pass(250);
    play('P');
    const int64_t last = us() / 1000;
    pass(510);
    check(a, "KPC");
    assert_in_range(a->at[2] - last, HALO_FEED_SILENCE_MS, HALO_FEED_SILENCE_MS + 1);
    const int64_t line = a->dts[2] - a->dts[1];
    assert_in_range(line, 1000 * HALO_FEED_SILENCE_MS - 2000, 500000);
    halo_feed_join(scene->feed, &b->subscriber);
    check(b, "C");
    pass(1000);
    check(a, "KPCCC"); /* not as many as b, who is new */
    struct halo_feed_stats stats;
    halo_feed_stats(scene->feed, &stats);
    assert_true(stats.card);
    assert_int_equal(stats.subscribers, 2);
    const int keys = scene->keys;
    play('P');
    assert_int_equal(scene->keys, keys + 1);
    play('P');
    assert_int_equal(scene->keys, keys + 1);
    play('K');
    play('P');
    check(a, "KPCCCKP");
    check_hurry(b, 'C', "KP");
    /* As far from each other as the engine said: nothing was added. */
    assert_in_range(a->at[5] - a->at[0] - (a->dts[5] - a->dts[0]) / 1000 + 1, 0, 2);
    pass(HALO_FEED_SILENCE_MS - 1);
    check(a, "KPCCCKP");
    pass(2);
    check(a, "KPCCCKPC"); /* the second silence is as short as the first */
    halo_feed_stats(scene->feed, &stats);
    assert_int_equal(stats.late, 0);
}

static void test_clock_behind(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, true);
    const int64_t start = us();
    play_at('A', start);
    play_at('K', start + 9000000);
    play_at('A', start + 9010000);
    play_at('P', start + 9040000);
    play_at('P', start + 9030000); /* behind: dropped, and what follows may need it */
    play_at('P', start + 9080000);
    check(a, "KAP");
    play_at('K', start); /* another engine, another clock */
    play_at('A', start + 10000);
    play_at('P', start + 40000);
    check(a, "KAPKAP");
    assert_int_equal(a->dts[3], a->dts[2] + 1);
    assert_int_equal(a->dts[5] - a->dts[3], 40000);
    struct halo_feed_stats stats;
    halo_feed_stats(scene->feed, &stats);
    assert_int_equal(stats.late, 1);
}

/* Frames that come late come on their own line after a card, too. */
static void test_card_keeps_the_delay(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, false);
    pass(250);
    const int64_t start = us() - 200000;
    play_at('K', start);
    pass(500);
    play_at('K', start + 480000);
    check(a, "KCK");
    assert_int_equal(a->dts[2] - a->dts[0], 480000);
}

static struct seen *make_raw_taken(void)
{
    make(HALO_ON_ERROR_CARD);
    begin_coded(AV_CODEC_ID_RAWVIDEO, 16, false);
    halo_feed_join(scene->feed, &scene->seen[0].subscriber);
    return &scene->seen[0];
}

/* Detectors say by them where something was. */
static void test_raw_ones_keep_their_times(void **state)
{
    enum { STEP = 40, LATE = 600000, ROUNDS = 50 };
    (void)state;
    struct seen *a = make_raw_taken();
    const int64_t first = us();
    play_at('K', first);
    pass(500);
    play_at('K', us() - 300000); /* behind the card: it would have to lie */
    play_at('K', us());
    check(a, "KCK");
    assert_int_equal(a->dts[2] - a->dts[0], 500000);
    int cards = 0;
    for (int i = 0; i < ROUNDS; i++) { /* from here on all are late, and soon come all the same */
        pass(STEP);
        play_at('K', us() - LATE);
    }
    for (int i = 3; i < a->packets; i++) {
        cards += a->first[i] == 'C';
        if (a->first[i] == 'K') /* at: without what is less than a millisecond */
            assert_in_range(a->dts[i] - a->dts[0] - (a->at[i] * 1000 - LATE - first), 0, 999);
    }
    assert_in_range(cards, 1, 2);
    assert_in_range(a->packets, 3 + ROUNDS - LATE / 1000 / STEP - 1, LIMIT);
}

/* A file that is filtered more slowly than it plays. */
static void test_slow_raw_ones_come(void **state)
{
    enum { ROUNDS = 20, APART = 600, STEP = 33333 };
    (void)state;
    struct seen *a = make_raw_taken();
    const int64_t first = us();
    int frames = 0;
    for (int64_t i = 0; i < ROUNDS; i++) {
        play_at('K', first + i * STEP);
        pass(APART);
    }
    for (int i = 0; i < a->packets; i++)
        frames += a->first[i] == 'K';
    assert_in_range(frames, ROUNDS - 5, ROUNDS); /* but for two seconds */
}

static void test_hostile_times(void **state)
{
    (void)state;
    const int64_t times[] = {INT64_MAX,        INT64_MIN,
                             INT64_MIN + 1,    us(),
                             us() - 1,         us() + 1,
                             INT64_MAX / 2,    INT64_MIN / 2,
                             us() + (1 << 30), us() - (INT64_C(1) << 41),
                             INT64_C(1) << 56, -(INT64_C(1) << 56)};
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, true);
    const int count = (int)(sizeof times / sizeof *times);
    for (int i = 0; i < 60; i++) {
        AVPacket *pkt = new_packet("KPA"[i % 3], times[i * 7 % count], i % 3 != 1);
        pkt->pts = times[i * 5 % count];
        pkt->stream_index = i % 3 == 2;
        halo_feed_packet(scene->feed, pkt);
        pkt->stream_index = i - 30;
        halo_feed_packet(scene->feed, pkt);
        av_packet_free(&pkt);
    }
    assert_true(a->packets > 10);
    char letters[LIMIT + 1] = "";
    memcpy(letters, a->first, (size_t)a->packets);
    check(a, letters);
    AVPacket *empty = av_packet_alloc();
    halo_feed_packet(scene->feed, empty);
    av_packet_free(&empty);
}

/* An engine that means harm leaves a line on which the next one can go on. */
static void test_times_that_climb(void **state)
{
    (void)state;
    static const int64_t far[] = {INT64_C(29) * 24 * 3600 * 1000000, INT64_C(1) << 55};
    const int64_t month = INT64_C(31) * 24 * 3600 * 1000000;
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, false);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 40; k++)
            play_at('K', us() + (k % 2 ? -far[i] : far[i]));
    for (int i = 0; i < a->packets; i++)
        assert_in_range(a->dts[i], 0, month);
    const int before = a->packets;
    begin_as(16, false);
    play('K');
    pass(40);
    play('P');
    assert_int_equal(a->packets, before + 2);
    assert_in_range(a->dts[before + 1], a->dts[before] + 1, a->dts[before] + 1000000);
}

static void test_begin_anew(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, false);
    play('K');
    begin_as(16, false); /* the same: but the decoder needs a key frame */
    play('P');
    play('K');
    check(a, "KK");
    assert_int_equal(a->begins, 1);
    begin_as(32, false);
    assert_int_equal(a->begins, 2);
    play('P');
    check(a, "KK");
    play('K');
    check(a, "KKK");
    begin_as(32, true);
    assert_int_equal(a->begins, 3);
}

static void test_last_then_card(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_LAST, false);
    play('K');
    play('P');
    pass(1500); /* at 400 and 900 ms the last one, which may be shown until 1100 */
    check(a, "KPKKC");
    play('K');
    halo_feed_forget(scene->feed);
    pass(500);
    check(a, "KPKKCKC");
    play('K');
    begin_as(32, false);
    pass(500);
    assert_in_range(a->packets, 9 + LEAST_HURRY, LIMIT); /* it begins again */
    a->packets = 9;
    check(a, "KPKKCKCKC");
}

static void test_solid(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_SOLID, false);
    pass(500);
    check_hurry(a, 'S', "");
}

/* Who comes back gets cards often, for 2.5 seconds; then two a second. */
static void test_hurry(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, false);
    pass(2800);
    const int many = a->packets;
    check_hurry(a, 'C', "");
    assert_in_range(many, 10 * LEAST_HURRY, 252);
    pass(1000);
    assert_in_range(a->packets - many, 1, 3);
}

static void test_stop(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_STOP, false), *b = &scene->seen[1];
    play('K');
    halo_feed_join(scene->feed, &b->subscriber);
    pass(500);
    check(a, "K");
    assert_int_equal(a->ends, 1);
    assert_int_equal(b->ends, 0);
    pass(4700);
    assert_int_equal(b->ends, 1);
    assert_int_equal(scene->watched, 0);
}

static void test_leaving(void **state)
{
    (void)state;
    make(HALO_ON_ERROR_CARD);
    for (int i = 0; i < 3; i++)
        halo_feed_join(scene->feed, &scene->seen[i].subscriber);
    scene->seen[1].leave_in_begin = true;
    begin_as(16, false);
    for (int i = 0; i < 3; i++)
        assert_int_equal(scene->seen[i].begins, 1);
    scene->seen[0].leave_in_packet = true;
    play('K');
    play('P');
    check(&scene->seen[0], "K");
    check(&scene->seen[1], "");
    check(&scene->seen[2], "KP");
    halo_feed_join(scene->feed, &scene->seen[1].subscriber); /* leaves at once again */
    assert_null(scene->seen[1].subscriber.feed);
    halo_feed_leave(&scene->seen[2].subscriber);
    halo_feed_leave(&scene->seen[2].subscriber);
    assert_int_equal(scene->watched, 0);
    halo_feed_join(scene->feed, &scene->seen[2].subscriber);
    assert_int_equal(scene->watched, 1);
    halo_feed_join(scene->feed, &scene->seen[0].subscriber);
    halo_feed_destroy(scene->feed, "away");
    scene->feed = NULL;
    assert_int_equal(scene->seen[0].ends, 1);
    assert_int_equal(scene->seen[1].ends, 0);
    assert_int_equal(scene->seen[2].ends, 1);
}

/* While the engine sends cards the feed has none of its own; they are no frames. */
static void test_cards_of_the_engine(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_LAST, true), *b = &scene->seen[1];
    struct halo_feed_stats stats;
    play('K');
    pass(100);
    for (int i = 0; i < 3; i++) {
        play('W');
        play('A'); /* silent */
        play('P'); /* it would refer to the card */
        pass(500);
    }
    check(a, "KWWW");
    halo_feed_stats(scene->feed, &stats);
    assert_true(stats.card);
    assert_int_equal(stats.cards, 3);
    halo_feed_join(scene->feed, &b->subscriber);
    check(b, "W"); /* at once */
    play('K');
    play('A');
    play('P');
    halo_feed_stats(scene->feed, &stats);
    assert_false(stats.card);
    check(a, "KWWWKAP");
    pass(450);
    check(b, "WKAPK"); /* on_error: last, and that is no card */
}

/* An engine that ends in the middle of its cards. */
static void test_cards_end(void **state)
{
    (void)state;
    struct seen *a = make_taken(HALO_ON_ERROR_CARD, false);
    play('K');
    play('W');
    pass(HALO_FEED_CARDS_MS - 1);
    check(a, "KW");
    pass(2);
    check(a, "KWC");
    pass(500);
    check(a, "KWCC");
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        A_TEST(test_waits_for_begin),
        A_TEST(test_card_in_time),
        A_TEST(test_clock_behind),
        A_TEST(test_card_keeps_the_delay),
        A_TEST(test_raw_ones_keep_their_times),
        A_TEST(test_slow_raw_ones_come),
        A_TEST(test_hostile_times),
        A_TEST(test_times_that_climb),
        A_TEST(test_begin_anew),
        A_TEST(test_last_then_card),
        A_TEST(test_solid),
        A_TEST(test_hurry),
        A_TEST(test_stop),
        A_TEST(test_leaving),
        A_TEST(test_cards_of_the_engine),
        A_TEST(test_cards_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
