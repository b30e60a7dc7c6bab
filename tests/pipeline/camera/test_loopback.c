/* SPDX-License-Identifier: BSD-2-Clause
 * The virtual camera against a device that is played here: the calls of camera/v4l2.c are this
 * file's (ld --wrap), write() goes into a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/camera/loopback.h"
#include "tests/cmocka_all.h"

enum { WIDTH = 64, HEIGHT = 36, USAGE = 0x10E00001 };

/* The device. */
static struct {
    int end; /* of the pipe, to read from */
    const char *driver;
    uint32_t caps;
    unsigned long fails; /* this request ... */
    int with;            /* ... with this errno */
    int opens_with;      /* errno of open(); 0: opens */
    uint32_t width, size_more, row_more;
    bool tells;
    int waiting;      /* events */
    uint32_t readers; /* that they say */
    double rate;
} played;

static void play(void)
{
    memset(&played, 0, sizeof played);
    played.driver = "v4l2 loopback";
    played.caps = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_READWRITE;
    played.end = -1;
}

int __wrap_halo_v4l2_open(const char *path);
int __wrap_halo_v4l2_call(int fd, unsigned long request, void *argument);

int __wrap_halo_v4l2_open(const char *path)
{
    int ends[2];
    assert_string_equal(path, "/dev/video10");
    if (played.opens_with)
        return -played.opens_with;
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    played.end = ends[0];
    return ends[1];
}

static void answer_format(struct v4l2_pix_format *pix)
{
    if (played.width)
        pix->width = played.width;
    pix->sizeimage = pix->pixelformat == V4L2_PIX_FMT_YUYV ? pix->width * pix->height * 2
                                                           : pix->width * pix->height * 3 / 2;
    pix->sizeimage += played.size_more;
    pix->bytesperline =
        pix->width * (pix->pixelformat == V4L2_PIX_FMT_YUYV ? 2 : 1) + played.row_more;
}

static int take_event(struct v4l2_event *event)
{
    if (!played.waiting)
        return -ENOENT;
    played.waiting--;
    event->type = USAGE;
    memcpy(event->u.data, &played.readers, sizeof played.readers);
    return 0;
}

int __wrap_halo_v4l2_call(int fd, unsigned long request, void *argument)
{
    assert_true(fd >= 0);
    if (request == played.fails)
        return -played.with;
    if (request == VIDIOC_QUERYCAP) {
        struct v4l2_capability *cap = argument;
        memset(cap, 0, sizeof *cap);
        strcpy((char *)cap->driver, played.driver);
        cap->capabilities = V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_OUTPUT;
        cap->device_caps = played.caps;
    } else if (request == VIDIOC_S_FMT) {
        answer_format(&((struct v4l2_format *)argument)->fmt.pix);
    } else if (request == VIDIOC_S_PARM) {
        const struct v4l2_fract *t =
            &((struct v4l2_streamparm *)argument)->parm.output.timeperframe;
        played.rate = (double)t->denominator / t->numerator;
    } else if (request == VIDIOC_SUBSCRIBE_EVENT) {
        played.waiting = played.tells;
        return played.tells ? 0 : -ENOTTY;
    } else if (request == VIDIOC_DQEVENT) {
        return take_event(argument);
    }
    return 0;
}

static struct halo_loopback *loopback;
static enum halo_v4l2_trouble trouble;
static struct halo_error err;

static int open_as(uint32_t fourcc)
{
    const struct halo_loopback_mode mode = {halo_v4l2_format_of(fourcc), WIDTH, HEIGHT, 30};
    err.code = 0;
    trouble = HALO_V4L2_FINE;
    loopback = NULL;
    return halo_loopback_open(&loopback, "/dev/video10", &mode, &trouble, &err);
}

static void end(void)
{
    halo_loopback_close(loopback);
    loopback = NULL;
    close(played.end);
    played.end = -1;
}

static void refuse(enum halo_v4l2_trouble expected, const char *words)
{
    assert_true(open_as(V4L2_PIX_FMT_YUYV) < 0);
    assert_null(loopback);
    assert_int_equal(trouble, expected);
    assert_non_null(strstr(err.text, "/dev/video10: "));
    if (!strstr(err.text, words))
        fail_msg("'%s' lacks '%s'", err.text, words);
    close(played.end);
    play();
}

