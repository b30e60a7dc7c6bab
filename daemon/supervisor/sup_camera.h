/* SPDX-License-Identifier: BSD-2-Clause
 * The virtual cameras of a stream. A virtual camera outlives the stream's engines, and changes to
 * the stream's settings that do not concern the camera, so programs that have it open do not see
 * the stream end. Loop thread only. */
#ifndef HALO_SUP_CAMERA_H
#define HALO_SUP_CAMERA_H

#include "config/error.h"

struct sv_stream;

/* To be called after the stream's feeds were opened. */
int sv_camera_open(struct sv_stream *stream, struct halo_error *err);
/* To be called before the stream's feeds are closed; the cameras show gray until
 * sv_camera_open(). */
void sv_camera_leave(struct sv_stream *stream);
void sv_camera_forget(struct sv_stream *stream); /* see sv_feed_forget() */
void sv_camera_close(struct sv_stream *stream);

#endif
