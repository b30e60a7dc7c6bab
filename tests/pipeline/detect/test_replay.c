/* SPDX-License-Identifier: BSD-2-Clause
 * Detections and their replay: verdicts are those of a judge that was asked directly, in whichever
 * segments the frames were cut, and nothing is known of frames that were not judged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/detect/replay.h"
#include "tests/cmocka_all.h"

enum { FRAMES = 240, STEP_US = 40000, SEEDS = 12 };

static const struct halo_detector_settings settings[HALO_FINDS] = {
    {.enter = 3, .hold = 0.6, .margin = 0.25, .score = 0.5, .low = 0.25},
    {.enter = 2, .hold = 0.4, .margin = 0.1, .score = 0.5, .low = 0.25}};
static const halo_find_set both = 3;
static const uint8_t id_[HALO_DETECTIONS_ID] = "what it is of";

/* What is true of each frame. */
struct truth {
    bool cut;
    int count[HALO_FINDS];
    struct halo_detect_box box[HALO_FINDS][4];
};

static struct truth truth_[FRAMES];
static char folder_[] = "/tmp/test-replay-XXXXXX", path_[64];

static double chance(double least, double most)
{
    return least + (most - least) * drand48();
}

static void make_truth(long seed)
{
    double x[4], y[4];
    srand48(seed);
    for (int n = 0; n < FRAMES; n++) {
        struct truth *t = &truth_[n];
        *t = (struct truth){.cut = n == 0 || chance(0, 1) < 0.02};
        for (int i = 0; i < 4; i++) {
            x[i] = t->cut ? chance(0, 0.8) : x[i] + chance(-0.01, 0.02);
            y[i] = t->cut ? chance(0, 0.8) : y[i] + chance(-0.01, 0.01);
            for (int find = 0; find < HALO_FINDS; find++)
                if ((i & 1) == find && chance(0, 1) < 0.8)
                    t->box[find][t->count[find]++] = (struct halo_detect_box){
                        (float)x[i], (float)y[i], 0.1F, 0.15F, (float)chance(0.2, 1)};
        }
    }
}

/* A thumbnail of a scene: its cuts are those of the truth. */
static void draw_thumbnail(int n, uint8_t ret[HALO_CUT_BYTES])
{
    int scene = 0;
    for (int i = 0; i <= n; i++)
        scene += truth_[i].cut;
    uint32_t x = (uint32_t)scene * 2654435761U + 1;
    for (int i = 0; i < HALO_CUT_BYTES; i++) {
        x = x * 1664525U + 1013904223U;
        ret[i] = (uint8_t)(x >> 24);
    }
}

static void add_frame(struct halo_detections *d, int n, bool first)
{
    const struct truth *t = &truth_[n];
    const struct halo_detections_frame frame = {.pts = n * 3,
                                                .time_us = (int64_t)n * STEP_US,
                                                .count = {t->count[0], t->count[1]},
                                                .answered = both,
                                                .looked = true,
                                                .cut = first || t->cut};
    const struct halo_detect_box *const boxes[HALO_FINDS] = {t->box[0], t->box[1]};
    assert_int_equal(halo_detections_add(d, &frame, boxes), 0);
}

/* The frames from..to-1, as the process of a segment records them. */
static struct halo_detections record(int from, int to)
{
    struct halo_detections d = {.finds = both, .seen = to > from};
    memcpy(d.id, id_, sizeof d.id);
    strcpy(d.name[0], "faces 1");
    strcpy(d.name[1], "people 1");
    for (int n = from; n < to; n++)
        add_frame(&d, n, n == from);
    if (to > from) {
        draw_thumbnail(from, d.first);
        draw_thumbnail(to - 1, d.last);
    }
    return d;
}

static void save(struct halo_detections *d)
{
    struct halo_error err = {0};
    assert_int_equal(halo_detections_save(d, path_, false, &err), 0);
}

