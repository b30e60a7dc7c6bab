/* SPDX-License-Identifier: BSD-2-Clause
 * An open camera (camera/camera.h) and how it is found, with cameras that tests/standin/v4l2.h
 * plays. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>

#include "kernels/clock.h"
#include "tests/pipeline/camera/played_camera.h"
#include "tests/standin/v4l2_private.h"

static void assert_mode(const struct halo_camera *camera, const char *format, int width, int height)
{
    const struct halo_camera_mode *mode = halo_camera_mode(camera);
    assert_string_equal(mode->format->name, format);
    assert_int_equal(mode->width, width);
    assert_int_equal(mode->height, height);
}

static void negotiation(void **state)
{
    (void)state;
    const struct {
        const char *size, *format;
        double fps;
        const char *has, *got;
        int width, height;
        double rate;
    } cases[] = {
        {NULL, NULL, 0, "yuyv:640x480@30,1280x720@30,1920x1080@30", "yuyv", 1280, 720, 30},
        {NULL, NULL, 0, "yuyv:640x480@30,1280x720@10;mjpeg:1280x720@30", "mjpeg", 1280, 720, 30},
        {NULL, NULL, 10, "yuyv:640x480@30,1280x720@10;mjpeg:1280x720@30", "yuyv", 1280, 720, 10},
        {NULL, "yuyv", 0, "yuyv:1280x720@10;mjpeg:1280x720@30", "yuyv", 1280, 720, 10},
        {"640x480", NULL, 0, "mjpeg:640x480@30;grey:640x480@30;yu12:640x480@15", "mjpeg", 640, 480,
         30},
        {"600x400", NULL, 0, "mjpeg:1280x720@30;yuyv:640x480@60", "yuyv", 640, 480, 30},
        {NULL, NULL, 60, "h264:1280x720@60;uyvy:1280x720@60;nv12:1280x720@60", "nv12", 1280, 720,
         60},
        {NULL, NULL, 0, "grey:320x240@15", "grey", 320, 240, 15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char control[200];
        struct halo_capture_settings set = wishes();
        set.size = (char *)cases[i].size;
        set.fps = cases[i].fps;
        while (cases[i].format && strcmp(halo_capture_formats[set.format], cases[i].format) != 0)
            set.format++;
        snprintf(control, sizeof control, "formats=%s\n", cases[i].has);
        struct halo_camera *camera = open_it(&set, control);
        assert_mode(camera, cases[i].got, cases[i].width, cases[i].height);
        assert_float_equal(halo_camera_mode(camera)->rate, cases[i].rate, 0.01);
        assert_int_equal(halo_camera_mode(camera)->step, 0);
        halo_camera_close(camera);
    }
    struct halo_capture_settings set = wishes();
    refuse(&set, "formats=h264:640x480@30\n", HALO_V4L2_UNFIT, "no format that halod supports");
    set.format = 1;
    refuse(&set, "formats=yuyv:640x480@30\n", HALO_V4L2_UNFIT, "has no format yu12");
}

static void ladder(void **state)
{
    (void)state;
    const struct {
        const char *control, *format;
        int width, height, step;
    } cases[] = {
        {"yuyv:1280x720@30,640x480@30;mjpeg:1280x720@30\nroom=9000000", "mjpeg", 1280, 720, 1},
        {"yuyv:1280x720@30,640x480@30;mjpeg:1280x720@30,640x480@30\nroom=4000000", "mjpeg", 640,
         480, 2},
        {"yuyv:1280x720@30,640x480@30,320x240@30\nroom=20000000", "yuyv", 640, 480, 1},
        {"yuyv:1280x720@30,640x480@30\nroom=10000000", "yuyv", 640, 480, 2},
    };
    struct halo_capture_settings set = wishes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char control[200];
        snprintf(control, sizeof control, "formats=%s\n", cases[i].control);
        struct halo_camera *camera = open_it(&set, control);
        assert_mode(camera, cases[i].format, cases[i].width, cases[i].height);
        assert_int_equal(halo_camera_mode(camera)->step, cases[i].step);
        assert_int_equal(halo_camera_mode(camera)->smaller, cases[i].width < 1280);
        halo_camera_close(camera);
    }
    refuse(&set, "formats=yuyv:1280x720@30,640x480@30\nroom=1000\n", HALO_V4L2_BANDWIDTH,
           "USB bus is full: STREAMON");
}

/* ---- samples ---- */

