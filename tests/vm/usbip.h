/* SPDX-License-Identifier: BSD-2-Clause
 * The device's side of USB/IP after the attach: requests (URBs) come from the kernel's vhci_hcd on
 * a socket, answers go back. Numbers travel with the high byte first (Linux,
 * Documentation/usb/usbip_protocol.rst). Needs root and vhci_hcd. One thread. */
#ifndef HALO_USBIP_H
#define HALO_USBIP_H

#include <stdbool.h>
#include <stdint.h>

enum { USBIP_WAITING = 256, USBIP_OUT = 4096 };

/* A request as it came. */
struct usbip_request {
    uint32_t number;         /* it is answered by this */
    uint32_t endpoint;       /* 0: control */
    bool in;                 /* the device is to give data */
    uint32_t length;         /* of the host's buffer, bytes */
    uint8_t setup[8];        /* control only */
    uint8_t data[USBIP_OUT]; /* !in: what the host sent */
};

struct usbip {
    int port;   /* of vhci_hcd: 0 to 7 are high speed */
    int socket; /* -1: not plugged in */
    /* Bulk requests that wait for data, oldest first. */
    struct {
        uint32_t number, length;
    } waiting[USBIP_WAITING];
    int waits;
};

/* Plugs a high speed device in at a port / pulls it out. 0 or -errno. */
int usbip_plug(struct usbip *bus, int port);
int usbip_unplug(struct usbip *bus);

/* Takes one message from the socket. 1: *ret is a request that wants an answer; 0: it was seen to
 * (bulk requests wait, withdrawn ones are forgotten); -errno: the host hung up. */
int usbip_take(struct usbip *bus, struct usbip_request *ret);

/* status: 0 or -errno (-EPIPE: stalled). data only of those that are `in`. 0 or -errno. */
int usbip_answer(struct usbip *bus, const struct usbip_request *request, int status,
                 const void *data, uint32_t length);
/* Answers the oldest waiting bulk request; length must not be more than its own. */
int usbip_answer_waiting(struct usbip *bus, const void *data, uint32_t length);

#endif
