/* SPDX-License-Identifier: BSD-2-Clause
 * uvcsim [--serial WORD] [--port N] [--frames FOLDER]: a USB camera in one process. The kernel's
 * vhci_hcd believes that it is plugged in, and the kernel's own uvcvideo drives it: YUYV and MJPEG,
 * 640x480 and 320x240, 30 or 15 frames a second. FOLDER holds the JPEGs, WIDTHxHEIGHT/NNNN.jpg
 * from 0001 on. Raw frames are a canary: neighbours differ by 160 in brightness, so that whoever
 * sees detail in a frame that was blurred sees a leak.
 *
 * Commands, a line each on stdin; every one is answered by a line on stdout when it is done:
 *   error N     the next N frames carry the error bit of their payload's header
 *   short N     the next N frames end half way
 *   torn N      the next N JPEGs have their middle overwritten with zeros
 *   stall S     no frame for S seconds
 *   sent        answered by "sent N": the frames that the host has got to their last byte
 *   unplug      as when the cable is pulled       plug    and put back
 *   quit        or the end of stdin */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/vm/usbip.h"
#include "tests/vm/uvc.h"

enum { MAX_FRAMES = 64, MAX_WIDTH = 640, MAX_BYTES = MAX_WIDTH * 480 * 2 };

struct jpeg {
    uint8_t *data;
    size_t size;
};

struct camera {
    struct usbip bus;
    struct uvc uvc;
    int port;
    struct jpeg jpegs[UVC_SIZES][MAX_FRAMES];
    int error, shortened, torn; /* frames still to be spoilt */
    int64_t next, stalled;      /* ns: when the next frame is due; until then none */
    unsigned int number, whole; /* frames that were begun; sent to the end */
    uint8_t payload[UVC_HEADER + MAX_BYTES];
    size_t size, sent; /* of the payload; sent == size and !sending: nothing to send */
    bool sending;
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void say(const char *words)
{
    printf("%s\n", words);
    fflush(stdout);
}

static bool read_jpeg(struct jpeg *ret, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    ret->data = malloc(MAX_BYTES);
    ret->size = ret->data ? fread(ret->data, 1, MAX_BYTES, file) : 0;
    fclose(file);
    return ret->size > 0;
}

static void read_jpegs(struct camera *camera, const char *folder)
{
    for (int size = 1; size <= UVC_SIZES; size++) {
        camera->uvc.size = size;
        for (int i = 0; i < MAX_FRAMES; i++) {
            char path[512];
            snprintf(path, sizeof path, "%s/%dx%d/%04d.jpg", folder, uvc_width(&camera->uvc),
                     uvc_height(&camera->uvc), i + 1);
            if (!read_jpeg(&camera->jpegs[size - 1][i], path))
                break;
        }
    }
    camera->uvc.size = 1;
}

/* A line of every frame, and the one below it, which is copied to where it is needed: emulated
 * machines are slow. */
static size_t paint(struct camera *camera, uint8_t *to)
{
    static uint8_t lines[2][MAX_WIDTH * 2];
    int width = uvc_width(&camera->uvc), height = uvc_height(&camera->uvc);
    int bright = camera->uvc.brightness / 4;
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < width; x++) {
            lines[y][2 * x] = ((x + y + camera->number) & 1 ? 180 : 20) + bright;
            lines[y][2 * x + 1] = 128 + (x + (int)camera->number) % 32;
        }
    for (int y = 0; y < height; y++)
        memcpy(to + (size_t)y * width * 2, lines[y & 1], (size_t)width * 2);
    return (size_t)width * height * 2;
}

static size_t next_jpeg(struct camera *camera, uint8_t *to)
{
    const struct jpeg *jpegs = camera->jpegs[camera->uvc.size - 1];
    int count = 0;
    while (count < MAX_FRAMES && jpegs[count].size)
        count++;
    if (!count)
        return 0;
    const struct jpeg *jpeg = &jpegs[camera->number % count];
    memcpy(to, jpeg->data, jpeg->size);
    if (camera->torn > 0 && camera->torn--)
        memset(to + jpeg->size / 3, 0, jpeg->size / 3);
    return jpeg->size;
}

static void begin_frame(struct camera *camera)
{
    uint8_t *frame = camera->payload + UVC_HEADER;
    size_t size = camera->uvc.format == UVC_MJPEG ? next_jpeg(camera, frame) : paint(camera, frame);
    camera->number++;
    if (camera->shortened > 0 && camera->shortened--)
        size /= 2;
    camera->payload[0] = UVC_HEADER;
    /* End of header, end of frame, and a bit that is another one in every frame. */
    camera->payload[1] = 0x80 | 0x02 | (camera->number & 1);
    if (camera->error > 0 && camera->error--)
        camera->payload[1] |= 0x40;
    camera->size = UVC_HEADER + size;
    camera->sent = 0;
    camera->sending = true;
}

/* What is left of the frame goes into the requests that wait. A payload ends with a request that
 * is not filled, unless it is of the greatest length. */
