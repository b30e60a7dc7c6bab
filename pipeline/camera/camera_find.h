/* SPDX-License-Identifier: BSD-2-Clause
 * Finds cameras by their identity, because device numbers change with every plug. It reads sysfs
 * and /dev, not udev's database; if a link in /dev/v4l is missing (as after a fast replug), sysfs
 * gives the same information.
 *
 *   /dev/video0            this node; once opened: that camera wherever it reappears, and no other
 *   /dev/v4l/by-id/...     the node the link leads to; if the link is missing, the camera it led to
 *   /dev/v4l/by-path/...   likewise, at that port only
 *   v4l2:serial=S          v4l2:path=PORT (ID_PATH or the USB port, "1-2.3")   v4l2:name=WORDS
 *                          several, joined with ":", must all match; index=N: its N-th video node
 *
 * Any thread except the event loop's, because calls access the file system. */
#ifndef HALO_CAMERA_FIND_H
#define HALO_CAMERA_FIND_H

#include <stdbool.h>

#include "config/error.h"

enum { HALO_DEVICE_TEXT = 128, HALO_CAMERA_ID_TEXT = 6 * HALO_DEVICE_TEXT };

/* The device that a video node belongs to. Texts are made printable; "" if the device does not
 * provide one. */
struct halo_camera_id {
    char node[HALO_DEVICE_TEXT];   /* "/dev/video0" */
    char name[HALO_DEVICE_TEXT];   /* the driver's name for it */
    char serial[HALO_DEVICE_TEXT]; /* the USB device's serial number */
    char port[HALO_DEVICE_TEXT];   /* the port: "1-2.3", or the parent device's name */
    char vendor[5], product[5];    /* USB, hexadecimal */
    char driver[HALO_DEVICE_TEXT]; /* "uvcvideo", "vivid", "v4l2 loopback" */
    int index;                     /* number among the nodes of the device */
    bool twin; /* an identical device, also in its serial number, was present: only the port
                  distinguishes them */
};

/* Checks the words after "v4l2:" in an input that is a camera (halo_is_camera() of
 * config/source_kinds.h). 0 or a usage error. Opens nothing. */
int halo_camera_check(const char *input, struct halo_error *err);

/* Finds the node that input means now. known: the camera that was last opened, or NULL. If it is
 * set, a number means that camera only, and nothing while it is unplugged, because another camera
 * shows another room. 0 with *ret filled; -ENODEV: no camera matches; -EEXIST: several do, and err
 * names them. */
int halo_camera_find(struct halo_camera_id *ret, const char *input,
                     const struct halo_camera_id *known, struct halo_error *err);

/* Whether id's node still is the camera that was found. Check after opening it: from then on no
 * other camera gets its number. False, too, if the node's data can no longer be read. */
bool halo_camera_is_still(const struct halo_camera_id *id);

/* The identity as one line of text, for the next process, which has to find the same camera.
 * halo_camera_id_read() returns 0, or -EINVAL if text is not such a line. */
void halo_camera_id_write(const struct halo_camera_id *id, char ret[HALO_CAMERA_ID_TEXT]);
int halo_camera_id_read(struct halo_camera_id *ret, const char *text);

/* All video nodes, by number; the caller frees *ret. Returns their count, or -errno. */
int halo_camera_list(struct halo_camera_id **ret);

/* A descriptor that becomes readable when something in /dev appears, disappears or changes its
 * permissions (inotify), or -errno. Drain it with halo_camera_watch_drain(), which returns whether
 * video nodes were affected, and close it. */
int halo_camera_watch(void);
bool halo_camera_watch_drain(int watch);

#endif
