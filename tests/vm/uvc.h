/* SPDX-License-Identifier: BSD-2-Clause
 * What a USB camera says of itself and agrees on with the host: USB Video Class 1.0 (descriptors in
 * section 3, requests in section 4, payloads of MJPEG and uncompressed video). One configuration: a
 * control interface (camera, brightness, output) and a streaming interface whose endpoint is bulk,
 * for a bus over a socket keeps no times, as isochronous transfers would want. */
#ifndef HALO_UVC_H
#define HALO_UVC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/vm/usbip.h"

enum { UVC_YUYV = 1, UVC_MJPEG = 2, UVC_SIZES = 2, UVC_HEADER = 2, UVC_ANSWER = 1024 };

struct uvc {
    const char *name, *serial; /* ASCII */
    int format;                /* UVC_YUYV or UVC_MJPEG */
    int size;                  /* 1 to UVC_SIZES */
    uint32_t interval;         /* 100 ns */
    int16_t brightness;
    bool restarted; /* the host began or ended a stream; whoever sends clears it */
};

void uvc_init(struct uvc *ret, const char *name, const char *serial);
int uvc_width(const struct uvc *camera);
int uvc_height(const struct uvc *camera);

/* Bytes of the longest payload of the format and size agreed on, its header included. */
uint32_t uvc_longest(const struct uvc *camera);

/* Does what a control request asks. How many bytes of answer[UVC_ANSWER] the host gets, or -EPIPE:
 * no such thing. */
int uvc_control(struct uvc *camera, const struct usbip_request *request, uint8_t *answer);

#endif
