/* SPDX-License-Identifier: BSD-2-Clause
 * Each rule of the judge, by a played clock. A frame has its number n, and arrives at n * STEP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/detect/judge.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/detect/cover.h"

enum { STEP_US = 40000, FACES = 1 << HALO_FIND_FACES, PEOPLE = 1 << HALO_FIND_PEOPLE };
static const int64_t MS = 1000000;

static struct halo_detector_settings faces_, people_;
static struct halo_judge *judge_;
static struct halo_judge_step step_;
static int64_t now_;

static const struct halo_detect_box face = {0.4f, 0.4f, 0.1f, 0.2f, 0.9f};

static void begin(bool live, halo_find_set finds)
{
    const struct halo_judge_settings settings = {
        .detector = {&faces_, &people_}, .finds = finds, .live = live};
    assert_int_equal(halo_judge_create(&judge_, &settings), 0);
    for (int f = 0; f < HALO_FINDS; f++)
        if (finds & halo_find_bit(f))
            halo_judge_ready(judge_, f, now_);
}

static int setup(void **state)
{
    (void)state;
    faces_ = (struct halo_detector_settings){
        .wait = 0.1, .enter = 3, .hold = 1, .margin = 0.25, .score = 0.5, .low = 0.25};
    people_ = faces_;
    now_ = 1000 * MS;
    judge_ = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    halo_judge_destroy(judge_);
    return 0;
}

static void next(enum halo_judge_do what, int64_t n)
{
    halo_judge_next(judge_, now_, &step_);
    assert_int_equal(step_.what, what);
    if (what != HALO_JUDGE_WAIT)
        assert_int_equal(step_.n, n);
}

static void arrive_at(int64_t n, int64_t frame_us)
{
    assert_int_equal(halo_judge_arrive(judge_, n, frame_us, now_), 0);
}

static void arrive(int64_t n)
{
    arrive_at(n, n * STEP_US);
}

static void none(enum halo_find find, int64_t n)
{
    halo_judge_boxes(judge_, find, n, NULL, 0, now_);
}

static void one(int64_t n, const struct halo_detect_box *box)
{
    halo_judge_boxes(judge_, HALO_FIND_FACES, n, box, 1, now_);
}

/* A frame that is judged at once, by one box or by none. */
static enum halo_judge_do whole(int64_t n, const struct halo_detect_box *box)
{
    arrive(n);
    next(HALO_JUDGE_SEND, n);
    halo_judge_boxes(judge_, HALO_FIND_FACES, n, box, box != NULL, now_);
    halo_judge_next(judge_, now_, &step_);
    assert_int_equal(step_.n, n);
    return step_.what;
}

static void settle(int64_t first)
{
    for (int i = 0; i < faces_.enter - 1; i++)
        assert_int_equal(whole(first + i, NULL), HALO_JUDGE_HIDE);
    assert_int_equal(whole(first + faces_.enter - 1, NULL), HALO_JUDGE_PASS);
}

/* ---- live ---- */

static void frames_without_a_detector_are_hidden(void **state)
{
    (void)state;
    begin(true, FACES);
    halo_judge_gone(judge_, HALO_FIND_FACES, now_);
    arrive(1);
    next(HALO_JUDGE_HIDE, 1);
    next(HALO_JUDGE_WAIT, 0);
    assert_string_equal(halo_judge_why(judge_, HALO_FIND_FACES), "not ready");
}

static void frames_wait_for_their_own_verdict(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    assert_null(halo_judge_why(judge_, HALO_FIND_FACES));
    arrive(4);
    next(HALO_JUDGE_SEND, 4);
    assert_int_equal(step_.to, FACES);
    next(HALO_JUDGE_WAIT, 0);
    assert_true(step_.time == now_ + 100 * MS);
    one(3, &face); /* was judged already */
    next(HALO_JUDGE_WAIT, 0);
    one(4, &face);
    next(HALO_JUDGE_PASS, 4);
    assert_int_equal(step_.known, FACES);
    assert_int_equal(step_.masked, 0);
    assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
    assert_int_equal(step_.hidden[HALO_FIND_FACES].count, 1);
    assert_int_equal(step_.shown[HALO_FIND_FACES].count, 0);
    next(HALO_JUDGE_WAIT, 0);
    assert_true(step_.time == INT64_MAX);
}

static void frames_passed_over_are_dropped(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    arrive(4);
    next(HALO_JUDGE_SEND, 4);
    for (int64_t n = 5; n <= 7; n++) {
        arrive(n);
        next(HALO_JUDGE_WAIT, 0);
    }
    now_ += 99 * MS;
    none(HALO_FIND_FACES, 4);
    next(HALO_JUDGE_PASS, 4);
    next(HALO_JUDGE_DROP, 5);
    next(HALO_JUDGE_DROP, 6);
    next(HALO_JUDGE_SEND, 7);
    next(HALO_JUDGE_WAIT, 0);
    assert_true(step_.time == now_ + 100 * MS);
    none(HALO_FIND_FACES, 7);
    next(HALO_JUDGE_PASS, 7);
}

