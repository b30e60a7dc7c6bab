/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/vm/uvc.h"

#include <errno.h>
#include <string.h>

/* pid.codes' vendor, and its product number for tests. */
enum { VENDOR = 0x1209, PRODUCT = 0x0001 };
enum { CAMERA = 1, PROCESSING = 2, OUTPUT = 3 };       /* ids of the control interface's parts */
enum { CONTROL = 0, STREAMING = 1, STREAM_IN = 0x81 }; /* interfaces and the bulk endpoint */
enum { FASTEST = 333333, SLOWER = 666666 };            /* intervals, 100 ns */
enum { LEAST_BRIGHT = -64, MAX_BRIGHT = 64 };

static const struct {
    int width, height;
} sizes[UVC_SIZES] = {{640, 480}, {320, 240}};

/* Descriptors are written with the low byte first. */
struct bytes {
    uint8_t at[UVC_ANSWER];
    int count;
};

static void add(struct bytes *to, int size, uint32_t value)
{
    for (int i = 0; i < size; i++)
        to->at[to->count++] = value >> 8 * i;
}

static void set16(struct bytes *in, int at, int value)
{
    in->at[at] = value;
    in->at[at + 1] = value >> 8;
}

/* bLength, bDescriptorType and, of class-specific ones, bDescriptorSubType. */
static void begin(struct bytes *to, int length, int type)
{
    add(to, 1, length);
    add(to, 1, type);
}

static void begin_class(struct bytes *to, int length, int subtype)
{
    begin(to, length, 0x24);
    add(to, 1, subtype);
}

static void device(struct bytes *to)
{
    begin(to, 18, 1);
    add(to, 2, 0x0200);
    add(to, 3, 0x0102ef); /* class, subclass, protocol: it has an interface association */
    add(to, 1, 64);       /* bytes of a control packet */
    add(to, 2, VENDOR);
    add(to, 2, PRODUCT);
    add(to, 2, 0x0100);
    add(to, 3, 0x030201); /* strings: maker, product, serial */
    add(to, 1, 1);
}

static void interface(struct bytes *to, int number, int endpoints, int subclass)
{
    begin(to, 9, 4);
    add(to, 2, number); /* alternate setting 0 */
    add(to, 1, endpoints);
    add(to, 1, 0x0e); /* video */
    add(to, 3, subclass);
}

static void control_interface(struct bytes *to)
{
    interface(to, CONTROL, 0, 1);
    int start = to->count;
    begin_class(to, 13, 1);
    add(to, 2, 0x0100); /* of the class */
    add(to, 2, 0);      /* length of all this, below */
    add(to, 4, 1000000);
    add(to, 1, 1);
    add(to, 1, STREAMING);
    begin_class(to, 18, 2);
    add(to, 1, CAMERA);
    add(to, 2, 0x0201);
    add(to, 2, 0);
    add(to, 4, 0), add(to, 2, 0); /* no lens to speak of */
    add(to, 1, 3), add(to, 3, 0); /* no controls */
    begin_class(to, 11, 5);
    add(to, 1, PROCESSING);
    add(to, 1, CAMERA);
    add(to, 2, 0);
    add(to, 1, 2), add(to, 2, 1); /* brightness */
    add(to, 1, 0);
    begin_class(to, 9, 3);
    add(to, 1, OUTPUT);
    add(to, 2, 0x0101);
    add(to, 1, 0);
    add(to, 1, PROCESSING);
    add(to, 1, 0);
    set16(to, start + 5, to->count - start);
}

static void frames(struct bytes *to, int subtype)
{
    for (int i = 0; i < UVC_SIZES; i++) {
        uint32_t most = sizes[i].width * sizes[i].height * 2;
        begin_class(to, 34, subtype);
        add(to, 2, i + 1); /* and no capabilities */
        add(to, 2, sizes[i].width);
        add(to, 2, sizes[i].height);
        add(to, 4, most * 8 * 15);
        add(to, 4, most * 8 * 30);
        add(to, 4, most);
        add(to, 4, FASTEST);
        add(to, 1, 2);
        add(to, 4, FASTEST);
        add(to, 4, SLOWER);
    }
    begin_class(to, 6, 13);
    add(to, 3, 0x040101); /* BT.709 primaries and transfer, BT.601 matrix */
}

static void streaming_interface(struct bytes *to)
{
    static const uint8_t yuy2[16] = {'Y',  'U', 'Y', '2',  0, 0,    0x10, 0,
                                     0x80, 0,   0,   0xaa, 0, 0x38, 0x9b, 0x71};
    interface(to, STREAMING, 1, 2);
    int start = to->count;
    begin_class(to, 15, 1);
    add(to, 1, 2);
    add(to, 2, 0); /* length of all this, below */
    add(to, 1, STREAM_IN);
    add(to, 1, 0);
    add(to, 1, OUTPUT);
    add(to, 3, 0);                /* no still frames */
    add(to, 1, 1), add(to, 2, 0); /* no controls of the formats */
    begin_class(to, 27, 4);
    add(to, 1, UVC_YUYV);
    add(to, 1, UVC_SIZES);
    for (int i = 0; i < 16; i++)
        add(to, 1, yuy2[i]);
    add(to, 2, 0x0110); /* bits of a pixel, size by default */
    add(to, 4, 0);
    frames(to, 5);
    begin_class(to, 11, 6);
    add(to, 1, UVC_MJPEG);
    add(to, 1, UVC_SIZES);
    add(to, 2, 0x0100);
    add(to, 4, 0);
    frames(to, 7);
    set16(to, start + 4, to->count - start);
    begin(to, 7, 5);
    add(to, 1, STREAM_IN);
    add(to, 1, 2); /* bulk */
    add(to, 2, 512);
    add(to, 1, 0);
}

