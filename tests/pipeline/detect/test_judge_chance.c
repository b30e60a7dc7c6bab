/* SPDX-License-Identifier: BSD-2-Clause
 * The judge with faces that move and detectors that fail, both by chance: a frame passes only with
 * its own verdict, and no face that was found is open. Each failure names its seed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/detect/judge.h"
#include "tests/cmocka_all.h"
#include "tests/pipeline/detect/cover.h"

enum { FACES = 3, FRAMES = 300, STEP_US = 33333, SEEDS = 60, WELL = 6 };
static const int64_t MS = 1000000;
static const struct halo_detector_settings settings = {
    .wait = 0.1, .enter = 3, .hold = 0.6, .margin = 0.25, .score = 0.5, .low = 0.25};
static const struct halo_detector_settings ahead_settings = {
    .wait = 0.1, .ahead = 0.3, .enter = 3, .hold = 0.6, .margin = 0.25, .score = 0.5, .low = 0.25};

static uint64_t chance_;

static double chance(double least, double most)
{
    chance_ ^= chance_ << 13;
    chance_ ^= chance_ >> 7;
    chance_ ^= chance_ << 17;
    return least + (most - least) * (double)(chance_ >> 11) / 9007199254740992.0;
}

/* What is true of each face in each frame, and what the detector reports. */
struct truth {
    bool there, found; /* found: in this frame's verdict */
    bool strong;       /* found with enough score to begin a track */
    bool well;         /* found in so many frames before that its motion is known */
    int missed;        /* frames since it was found */
    struct halo_detect_box is, reported;
};

static struct truth truth_[FRAMES][FACES];
static int first_found_[FACES];

/* A face comes from a side, or is there from its first frame on, and changes its speed slowly. */
static void make_face(int f)
{
    const int first = chance(0, 1) < 0.3 ? 0 : (int)chance(0, FRAMES / 2);
    const double size = chance(0.04, 0.25), y_size = size * chance(1, 1.6);
    double x = chance(0, 1 - size), y = chance(0, 1 - y_size);
    double vx = chance(-0.8, 0.8) * size, vy = chance(-0.5, 0.5) * y_size; /* per second */
    const int side = (int)chance(0, 5);
    x = side == 1 ? -size : side == 2 ? 1 : x;
    y = side == 3 ? -y_size : side == 4 ? 1 : y;
    vx = side == 1 ? fabs(vx) : side == 2 ? -fabs(vx) : vx;
    vy = side == 3 ? fabs(vy) : side == 4 ? -fabs(vy) : vy;
    const int blind = first ? (int)chance(0, 14) : 0; /* frames before the detector finds it */
    int missing = 0, seen = 0, since = 0;
    first_found_[f] = FRAMES;
    for (int n = 0; n < FRAMES; n++) {
        struct truth *t = &truth_[n][f];
        *t = (struct truth){.there = n >= first};
        if (!t->there)
            continue;
        x += vx * STEP_US / 1e6, y += vy * STEP_US / 1e6;
        if (n - first > blind + WELL && chance(0, 1) < 0.05)
            vx += chance(-0.15, 0.15) * size, vy += chance(-0.1, 0.1) * y_size;
        t->is = (struct halo_detect_box){(float)x, (float)y, (float)size, (float)y_size, 1};
        if (seen >= WELL && !missing && chance(0, 1) < 0.05)
            missing = (int)chance(1, 14);
        missing -= missing > 0;
        t->found = n - first >= blind && !missing && x > -size * 0.6 && x < 1 - size * 0.4 &&
                   y > -y_size * 0.6 && y < 1 - y_size * 0.4;
        seen = t->found ? seen + 1 : seen;
        since = t->found ? 0 : since + 1;
        t->missed = since;
        t->well = seen >= WELL;
        t->strong = t->found && (seen <= WELL || chance(0, 1) < 0.7);
        t->reported = t->is;
        t->reported.x += (float)(size * chance(-0.03, 0.03));
        t->reported.y += (float)(y_size * chance(-0.03, 0.03));
        t->reported.score = (float)(t->strong ? chance(0.5, 1) : chance(0.25, 0.5));
        if (t->found && first_found_[f] == FRAMES)
            first_found_[f] = n;
    }
}

static void make(uint64_t seed)
{
    chance_ = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++)
        (void)chance(0, 1);
    for (int f = 0; f < FACES; f++)
        make_face(f);
}

static int boxes_of(int n, struct halo_detect_box *ret)
{
    int count = 0;
    for (int f = 0; f < FACES; f++)
        if (truth_[n][f].found)
            ret[count++] = truth_[n][f].reported;
    return count;
}

static void check_covered(const struct halo_judge_step *step, int f, double part, uint64_t seed)
{
    const struct truth *t = &truth_[step->n][f];
    const struct halo_verdict_shapes *hidden = &step->hidden[HALO_FIND_FACES];
    if (!covers_box(hidden, part < 1 ? &t->is : &t->reported, part))
        fail_msg("seed %d: face %d is open in frame %d, missed for %d", (int)seed, f, (int)step->n,
                 t->missed);
}

