/* SPDX-License-Identifier: BSD-2-Clause
 * Frames through detection, with a detector that is a thread here: each comes with its own verdict,
 * or without one, and in order. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "pipeline/base/display.h"
#include "pipeline/detect/detect.h"
#include "pipeline/frame/raw_frame_private.h"
#include "pipeline/region/mask_image.h"
#include "pipeline/region/verdict.h"
#include "tests/cmocka_all.h"

enum { WIDTH = 160, HEIGHT = 90, SIDE = 64, STEP_US = 40000 };

/* ---- the detector ---- */

struct fake {
    pthread_t thread;
    int fd;
    const char *answers; /* of ready */
    int die_after;       /* verdicts; negative: never */
    int die_above;       /* of frames that are brighter than this; 0: of none */
    atomic_int delay_ms;
    int seen;
    bool masks;
};

/* A mask of the left half, for dark frames, or of the right one. */
static void answer_mask(struct fake *fake, long long n, bool left)
{
    char text[200], control[CMSG_SPACE(sizeof(int))] = {0};
    uint8_t mask[16 * 16];
    const int fd = memfd_create("mask", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    for (int i = 0; i < 16 * 16; i++)
        mask[i] = (i % 16 < 8) == left ? 255 : 0;
    assert_int_equal(write(fd, mask, sizeof mask), sizeof mask);
    assert_int_equal(
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL), 0);
    const int size = snprintf(text, sizeof text, "{\"type\":\"verdict\",\"n\":%lld}", n);
    struct iovec part = {text, (size_t)size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    *c = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    sendmsg(fake->fd, &message, MSG_NOSIGNAL);
    close(fd);
}

/* The brightness of a frame's first sample within the frame says where its face is. Returns false
 * if the detector dies of it. */
static bool answer(struct fake *fake, long long n, int memfd)
{
    uint8_t pixel = 0;
    char text[200];
    assert_int_equal(pread(memfd, &pixel, 1, SIDE * (SIDE / 2) + SIDE / 2), 1);
    if (fake->die_above && pixel > fake->die_above)
        return false;
    usleep((unsigned)atomic_load(&fake->delay_ms) * 1000);
    if (fake->masks) {
        answer_mask(fake, n, pixel < 128);
        return true;
    }
    const int size = snprintf(
        text, sizeof text, "{\"type\":\"verdict\",\"n\":%lld,\"boxes\":[[%g,0.25,0.25,0.25,0.9]]}",
        n, pixel / 512.0);
    send(fake->fd, text, (size_t)size, MSG_NOSIGNAL);
    return true;
}

static void *fake_main(void *arg)
{
    struct fake *fake = arg;
    for (;;) {
        char text[4096], control[CMSG_SPACE(sizeof(int))];
        struct iovec part = {text, sizeof text - 1};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        const ssize_t got = recvmsg(fake->fd, &message, 0);
        if (got <= 0 || (fake->die_after >= 0 && fake->seen == fake->die_after))
            break;
        text[got] = '\0';
        const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        if (!c) {
            send(fake->fd, fake->answers, strlen(fake->answers), MSG_NOSIGNAL);
            continue;
        }
        int memfd;
        memcpy(&memfd, CMSG_DATA(c), sizeof memfd);
        fake->seen++;
        const bool lives = answer(fake, atoll(strstr(text, "\"n\":") + 4), memfd);
        close(memfd);
        if (!lives)
            break;
    }
    close(fake->fd);
    return NULL;
}

/* ---- a stream ---- */

struct fixture {
    struct halo_detect_settings settings;
    struct halo_detector_settings detector[HALO_FINDS];
    struct halo_detect_calls calls;
    struct halo_detect *detect;
    struct halo_queue *queue;
    struct fake fake;
    int lives;  /* detectors that can be started after the first */
    bool fresh; /* each of them counts its verdicts from 0 */
    int wants, broken;
    bool refuse; /* there is no detector */
    int64_t at;
    char why[200];
};

static void want(void *arg, enum halo_find find)
{
    struct fixture *f = arg;
    int pair[2];
    assert_int_equal(find, HALO_FIND_FACES);
    if (f->wants++ > f->lives || f->refuse) {
        halo_detect_connect(f->detect, find, -1, "it is not installed");
        return;
    }
    if (f->wants > 1)
        pthread_join(f->fake.thread, NULL);
    f->fake.seen = f->fresh ? 0 : f->fake.seen;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    f->fake.fd = pair[1];
    assert_int_equal(pthread_create(&f->fake.thread, NULL, fake_main, &f->fake), 0);
    halo_detect_connect(f->detect, find, pair[0], NULL);
}

static void broken(void *arg, enum halo_find find, const char *why)
{
    struct fixture *f = arg;
    (void)find;
    f->broken++;
    snprintf(f->why, sizeof f->why, "%s", why);
}

static void unwanted(void *arg, enum halo_find find)
{
    (void)arg;
    (void)find;
}

static void begin(struct fixture *f, bool live)
{
    f->detector[HALO_FIND_FACES] = (struct halo_detector_settings){
        .wait = 600, .enter = 1, .hold = 0, .score = 0.5, .low = 0.25};
    f->calls = (struct halo_detect_calls){want, broken, unwanted};
    f->settings.stream = "a";
    f->settings.detector = f->detector;
    f->settings.calls = &f->calls;
    f->settings.arg = f;
    f->settings.time_base = (AVRational){1, 1000000};
    f->settings.live = live;
    if (!f->fake.answers)
        f->fake.answers = "{\"type\":\"ready\",\"name\":\"fake\",\"width\":64,\"height\":64,"
                          "\"format\":\"gray8\",\"answers\":\"boxes\"}";
    f->queue = halo_queue_create(200, 200);
    assert_int_equal(halo_detect_create(&f->detect, &f->settings), 0);
    const struct halo_chain_needs needs = {.hidden = halo_find_bit(HALO_FIND_FACES)};
    assert_int_equal(halo_detect_need(f->detect, &needs), 0);
}

static void end(struct fixture *f)
{
    halo_detect_destroy(f->detect);
    halo_queue_destroy(f->queue);
    if (f->wants && f->fake.fd > 0)
        pthread_join(f->fake.thread, NULL);
}

static void put_turned(struct fixture *f, int bright, int turn)
{
    struct halo_raw_frame *raw = av_mallocz(sizeof *raw);
    raw->turn = turn;
    raw->format = AV_PIX_FMT_GRAY8;
    raw->frame = av_frame_alloc();
    raw->frame->format = AV_PIX_FMT_GRAY8;
    raw->frame->width = WIDTH;
    raw->frame->height = HEIGHT;
    raw->frame->color_range = AVCOL_RANGE_JPEG;
    raw->frame->pts = f->at += STEP_US;
    assert_int_equal(av_frame_get_buffer(raw->frame, 0), 0);
    memset(raw->frame->data[0], bright, (size_t)raw->frame->linesize[0] * HEIGHT);
    const struct halo_item item = {.kind = HALO_ITEM_RAW, .raw = raw};
    assert_int_equal(halo_queue_put(f->queue, item), 0);
}

static void put_frame(struct fixture *f, int bright)
{
    put_turned(f, bright, 0);
}

/* The brightness of the next frame. *ret_where: where its verdict has a face; negative: it has no
 * verdict, -2: no face covers the place that the frame itself shows. */
static int get_frame(struct fixture *f, double *ret_where)
{
    struct halo_item item;
    struct halo_error err = {0};
    if (halo_detect_get(f->detect, f->queue, &item, &err) < 0)
        fail_msg("%s", err.text);
    if (item.kind != HALO_ITEM_RAW)
        return -1;
    const int bright = item.raw->frame->data[0][0];
    const struct halo_verdict_shapes *shapes =
        halo_verdict_get(item.raw->verdict, HALO_FIND_FACES, false);
    const double left = bright / 512.0;
    *ret_where = shapes ? -2 : -1;
    for (int i = 0; shapes && i < shapes->count; i++)
        if (shapes->shape[i].x.value <= left + 0.01 &&
            shapes->shape[i].x.value + shapes->shape[i].width.value >= left + 0.24)
            *ret_where = shapes->shape[i].x.value;
    halo_item_finish(&item);
    return bright;
}

static void put_end(struct fixture *f)
{
    assert_int_equal(halo_queue_put(f->queue, (struct halo_item){.kind = HALO_ITEM_END}), 0);
}

/* ---- tests ---- */

/* Every frame of a file passes, in order, with the verdict about itself; packets keep places. */
static void files(void **state)
{
    struct fixture f = {.fake.die_after = -1};
    double where;
    (void)state;
    begin(&f, false);
    for (int i = 0; i < 100; i++) {
        put_frame(&f, 20 + 2 * i);
        if (i % 10 == 9)
            assert_int_equal(halo_queue_put(f.queue, (struct halo_item){.kind = HALO_ITEM_PACKET}),
                             0);
    }
    put_end(&f);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(get_frame(&f, &where), 20 + 2 * i);
        assert_true(where >= 0);
        if (i % 10 == 9)
            assert_int_equal(get_frame(&f, &where), -1);
    }
    assert_int_equal(get_frame(&f, &where), -1);
    assert_int_equal(f.fake.seen, 100);
    assert_int_equal(f.wants, 1);
    end(&f);
}

