/* SPDX-License-Identifier: BSD-2-Clause
 * The virtual cameras of a stream. A virtual camera outlives the stream's engines, and changes to
 * the stream's settings that do not concern the camera, so programs that have it open do not see
 * the stream end. Loop thread only. */
#ifndef HALO_SUP_CAMERA_H
#define HALO_SUP_CAMERA_H

#include "config/base/error.h"

struct sv_stream;

/* Keeps the virtual cameras that the stream's settings still have, and closes the others. */
void sv_camera_keep(struct sv_stream *stream);
/* Opens the virtual camera of an output, unless it was kept, and connects it to the stream's feeds,
 * which must be open. Returns 0, or -errno with err filled. */
int sv_camera_open(struct sv_stream *stream, int index, struct halo_error *err);
/* Must be called before the stream's feeds are closed. The virtual cameras then show gray frames
 * until sv_camera_open() is called again. */
void sv_camera_leave(struct sv_stream *stream);
/* Forgets the frames that the virtual cameras keep; see sv_feed_forget(). */
void sv_camera_forget(struct sv_stream *stream);
void sv_camera_close(struct sv_stream *stream);

#endif
