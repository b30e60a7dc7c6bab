/* SPDX-License-Identifier: BSD-2-Clause
 * Cameras by what they are, not by their number: numbers change with every plug. Read from sysfs
 * and /dev, without udev's database; where a link of /dev/v4l is missing (as after a fast replug),
 * sysfs says the same.
 *
 *   /dev/video0            this one; once opened, that camera wherever it comes back, and no other
 *   /dev/v4l/by-id/...     where the link leads; where it is missing, what it led to
 *   /dev/v4l/by-path/...   likewise, at that port only
 *   v4l2:serial=S          v4l2:path=PORT (ID_PATH or the USB port, "1-2.3")   v4l2:name=WORDS
 *                          several, joined with ":", must all hold; index=N: its N-th video node
 *
 * Any thread; touches the file system, so not the loop's. */
#ifndef HALO_CAMERA_FIND_H
#define HALO_CAMERA_FIND_H

#include <stdbool.h>

#include "config/error.h"

enum { HALO_DEVICE_TEXT = 128, HALO_CAMERA_ID_TEXT = 6 * HALO_DEVICE_TEXT };

/* What a video node belongs to. Texts are made printable; "" where the device does not say. */
struct halo_camera_id {
    char node[HALO_DEVICE_TEXT];   /* "/dev/video0" */
    char name[HALO_DEVICE_TEXT];   /* as the driver calls it */
    char serial[HALO_DEVICE_TEXT]; /* of the USB device */
    char port[HALO_DEVICE_TEXT];   /* where it is plugged in: "1-2.3", or the parent's name */
    char vendor[5], product[5];    /* USB, hexadecimal */
    char driver[HALO_DEVICE_TEXT]; /* "uvcvideo", "vivid", "v4l2 loopback" */
    int index;                     /* among the nodes of the device */
    bool twin; /* one just like it, serial and all, was there too: only the port tells which */
};

/* 0 or a usage error for words after "v4l2:" that mean nothing, of an input that is a camera
 * (halo_is_camera() of config/source_kinds.h). Opens nothing. */
int halo_camera_check(const char *input, struct halo_error *err);

/* Finds the node that input means now. known: what it was when last opened, or NULL: a number then
 * means that camera, and none where it is away, for another one shows another room. 0 with *ret
 * filled; -ENODEV: none fits; -EEXIST: several do, err names them. */
int halo_camera_find(struct halo_camera_id *ret, const char *input,
                     const struct halo_camera_id *known, struct halo_error *err);

/* Whether id's node still is what it was found to be: once it is open, nobody else takes its
 * number. False too where nothing can be read of it any more. */
bool halo_camera_is_still(const struct halo_camera_id *id);

/* As one line of text, for the process after this one: it has to find the same camera again. read:
 * 0, or -EINVAL where it is no such line. */
void halo_camera_id_write(const struct halo_camera_id *id, char ret[HALO_CAMERA_ID_TEXT]);
int halo_camera_id_read(struct halo_camera_id *ret, const char *text);

/* All video nodes, by number; the caller frees. Returns how many, or -errno. */
int halo_camera_list(struct halo_camera_id **ret);

/* A descriptor that becomes readable when something comes, goes or changes its rights in /dev
 * (inotify), or -errno; to be drained with halo_camera_watch_drain(), which says whether that were
 * video nodes, and closed. */
int halo_camera_watch(void);
bool halo_camera_watch_drain(int watch);

#endif