/* A live frame passes with its own verdict, or is not shown. */
/* Every frame has its own mask, though those of later frames have come long before it passes. */
static void masks(void **state)
{
    struct fixture f = {.fake = {.die_after = -1,
                                 .masks = true,
                                 .answers = "{\"type\":\"ready\",\"name\":\"fake\",\"width\":64,"
                                            "\"height\":64,\"format\":\"gray8\","
                                            "\"answers\":\"mask\",\"mask\":[16,16]}"}};
    (void)state;
    begin(&f, false);
    for (int i = 0; i < 80; i++)
        /* a mask is followed at once where the frame changes */
        put_turned(&f, (i * i % 7 % 2 ? 150 : 40) + 50 * (i & 1), i % 3 ? 0 : HALO_DISPLAY_X);
    put_end(&f);
    for (int i = 0; i < 80; i++) {
        struct halo_item item;
        struct halo_error err = {0};
        if (halo_detect_get(f.detect, f.queue, &item, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(item.kind, HALO_ITEM_RAW);
        const struct halo_verdict_shapes *shapes =
            halo_verdict_get(item.raw->verdict, HALO_FIND_FACES, false);
        assert_non_null(shapes);
        assert_int_equal(shapes->count, 1);
        assert_int_equal(shapes->shape[0].kind, HALO_SHAPE_MASK);
        const uint8_t *row = shapes->shape[0].mask->weight + HEIGHT / 2 * WIDTH;
        const bool left = (item.raw->frame->data[0][0] < 128) == (i % 3 != 0); /* as stored */
        if (row[WIDTH / 8] != (left ? 255 : 0) || row[WIDTH - WIDTH / 8] != (left ? 0 : 255))
            fail_msg("frame %d: %d and %d", i, row[WIDTH / 8], row[WIDTH - WIDTH / 8]);
        halo_item_finish(&item);
    }
    end(&f);
}

/* Boxes are told of frames as displayed: each is turned as its own frame is. */
static void turns(void **state)
{
    static const int some[] = {0, HALO_DISPLAY_X, HALO_DISPLAY_Y, 0, HALO_DISPLAY_X};
    struct fixture f = {.fake.die_after = -1};
    (void)state;
    atomic_store(&f.fake.delay_ms, 2); /* two frames are at the detector */
    begin(&f, false);
    for (int i = 0; i < 40; i++)
        put_turned(&f, 40, some[i % 5]);
    put_end(&f);
    for (int i = 0; i < 40; i++) {
        struct halo_item item;
        struct halo_error err = {0};
        if (halo_detect_get(f.detect, f.queue, &item, &err) < 0)
            fail_msg("%s", err.text);
        const struct halo_verdict_shapes *shapes =
            halo_verdict_get(item.raw->verdict, HALO_FIND_FACES, true);
        assert_non_null(shapes);
        assert_int_equal(shapes->count, 1);
        const double x = some[i % 5] == HALO_DISPLAY_X ? 0.75 - 40 / 512.0 : 40 / 512.0;
        const double y = some[i % 5] == HALO_DISPLAY_Y ? 0.5 : 0.25;
        if (fabs(shapes->shape[0].x.value - x) > 0.001 ||
            fabs(shapes->shape[0].y.value - y) > 0.001)
            fail_msg("frame %d: %g, %g", i, shapes->shape[0].x.value, shapes->shape[0].y.value);
        halo_item_finish(&item);
    }
    end(&f);
}

static void live(void **state)
{
    struct fixture f = {.fake.die_after = -1, .settings.patient = true};
    struct halo_detect_stats stats[HALO_FINDS];
    struct halo_detect_counts counts;
    double where = -1;
    int judged = 0, last = 0;
    (void)state;
    begin(&f, true);
    while (where < 0) { /* until the detector is ready */
        put_frame(&f, 20);
        get_frame(&f, &where);
    }
    atomic_store(&f.fake.delay_ms, 5);
    for (int i = 0; i < 60; i++)
        put_frame(&f, 30 + 3 * i);
    put_end(&f);
    for (int bright; (bright = get_frame(&f, &where)) >= 0;) {
        assert_true(bright > last);
        assert_true(where != -2);
        last = bright;
        judged += where >= 0;
    }
    halo_detect_stats(f.detect, stats, &counts);
    assert_true(judged > 0);
    assert_true(counts.dropped > 0); /* all came at once: the newest is looked at */
    assert_string_equal(stats[HALO_FIND_FACES].name, "fake");
    assert_true(stats[HALO_FIND_FACES].mean >= 0.001);
    end(&f);
}

/* Without a detector, live frames pass without a verdict, and go on. */
static void nobody(void **state)
{
    struct fixture f = {.fake.die_after = -1, .settings.patient = true, .refuse = true};
    double where;
    (void)state;
    begin(&f, true);
    for (int i = 0; i < 5; i++) {
        put_frame(&f, 50);
        assert_int_equal(get_frame(&f, &where), 50);
        assert_true(where == -1);
    }
    assert_true(f.wants > 1);
    end(&f);
}

/* One that dies in a live stream takes no frame along, and shows none. */
static void dies(void **state)
{
    struct fixture f = {.fake.die_after = 3, .settings.patient = true};
    double where;
    int none = 0;
    (void)state;
    begin(&f, true);
    for (int i = 0; i < 3000 && none < 20; i++) {
        put_frame(&f, 50);
        assert_int_equal(get_frame(&f, &where), 50);
        assert_true(where != -2);
        none = where == -1 ? none + 1 : 0;
    }
    while (!f.broken) {
        put_frame(&f, 50);
        get_frame(&f, &where);
        assert_true(where != -2);
    }
    assert_non_null(strstr(f.why, "closed the connection"));
    end(&f);
}

/* A file is not written without a detector, and says why. */
static void fails(void **state)
{
    static const struct {
        int die_after;
        bool refuse;
        const char *answers, *says;
    } rows[] = {
        {0, true, NULL, "detection of faces failed: it is not installed"},
        {2, false, NULL, "failed 3 times at frame 3 (00:00:00.120): it is not installed"},
        {-1, false, "{}", "failed 3 times at frame 1 (00:00:00.040): "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture f = {.fake = {.die_after = rows[i].die_after, .answers = rows[i].answers},
                            .refuse = rows[i].refuse};
        struct halo_item item;
        struct halo_error err = {0};
        int code;
        begin(&f, false);
        for (int k = 0; k < 10; k++)
            put_frame(&f, 50);
        put_end(&f);
        while ((code = halo_detect_get(f.detect, f.queue, &item, &err)) == 0)
            halo_item_finish(&item);
        assert_int_equal(code, -EIO);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s", err.text);
        end(&f);
    }
}

/* Every frame has its own verdict, however many detectors are lost. */
static void another(void **state)
{
    struct fixture f = {.fake.die_after = 3, .lives = 6, .fresh = true};
    double where;
    (void)state;
    begin(&f, false);
    for (int i = 0; i < 20; i++)
        put_frame(&f, 20 + 10 * i);
    put_end(&f);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(get_frame(&f, &where), 20 + 10 * i);
        assert_true(where >= 0);
    }
    assert_int_equal(get_frame(&f, &where), -1);
    assert_int_equal(f.broken, 6);
    end(&f);
}

/* A frame that no detector survives ends a file; a patient stream hides it and goes on. */
static void deadly(void **state)
{
    (void)state;
    for (int patient = 0; patient < 2; patient++) {
        struct fixture f = {
            .fake = {.die_after = -1, .die_above = 200}, .lives = 10, .settings.patient = patient};
        struct halo_item item;
        struct halo_error err = {0};
        double where;
        int code = 0;
        begin(&f, false);
        for (int i = 0; i < 10; i++)
            put_frame(&f, i == 5 ? 240 : 50);
        put_end(&f);
        for (int i = 0; i < 10 && patient; i++) {
            assert_int_equal(get_frame(&f, &where), i == 5 ? 240 : 50);
            assert_true(i == 5 ? where == -1 : where >= 0);
        }
        while (!patient && (code = halo_detect_get(f.detect, f.queue, &item, &err)) == 0)
            halo_item_finish(&item);
        assert_int_equal(code, patient ? 0 : -EIO);
        assert_int_equal(f.broken, 3);
        if (!patient && !strstr(err.text, "failed 3 times at frame 6 (00:00:00.240): the detector"))
            fail_msg("%s", err.text);
        end(&f);
    }
}

/* Frames of a second track are refused; nothing is needed: nothing is asked. */
static void tracks(void **state)
{
    struct fixture f = {.fake.die_after = -1};
    const struct halo_chain_needs none = {0};
    struct halo_item item;
    struct halo_error err = {0};
    double where;
    (void)state;
    begin(&f, false);
    put_frame(&f, 50);
    put_frame(&f, 50);
    assert_int_equal(halo_queue_get(f.queue, &item), 0);
    item.track = 1;
    assert_int_equal(halo_queue_put(f.queue, item), 0);
    put_end(&f);
    assert_int_equal(halo_detect_get(f.detect, f.queue, &item, &err), -ENOTSUP);
    end(&f);
    f = (struct fixture){.fake.die_after = -1};
    begin(&f, false);
    assert_int_equal(halo_detect_need(f.detect, &none), 0);
    put_frame(&f, 50);
    put_end(&f);
    assert_int_equal(get_frame(&f, &where), 50);
    assert_true(where == -1);
    assert_int_equal(get_frame(&f, &where), -1);
    end(&f);
}

/* An abort ends a wait. */
static void *abort_later(void *arg)
{
    usleep(50000);
    halo_queue_abort(arg);
    return NULL;
}

static void aborted(void **state)
{
    struct fixture f = {.fake.die_after = -1};
    struct halo_item item;
    struct halo_error err = {0};
    pthread_t thread;
    (void)state;
    begin(&f, false);
    assert_int_equal(pthread_create(&thread, NULL, abort_later, f.queue), 0);
    assert_int_equal(halo_detect_get(f.detect, f.queue, &item, &err), -ECANCELED);
    pthread_join(thread, NULL);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),  cmocka_unit_test(live),   cmocka_unit_test(nobody),
        cmocka_unit_test(dies),   cmocka_unit_test(fails),  cmocka_unit_test(another),
        cmocka_unit_test(deadly), cmocka_unit_test(tracks), cmocka_unit_test(aborted),
        cmocka_unit_test(masks),  cmocka_unit_test(turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