static uint8_t luma(int x, int y, unsigned n)
{
    return (uint8_t)(16 + (((unsigned)x * 3 + (unsigned)y * 5 + n) & 127) + ((x ^ y) & 1) * 80);
}

static uint8_t chroma(int x, int y, bool v)
{
    return (uint8_t)(v ? 200 - (x * 2 + y) % 64 : 60 + (x + y * 2) % 64);
}

static void check_samples(const AVFrame *f, unsigned n)
{
    const bool pairs = f->format == AV_PIX_FMT_NV12,
               half = pairs || f->format == AV_PIX_FMT_YUV420P;
    for (int y = 0; y < f->height; y++)
        for (int x = 0; x < f->width; x++)
            assert_int_equal(f->data[0][y * f->linesize[0] + x], luma(x, y, n));
    for (int y = 0; f->format != AV_PIX_FMT_GRAY8 && y < f->height / (half ? 2 : 1); y++)
        for (int x = 0; x < f->width / 2; x++)
            for (int v = 0; v < 2; v++)
                assert_int_equal(pairs ? f->data[1][y * f->linesize[1] + 2 * x + v]
                                       : f->data[1 + v][y * f->linesize[1 + v] + x],
                                 chroma(x, y, v));
}

static void unpacking(void **state)
{
    (void)state;
    const char *const formats[] = {"yuyv", "uyvy", "nv12", "yu12", "grey"};
    struct halo_capture_settings set = wishes();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int planar = 0; planar < 3; planar++) {
            char control[100];
            struct halo_camera_taken taken;
            struct halo_error err = {0};
            enum halo_v4l2_trouble trouble;
            const struct halo_camera_fault fault = {&trouble, &err};
            snprintf(control, sizeof control, "formats=%s:62x34@200\nplanar=%d\n", formats[i],
                     planar);
            struct halo_camera *camera = open_it(&set, control);
            assert_mode(camera, formats[i], 62, 34);
            assert_int_equal(halo_camera_is_planar(camera), planar > 0);
            AVFrame *f = halo_frame_pool_get(camera->pool, false);
            while (halo_camera_take(camera, &taken, &fault) == 0)
                poll(&(struct pollfd){camera->fd, POLLIN, 0}, 1, 1000);
            assert_true(halo_camera_is_whole(camera, &taken));
            halo_camera_unpack(camera, &taken, f);
            check_samples(f, taken.sequence);
            taken.size[camera->memories - 1]--;
            assert_false(halo_camera_is_whole(camera, &taken));
            av_frame_free(&f);
            halo_camera_close(camera);
        }
}

/* ---- reading ---- */

/* Of the frame that comes next. */
static uint32_t sequence_of(const struct halo_camera *camera)
{
    struct standin_camera *played = standin_camera_of(camera->fd);
    pthread_mutex_lock(&played->lock);
    const uint32_t ret = played->sequence;
    pthread_mutex_unlock(&played->lock);
    return ret;
}

static void newest_wins(void **state)
{
    (void)state;
    struct halo_capture_settings set = wishes();
    struct halo_camera_counts counts;
    set.fps = 100;
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\n");
    must_read(camera);
    const uint32_t first = sequence_of(camera);
    while (sequence_of(camera) < first + 12) /* four buffers are full, and more was missed */
        usleep(10000);
    put("control", "stall=1\n"); /* it does not wait for another one */
    const int64_t old = must_read(camera);
    put("control", "formats=yuyv:64x32@100\n");
    const int64_t fresh = must_read(camera);
    halo_camera_counts(camera, &counts);
    assert_true(counts.late >= 2);
    assert_true(counts.missed >= 5);
    assert_true(fresh > old);
    assert_true(counts.frames == 3 && counts.damaged == 0);
    halo_camera_close(camera);
}

static void times_grow(void **state)
{
    (void)state;
    const char *const controls[] = {"formats=yuyv:64x32@200\n", "formats=yuyv:64x32@200\nclock=1\n",
                                    "formats=yuyv:64x32@200\nclock=2\n"};
    struct halo_capture_settings set = wishes();
    set.fps = 200;
    for (size_t i = 0; i < 3; i++) {
        const int64_t begin = halo_now_ns();
        struct halo_camera *camera = open_it(&set, controls[i]);
        int64_t last = begin - 3 * INT64_C(1000000000);
        for (int n = 0; n < 12; n++) {
            const int64_t pts = must_read(camera);
            assert_true(pts > last && pts <= halo_now_ns() + 12);
            last = pts;
        }
        halo_camera_close(camera);
    }
}

