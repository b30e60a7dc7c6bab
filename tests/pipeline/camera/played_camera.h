/* SPDX-License-Identifier: BSD-2-Clause
 * For tests that open a camera (camera/camera.h) which tests/standin/v4l2.h plays: its folder,
 * and opening and reading it. */
#ifndef HALO_TEST_PLAYED_CAMERA_H
#define HALO_TEST_PLAYED_CAMERA_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/frame.h"
#include "pipeline/camera/camera_private.h"
#include "pipeline/frame/memory.h"
#include "pipeline/frame/raw_frame.h"
#include "tests/cmocka_all.h"

static char folder[] = "/tmp/halo-camera-XXXXXX";
static struct halo_memory *memory;
static int wake = -1;

static inline void put(const char *name, const char *text)
{
    char path[300], *slash;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline void drop(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void link_to(const char *target, const char *name)
{
    char path[300];
    put(name, "");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static inline int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    setenv("HALO_STANDIN_V4L2", folder, 1);
    memory = halo_memory_create(halo_backend_find("cpu"), 0);
    wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return memory && wake >= 0 ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    halo_memory_destroy(memory);
    close(wake);
    drop("");
    return 0;
}

static struct halo_camera_id video0 = {.node = "/dev/video0", .name = "played"};

/* The camera is of this process: while it stands still, no frame arrives. */
static inline struct halo_capture_settings wishes(void)
{
    return (struct halo_capture_settings){.stall = 30};
}

/* For cameras that do stall. */
static inline struct halo_capture_settings soon(void)
{
    return (struct halo_capture_settings){.stall = 0.3};
}

/* A camera with these lines of control. */
static inline int try_open(struct halo_camera **ret, const struct halo_capture_settings *set,
                           const char *control, enum halo_v4l2_trouble *trouble,
                           struct halo_error *err)
{
    put("dev/video0", "");
    put("sys/class/video4linux/video0/name", "played\n");
    put("control", control);
    return halo_camera_open(ret, &video0, set, memory, wake,
                            &(struct halo_camera_fault){trouble, err});
}

static inline struct halo_camera *open_it(const struct halo_capture_settings *set,
                                          const char *control)
{
    struct halo_camera *camera = NULL;
    enum halo_v4l2_trouble trouble;
    struct halo_error err = {0};
    if (try_open(&camera, set, control, &trouble, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(trouble, HALO_V4L2_FINE);
    return camera;
}

static inline void refuse(const struct halo_capture_settings *set, const char *control,
                          enum halo_v4l2_trouble expected, const char *words)
{
    struct halo_camera *camera = NULL;
    enum halo_v4l2_trouble trouble;
    struct halo_error err = {0};
    assert_true(try_open(&camera, set, control, &trouble, &err) < 0);
    assert_null(camera);
    assert_int_equal(trouble, expected);
    if (!strstr(err.text, words) || strncmp(err.text, "/dev/video0: ", 13) != 0)
        fail_msg("%s", err.text);
}

/* The frame's time, or what went wrong: -errno. */
static inline int64_t read_one(struct halo_camera *camera, enum halo_v4l2_trouble *trouble,
                               struct halo_error *err)
{
    struct halo_raw_frame *raw = NULL;
    AVPacket *pkt = av_packet_alloc();
    const int ret = halo_camera_read(camera, &raw, pkt, &(struct halo_camera_fault){trouble, err});
    int64_t pts = ret;
    if (ret > 0) {
        assert_true((raw != NULL) != (pkt->data != NULL));
        pts = raw ? halo_raw_frame_pts(raw) : pkt->pts;
    }
    halo_raw_frame_destroy(raw);
    av_packet_free(&pkt);
    return pts;
}

static inline int64_t must_read(struct halo_camera *camera)
{
    enum halo_v4l2_trouble trouble;
    struct halo_error err = {0};
    const int64_t pts = read_one(camera, &trouble, &err);
    if (pts <= 0)
        fail_msg("%s", err.text);
    return pts;
}

static inline void fail_to_read(struct halo_camera *camera, enum halo_v4l2_trouble expected)
{
    enum halo_v4l2_trouble trouble = HALO_V4L2_FINE;
    struct halo_error err = {0};
    int64_t ret;
    for (int frames = 0; frames < 10 && (ret = read_one(camera, &trouble, &err)) >= 0;)
        frames += ret > 0; /* 0: a damaged one was dropped */
    assert_true(ret < 0);
    assert_int_equal(trouble, expected);
    assert_non_null(strstr(err.text, halo_v4l2_states[trouble].words));
}

#endif