/* Writes and reads them. */
static void pass_through_file(struct halo_detections *d)
{
    save(d);
    halo_detections_finish(d);
    assert_int_equal(halo_detections_load(d, path_, id_), 0);
}

/* All frames, cut into segments of about this length. */
static struct halo_detections record_all(int length)
{
    struct halo_error err = {0};
    struct halo_detections all = {.frame = NULL};
    for (int from = 0, to; from < FRAMES; from = to) {
        to = from + (int)chance(0, 2 * length + 1); /* also none */
        to = to < FRAMES ? to : FRAMES;
        struct halo_detections one = record(from, to);
        assert_int_equal(halo_detections_append(&all, &one, &err), 0);
        halo_detections_finish(&one);
    }
    assert_int_equal(all.frames, FRAMES);
    memcpy(all.id, id_, sizeof all.id);
    pass_through_file(&all);
    return all;
}

static void check_shapes(const struct halo_verdict_shapes *a, const struct halo_verdict_shapes *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        struct halo_shape one = a->shape[i], other = b->shape[i];
        one.track = other.track = 0; /* numbers of this process */
        assert_memory_equal(&one, &other, sizeof one);
    }
}

static void check_step(const struct halo_judge_step *a, const struct halo_judge_step *b)
{
    assert_int_equal(a->what, b->what);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->known, b->known);
    for (int find = 0; find < HALO_FINDS; find++) {
        if (!(a->known & halo_find_bit(find)))
            continue;
        check_shapes(&a->hidden[find], &b->hidden[find]);
        check_shapes(&a->shown[find], &b->shown[find]);
    }
}

/* A judge whose detectors answer late, each in its own time. */
struct direct {
    struct halo_judge *judge;
    int64_t arrived, sent[HALO_FINDS], answered[HALO_FINDS];
    struct halo_judge_step step;
};

static void answer(struct direct *d, bool must)
{
    for (int find = 0; find < HALO_FINDS; find++)
        if (d->answered[find] < d->sent[find] && (must || chance(0, 1) < 0.5)) {
            const int64_t n = ++d->answered[find];
            const struct truth *t = &truth_[n - 1];
            halo_judge_boxes(d->judge, find, n, t->box[find], t->count[find], 0);
        }
}

static const struct halo_judge_step *pass_directly(struct direct *d)
{
    for (;;) {
        halo_judge_next(d->judge, 0, &d->step);
        if (d->step.what == HALO_JUDGE_SEND) {
            if (truth_[d->step.n - 1].cut)
                halo_judge_cut(d->judge, d->step.n);
            for (int find = 0; find < HALO_FINDS; find++)
                d->sent[find] = d->step.n;
        } else if (d->step.what != HALO_JUDGE_WAIT) {
            return &d->step;
        }
        answer(d, d->step.what == HALO_JUDGE_WAIT && d->arrived == FRAMES);
        if (d->arrived == FRAMES)
            halo_judge_finish(d->judge);
        else if (halo_judge_has_room(d->judge)) {
            d->arrived++;
            assert_int_equal(halo_judge_arrive(d->judge, d->arrived, (d->arrived - 1) * STEP_US, 0),
                             0);
        }
    }
}

static struct direct open_directly(void)
{
    struct direct d = {.judge = NULL};
    const struct halo_judge_settings judge = {.detector = {&settings[0], &settings[1]},
                                              .finds = both};
    assert_int_equal(halo_judge_create(&d.judge, &judge), 0);
    for (int find = 0; find < HALO_FINDS; find++)
        halo_judge_ready(d.judge, find, 0);
    return d;
}

static struct halo_replay *open_replay(const struct halo_detections *d, int64_t from, int64_t count)
{
    struct halo_replay *ret;
    const struct halo_replay_settings all = {d, settings, from, count};
    assert_int_equal(halo_replay_create(&ret, &all), 0);
    return ret;
}