static void damage(void **state)
{
    (void)state;
    struct halo_capture_settings set = soon();
    struct halo_camera_counts counts;
    char jpeg[200], control[300], path[200];
    snprintf(path, sizeof path, "%s/torn", folder);
    snprintf(control, sizeof control, "formats=mjpeg:64x32@100\njpeg=%s\n", path);
    memset(jpeg, 'x', sizeof jpeg - 1);
    jpeg[sizeof jpeg - 1] = 0;
    put("torn", jpeg);
    const char *const controls[] = {"formats=yuyv:64x32@100\nerror=1\n",
                                    "formats=nv12:64x32@100\nshort=1\n", control};
    for (size_t i = 0; i < 3; i++) {
        int64_t damaged = 0;
        while (damaged < 5) { /* once, if the machine is idle */
            struct halo_camera *camera = open_it(&set, controls[i]);
            const int64_t start = halo_now_ns();
            fail_to_read(camera, HALO_V4L2_STALLED);
            assert_true(halo_now_ns() - start >= 250000000);
            halo_camera_counts(camera, &counts);
            assert_int_equal(counts.frames, 0);
            damaged += counts.damaged;
            halo_camera_close(camera);
        }
    }
    set = wishes();
    memcpy(jpeg, "\xff\xd8", 2);
    memcpy(jpeg + sizeof jpeg - 3, "\xff\xd9", 2);
    put("torn", jpeg);
    struct halo_camera *camera = open_it(&set, control);
    must_read(camera);
    put("control", "formats=yuyv:64x32@100\nerror=1\n");
    halo_camera_close(camera);
}

static void endings(void **state)
{
    (void)state;
    enum halo_v4l2_trouble trouble;
    struct halo_error err = {0};
    struct halo_capture_settings set = wishes();
    struct halo_camera *camera = open_it(&set, "formats=yuyv:64x32@100\n");
    must_read(camera);
    put("control", "gone=1\n");
    fail_to_read(camera, HALO_V4L2_ABSENT); /* at once: a limit of time would say that it stalls */
    halo_camera_close(camera);
    refuse(&set, "gone=1\n", HALO_V4L2_ABSENT, "no camera: open: No such device");
    set = soon();
    camera = open_it(&set, "formats=yuyv:64x32@100\n");
    put("control", "stall=1\n");
    fail_to_read(camera, HALO_V4L2_STALLED);
    set = wishes();
    assert_int_equal(eventfd_write(wake, 1), 0);
    assert_int_equal(read_one(camera, &trouble, &err), 0);
    eventfd_t value;
    eventfd_read(wake, &value);
    halo_camera_close(camera);
}

static void controls(void **state)
{
    (void)state;
    struct halo_error err = {0};
    struct halo_capture_settings set = wishes();
    set.controls = (char *)"gain=7,no_such=3";
    struct halo_camera *camera =
        open_it(&set, "formats=yuyv:64x32@100\ncontrols=Brightness:0:255:1:128,gain:0:9:1:3\n");
    struct v4l2_control value = {.id = V4L2_CID_BASE + 1};
    assert_int_equal(halo_v4l2_call(camera->fd, VIDIOC_G_CTRL, &value), 0);
    assert_int_equal(value.value, 7);
    assert_int_equal(halo_camera_control(camera, "brightness", 99, &err), 0);
    assert_int_equal(halo_camera_control(camera, "brigtness", 99, &err), -EINVAL);
    assert_non_null(strstr(err.text, "no control brigtness (nearest: brightness)"));
    err.code = 0;
    assert_int_equal(halo_camera_control(camera, "gain", 10, &err), -ERANGE);
    assert_non_null(strstr(err.text, "must be from 0 to 9"));
    halo_camera_close(camera);
    char name[40];
    halo_camera_control_name("White Balance, Auto & Preset", name, sizeof name);
    assert_string_equal(name, "white_balance_auto_preset");
}

/* ---- every errno of every call ---- */