static int pump(struct camera *camera)
{
    if (camera->uvc.restarted)
        camera->sending = camera->uvc.restarted = false;
    while (camera->sending && camera->bus.waits) {
        size_t room = camera->bus.waiting[0].length, left = camera->size - camera->sent;
        size_t size = left < room ? left : room;
        int result = usbip_answer_waiting(&camera->bus, camera->payload + camera->sent, size);
        if (result < 0)
            return result;
        camera->sent += size;
        if (size < room || camera->sent == uvc_longest(&camera->uvc)) {
            camera->sending = false;
            camera->whole++;
        }
    }
    return 0;
}

static int serve(struct camera *camera)
{
    struct usbip_request request;
    int result = usbip_take(&camera->bus, &request);
    if (result <= 0)
        return result;
    uint8_t answer[UVC_ANSWER];
    int length = uvc_control(&camera->uvc, &request, answer);
    if (length < 0)
        return usbip_answer(&camera->bus, &request, length, NULL, 0);
    return usbip_answer(&camera->bus, &request, 0, answer,
                        request.in ? (uint32_t)length : request.length);
}

static int plug(struct camera *camera)
{
    if (camera->bus.socket >= 0)
        return 0;
    camera->sending = false;
    return usbip_plug(&camera->bus, camera->port);
}

static int obey(struct camera *camera, const char *line)
{
    char word[16] = "";
    double value = 1;
    sscanf(line, "%15s %lf", word, &value);
    if (!strcmp(word, "error"))
        camera->error = value;
    else if (!strcmp(word, "short"))
        camera->shortened = value;
    else if (!strcmp(word, "torn"))
        camera->torn = value;
    else if (!strcmp(word, "stall"))
        camera->stalled = now() + (int64_t)(value * 1e9);
    else if (!strcmp(word, "plug"))
        return plug(camera);
    else if (!strcmp(word, "unplug"))
        return camera->bus.socket >= 0 ? usbip_unplug(&camera->bus) : 0;
    else if (strcmp(word, "sent") != 0)
        return -EINVAL;
    return 0;
}

/* Returns false at the end. */
static bool read_command(struct camera *camera)
{
    char line[64];
    if (!fgets(line, sizeof line, stdin))
        return false;
    line[strcspn(line, "\n")] = '\0';
    if (!strcmp(line, "quit"))
        return false;
    if (!strcmp(line, "sent"))
        snprintf(line, sizeof line, "sent %u", camera->whole);
    int result = obey(camera, line);
    printf("%s%s%s\n", line, result < 0 ? ": " : "", result < 0 ? strerror(-result) : "");
    fflush(stdout);
    return true;
}

/* Sends a frame when one is due. ms until the next. */
static int tick(struct camera *camera)
{
    int64_t t = now(), interval = camera->uvc.interval * INT64_C(100);
    if (camera->bus.socket < 0 || !camera->bus.waits || t < camera->stalled)
        return 10;
    if (t >= camera->next && !camera->sending) {
        begin_frame(camera);
        camera->next = t - camera->next > interval ? t + interval : camera->next + interval;
    }
    return t < camera->next ? (camera->next - t) / 1000000 + 1 : 10;
}

/* The host hung up, or something went wrong: as if it were pulled out. */
static void check(struct camera *camera, int result, const char *what)
{
    if (result >= 0 || camera->bus.socket < 0)
        return;
    fprintf(stderr, "uvcsim: %s: %s\n", what, strerror(-result));
    usbip_unplug(&camera->bus);
}

static int run(struct camera *camera)
{
    setvbuf(stdin, NULL, _IONBF, 0); /* poll() knows of no buffer */
    for (;;) {
        int pause = tick(camera);
        if (camera->bus.socket >= 0)
            check(camera, pump(camera), "picture");
        struct pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {camera->bus.socket, POLLIN, 0}};
        if (poll(ready, 2, pause) < 0 && errno != EINTR)
            return 1;
        if (ready[0].revents && !read_command(camera))
            break;
        if (camera->bus.socket >= 0 && ready[1].revents)
            check(camera, serve(camera), "request");
    }
    if (camera->bus.socket >= 0)
        usbip_unplug(&camera->bus);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"serial", required_argument, NULL, 's'},
                                            {"port", required_argument, NULL, 'p'},
                                            {"pictures", required_argument, NULL, 'f'},
                                            {0}};
    static struct camera camera = {.bus.socket = -1};
    const char *serial = "SIM0001", *folder = NULL;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 's':
            serial = optarg;
            break;
        case 'p':
            camera.port = atoi(optarg);
            break;
        case 'f':
            folder = optarg;
            break;
        default:
            return 64;
        }
    }
    uvc_init(&camera.uvc, "Simulated camera", serial);
    if (folder)
        read_jpegs(&camera, folder);
    int result = plug(&camera);
    if (result < 0) {
        fprintf(stderr, "uvcsim: cannot be plugged in: %s\n", strerror(-result));
        return 1;
    }
    say("plug");
    return run(&camera);
}