static struct halo_judge *create(const struct halo_detector_settings *detector, bool live)
{
    struct halo_judge *judge;
    const struct halo_judge_settings all = {
        .detector = {detector}, .finds = halo_find_bit(HALO_FIND_FACES), .live = live};
    assert_int_equal(halo_judge_create(&judge, &all), 0);
    return judge;
}

/* Two faces, one in front of the other: nobody can know which of them is missed. */
static bool is_alone(int n, int f)
{
    for (int before = n > 20 ? n - 20 : 0; before <= n + 20 && before < FRAMES; before++)
        for (int other = 0; other < FACES; other++) {
            const struct halo_detect_box *a = &truth_[before][f].is, *b = &truth_[before][other].is;
            const double dx = fabs(a->x + a->width / 2 - b->x - b->width / 2);
            const double dy = fabs(a->y + a->height / 2 - b->y - b->height / 2);
            if (other != f && truth_[before][other].there && dx < fmax(a->width, b->width) * 0.8 &&
                dy < fmax(a->height, b->height) * 0.8)
                return false;
        }
    return true;
}

/* ---- live ---- */

struct live {
    struct halo_judge *judge;
    uint64_t seed;
    int64_t now, answer_at, back_at; /* ns; INT64_MAX: never */
    int64_t n;                       /* at the detector */
    int64_t judged_at[FRAMES];       /* when a frame was judged; 0: it was not */
    int64_t sent_at[FRAMES];
    int first_judged[FACES], last_judged[FACES]; /* judged frames in which each face was found; 0:
                                                  * none */
    int passed, hidden, dropped, done;
    int ahead; /* faces that were hidden before they were found */
    int64_t last;
    bool faults;
    const struct halo_detector_settings *detector;
};

/* Whether the face was first found in a frame that this one waited for. */
static bool is_found_ahead(const struct live *l, int f, int n)
{
    const int first = l->first_judged[f];
    return first > n && (first - n) * STEP_US <= l->detector->ahead * 1e6;
}

static void check_passed(struct live *l, const struct halo_judge_step *step)
{
    l->passed++;
    if (!l->judged_at[step->n] || l->judged_at[step->n] - l->sent_at[step->n] >= 100 * MS)
        fail_msg("seed %d: frame %d has no verdict of its own", (int)l->seed, (int)step->n);
    for (int f = 0; f < FACES; f++) {
        const struct truth *t = &truth_[step->n][f];
        if (t->found && l->last_judged[f] == step->n)
            check_covered(step, f, 1, l->seed);
        else if (t->there && t->well && l->last_judged[f] && is_alone((int)step->n, f) &&
                 (step->n - l->last_judged[f]) * STEP_US < 500000)
            check_covered(step, f, 0.8, l->seed);
        else if (t->there && is_found_ahead(l, f, (int)step->n) && is_alone((int)step->n, f)) {
            check_covered(step, f, 0.8, l->seed);
            l->ahead++;
        }
    }
}

static void step_live(struct live *l)
{
    struct halo_judge_step step;
    for (;;) {
        halo_judge_next(l->judge, l->now, &step);
        if (step.what == HALO_JUDGE_WAIT)
            return;
        if (step.what == HALO_JUDGE_SEND) {
            const bool late = l->faults && chance(0, 1) < 0.02;
            l->n = step.n;
            l->sent_at[step.n] = l->now;
            l->answer_at = l->now + (int64_t)(chance(5, late ? 400 : 90) * 1e6);
            continue;
        }
        l->done++;
        if (step.what != HALO_JUDGE_DROP) {
            assert_true(step.n > l->last);
            l->last = step.n;
        }
        l->dropped += step.what == HALO_JUDGE_DROP;
        l->hidden += step.what == HALO_JUDGE_HIDE;
        if (step.what == HALO_JUDGE_PASS)
            check_passed(l, &step);
    }
}