static void configuration(struct bytes *to)
{
    begin(to, 9, 2);
    add(to, 2, 0); /* length of it all, below */
    add(to, 2, 0x0102);
    add(to, 1, 0);
    add(to, 2, 0xfa80); /* powered by the bus, 500 mA */
    begin(to, 8, 11);
    add(to, 2, 0x0200); /* interfaces 0 and 1 are one function */
    add(to, 3, 0x00030e);
    add(to, 1, 0);
    control_interface(to);
    streaming_interface(to);
    set16(to, 2, to->count);
}

static void string(struct bytes *to, const struct uvc *camera, int which)
{
    const char *words[] = {"", "halod", camera->name, camera->serial};
    begin(to, 0, 3);
    if (which == 0)
        add(to, 2, 0x0409); /* English */
    for (const char *at = words[which]; *at; at++)
        add(to, 2, (uint8_t)*at);
    to->at[0] = to->count;
}

static int describe(struct uvc *camera, int type, int which, struct bytes *to)
{
    if (type == 1)
        device(to);
    else if (type == 2)
        configuration(to);
    else if (type == 3 && which < 4)
        string(to, camera, which);
    else
        return -EPIPE;
    return to->count;
}

/* Probe and commit: the host proposes, and is told what it gets. */
static int negotiate(struct uvc *camera, const struct usbip_request *request, struct bytes *to)
{
    const uint8_t *wish = request->data;
    bool is_commit = request->setup[3] == 2;
    switch (request->setup[1]) {
    case 0x01:
        if (request->length < 26)
            return -EPIPE;
        camera->format = wish[2] == UVC_MJPEG ? UVC_MJPEG : UVC_YUYV;
        camera->size = wish[3] >= 1 && wish[3] <= UVC_SIZES ? wish[3] : 1;
        camera->interval = wish[4] | wish[5] << 8 | wish[6] << 16 | (uint32_t)wish[7] << 24;
        camera->interval = camera->interval >= SLOWER ? SLOWER : FASTEST;
        if (is_commit)
            camera->restarted = true;
        return 0;
    case 0x85:
        add(to, 2, 26);
        return to->count;
    case 0x86:
        add(to, 1, 3);
        return to->count;
    }
    add(to, 2, 0);
    add(to, 1, camera->format);
    add(to, 1, camera->size);
    add(to, 4, camera->interval);
    add(to, 4, 0), add(to, 4, 0), add(to, 2, 0);
    add(to, 4, uvc_longest(camera) - UVC_HEADER);
    add(to, 4, uvc_longest(camera));
    return to->count;
}

static int brightness(struct uvc *camera, const struct usbip_request *request, struct bytes *to)
{
    int16_t value = camera->brightness;
    switch (request->setup[1]) {
    case 0x01:
        camera->brightness = request->data[0] | request->data[1] << 8;
        return 0;
    case 0x81:
        break;
    case 0x82:
        value = LEAST_BRIGHT;
        break;
    case 0x83:
        value = MAX_BRIGHT;
        break;
    case 0x84:
        value = 1;
        break;
    case 0x85:
        value = 2;
        break;
    case 0x86:
        add(to, 1, 3);
        return to->count;
    case 0x87:
        value = 0;
        break;
    default:
        return -EPIPE;
    }
    add(to, 2, (uint16_t)value);
    return to->count;
}

static int standard(struct uvc *camera, const uint8_t *setup, struct bytes *to)
{
    switch (setup[1]) {
    case 0:
        add(to, 2, 0);
        return to->count; /* status */
    case 1:               /* a feature cleared: of the endpoint, it is halted */
        camera->restarted = camera->restarted || setup[0] == 0x02;
        return 0;
    case 6:
        return describe(camera, setup[3], setup[2], to);
    case 10:
        add(to, 1, 0);
        return to->count; /* alternate setting */
    }
    return 0;
}

int uvc_control(struct uvc *camera, const struct usbip_request *request, uint8_t *answer)
{
    const uint8_t *setup = request->setup;
    int interface_number = setup[4], entity = setup[5], selector = setup[3];
    struct bytes to = {.count = 0};
    int length = -EPIPE;
    if ((setup[0] & 0x60) == 0)
        length = standard(camera, setup, &to);
    else if (interface_number == STREAMING && (selector == 1 || selector == 2))
        length = negotiate(camera, request, &to);
    else if (interface_number == CONTROL && entity == PROCESSING && selector == 2)
        length = brightness(camera, request, &to);
    if (length > (int)request->length)
        length = request->length;
    if (length > 0)
        memcpy(answer, to.at, length);
    return length;
}

void uvc_init(struct uvc *ret, const char *name, const char *serial)
{
    *ret = (struct uvc){
        .name = name, .serial = serial, .format = UVC_YUYV, .size = 1, .interval = FASTEST};
}

int uvc_width(const struct uvc *camera)
{
    return sizes[camera->size - 1].width;
}

int uvc_height(const struct uvc *camera)
{
    return sizes[camera->size - 1].height;
}

uint32_t uvc_longest(const struct uvc *camera)
{
    return UVC_HEADER + (uint32_t)uvc_width(camera) * uvc_height(camera) * 2;
}