static void test_like_a_judge(void **state)
{
    (void)state;
    int known = 0, shapes = 0;
    for (long seed = 0; seed < SEEDS; seed++) {
        make_truth(seed);
        struct halo_error err = {0};
        struct halo_detections all = record_all((int)chance(1, 60));
        struct halo_replay *replay = open_replay(&all, 0, FRAMES);
        struct direct direct = open_directly();
        for (int n = 0; n < FRAMES; n++) {
            const struct halo_judge_step *step;
            assert_int_equal(halo_replay_next(replay, n * 3, &step, &err), 0);
            assert_int_equal(halo_replay_frame(replay), n);
            check_step(step, pass_directly(&direct));
            known += step->known == both;
            shapes += step->hidden[0].count;
        }
        assert_int_equal(halo_replay_end(replay, &err), 0);
        halo_replay_destroy(replay);
        halo_judge_destroy(direct.judge);
        halo_detections_finish(&all);
    }
    assert_true(known > SEEDS * FRAMES / 2 && shapes > SEEDS * FRAMES);
}

/* A process that needs only some of the frames gives them the same verdicts, and numbers the same
 * objects as all others do. */
static void test_part(void **state)
{
    (void)state;
    make_truth(77);
    struct halo_error err = {0};
    struct halo_detections all = record_all(20);
    for (int from = 1; from < FRAMES; from += 23) {
        struct halo_replay *whole = open_replay(&all, 0, FRAMES);
        struct halo_replay *part = open_replay(&all, from, FRAMES - from);
        for (int n = 0; n < FRAMES; n++) {
            const struct halo_judge_step *a, *b;
            assert_int_equal(halo_replay_next(whole, n * 3, &a, &err), 0);
            if (n < from)
                continue;
            assert_int_equal(halo_replay_next(part, n * 3, &b, &err), 0);
            check_step(a, b);
            for (int i = 0; i < a->hidden[0].count; i++)
                assert_int_equal(a->hidden[0].shape[i].track, b->hidden[0].shape[i].track);
        }
        halo_replay_destroy(whole);
        halo_replay_destroy(part);
    }
    halo_detections_finish(&all);
}

static void test_other_frames(void **state)
{
    (void)state;
    make_truth(1);
    const struct halo_judge_step *step;
    struct halo_error err = {0};
    struct halo_detections all = record_all(20);
    struct halo_replay *replay = open_replay(&all, 10, 2);
    assert_int_equal(halo_replay_next(replay, 29, &step, &err), -ESTALE);
    assert_int_equal(halo_replay_next(replay, 30, &step, &err), 0);
    assert_int_equal(halo_replay_end(replay, &err), -ESTALE); /* one is missing */
    assert_int_equal(halo_replay_next(replay, 33, &step, &err), 0);
    assert_int_equal(halo_replay_end(replay, &err), 0);
    assert_int_equal(halo_replay_next(replay, 36, &step, &err), -ESTALE); /* of another segment */
    halo_replay_destroy(replay);
    halo_detections_finish(&all);
}

/* What a detector did not judge is hidden entirely, although the frames around it are known. */
static void test_unanswered(void **state)
{
    (void)state;
    make_truth(2);
    const struct halo_judge_step *step;
    struct halo_error err = {0};
    struct halo_detections all = record_all(20);
    all.frame[50].answered = 0;
    all.frame[120].answered = halo_find_bit(HALO_FIND_FACES);
    struct halo_replay *replay = open_replay(&all, 0, FRAMES);
    for (int n = 0; n < FRAMES; n++) {
        assert_int_equal(halo_replay_next(replay, n * 3, &step, &err), 0);
        if (n == 50)
            assert_int_equal(step->what, HALO_JUDGE_HIDE);
        if (n == 120)
            assert_int_equal(step->known & halo_find_bit(HALO_FIND_PEOPLE), 0);
    }
    halo_replay_destroy(replay);
    halo_detections_finish(&all);
}

