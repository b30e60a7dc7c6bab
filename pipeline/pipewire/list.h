/* SPDX-License-Identifier: BSD-2-Clause
 * Lists the nodes of the PipeWire graph that can be cameras. Any thread except the event loop,
 * because a call waits for the server, for at most a few seconds. */
#ifndef HALO_PIPEWIRE_LIST_H
#define HALO_PIPEWIRE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"

enum { HALO_PIPEWIRE_TEXT = 128, HALO_PIPEWIRE_MODES = 64 };

/* In all strings, unprintable characters are replaced. A string is "" if the node has no such
 * property. */
struct halo_pipewire_listed {
    uint32_t id;                     /* the number that portals pass on */
    char name[HALO_PIPEWIRE_TEXT];   /* node.name: the same each time the node appears */
    char label[HALO_PIPEWIRE_TEXT];  /* node.description: what programs show */
    char serial[HALO_PIPEWIRE_TEXT]; /* device.serial */
    char role[HALO_PIPEWIRE_TEXT];   /* media.role: portals show only "Camera" */
    char path[HALO_PIPEWIRE_TEXT];   /* api.v4l2.path: the node's device */
    bool ours;                       /* halod made it */
    bool screen;                     /* a screen cast or the like, not a camera */
    struct halo_pipewire_listed_mode {
        const char *format; /* as in `capture: {format:}` */
        int width, height;
        double rate; /* the highest one; 0: unknown */
    } mode[HALO_PIPEWIRE_MODES];
    int modes;
};

/* Lists all nodes of the classes Video/Source and Stream/Output/Video. The caller frees *ret.
 * Returns their number, or -errno with err filled (see halo_pipewire_session_open(); -ENOTSUP also
 * if this build has no PipeWire). */
int halo_pipewire_list(struct halo_pipewire_listed **ret, struct halo_error *err);

#endif