static int descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Opens and reads three frames: the trouble that comes of it. */
static enum halo_v4l2_trouble attempt(const struct halo_capture_settings *set,
                                      struct halo_error *err)
{
    struct halo_camera *camera = NULL;
    enum halo_v4l2_trouble trouble;
    int64_t ret = halo_camera_open(&camera, &video0, set, memory, wake,
                                   &(struct halo_camera_fault){&trouble, err});
    for (int i = 0; i < 3 && ret >= 0; i++)
        ret = read_one(camera, &trouble, err);
    if (ret >= 0) {
        assert_int_equal(trouble, HALO_V4L2_FINE);
        assert_int_equal(err->code, 0);
    }
    halo_camera_close(camera);
    return trouble;
}

static void check_words(const struct halo_error *err, enum halo_v4l2_trouble trouble,
                        const char *call)
{
    const struct halo_v4l2_state *s = &halo_v4l2_states[trouble];
    char expected[100];
    snprintf(expected, sizeof expected, "/dev/video0: %s: %s: ", s->words, call);
    if (strncasecmp(err->text, expected, strlen(expected)) != 0)
        fail_msg("'%s' does not begin with '%s'", err->text, expected);
    assert_true(err->code < 0 && !err->device && !err->usage);
    assert_true(s->name[0] && s->words[0]);
    assert_true(s->first_pause > 0 && s->first_pause <= s->last_pause && s->last_pause <= 5);
}

static void cell(enum halo_v4l2_call call, const char *name, int error, int when)
{
    char control[300];
    const struct halo_capture_settings set = {
        .stall = 30, .fps = 500, .controls = (char *)"gain=3"};
    /* Lists end with EINVAL; one without formats is no camera's. */
    const bool empty = call == HALO_V4L2_ENUM && error == EINVAL;
    const enum halo_v4l2_trouble judged = empty ? HALO_V4L2_UNFIT : halo_v4l2_judge(call, error);
    const int before = descriptors();
    snprintf(control, sizeof control,
             "formats=yuyv:64x32@500,32x32@500\ncontrols=gain:0:9:1:3\nfault=%s:%d:%d\n", name,
             error, when);
    put("control", control);
    bool recovered = false;
    for (int i = 0; i < 4 && !recovered; i++) {
        struct halo_error err = {0};
        const enum halo_v4l2_trouble trouble = attempt(&set, &err);
        recovered = trouble == HALO_V4L2_FINE;
        if (!recovered && trouble != judged)
            fail_msg("%s %s %d: %s", name, strerror(error), when, err.text);
        if (!recovered && !empty)
            check_words(&err, trouble, name);
    }
    if (recovered != (judged == HALO_V4L2_FINE || when > 0))
        fail_msg("%s %s %d: %s", name, strerror(error), when, recovered ? "fine" : "never again");
    if (descriptors() != before)
        fail_msg("%s %s %d: %d descriptors more", name, strerror(error), when,
                 descriptors() - before);
}

static void matrix(void **state)
{
    (void)state;
    static const char *const names[HALO_V4L2_CALLS] = {
        "OPEN",    "QUERYCAP", "ENUM", "S_FMT",    "S_PARM", "S_CTRL",
        "REQBUFS", "QUERYBUF", "QBUF", "STREAMON", "DQBUF",  "STREAMOFF"};
    const int errors[] = {ENOSPC, EBUSY, EIO, ENODEV, EINVAL, ENOMEM, EPROTO, ETIMEDOUT};
    int cells = 0;
    for (int call = 0; call < HALO_V4L2_CALLS; call++)
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
            for (int when = 0; when < 3; when++, cells++)
                cell(call, names[call], errors[e], when);
    assert_int_equal(cells, 288);
}

/* ---- finding ---- */

static void plug(int number, const char *name, const char *port, const char *serial, int index)
{
    char path[200], text[40], target[200];
    snprintf(path, sizeof path, "dev/video%d", number);
    put(path, "");
    snprintf(path, sizeof path, "sys/devices/usb/%s/idVendor", port);
    put(path, "046d\n");
    snprintf(path, sizeof path, "sys/devices/usb/%s/idProduct", port);
    put(path, "0825\n");
    snprintf(path, sizeof path, "sys/devices/usb/%s/serial", port);
    if (serial)
        put(path, serial);
    snprintf(path, sizeof path, "sys/devices/usb/%s/%s:1.0/x", port, port);
    put(path, "");
    snprintf(path, sizeof path, "sys/class/video4linux/video%d/name", number);
    put(path, name);
    snprintf(text, sizeof text, "%d\n", index);
    snprintf(path, sizeof path, "sys/class/video4linux/video%d/index", number);
    put(path, text);
    snprintf(path, sizeof path, "sys/class/video4linux/video%d/device", number);
    snprintf(target, sizeof target, "../../../devices/usb/%s/%s:1.0", port, port);
    link_to(target, path);
}

