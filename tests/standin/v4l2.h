/* SPDX-License-Identifier: BSD-2-Clause
 * A camera that is not there. v4l2.c stands before libc's calls (LD_PRELOAD, or linked),
 * the other files play the driver (v4l2_private.h).
 *
 * With HALO_STANDIN_V4L2=FOLDER in the environment /dev/video*, /dev/v4l, /sys/class/video4linux
 * and the watch on /dev are those of FOLDER (FOLDER/dev, FOLDER/sys); a file FOLDER/dev/videoN is a
 * camera. FOLDER/control says what cameras do, FOLDER/control-videoN what that one does; lines of
 * KEY=VALUE, read again at every call:
 *
 *   formats=yuyv:640x480@30,320x240@30;mjpeg:1280x720@30   (yuyv uyvy nv12 yu12 grey mjpeg h264)
 *   planar=1         the multi-planar API; 2: with a memory for each plane
 *   room=BYTES       a second, of the bus: more is ENOSPC at STREAMON
 *   fault=CALL:ERRNO:N   that call fails the N-th time, 0: every time, since the line is new
 *   stall=1          no more pictures      error=1   pictures are flagged
 *   short=1          half of each          jpeg=FILE what MJPEG gives
 *   torn=N           zeros in the middle of each N-th JPEG
 *   gone=1           unplugged: ENODEV, while the node may still be there
 *   clock=1          times of another clock; 2: times that jump back; 3: ones past all bounds
 *   change=1         the input has changed: an event; 2: other events, without an end
 *   timings=WxH      it is an input with timings, and these come in
 *   interval=N/D     what S_PARM answers     field=N    how fields lie: V4L2_FIELD_ of S_FMT
 *   lie=WORD         index: of a buffer that is none; used: more bytes than the buffer has;
 *                    planes: memories that its format does not have; stride: less than a row;
 *                    controls: a list without an end
 *   controls=brightness:0:255:1:128,gain:0:9:1:3     least, most, step, value
 *
 * FOLDER/log gets a line for each open, close, STREAMON and S_CTRL. */
#ifndef HALO_STANDIN_V4L2_H
#define HALO_STANDIN_V4L2_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct standin_camera;

const char *standin_folder(void); /* NULL: nothing is played */

/* name: "video0". The descriptor, or -1 with errno. */
int standin_camera_open(const char *name);
/* NULL: no camera's. */
struct standin_camera *standin_camera_of(int fd);
void standin_camera_close(struct standin_camera *camera); /* its descriptor too */
int standin_camera_ioctl(struct standin_camera *camera, unsigned long request, void *argument);
void *standin_camera_map(struct standin_camera *camera, size_t size, off_t offset);

/* libc's own. */
int standin_real_close(int fd);
void *standin_real_mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset);

#endif