static void test_refused(void **state)
{
    (void)state;
    play();
    played.opens_with = ENOENT;
    refuse(HALO_V4L2_ABSENT, "haloctl doctor");
    played.opens_with = EACCES;
    refuse(HALO_V4L2_DENIED, "group 'video'");
    played.driver = "uvcvideo";
    refuse(HALO_V4L2_UNFIT, "not a virtual camera");
    played.caps = V4L2_CAP_VIDEO_CAPTURE;
    refuse(HALO_V4L2_BUSY, "does not accept frames now; another program writes to it");
    played.caps = V4L2_CAP_READWRITE;
    refuse(HALO_V4L2_BUSY, "modprobe -r v4l2loopback");
    played.fails = VIDIOC_QUERYCAP, played.with = ENOTTY;
    refuse(HALO_V4L2_UNFIT, "not a video device");
    played.fails = VIDIOC_S_FMT, played.with = EBUSY;
    refuse(HALO_V4L2_BUSY, "S_FMT: Device or resource busy");
    played.width = 640;
    refuse(HALO_V4L2_BUSY, "another format or size");
    played.size_more = 4096;
    refuse(HALO_V4L2_UNFIT, "layout");
    played.row_more = 64;
    refuse(HALO_V4L2_UNFIT, "layout");
}

static void test_written(void **state)
{
    unsigned char frame[WIDTH * HEIGHT * 2], read_back[sizeof frame];
    (void)state;
    play();
    played.size_more = 1000; /* to the end of a page */
    assert_int_equal(open_as(V4L2_PIX_FMT_YUYV), 0);
    assert_true(played.rate == 30);
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = (unsigned char)(i * 7);
    assert_int_equal(halo_loopback_write(loopback, frame, sizeof frame, &trouble, &err), 0);
    assert_int_equal(read(played.end, read_back, sizeof read_back), sizeof read_back);
    assert_memory_equal(frame, read_back, sizeof frame);
    /* Half a frame is none. */
    assert_int_equal(halo_loopback_write(loopback, frame, 100, &trouble, &err), -EAGAIN);
    assert_int_equal(read(played.end, read_back, sizeof read_back), -1);
    end();
}

static void test_full_and_gone(void **state)
{
    static const unsigned char frame[WIDTH * HEIGHT * 3 / 2];
    int code = 0, count = 0;
    (void)state;
    play();
    assert_int_equal(open_as(V4L2_PIX_FMT_NV12), 0);
    while (code == 0 && count++ < 1000) /* a pipe takes such a small frame whole, or not at all */
        code = halo_loopback_write(loopback, frame, sizeof frame, &trouble, &err);
    assert_in_range(count, 2, 999);
    assert_int_equal(code, -EAGAIN);
    assert_int_equal(trouble, HALO_V4L2_FINE);
    close(played.end); /* nobody is behind it: EPIPE stands for what a device says that is gone */
    played.end = -1;
    assert_int_equal(halo_loopback_write(loopback, frame, sizeof frame, &trouble, &err), -EPIPE);
    assert_int_equal(trouble, HALO_V4L2_BROKEN);
    assert_non_null(strstr(err.text, "cannot be written to"));
    end();
}

static void test_images_of_any_size(void **state)
{
    static const unsigned char image[WIDTH * HEIGHT * 3 / 2 + 1] = {0xff, 0xd8};
    (void)state;
    play();
    assert_int_equal(open_as(V4L2_PIX_FMT_MJPEG), 0);
    assert_int_equal(halo_loopback_write(loopback, image, 50, &trouble, &err), 0);
    assert_int_equal(halo_loopback_write(loopback, image, sizeof image, &trouble, &err), -EAGAIN);
    end();
}

static void test_readers(void **state)
{
    (void)state;
    play();
    assert_int_equal(open_as(V4L2_PIX_FMT_YUYV), 0);
    assert_int_equal(halo_loopback_readers(loopback), -ENOTSUP);
    end();
    play();
    played.tells = true;
    assert_int_equal(open_as(V4L2_PIX_FMT_YUYV), 0);
    assert_int_equal(halo_loopback_readers(loopback), 0);
    played.readers = 1;
    played.waiting = 2;
    assert_int_equal(halo_loopback_readers(loopback), 1);
    assert_int_equal(halo_loopback_readers(loopback), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_written),
        cmocka_unit_test(test_full_and_gone), cmocka_unit_test(test_images_of_any_size),
        cmocka_unit_test(test_readers),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