static void few_frames_wait(void **state)
{
    (void)state;
    faces_.wait = 10;
    begin(true, FACES);
    arrive(1);
    next(HALO_JUDGE_SEND, 1);
    for (int64_t n = 2; n < 1000; n++) {
        arrive(n);
        if (n > 9)
            next(HALO_JUDGE_DROP, n - 8);
        next(HALO_JUDGE_WAIT, 0);
    }
    for (int64_t n = 1000; n < 1000 + HALO_JUDGE_FRAMES - 9; n++)
        arrive(n);
    assert_int_equal(halo_judge_arrive(judge_, 5000, 5000 * STEP_US, now_), -ENOBUFS);
}

static void silence_hides_until_enough_agree(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    arrive(4);
    next(HALO_JUDGE_SEND, 4);
    arrive(5);
    now_ += 100 * MS;
    next(HALO_JUDGE_HIDE, 4);
    next(HALO_JUDGE_HIDE, 5);
    assert_string_equal(halo_judge_why(judge_, HALO_FIND_FACES), "silent");
    arrive(6);
    next(HALO_JUDGE_HIDE, 6); /* at once, and it is not sent: 4 is unanswered */
    next(HALO_JUDGE_WAIT, 0);
    none(HALO_FIND_FACES, 4);
    assert_string_equal(halo_judge_why(judge_, HALO_FIND_FACES), "entering");
    settle(7);
}

static void a_verdict_after_its_time_is_late_whoever_looks_first(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    arrive(4);
    next(HALO_JUDGE_SEND, 4);
    now_ += 100 * MS;
    none(HALO_FIND_FACES, 4);
    next(HALO_JUDGE_HIDE, 4);
    settle(5);
}

