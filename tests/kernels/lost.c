/* SPDX-License-Identifier: BSD-2-Clause
 * A device that is really lost: a kernel reads where nothing is, and the context is poisoned. All
 * lanes fail then, with the words of CUDA; none waits, and closing them returns. Skipped without
 * CUDA. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/frame.h"

enum { WIDTH = 256, HEIGHT = 64 };

static long passed, failed;

static void expect(bool right, const char *what)
{
    right ? passed++ : failed++;
    if (!right)
        printf("FAIL %s\n", what);
}

static struct halo_plane plane(void *data)
{
    return (struct halo_plane){
        .data = data, .stride = WIDTH, .width = WIDTH, .height = HEIGHT, .channels = 1, .depth = 8};
}

/* 0, or what submit or finish returned. */
static int pass(struct halo_backend *lane, void *src, void *dst, bool on_device)
{
    struct halo_conv copy;
    halo_conv_copy(&copy, &(struct halo_conv_target){.depth = 8});
    const struct halo_step step = {.conv = &copy};
    const struct halo_frame frame = {
        .plane[0] = {plane(src), plane(dst), &step, 1}, .planes = 1, .src_on_device = on_device};
    const int code = halo_frame_submit(lane, &frame);
    return code < 0 ? code : halo_frame_finish(lane);
}

static void lose(const struct halo_backend_ops *ops, struct halo_backend **lanes)
{
    char why[200];
    char *src = halo_backend_memory(ops, WIDTH * HEIGHT);
    char *dst = halo_backend_memory(ops, WIDTH * HEIGHT);
    memset(src, 1, WIDTH * HEIGHT);
    expect(pass(lanes[0], src, dst, false) == 0 && !memcmp(src, dst, WIDTH * HEIGHT), "a frame");
    expect(!halo_backend_is_lost(ops), "the device is there");

    void *nothing = (void *)(uintptr_t)0x100000;
    expect(pass(lanes[0], nothing, dst, true) == -EIO, "a kernel that reads what is not there");
    halo_backend_error(ops, lanes[0], why, sizeof why);
    printf("%s\n", why);
    expect(strstr(why, "cudaError") != NULL, "CUDA's words");
    expect(halo_backend_is_lost(ops), "the device is lost");
    expect(pass(lanes[1], src, dst, false) == -EIO, "so it is for other lanes");
    expect(!halo_backend_memory(ops, 4096), "and for memory");
    halo_backend_memory_free(ops, src); /* kept: the device may write there */
    dst[0] = 0;
}

int main(void)
{
    const struct halo_backend_ops *cuda = halo_backend_find("cuda");
    const struct halo_backend_settings settings = {.device = 0};
    struct halo_backend *lanes[2];
    for (int i = 0; i < 2; i++)
        if (halo_backend_open(cuda, &settings, &lanes[i]) < 0) {
            printf("0 passed, 0 failed, 1 skipped\n");
            return 77;
        }
    alarm(900);
    lose(cuda, lanes);
    for (int i = 0; i < 2; i++)
        halo_backend_close(lanes[i]);
    expect(halo_backend_open(cuda, &settings, &lanes[0]) < 0, "no more lanes");
    printf("%ld passed, %ld failed, 0 skipped\n", passed, failed);
    fflush(NULL);
    _exit(failed ? 1 : 0);
}