static void unplug(int number)
{
    char path[200];
    snprintf(path, sizeof path, "dev/video%d", number);
    drop(path);
    snprintf(path, sizeof path, "sys/class/video4linux/video%d", number);
    drop(path);
}

static void assert_found(const char *input, const struct halo_camera_id *known, const char *node)
{
    struct halo_camera_id id;
    struct halo_error err = {0};
    const int code = halo_camera_find(&id, input, known, &err);
    if (node && (code < 0 || strcmp(id.node, node) != 0))
        fail_msg("%s: %s", input, code < 0 ? err.text : id.node);
    if (!node)
        assert_true(code < 0 && err.text[0]);
}

static void finding(void **state)
{
    (void)state;
    struct halo_camera_id id, *list;
    struct halo_error err = {0};
    drop("dev");
    drop("sys");
    plug(0, "Webcam C270\n", "1-2.3", "AB12\n", 0);
    plug(1, "Webcam C270\n", "1-2.3", "AB12\n", 1);
    plug(10, "Other Cam\n", "1-4", NULL, 0);
    link_to("../../video0", "dev/v4l/by-id/usb-046d_0825_AB12-video-index0");
    link_to("../../video10", "dev/v4l/by-path/pci-0000:00:14.0-usb-0:4:1.0-video-index0");
    assert_int_equal(halo_camera_list(&list), 3);
    assert_string_equal(list[2].node, "/dev/video10");
    free(list);
    assert_int_equal(halo_camera_find(&id, "/dev/video0", NULL, &err), 0);
    assert_string_equal(id.name, "Webcam C270");
    assert_string_equal(id.serial, "AB12");
    assert_string_equal(id.port, "1-2.3");
    assert_string_equal(id.vendor, "046d");
    assert_string_equal(id.product, "0825");
    assert_found("v4l2:serial=AB12", NULL, "/dev/video0");
    assert_found("v4l2:serial=AB12:index=1", NULL, "/dev/video1");
    assert_found("v4l2:name=other", NULL, "/dev/video10");
    assert_found("v4l2:path=1-4", NULL, "/dev/video10");
    assert_found("v4l2:path=pci-0000:00:14.0-usb-0:2.3:1.0:name=webcam", NULL, "/dev/video0");
    assert_found("v4l2:name=Cam", NULL, NULL); /* two */
    assert_found("v4l2:serial=X", NULL, NULL);
    assert_found("/dev/v4l/by-id/usb-046d_0825_AB12-video-index0", NULL, "/dev/video0");
    assert_found("/dev/video3", NULL, NULL);
    assert_found("/dev/videoo", NULL, NULL);
    /* Away, and back under another number and at another port, while its number is another's. */
    unplug(0);
    unplug(1);
    assert_found("/dev/v4l/by-id/usb-046d_0825_AB12-video-index0", &id, NULL);
    plug(0, "Third Cam\n", "1-5", NULL, 0);
    plug(4, "Webcam C270\n", "1-6", "AB12\n", 0);
    assert_found("/dev/video0", &id, "/dev/video4");
    drop("dev/v4l");
    assert_found("/dev/v4l/by-id/usb-046d_0825_AB12-video-index0", &id, "/dev/video4");
    assert_found("/dev/v4l/by-path/pci-0000:00:14.0-usb-0:2.3:1.0-video-index0", &id, NULL);
    /* Away, while another has its number: that is nobody, also for a link that is late. */
    unplug(4);
    assert_found("/dev/video0", &id, NULL);
    link_to("../../video0", "dev/v4l/by-id/usb-046d_0825_AB12-video-index0");
    link_to("../../video0", "dev/v4l/by-path/pci-0000:00:14.0-usb-0:2.3:1.0-video-index0");
    assert_found("/dev/v4l/by-id/usb-046d_0825_AB12-video-index0", &id, NULL);
    assert_found("/dev/v4l/by-path/pci-0000:00:14.0-usb-0:2.3:1.0-video-index0", &id, NULL);
    assert_false(halo_camera_is_still(&id));
    unplug(0);
    assert_false(halo_camera_is_still(&id));
    plug(0, "Webcam C270\n", "1-2.3", "AB12\n", 0);
    assert_true(halo_camera_is_still(&id));
    /* Another one in the port that a link names is what it names. */
    unplug(0);
    plug(0, "Third Cam\n", "1-2.3", "CD34\n", 0);
    assert_found("/dev/v4l/by-path/pci-0000:00:14.0-usb-0:2.3:1.0-video-index0", &id,
                 "/dev/video0");
    assert_found("/dev/v4l/by-id/usb-046d_0825_AB12-video-index0", &id, NULL);
}