static void answer(struct live *l)
{
    struct halo_detect_box box[HALO_DETECT_MAX_BOXES];
    const int count = boxes_of((int)l->n, box);
    l->judged_at[l->n] = l->now;
    for (int f = 0; f < FACES; f++)
        if (truth_[l->n][f].strong || (l->last_judged[f] && truth_[l->n][f].found &&
                                       (l->n - l->last_judged[f]) * STEP_US < 500000)) {
            l->last_judged[f] = (int)l->n;
            l->first_judged[f] = l->first_judged[f] ? l->first_judged[f] : (int)l->n;
        }
    l->answer_at = INT64_MAX;
    halo_judge_boxes(l->judge, HALO_FIND_FACES, l->n, box, count, l->now);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Between two frames: what the detector does until this time. */
static void go_to(struct live *l, int64_t time)
{
    for (;;) {
        l->now = earlier(time, earlier(l->answer_at, l->back_at));
        if (l->now == l->answer_at) {
            answer(l);
        } else if (l->now == l->back_at) {
            halo_judge_ready(l->judge, HALO_FIND_FACES, l->now);
            l->back_at = INT64_MAX;
        } else {
            return;
        }
        step_live(l);
    }
}

static void play_live(uint64_t seed, const struct halo_detector_settings *detector, bool faults,
                      struct live *l)
{
    make(seed);
    *l = (struct live){.judge = create(detector, true),
                       .detector = detector,
                       .seed = seed,
                       .answer_at = INT64_MAX,
                       .back_at = 1,
                       .last = -1,
                       .faults = faults};
    for (int n = 0; n < FRAMES; n++) {
        go_to(l, 1000 * MS + (int64_t)n * STEP_US * 1000);
        if (faults && chance(0, 1) < 0.01) {
            halo_judge_gone(l->judge, HALO_FIND_FACES, l->now);
            l->answer_at = INT64_MAX;
            l->back_at = l->now + 250 * MS;
        }
        assert_int_equal(halo_judge_arrive(l->judge, n, (int64_t)n * STEP_US, l->now), 0);
        step_live(l);
    }
    go_to(l, l->now + 2000 * MS);
    halo_judge_finish(l->judge);
    step_live(l);
    assert_int_equal(l->done, FRAMES);
    halo_judge_destroy(l->judge);
}

static void live_frames_pass_only_judged_and_with_all_faces_hidden(void **state)
{
    static struct live live;
    int passed = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_live(seed, &settings, true, &live);
        passed += live.passed;
    }
    assert_true(passed > SEEDS * FRAMES / 10); /* otherwise this would show little */
}

static void live_frames_that_look_ahead_hide_faces_before_they_are_found(void **state)
{
    static struct live live;
    int passed = 0, ahead = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_live(seed, &ahead_settings, true, &live);
        passed += live.passed;
        ahead += live.ahead;
    }
    assert_true(passed > SEEDS * FRAMES / 20);
    assert_true(ahead > SEEDS);
}

/* It is slower than the stream, but never late: once something is shown, nothing is hidden
 * entirely. */
static void a_slow_detector_does_not_flicker(void **state)
{
    static struct live live;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_live(seed, &settings, false, &live);
        assert_true(live.hidden <= 1 + 4 * settings.enter);
        assert_true(live.dropped > 0);
    }
}

/* ---- files ---- */

static void check_file(const struct halo_judge_step *step, uint64_t seed)
{
    for (int f = 0; f < FACES; f++) {
        const struct truth *t = &truth_[step->n][f];
        const int before = first_found_[f] - (int)step->n;
        const bool known = first_found_[f] < FRAMES;
        if (t->found)
            check_covered(step, f, 1, seed);
        else if (!is_alone((int)step->n, f))
            continue;
        else if (t->there && known && before > 0 && before * STEP_US <= 500000)
            check_covered(step, f, 0.8, seed);
        else if (t->there && t->well && t->missed * STEP_US < 500000)
            check_covered(step, f, 0.8, seed);
    }
}

static int play_file(uint64_t seed)
{
    struct halo_judge_step step;
    struct halo_judge *judge = create(&settings, false);
    int64_t waiting[2];
    int unanswered = 0, passed = 0, done = 0, arrived = 0;
    make(seed);
    halo_judge_ready(judge, HALO_FIND_FACES, 0);
    while (done < FRAMES) {
        halo_judge_next(judge, 0, &step);
        if (step.what == HALO_JUDGE_SEND) {
            assert_true(unanswered < 2);
            waiting[unanswered++] = step.n;
        } else if (step.what != HALO_JUDGE_WAIT) {
            assert_int_equal(step.n, done++);
            passed += step.what == HALO_JUDGE_PASS;
            if (step.what == HALO_JUDGE_PASS)
                check_file(&step, seed);
        } else if (unanswered && chance(0, 1) < 0.5) {
            struct halo_detect_box box[HALO_DETECT_MAX_BOXES];
            const int count = boxes_of((int)waiting[0], box);
            halo_judge_boxes(judge, HALO_FIND_FACES, waiting[0], box, count, 0);
            waiting[0] = waiting[1];
            unanswered--;
        } else if (arrived < FRAMES && halo_judge_has_room(judge)) {
            assert_int_equal(halo_judge_arrive(judge, arrived, (int64_t)arrived * STEP_US, 0), 0);
            if (++arrived == FRAMES)
                halo_judge_finish(judge);
        }
    }
    halo_judge_destroy(judge);
    return passed;
}

static void files_hide_faces_before_they_are_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        assert_true(play_file(seed) > FRAMES * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_frames_pass_only_judged_and_with_all_faces_hidden),
        cmocka_unit_test(live_frames_that_look_ahead_hide_faces_before_they_are_found),
        cmocka_unit_test(a_slow_detector_does_not_flicker),
        cmocka_unit_test(files_hide_faces_before_they_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
