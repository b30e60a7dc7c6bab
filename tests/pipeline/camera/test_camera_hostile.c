/* SPDX-License-Identifier: BSD-2-Clause
 * Cameras whose drivers lie, never end, or answer what cannot be (camera/camera.h): nothing
 * hangs, nothing is read that is not the frame's. */
#include <errno.h>

#include "kernels/clock.h"
#include "tests/pipeline/camera/played_camera.h"

static void events_without_end(void **state)
{
    (void)state;
    struct halo_capture_settings set = wishes();
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\n");
    must_read(camera);
    put("control", "formats=yuyv:64x32@100\nchange=2\n");
    for (int i = 0; i < 10; i++)
        must_read(camera);
    halo_camera_close(camera);
}

static void another_input(void **state)
{
    (void)state;
    struct halo_capture_settings set = wishes();
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\n");
    must_read(camera);
    put("control", "formats=yuyv:64x32@100\nchange=1\n");
    fail_to_read(camera, HALO_V4L2_CHANGED);
    halo_camera_close(camera);
}

static void controls_without_end(void **state)
{
    (void)state;
    struct halo_error err = {0};
    struct halo_capture_settings set = wishes();
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\nlie=controls\n");
    assert_int_equal(halo_camera_control(camera, "gain", 1, &err), -EINVAL);
    halo_camera_close(camera);
}

static void times_past_all_bounds(void **state)
{
    (void)state;
    struct halo_capture_settings set = wishes();
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\nclock=3\n");
    for (int i = 0; i < 6; i++) {
        const int64_t before = halo_now_ns() - INT64_C(1000000000), pts = must_read(camera);
        assert_in_range(pts, before, halo_now_ns() + 6);
    }
    halo_camera_close(camera);
}

/* Who is woken again and again waits for the same frame. */
static void stalls_although_woken(void **state)
{
    (void)state;
    struct halo_capture_settings set = soon();
    enum halo_v4l2_trouble trouble;
    struct halo_error err = {0};
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\nstall=1\n");
    int64_t ret;
    eventfd_t value;
    eventfd_write(wake, 1);
    while ((ret = read_one(camera, &trouble, &err)) >= 0)
        usleep(1000);
    eventfd_read(wake, &value);
    assert_int_equal(ret, -ETIMEDOUT);
    assert_int_equal(trouble, HALO_V4L2_STALLED);
    halo_camera_close(camera);
}

static void lies(void **state)
{
    (void)state;
    struct halo_capture_settings set = wishes();
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\nlie=index\n");
    fail_to_read(camera, HALO_V4L2_BROKEN);
    halo_camera_close(camera);
    const char *const longer[] = {"formats=yuyv:64x32@100\nlie=used\n",
                                  "formats=mjpeg:64x32@100\nlie=used\n",
                                  "formats=nv12:64x32@100\nplanar=1\nlie=used\n"};
    set = soon();
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        camera = open_it(&set, longer[i]);
        fail_to_read(camera, HALO_V4L2_STALLED);
        halo_camera_close(camera);
    }
    set = wishes();
    camera = open_it(&set, "formats=yuyv:64x32@100\nlie=stride\n");
    must_read(camera);
    assert_int_equal(camera->stride[0], 128);
    halo_camera_close(camera);
}

/* Chroma has a memory of its own, or lies behind luma: not one of two where there are three. */
static void odd_memories(void **state)
{
    (void)state;
    struct halo_capture_settings set = wishes();
    refuse(&set, "formats=yu12:64x32@100\nplanar=2\nlie=planes\n", HALO_V4L2_UNFIT,
           "memory planes");
}

static void rates_that_cannot_be(void **state)
{
    (void)state;
    const char *const intervals[] = {"0/0", "1/0", "0/1", "1/4294967295", "4294967295/1"};
    struct halo_capture_settings set = wishes();
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        char control[100];
        snprintf(control, sizeof control, "formats=yuyv:64x32@100\ninterval=%s\n", intervals[i]);
        struct halo_camera *camera = open_it(&set, control);
        assert_float_equal(halo_camera_mode(camera)->rate, 100, 0.01);
        halo_camera_close(camera);
    }
}

static void timings(void **state)
{
    (void)state;
    struct halo_capture_settings set = wishes();
    const struct {
        const char *timings;
        int width;
    } cases[] = {{"320x240", 320},
                 {"1920x1080", 1920},
                 {"4294967295x4294967295", 1920},
                 {"2147483647x2147483647", 1920}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char control[200];
        snprintf(control, sizeof control,
                 "formats=yuyv:320x240@30,1280x720@30,1920x1080@30\ntimings=%s\n",
                 cases[i].timings);
        struct halo_camera *camera = open_it(&set, control);
        assert_int_equal(halo_camera_mode(camera)->width, cases[i].width);
        halo_camera_close(camera);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_without_end),
        cmocka_unit_test(another_input),
        cmocka_unit_test(controls_without_end),
        cmocka_unit_test(times_past_all_bounds),
        cmocka_unit_test(stalls_although_woken),
        cmocka_unit_test(lies),
        cmocka_unit_test(odd_memories),
        cmocka_unit_test(rates_that_cannot_be),
        cmocka_unit_test(timings),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