/* Cameras whose maker gave all the same serial, or none, while one of them is away. */
static void twins(void **state)
{
    (void)state;
    const char *const serials[] = {"0001\n", NULL};
    const char *const link = "/dev/v4l/by-id/usb-046d_0825-video-index0";
    for (int i = 0; i < 2; i++) {
        struct halo_camera_id id;
        struct halo_error err = {0};
        drop("dev");
        drop("sys");
        plug(0, "Webcam C270\n", "1-2", serials[i], 0);
        plug(1, "Webcam C270\n", "1-3", serials[i], 0);
        assert_int_equal(halo_camera_find(&id, "/dev/video0", NULL, &err), 0);
        assert_true(id.twin);
        unplug(0);
        link_to("../../video1", link + 1);
        assert_found("/dev/video0", &id, NULL);
        assert_found(link, &id, NULL);
        unplug(1);
        plug(0, "Webcam C270\n", "1-3", serials[i], 0);
        assert_found("/dev/video0", &id, NULL);
        plug(1, "Webcam C270\n", "1-2", serials[i], 0);
        assert_found("/dev/video0", &id, "/dev/video1");
    }
}

static void texts(void **state)
{
    (void)state;
    const char *const bad[] = {"", "a", "/dev/video0\t\t\t\t\t\t\t0", "a\t\t\t\t12345\t\t\t0\t0",
                               "a\t\t\t\t\t\t\t0\t0\t"};
    const struct halo_camera_id id = {"/dev/video3", "Desk: cam", "A B", "1-2.3", "046d",
                                      "0825",        "uvcvideo",  2,     true};
    struct halo_camera_id back;
    char text[HALO_CAMERA_ID_TEXT], again[HALO_CAMERA_ID_TEXT];
    halo_camera_id_write(&id, text);
    assert_int_equal(halo_camera_id_read(&back, text), 0);
    halo_camera_id_write(&back, again);
    assert_string_equal(text, again);
    assert_true(back.twin && back.index == 2 && !strcmp(back.serial, "A B"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(halo_camera_id_read(&back, bad[i]), -EINVAL);
}

/* Devices that are plugged in nowhere, such as v4l2loopback's. */
static void nowhere(void **state)
{
    (void)state;
    struct halo_camera_id id;
    struct halo_error err = {0};
    drop("dev");
    drop("sys");
    put("dev/video9", "");
    put("sys/class/video4linux/video9/name", "Virtual\n");
    assert_int_equal(halo_camera_find(&id, "/dev/video9", NULL, &err), 0);
    assert_found("/dev/video9", &id, "/dev/video9");
    put("sys/class/video4linux/video9/name", "Another\n");
    assert_found("/dev/video9", &id, NULL);
}

static void watching(void **state)
{
    (void)state;
    put("dev/video7", "");
    const int watch = halo_camera_watch("/dev/video0");
    struct pollfd on = {watch, POLLIN, 0};
    assert_true(watch >= 0);
    assert_int_equal(poll(&on, 1, 0), 0);
    put("dev/sda", "");
    assert_int_equal(poll(&on, 1, 1000), 1);
    assert_false(halo_camera_watch_drain(watch));
    drop("dev/video7");
    assert_int_equal(poll(&on, 1, 1000), 1);
    assert_true(halo_camera_watch_drain(watch));
    close(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negotiation), cmocka_unit_test(ladder),   cmocka_unit_test(unpacking),
        cmocka_unit_test(newest_wins), cmocka_unit_test(damage),   cmocka_unit_test(times_grow),
        cmocka_unit_test(endings),     cmocka_unit_test(controls), cmocka_unit_test(matrix),
        cmocka_unit_test(finding),     cmocka_unit_test(watching), cmocka_unit_test(twins),
        cmocka_unit_test(nowhere),     cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
