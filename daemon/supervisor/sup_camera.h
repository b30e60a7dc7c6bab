/* SPDX-License-Identifier: BSD-2-Clause
 * The virtual cameras of a stream. They outlive its engines, and its settings as long as these
 * leave the camera as it is, so programs that have it open see no end of the stream. Loop thread
 * only. */
#ifndef HALO_SUP_CAMERA_H
#define HALO_SUP_CAMERA_H

#include "config/error.h"

struct sv_stream;

int sv_camera_open(struct sv_stream *stream, struct halo_error *err); /* the feeds are there */
void sv_camera_leave(struct sv_stream *stream);  /* its feeds: gray until they are opened again */
void sv_camera_forget(struct sv_stream *stream); /* as sv_feed_forget() */
void sv_camera_close(struct sv_stream *stream);

#endif