static void a_cut_begins_again(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    for (int64_t n = 4; n <= 6; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        if (n == 4)
            halo_judge_cut(judge_, n);
        none(HALO_FIND_FACES, n);
        next(n < 6 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
    }
}

static void after_a_cut_old_tracks_last_until_enough_agree(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    assert_int_equal(whole(4, &face), HALO_JUDGE_PASS);
    assert_int_equal(whole(5, NULL), HALO_JUDGE_PASS);
    assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
    arrive(6);
    next(HALO_JUDGE_SEND, 6);
    halo_judge_cut(judge_, 6);
    none(HALO_FIND_FACES, 6);
    next(HALO_JUDGE_HIDE, 6);
    assert_int_equal(whole(7, NULL), HALO_JUDGE_HIDE);
    assert_int_equal(whole(8, NULL), HALO_JUDGE_PASS);
    assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
    assert_int_equal(whole(9, NULL), HALO_JUDGE_PASS);
    assert_int_equal(step_.hidden[HALO_FIND_FACES].count, 0);
}

static void a_detector_that_was_gone_begins_again(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    arrive(4);
    next(HALO_JUDGE_SEND, 4);
    halo_judge_gone(judge_, HALO_FIND_FACES, now_);
    next(HALO_JUDGE_HIDE, 4);
    arrive(5);
    next(HALO_JUDGE_HIDE, 5);
    halo_judge_ready(judge_, HALO_FIND_FACES, now_);
    none(HALO_FIND_FACES, 4); /* of the detector that ended */
    settle(6);
    halo_judge_ready(judge_, HALO_FIND_FACES, now_); /* another one, without a word about the end */
    settle(9);
}

static void gaps_and_times_that_go_back_begin_again(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    settle(1000);
    now_ += 1;
    for (int64_t n = 2000; n <= 2002; n++) {
        arrive_at(n, (n - 2000) * STEP_US);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
        next(n < 2002 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
    }
}

static void slow_streams_have_no_gaps(void **state)
{
    (void)state;
    begin(true, FACES);
    for (int64_t n = 1; n <= 9; n++) {
        arrive_at(n, n * 5000000);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
        next(n < 4 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
    }
}

static void who_was_not_seen_before_disagrees(void **state)
{
    (void)state;
    begin(true, FACES);
    assert_int_equal(whole(1, NULL), HALO_JUDGE_HIDE);
    assert_int_equal(whole(2, NULL), HALO_JUDGE_HIDE);
    assert_int_equal(whole(3, &face), HALO_JUDGE_HIDE); /* counting begins with this frame */
    assert_int_equal(whole(4, &face), HALO_JUDGE_HIDE);
    assert_int_equal(whole(5, NULL), HALO_JUDGE_PASS); /* missed: it is held */
    assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
}

static void noise_does_not_hide_forever(void **state)
{
    (void)state;
    begin(true, FACES);
    for (int n = 1; n <= 12; n++) {
        const struct halo_detect_box noise = {0.02f * (float)(n * 7 % 12), 0.08f * (float)n, 0.02f,
                                              0.02f, 0.9f};
        assert_int_equal(whole(n, &noise), n < 12 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS);
    }
    assert_int_equal(step_.hidden[HALO_FIND_FACES].count, 12);
}

static void one_frame_is_enough_if_enter_is_one(void **state)
{
    (void)state;
    faces_.enter = 1;
    begin(true, FACES);
    assert_int_equal(whole(1, &face), HALO_JUDGE_PASS);
    assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
    assert_int_equal(step_.shown[HALO_FIND_FACES].count, 1);
}

static void the_slower_of_two_finds_decides(void **state)
{
    (void)state;
    people_.enter = 1;
    people_.wait = 0.3;
    faces_.enter = 1;
    begin(true, FACES | PEOPLE);
    arrive(1);
    next(HALO_JUDGE_SEND, 1);
    assert_int_equal(step_.to, FACES | PEOPLE);
    none(HALO_FIND_FACES, 1);
    arrive(2);
    next(HALO_JUDGE_WAIT, 0);
    assert_true(step_.time == now_ + 300 * MS);
    none(HALO_FIND_PEOPLE, 1);
    next(HALO_JUDGE_PASS, 1);
    assert_int_equal(step_.known, FACES | PEOPLE);
    next(HALO_JUDGE_SEND, 2);
    none(HALO_FIND_PEOPLE, 2);
    now_ += 100 * MS; /* now faces are silent: only people are known */
    next(HALO_JUDGE_PASS, 2);
    assert_int_equal(step_.known, PEOPLE);
    arrive(3);
    next(HALO_JUDGE_SEND, 3);
    assert_int_equal(step_.to, PEOPLE);
    halo_judge_gone(judge_, HALO_FIND_PEOPLE, now_);
    next(HALO_JUDGE_HIDE, 3);
}

static void finds_change_while_the_stream_runs(void **state)
{
    (void)state;
    begin(true, FACES);
    settle(1);
    arrive(4);
    next(HALO_JUDGE_SEND, 4);
    assert_int_equal(halo_judge_finds(judge_, PEOPLE, now_), 0);
    next(HALO_JUDGE_HIDE, 4);
    assert_int_equal(halo_judge_finds(judge_, FACES | PEOPLE, now_), 0);
    none(HALO_FIND_FACES, 4); /* it was sent before faces were not needed for a while */
    halo_judge_ready(judge_, HALO_FIND_PEOPLE, now_);
    for (int64_t n = 5; n <= 7; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        assert_int_equal(step_.to, FACES | PEOPLE);
        none(HALO_FIND_FACES, n);
        none(HALO_FIND_PEOPLE, n);
        next(n < 7 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
    }
    assert_int_equal(step_.known, FACES | PEOPLE);
}

static void a_verdict_from_before_a_find_was_needed_again_shows_nothing(void **state)
{
    (void)state;
    begin(true, FACES | PEOPLE);
    for (int64_t n = 1; n <= 4; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
        if (n < 4) {
            none(HALO_FIND_PEOPLE, n);
            next(n < 3 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
        }
    }
    assert_int_equal(halo_judge_finds(judge_, PEOPLE, now_), 0);
    assert_int_equal(halo_judge_finds(judge_, FACES | PEOPLE, now_), 0);
    none(HALO_FIND_PEOPLE, 4);
    next(HALO_JUDGE_PASS, 4);
    assert_int_equal(step_.known, PEOPLE);
}

static void masks_follow_the_same_rules(void **state)
{
    (void)state;
    begin(true, PEOPLE);
    for (int64_t n = 1; n <= 4; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        halo_judge_mask(judge_, HALO_FIND_PEOPLE, n, now_);
        next(n < 3 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
    }
    assert_int_equal(step_.known, PEOPLE);
    assert_int_equal(step_.masked, PEOPLE);
    assert_int_equal(step_.mask_n[HALO_FIND_PEOPLE], 4);
    arrive(5);
    next(HALO_JUDGE_SEND, 5);
    halo_judge_cut(judge_, 5);
    halo_judge_mask(judge_, HALO_FIND_PEOPLE, 5, now_);
    next(HALO_JUDGE_HIDE, 5);
}

/* ---- live, ahead ---- */

/* A frame that is judged at once; steps that follow are left to the caller. */
static void judged(int64_t n, const struct halo_detect_box *box)
{
    arrive(n);
    next(HALO_JUDGE_SEND, n);
    halo_judge_boxes(judge_, HALO_FIND_FACES, n, box, box != NULL, now_);
}

/* Frames 1 to 5 of an empty scene, of which 4 and 5 wait for the frame that is 80 ms later. */
static void begin_ahead(void)
{
    faces_.ahead = 0.08;
    begin(true, FACES);
    judged(1, NULL);
    next(HALO_JUDGE_HIDE, 1);
    judged(2, NULL);
    next(HALO_JUDGE_HIDE, 2);
    for (int64_t n = 3; n <= 5; n++)
        judged(n, NULL);
    next(HALO_JUDGE_PASS, 3);
    next(HALO_JUDGE_WAIT, 0);
    assert_true(step_.time == INT64_MAX);
}

static void frames_wait_for_the_frames_after_them(void **state)
{
    (void)state;
    begin_ahead();
    judged(6, &face);
    next(HALO_JUDGE_PASS, 4);
    assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
    next(HALO_JUDGE_WAIT, 0);
    arrive(7);
    next(HALO_JUDGE_SEND, 7);
    for (int64_t n = 8; n <= 10; n++)
        arrive(n);
    next(HALO_JUDGE_WAIT, 0);
    assert_true(step_.time == now_ + 100 * MS);
    none(HALO_FIND_FACES, 7);
    next(HALO_JUDGE_PASS, 5);
    assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
    next(HALO_JUDGE_DROP, 8);
    next(HALO_JUDGE_DROP, 9);
    next(HALO_JUDGE_SEND, 10);
    none(HALO_FIND_FACES, 10);
    next(HALO_JUDGE_PASS, 6);
    next(HALO_JUDGE_PASS, 7);
    next(HALO_JUDGE_WAIT, 0);
    halo_judge_finish(judge_);
    next(HALO_JUDGE_PASS, 10);
}

static void frames_that_nothing_followed_are_hidden(void **state)
{
    (void)state;
    begin_ahead();
    arrive(6);
    next(HALO_JUDGE_SEND, 6);
    now_ += 100 * MS;
    for (int64_t n = 4; n <= 6; n++)
        next(HALO_JUDGE_HIDE, n);
    halo_judge_destroy(judge_);

    begin_ahead();
    halo_judge_gone(judge_, HALO_FIND_FACES, now_);
    arrive(6);
    for (int64_t n = 4; n <= 6; n++)
        next(HALO_JUDGE_HIDE, n);
    halo_judge_destroy(judge_);

    begin_ahead();
    judged(100, NULL); /* after a gap */
    for (int64_t n = 4; n <= 5; n++)
        next(HALO_JUDGE_HIDE, n);
    next(HALO_JUDGE_HIDE, 100);
}

static void frames_before_a_cut_wait_too(void **state)
{
    (void)state;
    begin_ahead();
    for (int64_t n = 6; n <= 7; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        if (n == 6)
            halo_judge_cut(judge_, n);
        one(n, &face);
        next(HALO_JUDGE_PASS, n - 2);
        assert_int_equal(step_.hidden[HALO_FIND_FACES].count, 0); /* of another scene */
    }
    next(HALO_JUDGE_HIDE, 6);
}

static void masks_and_waits_of_zero_do_not_wait_for_others(void **state)
{
    (void)state;
    faces_.ahead = people_.ahead = 1;
    faces_.enter = people_.enter = 1;
    begin(true, FACES | PEOPLE);
    for (int64_t n = 1; n <= 2; n++) {
        judged(n, NULL);
        halo_judge_mask(judge_, HALO_FIND_PEOPLE, n, now_);
        next(HALO_JUDGE_WAIT, 0); /* for faces */
    }
    assert_int_equal(halo_judge_finds(judge_, PEOPLE, now_), 0);
    next(HALO_JUDGE_PASS, 1);
    assert_int_equal(step_.mask_n[HALO_FIND_PEOPLE], 1);
    next(HALO_JUDGE_PASS, 2);
    halo_judge_destroy(judge_);

    people_.wait = 0;
    begin(true, FACES | PEOPLE);
    judged(1, NULL);
    next(HALO_JUDGE_PASS, 1);
    assert_int_equal(step_.known, FACES);
}

static void few_frames_wait_for_those_after_them(void **state)
{
    (void)state;
    faces_.ahead = 2;
    faces_.enter = 1;
    begin(true, FACES);
    for (int64_t n = 1; n <= 1000; n++) { /* 1000 frames/s */
        arrive_at(n, n * 1000);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
        if (n >= HALO_JUDGE_WINDOW)
            next(HALO_JUDGE_PASS, n - HALO_JUDGE_WINDOW + 1);
        next(HALO_JUDGE_WAIT, 0);
    }
}

/* ---- live, wait: 0 ---- */

static void without_waiting_frames_have_the_newest_verdict(void **state)
{
    (void)state;
    faces_.wait = 0;
    faces_.enter = 2;
    begin(true, FACES);
    arrive(1);
    next(HALO_JUDGE_SEND, 1);
    next(HALO_JUDGE_HIDE, 1);
    one(1, &face);
    arrive(2);
    next(HALO_JUDGE_SEND, 2);
    next(HALO_JUDGE_HIDE, 2); /* one frame of two */
    one(2, &face);
    for (int64_t n = 3; n <= 27; n++) {
        arrive(n);
        if (n == 3)
            next(HALO_JUDGE_SEND, n);
        next(HALO_JUDGE_PASS, n);
        assert_true(covers_box(&step_.hidden[HALO_FIND_FACES], &face, 1));
        assert_int_equal(step_.shown[HALO_FIND_FACES].count, 0);
    }
    arrive(28); /* 1.04 s after frame 2 */
    next(HALO_JUDGE_HIDE, 28);
    one(3, &face);
    for (int64_t n = 29; n <= 31; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        /* between 3 and 29 is a gap, so these are 29 and 30 */
        next(n < 31 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
        one(n, &face);
    }
}

static void without_waiting_a_cut_hides_at_once(void **state)
{
    (void)state;
    faces_.wait = 0;
    faces_.enter = 1;
    begin(true, FACES);
    arrive(1);
    next(HALO_JUDGE_SEND, 1);
    next(HALO_JUDGE_HIDE, 1);
    halo_judge_mask(judge_, HALO_FIND_FACES, 1, now_);
    arrive(2);
    next(HALO_JUDGE_SEND, 2);
    next(HALO_JUDGE_PASS, 2);
    assert_int_equal(step_.mask_n[HALO_FIND_FACES], 1);
    halo_judge_mask(judge_, HALO_FIND_FACES, 2, now_);
    arrive(3);
    next(HALO_JUDGE_SEND, 3);
    halo_judge_cut(judge_, 3);
    next(HALO_JUDGE_HIDE, 3);
    halo_judge_mask(judge_, HALO_FIND_FACES, 3, now_);
    arrive(4);
    next(HALO_JUDGE_SEND, 4);
    next(HALO_JUDGE_PASS, 4);
    assert_int_equal(step_.mask_n[HALO_FIND_FACES], 3);
}

static void a_verdict_from_before_a_cut_does_not_count(void **state)
{
    (void)state;
    faces_.enter = 1; /* waits, and is told of the cut first */
    people_.wait = 0;
    people_.enter = 1;
    begin(true, FACES | PEOPLE);
    arrive(1);
    next(HALO_JUDGE_SEND, 1);
    none(HALO_FIND_FACES, 1);
    next(HALO_JUDGE_PASS, 1);
    arrive(2);
    next(HALO_JUDGE_SEND, 2);
    assert_int_equal(step_.to, FACES);
    halo_judge_cut(judge_, 2);
    none(HALO_FIND_PEOPLE, 1);
    none(HALO_FIND_FACES, 2);
    next(HALO_JUDGE_PASS, 2);
    assert_int_equal(step_.known, FACES);
}

/* ---- files ---- */

struct shot {
    int64_t n;
    bool passed;
    int hidden, shown;
    struct halo_shape shape[HALO_MAX_SHAPES];
};

static struct shot shot_[200];
static int shots_;

/* Takes steps until WAIT. Returns the number of frames that were sent. */
static int run(int64_t *ret_last)
{
    int sent = 0;
    for (;;) {
        halo_judge_next(judge_, now_, &step_);
        if (step_.what == HALO_JUDGE_WAIT)
            return sent;
        if (step_.what == HALO_JUDGE_SEND) {
            sent++;
            *ret_last = step_.n;
            continue;
        }
        assert_int_not_equal(step_.what, HALO_JUDGE_DROP);
        struct shot *s = &shot_[shots_++];
        const struct halo_verdict_shapes *hidden = &step_.hidden[HALO_FIND_FACES];
        memset(s, 0, sizeof *s);
        s->n = step_.n;
        s->passed = step_.what == HALO_JUDGE_PASS;
        s->hidden = hidden->count;
        s->shown = step_.shown[HALO_FIND_FACES].count;
        if (hidden->count)
            memcpy(s->shape, hidden->shape, (size_t)hidden->count * sizeof *hidden->shape);
        assert_int_equal(s->n, shots_);
    }
}

/* A file of `count` frames: boxes from a function, cuts before some of its frames. `slow`: frames
 * are answered as late as possible. */
typedef int boxes_of(int n, struct halo_detect_box *ret);
static void play(int count, boxes_of *boxes, int cut, bool slow)
{
    int64_t last = 0, answered = 0;
    shots_ = 0;
    begin(false, FACES);
    for (int n = 1; answered < count;) {
        int64_t before = last;
        if (n <= count && halo_judge_has_room(judge_)) {
            arrive(n++);
            if (n > count)
                halo_judge_finish(judge_);
        } else {
            before = -1;
        }
        run(&last);
        assert_true(last - answered <= 2);
        if (last == cut && before != last)
            halo_judge_cut(judge_, cut);
        while (answered < last && (!slow || before < 0)) {
            struct halo_detect_box box[HALO_DETECT_MAX_BOXES];
            const int found = boxes((int)++answered, box);
            halo_judge_boxes(judge_, HALO_FIND_FACES, answered, box, found, now_);
            if (slow)
                break;
        }
        if (!slow)
            run(&last);
    }
    run(&last);
    assert_int_equal(shots_, count);
    halo_judge_destroy(judge_);
    judge_ = NULL;
}

static bool covered(int n, const struct halo_detect_box *box)
{
    const struct shot *s = &shot_[n - 1];
    struct halo_verdict_shapes shapes = {.shape = (struct halo_shape *)s->shape,
                                         .count = s->hidden};
    return !s->passed || covers_box(&shapes, box, 1);
}

static int nothing(int n, struct halo_detect_box *ret)
{
    (void)n, (void)ret;
    return 0;
}

static int from_frame_4(int n, struct halo_detect_box *ret)
{
    ret[0] = face;
    return n >= 4;
}

/* It moves to the right, and is found from frame 40 on, except in frames 50 to 55. */
static struct halo_detect_box moving(int n)
{
    return (struct halo_detect_box){0.2f + 0.008f * (float)n, 0.4f, 0.08f, 0.1f, 0.9f};
}

static int from_frame_40(int n, struct halo_detect_box *ret)
{
    ret[0] = moving(n);
    return n >= 40 && (n < 50 || n > 55);
}

static void first_frames_are_shown_if_those_after_them_agree(void **state)
{
    (void)state;
    play(20, nothing, 0, false);
    for (int i = 0; i < 20; i++)
        assert_true(shot_[i].passed);
}

static void first_frames_are_hidden_if_one_after_them_disagrees(void **state)
{
    (void)state;
    faces_.enter = 5;
    play(20, from_frame_4, 0, false);
    for (int n = 1; n <= 20; n++) {
        assert_int_equal(shot_[n - 1].passed, n >= 4);
        assert_true(covered(n, &face));
    }
}

static void short_files_are_shown_if_all_frames_agree(void **state)
{
    (void)state;
    faces_.enter = 5;
    play(1, nothing, 1, false);
    assert_true(shot_[0].passed);
    play(4, nothing, 1, false);
    assert_true(shot_[0].passed && shot_[3].passed);
    play(4, from_frame_4, 1, false);
    assert_false(shot_[0].passed || shot_[3].passed);
    play(4, nothing, 3, false); /* two scenes */
    assert_false(shot_[0].passed || shot_[3].passed);
}

static void short_scenes_are_hidden(void **state)
{
    (void)state;
    faces_.enter = 5;
    play(30, nothing, 28, false);
    for (int n = 1; n <= 30; n++)
        assert_int_equal(shot_[n - 1].passed, n < 28);
}

static void the_half_second_before_is_hidden_and_gaps_too(void **state)
{
    (void)state;
    play(80, from_frame_40, 0, false);
    for (int n = 1; n <= 80; n++) {
        const struct halo_detect_box box = moving(n);
        assert_true(shot_[n - 1].passed);
        if (n >= 28) /* 12 frames of 40 ms */
            assert_true(covered(n, &box));
    }
    assert_int_equal(shot_[26].hidden, 0);
    assert_int_equal(shot_[39].hidden, 1);
    assert_true(shot_[52].hidden <= 3);   /* interpolated, and as before a first box */
    assert_int_equal(shot_[39].shown, 1); /* with its later boxes, it is sure */
}

static void nothing_is_hidden_before_a_cut(void **state)
{
    (void)state;
    play(80, from_frame_40, 36, false);
    for (int n = 28; n < 36; n++)
        assert_int_equal(shot_[n - 1].hidden, 0);
    for (int n = 36; n <= 80; n++) {
        const struct halo_detect_box box = moving(n);
        assert_true(covered(n, &box));
    }
}

/* Numbers the tracks from 1 on, in the order in which they are seen: in a process, no number is
 * used twice. */
static void number_tracks(struct shot *shots, int count)
{
    uint64_t known[16] = {0};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < shots[i].hidden; k++) {
            uint64_t *track = &shots[i].shape[k].track, n = 0;
            assert_int_not_equal(*track, 0);
            while (known[n] && known[n] != *track)
                assert_true(++n < 16);
            known[n] = *track;
            *track = n + 1;
        }
}

static void the_same_verdicts_give_the_same_shapes(void **state)
{
    (void)state;
    static struct shot quick[200];
    play(80, from_frame_40, 36, false);
    memcpy(quick, shot_, sizeof quick);
    play(80, from_frame_40, 36, true);
    number_tracks(quick, 80);
    number_tracks(shot_, 80);
    assert_memory_equal(quick, shot_, 80 * sizeof *quick);
}

/* When the frames' size changes, a detector is greeted again. */
/* Frames pass long after the masks of later ones came, and each has its own. */
static void masks_in_files_are_those_of_their_frames(void **state)
{
    int64_t passed = 0;
    (void)state;
    people_.enter = 1;
    begin(false, PEOPLE);
    for (int64_t n = 1; n <= 40; n++) {
        arrive(n);
        if (n == 40)
            halo_judge_finish(judge_);
        for (halo_judge_next(judge_, now_, &step_); step_.what != HALO_JUDGE_WAIT;
             halo_judge_next(judge_, now_, &step_)) {
            if (step_.what == HALO_JUDGE_SEND) {
                halo_judge_mask(judge_, HALO_FIND_PEOPLE, step_.n, now_);
                continue;
            }
            assert_int_equal(step_.what, HALO_JUDGE_PASS);
            assert_int_equal(step_.n, ++passed);
            assert_int_equal(step_.masked, PEOPLE);
            assert_int_equal(step_.mask_n[HALO_FIND_PEOPLE], step_.n);
        }
    }
    assert_int_equal(passed, 40);
}

/* While one detector is slow, the other one is a frame ahead: that frame's boxes are not those of
 * the frame that is judged. */
static void each_detector_s_boxes_are_those_of_their_frames(void **state)
{
    (void)state;
    for (int with = 1; with <= 2; with++) {
        faces_.enter = people_.enter = 1;
        begin(false, FACES | PEOPLE);
        for (int64_t n = 1; n <= 2; n++) {
            arrive(n);
            next(HALO_JUDGE_SEND, n);
        }
        for (int64_t n = 1; n <= 2; n++)
            halo_judge_boxes(judge_, HALO_FIND_FACES, n, &face, n == with, now_);
        halo_judge_finish(judge_);
        for (int64_t n = 1; n <= 2; n++)
            none(HALO_FIND_PEOPLE, n);
        for (int64_t n = 1; n <= 2; n++) {
            next(HALO_JUDGE_PASS, n);
            assert_int_equal(step_.known, FACES | PEOPLE);
            assert_int_equal(step_.shown[HALO_FIND_FACES].count, n == with);
            assert_int_equal(step_.shown[HALO_FIND_PEOPLE].count, 0);
        }
        halo_judge_destroy(judge_);
        judge_ = NULL;
    }
}

/* A detector ended before it judged frame 2: what agreed before does not count after it. */
static void in_files_a_frame_without_a_verdict_begins_again(void **state)
{
    (void)state;
    begin(false, FACES);
    for (int64_t n = 1; n <= 2; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
    }
    none(HALO_FIND_FACES, 1);
    halo_judge_ready(judge_, HALO_FIND_FACES, now_); /* another one, which is not asked again */
    assert_true(halo_judge_give_up(judge_, HALO_FIND_FACES));
    for (int64_t n = 3; n <= 6; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
    }
    halo_judge_finish(judge_);
    for (int64_t n = 1; n <= 6; n++)
        next(n <= 2 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
}

static void a_file_waits_for_another_hello(void **state)
{
    (void)state;
    begin(false, FACES);
    arrive(1);
    next(HALO_JUDGE_SEND, 1);
    halo_judge_pause(judge_, HALO_FIND_FACES, now_);
    arrive(2);
    next(HALO_JUDGE_WAIT, 0);
    one(1, &face); /* counts */
    next(HALO_JUDGE_WAIT, 0);
    halo_judge_ready(judge_, HALO_FIND_FACES, now_);
    next(HALO_JUDGE_SEND, 2);
    one(2, &face);
    halo_judge_finish(judge_);
    next(HALO_JUDGE_PASS, 1);
    assert_int_equal(step_.hidden[HALO_FIND_FACES].count, 1);
    next(HALO_JUDGE_PASS, 2);
}

static void a_file_waits_for_its_detectors(void **state)
{
    (void)state;
    const struct halo_judge_settings settings = {
        .detector = {&faces_, &people_}, .finds = FACES | PEOPLE, .live = false};
    assert_int_equal(halo_judge_create(&judge_, &settings), 0);
    halo_judge_ready(judge_, HALO_FIND_FACES, now_);
    arrive(1);
    arrive(2);
    assert_false(halo_judge_has_room(judge_));
    now_ += 100000 * MS;
    next(HALO_JUDGE_WAIT, 0);
    halo_judge_ready(judge_, HALO_FIND_PEOPLE, now_);
    next(HALO_JUDGE_SEND, 1);
    next(HALO_JUDGE_SEND, 2);
    assert_int_equal(step_.to, FACES | PEOPLE);
    arrive(3);
    next(HALO_JUDGE_WAIT, 0); /* two are unanswered */
    none(HALO_FIND_FACES, 1);
    none(HALO_FIND_FACES, 2);
    next(HALO_JUDGE_WAIT, 0);
    none(HALO_FIND_PEOPLE, 1);
    next(HALO_JUDGE_SEND, 3);
    halo_judge_gone(judge_, HALO_FIND_PEOPLE, now_);
    none(HALO_FIND_FACES, 3);
    none(HALO_FIND_PEOPLE, 2); /* from the one that is gone */
    arrive(4);
    now_ += 100000 * MS;
    next(HALO_JUDGE_WAIT, 0);
    halo_judge_ready(judge_, HALO_FIND_PEOPLE, now_);
    for (int64_t n = 2; n <= 3; n++) { /* again, to this one only */
        next(HALO_JUDGE_SEND, n);
        assert_int_equal(step_.to, PEOPLE);
    }
    next(HALO_JUDGE_WAIT, 0);
    none(HALO_FIND_PEOPLE, 2);
    next(HALO_JUDGE_SEND, 4);
    assert_int_equal(step_.to, FACES | PEOPLE);
    none(HALO_FIND_FACES, 4);
    none(HALO_FIND_PEOPLE, 3);
    none(HALO_FIND_PEOPLE, 4);
    halo_judge_finish(judge_);
    for (int64_t n = 1; n <= 4; n++) { /* as if none had been gone */
        next(HALO_JUDGE_PASS, n);
        assert_int_equal(step_.known, FACES | PEOPLE);
    }
    next(HALO_JUDGE_WAIT, 0);
}

/* A frame that no detector survives. */
static void a_file_gives_a_frame_up(void **state)
{
    (void)state;
    begin(false, FACES);
    for (int64_t n = 1; n <= 4; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
        next(HALO_JUDGE_WAIT, 0);
    }
    assert_false(halo_judge_give_up(judge_, HALO_FIND_FACES));
    arrive(5);
    next(HALO_JUDGE_SEND, 5);
    arrive(6);
    next(HALO_JUDGE_SEND, 6);
    halo_judge_gone(judge_, HALO_FIND_FACES, now_);
    assert_true(halo_judge_give_up(judge_, HALO_FIND_FACES));
    halo_judge_ready(judge_, HALO_FIND_FACES, now_);
    next(HALO_JUDGE_SEND, 6);
    none(HALO_FIND_FACES, 6);
    for (int64_t n = 7; n <= 8; n++) {
        arrive(n);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
    }
    halo_judge_finish(judge_);
    for (int64_t n = 1; n <= 8; n++)
        next(n == 5 ? HALO_JUDGE_HIDE : HALO_JUDGE_PASS, n);
}

static void the_window_is_bounded(void **state)
{
    (void)state;
    begin(false, FACES);
    for (int64_t n = 1; n <= 1000; n++) { /* 1000 frames/s */
        arrive_at(n, n * 1000);
        next(HALO_JUDGE_SEND, n);
        none(HALO_FIND_FACES, n);
        if (n >= HALO_JUDGE_WINDOW)
            next(HALO_JUDGE_PASS, n - HALO_JUDGE_WINDOW + 1);
        next(HALO_JUDGE_WAIT, 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(frames_without_a_detector_are_hidden),
        TEST(frames_wait_for_their_own_verdict),
        TEST(frames_passed_over_are_dropped),
        TEST(few_frames_wait),
        TEST(silence_hides_until_enough_agree),
        TEST(a_verdict_after_its_time_is_late_whoever_looks_first),
        TEST(a_cut_begins_again),
        TEST(after_a_cut_old_tracks_last_until_enough_agree),
        TEST(a_detector_that_was_gone_begins_again),
        TEST(gaps_and_times_that_go_back_begin_again),
        TEST(slow_streams_have_no_gaps),
        TEST(who_was_not_seen_before_disagrees),
        TEST(noise_does_not_hide_forever),
        TEST(one_frame_is_enough_if_enter_is_one),
        TEST(the_slower_of_two_finds_decides),
        TEST(finds_change_while_the_stream_runs),
        TEST(a_verdict_from_before_a_find_was_needed_again_shows_nothing),
        TEST(masks_follow_the_same_rules),
        TEST(frames_wait_for_the_frames_after_them),
        TEST(frames_that_nothing_followed_are_hidden),
        TEST(frames_before_a_cut_wait_too),
        TEST(masks_and_waits_of_zero_do_not_wait_for_others),
        TEST(few_frames_wait_for_those_after_them),
        TEST(without_waiting_frames_have_the_newest_verdict),
        TEST(without_waiting_a_cut_hides_at_once),
        TEST(a_verdict_from_before_a_cut_does_not_count),
        TEST(first_frames_are_shown_if_those_after_them_agree),
        TEST(first_frames_are_hidden_if_one_after_them_disagrees),
        TEST(short_files_are_shown_if_all_frames_agree),
        TEST(short_scenes_are_hidden),
        TEST(the_half_second_before_is_hidden_and_gaps_too),
        TEST(nothing_is_hidden_before_a_cut),
        TEST(the_same_verdicts_give_the_same_shapes),
        TEST(a_file_waits_for_its_detectors),
        TEST(masks_in_files_are_those_of_their_frames),
        TEST(each_detector_s_boxes_are_those_of_their_frames),
        TEST(in_files_a_frame_without_a_verdict_begins_again),
        TEST(a_file_gives_a_frame_up),
        TEST(a_file_waits_for_another_hello),
        TEST(the_window_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