static void test_another_detector(void **state)
{
    (void)state;
    make_truth(3);
    struct halo_error err = {0};
    struct halo_detections all = record(0, 10), other = record(10, 20), sum = {.frame = NULL};
    strcpy(other.name[1], "people 2");
    assert_int_equal(halo_detections_append(&sum, &all, &err), 0);
    assert_int_equal(halo_detections_append(&sum, &other, &err), -ESTALE);
    assert_non_null(strstr(err.text, "people 2"));
    halo_detections_finish(&all);
    halo_detections_finish(&other);
    halo_detections_finish(&sum);
}

/* ---- files ---- */

static void test_once(void **state)
{
    (void)state;
    make_truth(4);
    struct stat st;
    struct halo_error err = {0};
    struct halo_detections d = record(0, 30), other = record(0, 20), found;
    save(&other);
    assert_int_equal(halo_detections_save(&d, path_, true, &err), -EEXIST);
    unlink(path_);
    assert_int_equal(halo_detections_save(&d, path_, true, &err), 0);
    assert_int_equal(halo_detections_save(&other, path_, true, &err), -EEXIST);
    assert_int_equal(halo_detections_load(&found, path_, id_), 0);
    assert_int_equal(found.frames, 30);
    assert_int_equal(stat(path_, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_nlink, 1);
    halo_detections_finish(&found);
    halo_detections_finish(&other);
    halo_detections_finish(&d);
}

static void write_file(const uint8_t *data, size_t size)
{
    FILE *file = fopen(path_, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Each changed byte, and each length, is noticed; nothing crashes. */
static void test_damaged(void **state)
{
    (void)state;
    make_truth(5);
    static uint8_t data[1 << 16];
    struct halo_detections d = record(0, 40), found;
    save(&d);
    const uint8_t wrong[HALO_DETECTIONS_ID] = "something else";
    assert_int_equal(halo_detections_load(&found, path_, wrong), -ESTALE);
    chmod(path_, 0640);
    assert_int_equal(halo_detections_load(&found, path_, id_), -EPERM);
    chmod(path_, 0600);
    FILE *file = fopen(path_, "rb");
    assert_non_null(file);
    const size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    assert_true(size < sizeof data);
    for (size_t i = 0; i < size; i += i < 300 ? 1 : 97) {
        data[i] ^= 0x81;
        write_file(data, size);
        assert_int_equal(halo_detections_load(&found, path_, id_), -EBADMSG);
        data[i] ^= 0x81;
        write_file(data, i);
        assert_int_equal(halo_detections_load(&found, path_, id_), -EBADMSG);
    }
    unlink(path_);
    assert_int_equal(halo_detections_load(&found, path_, id_), -ENOENT);
    halo_detections_finish(&d);
}

/* Numbers that only somebody who seals the file could have written. */
static void test_nonsense(void **state)
{
    (void)state;
    make_truth(6);
    struct halo_detections d = record(0, 40), found;
    const struct halo_detections good = d;
    struct halo_detections_frame *frame = &d.frame[7];
    const struct halo_detections_frame kept = *frame;
    for (int kind = 0; kind < 5; kind++) {
        *frame = kept;
        frame->count[0] += kind == 0 ? 1 : kind == 1 ? 1000 : kind == 2 ? -1000 : 0;
        frame->box += kind == 3 ? INT64_MAX / 2 : 0;
        d.box[0].x = kind == 4 ? 0.0F / 0.0F : d.box[0].x;
        save(&d);
        assert_int_equal(halo_detections_load(&found, path_, id_), -EBADMSG);
    }
    d = good;
    halo_detections_finish(&d);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(path_, sizeof path_, "%s/detections", mkdtemp(folder_));
    umask(0022);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_);
    return rmdir(folder_);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_a_judge),     cmocka_unit_test(test_part),
        cmocka_unit_test(test_other_frames),     cmocka_unit_test(test_unanswered),
        cmocka_unit_test(test_another_detector), cmocka_unit_test(test_once),
        cmocka_unit_test(test_damaged),          cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
