/* SPDX-License-Identifier: BSD-2-Clause
 * Finds cameras by their identity, because device numbers change whenever cameras are plugged in.
 * It reads sysfs and /dev, not udev's database; if a link in /dev/v4l is missing (as after a fast
 * replug), sysfs provides the same information.
 *
 *   /dev/video0            this node; once opened: only that camera, wherever it reappears
 *   /dev/v4l/by-id/...     the node the link leads to; if the link is missing, the camera it led to
 *   /dev/v4l/by-path/...   the same, but only a camera at that port
 *   v4l2:serial=S          v4l2:path=PORT (ID_PATH or the USB port, "1-2.3")   v4l2:name=WORDS
 *                          joined with ":", all must match; index=N: the device's node number N
 *   pipewire:NAME          a node of PipeWire (camera_pipewire.h)
 *
 * Any thread except the event loop, because calls access the file system. */
#ifndef HALO_CAMERA_FIND_H
#define HALO_CAMERA_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "config/base/error.h"

enum { HALO_DEVICE_TEXT = 128, HALO_CAMERA_ID_TEXT = 6 * HALO_DEVICE_TEXT };

/* The device that a video node belongs to. In all strings, unprintable characters are replaced. A
 * string is "" if the device does not provide it. */
struct halo_camera_id {
    char node[HALO_DEVICE_TEXT];   /* "/dev/video0" */
    char name[HALO_DEVICE_TEXT];   /* the driver's name for the device */
    char serial[HALO_DEVICE_TEXT]; /* the USB device's serial number */
    char port[HALO_DEVICE_TEXT];   /* the USB port ("1-2.3"), or the parent device's name */
    char vendor[5], product[5];    /* USB, hexadecimal */
    char driver[HALO_DEVICE_TEXT]; /* "uvcvideo", "vivid", "v4l2 loopback" */
    int index;                     /* the node's number among the nodes of the device */
    bool twin; /* an identical device with the same serial number was present, so only the port
                  distinguishes the two */
};

/* Checks an input for which halo_is_camera() (config/source_kinds.h) returns true: if it begins
 * with "v4l2:", the rest must be valid. Returns 0 or a usage error. Opens no device. */
int halo_camera_check(const char *input, struct halo_error *err);

/* Finds the node that input currently refers to. `known` is the camera that was last opened, or
 * NULL. If `known` is not NULL, a device number in `input` refers only to the camera `known`: while
 * that camera is unplugged, no other camera with the same number matches, because the other camera
 * might show another room. Returns 0 with *ret filled, -ENODEV if no camera matches, or -EEXIST if
 * several do (err names them). */
int halo_camera_find(struct halo_camera_id *ret, const char *input,
                     const struct halo_camera_id *known, struct halo_error *err);

/* Returns whether id's node still belongs to the camera that was found; if the node's data can no
 * longer be read, returns false. Call this after opening the node: while the node is open, no other
 * camera can get its number. */
bool halo_camera_is_still(const struct halo_camera_id *id);

/* halo_camera_id_write() writes the camera's identity as one line of text, so that a later process
 * can find the same camera. halo_camera_id_read() parses such a line and returns 0, or -EINVAL if
 * the line is invalid. */
void halo_camera_id_write(const struct halo_camera_id *id, char ret[HALO_CAMERA_ID_TEXT]);
int halo_camera_id_read(struct halo_camera_id *ret, const char *text);

enum { HALO_CAMERA_INPUT = 2 * HALO_DEVICE_TEXT };
/* Sets ret to the input's name that identifies the camera permanently, or to "" if only its number
 * identifies it. */
void halo_camera_input(const struct halo_camera_id *id, char *ret, size_t size);

/* Lists all video nodes in the order of their numbers; the caller frees *ret. Returns the number of
 * nodes, or -errno. */
int halo_camera_list(struct halo_camera_id **ret);

/* halo_camera_watch() returns an inotify descriptor, or -errno. The descriptor becomes readable
 * when something in /dev (or, for inputs of PipeWire, in the folder of its socket) appears,
 * disappears or changes its permissions; the caller closes it. halo_camera_watch_drain() reads all
 * pending events and returns whether they concerned video nodes or such a socket. */
int halo_camera_watch(const char *input);
bool halo_camera_watch_drain(int watch);

#endif
